"""Small cases of the reproduction: its parts run, and stored results hold together."""

from pathlib import Path

import pytest

from repro.composable import (
    figure9, figure10, forms, memory, set_up, spread, synthesis, table1, unit
)
from repro.composable.applications import RESULTS
from repro.engine.results import REPOSITORY
from tautochrone.compose import check

ITERATIONS = 3


@pytest.mark.slow  # kernel/tests/tile/test_composability.py compares in every check
def test_the_synthetic_application_changes_nothing() -> None:
    """[P2-18] Two tiles, a small image: 0, in every event."""
    found = figure9.with_synthetic(figure9.QUICK, is_order_compared=False)
    assert found["synthetic"]["largest_difference_cycles"] == 0
    assert found["synthetic"]["outputs_equal"]
    assert found["synthetic_events"] > 100
    assert len(found["vld_cycles"]) == 16


def test_the_iterations_are_the_same_in_both_forms() -> None:
    """[P2-22] A few iterations in banks, as an application, and in slots."""
    entries = figure10.ENTRIES_DEFAULT
    found = figure10.measure(figure10.QUICK_IMAGES, ITERATIONS, (entries,), (16384,))
    pages = found["images"]["64x64"]["pages"]["16384"]
    once = pages["by_entries"][str(entries)]
    assert 1 < once["over"] < 1.005 and once["cycles_more"] > 0
    assert pages["on_top"]["misses_more"] >= 0


def test_the_order_of_linking_moves_no_code_inside_words() -> None:
    """[P2-22] In banks another order changes hardly a cycle."""
    program = figure10.decoder(figure10.QUICK_IMAGES[0], ITERATIONS)
    orders = [forms.in_order(program, order) for order in spread.LINK_ORDERS[:2]]
    banks = [forms.bank_cycles(each) for each in orders]
    assert max(banks) < 1.001 * min(banks)
    assert orders[0].files != orders[1].files


def test_translation_of_small_pages_costs_little() -> None:
    """[P2-22] A table among the constants beside its data; and each block waits once."""
    program = spread.work("crc", 3000, spread.SEEDS[0])
    bank = forms.bank_cycles(program)
    run = forms.never_ending(program, 4096, forms.ENTRIES_DEFAULT, bank)
    assert 1 <= run["over"] < 1.005, run
    assert run["table_entries"] > 16


def test_stored_spread_is_of_its_programs() -> None:
    """[P2-22] Every program with every input in every order, within what translation may cost."""
    found = RESULTS.stored("spread")
    assert sorted(found["images"]) == sorted(image.name for image in spread.chosen())
    assert sorted(found["works"]) == sorted(spread.SIZES)
    inputs = len(found["images"]) + len(found["works"]) * len(spread.SEEDS)
    assert found["programs"] == inputs * len(spread.LINK_ORDERS)
    for unit, median, most in (("16384-4", 1.001, 1.03), ("4096-4", 1.008, 1.06)):
        every = found["units"][unit]["all"]
        assert every["median"] <= median and every["most"] <= most, unit
    assert found["walk"]["small_over_large"] <= 1.12
    assert all(image.path.exists() for image in spread.chosen())


def test_a_set_up_is_alike_in_every_state() -> None:
    """[P2-24] Four states of the memory."""
    every, refused = set_up.states(set_up.every_subset(2))
    assert len(every) == 4 and refused == 0
    whole = [state["whole"] for state in every]
    assert max(whole) <= 1.05 * min(whole)


def test_every_subset_is_visited_once() -> None:
    """[P2-24] From one state to the next, one application comes or goes."""
    resident: set[str] = set()
    seen = []
    for command in set_up.every_subset(4):
        if command.application == "decoder":
            if command.operation == "load":
                seen.append(frozenset(resident))
        elif command.operation == "load":
            resident.add(command.application)
        else:
            resident.remove(command.application)
    assert len(seen) == len(set(seen)) == 16


def test_sizes_and_unit_are_those_stored() -> None:
    """[P2-13] [P2-25] [P2-26] To the byte and the cycle."""
    assert memory.measure() == RESULTS.stored("memory")
    assert unit.measure() == RESULTS.stored("unit")


def test_readme_says_what_translation_costs() -> None:
    """To a hundredth of a percent."""
    units = RESULTS.stored("spread")["units"]
    median, most = (
        [100 * (units[unit]["all"][name] - 1) for unit in ("16384-4", "4096-4")]
        for name in ("median", "most")
    )
    said = f"{median[0]:.2f} % more cycles with pages of 16 KiB, {median[1]:.2f} % with 4 KiB"
    said += f"; at most {most[0]:.2f} % and {most[1]:.2f} %"
    assert said in (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_stored_results_of_table_1() -> None:
    """[P2-21] The clock stays; what grew is what claims.md says."""
    found = RESULTS.stored("table1")
    assert found["clock"]["ratio"] >= 0.93
    core = found["by_entries"][str(found["entries_default"])]
    assert core["growth"] == table1.growth(found["core"], core["core_with_unit"])
    for kind in ("lut", "ff"):
        assert core["growth"][kind] < found["paper"]["core"][kind]
    assert core["core_with_unit"]["ff"] - found["core"]["ff"] < 2338 - 1304


def test_what_is_compared_is_found() -> None:
    """[P2-19] A run whose iteration is later is one that differs."""
    alone, beside = (made_run(later) for later in (0, 5))
    same, other = figure9.compared(alone, alone), figure9.compared(alone, beside)
    assert same["largest_difference_cycles"] == 0
    assert other["tasks"]["vld"]["differing"] == 1
    assert other["tasks"]["vld"]["duration_difference_cycles"] == [0, 5]


def made_run(later: int) -> check.Run:
    """Two iterations of each task; the second of vld ends LATER cycles later."""
    from tautochrone.compose.run import Mark, Run, TileRun

    marks = [
        Mark(0, task << 24 | i << 1 | end, 100 * task + 40 * i + 20 * end)
        for task in range(3)
        for i in range(2)
        for end in range(2)
    ]
    last = marks[3]
    marks[3] = Mark(last.application, last.value, last.cycle + later)
    return Run(0, "", "", [TileRun(marks=marks)])


def test_another_core_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one declaration that is changed must be there."""
    other = tmp_path / "ibex_top.sv"
    other.write_text("module ibex_top; endmodule\n")
    monkeypatch.setattr(synthesis, "ibex_sources", lambda: ([], [other]))
    with pytest.raises(synthesis.SynthesisError, match="another one"):
        synthesis.readable_core(tmp_path)


def test_cells_are_counted_in_luts() -> None:
    """Carries and RAMs made of LUTs count as the LUTs that they take."""
    found = {"LUT4": 10, "CCU2C": 3, "TRELLIS_DPR16X4": 2, "TRELLIS_FF": 7, "DP16KD": 1}
    counted = synthesis.cells_of(found)
    assert (counted["lut"], counted["ff"], counted["block_rams"]) == (28, 7, 1)
