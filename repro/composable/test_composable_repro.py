"""Small cases of the reproduction: its parts run, stored results hold together, and claims.md is
not stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from repro import claims_page, sentences
from repro.composable import (
    claims,
    figure9,
    figure10,
    measure,
    memory,
    report,
    run,
    set_up,
    shown,
    spread,
    synthesis,
    table1,
    unit,
)
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
    assert 1 < once["over"] < 1.1 and once["hits_later"] > 0
    assert pages["on_top"]["misses_more"] >= 0


def test_the_order_of_linking_moves_no_code_inside_words() -> None:
    """[P2-22] In banks another order changes hardly a cycle."""
    (image,) = figure10.QUICK_IMAGES
    banks = [
        figure10.bank_cycles(spread.linked(image, order), ITERATIONS)
        for order in spread.LINK_ORDERS[:2]
    ]
    assert max(banks) < 1.001 * min(banks)
    assert figure10.sources(image) != figure10.sources(spread.linked(image, 1))


def test_stored_spread_is_of_its_programs() -> None:
    """[P2-22] Every image in every order, which hardly matters if pages or TLBs are large."""
    found = measure.stored("spread")
    assert sorted(found["images"]) == sorted(image.name for image in spread.chosen())
    assert found["programs"] == len(found["images"]) * len(spread.LINK_ORDERS)
    assert found["units"]["16384-4"]["median"] <= claims.OVERS_MAX["16384-4"]
    for image in spread.chosen():
        assert image.path.exists()
        for (page_bytes, entries), limit in zip(spread.UNITS, (0.005, 1, 0.02), strict=True):
            overs = found["images"][image.name][f"{page_bytes}-{entries}"]
            assert 1 < min(overs) and max(overs) - min(overs) < limit, image.name


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
    assert memory.measure() == measure.stored("memory")
    assert unit.measure() == measure.stored("unit")


def test_stored_results_of_composability() -> None:
    """[P2-18] [P2-19] [P2-20] Nothing differs, but with one table for all."""
    found = measure.stored("figure9")
    for name in ("synthetic", "load_order", "neighbors"):
        assert found[name]["largest_difference_cycles"] == 0, name
        assert all(task["differing"] == 0 for task in found[name]["tasks"].values())
    assert found["one_table_percent"] >= 50
    assert found["one_table"]["resource"] == "TLB"


def test_stored_results_of_costs() -> None:
    """[P2-13] [P2-22] to [P2-26] What claims.md says of costs, in words, holds."""
    for row in measure.stored("figure10")["images"].values():
        for page_bytes, pages in row["pages"].items():
            assert pages["on_top"]["percent"] <= 0.5
            by_entries = pages["by_entries"]
            assert by_entries["4"]["over"] <= claims.OVERS_MAX[f"{page_bytes}-4"]
            assert by_entries["8"]["over"] <= by_entries["4"]["over"] < by_entries["2"]["over"]
    found = measure.stored("set_up")
    assert found["worst_over_best"] <= 1.05 and found["worst_over_plain"] <= 1.10
    sizes = measure.stored("memory")
    # The guards below stacks take up to three entries; the paper states 10 to 20.
    assert sizes["kernel"]["loaded"] <= 12 * 1024 and sizes["entries_most"] <= 15
    cycles = measure.stored("unit")
    assert cycles["load_cycles"] <= 80 and cycles["load_spread_cycles"] == 0
    assert cycles["miss_cycles"] <= 17 and cycles["miss_spread_cycles"] == 0


def test_readme_says_what_translation_costs() -> None:
    """To a tenth of a percent."""
    pages = measure.stored("figure10")["images"]["192x144"]["pages"]
    over = {size: 100 * (row["by_entries"]["4"]["over"] - 1) for size, row in pages.items()}
    large, small = over["16384"], over["4096"]
    said = f"{large:.1f} % more cycles with pages of 16 KiB, {small:.1f} % with 4 KiB"
    units = measure.stored("spread")["units"]
    most = [100 * (units[unit]["most"] - 1) for unit in ("16384-4", "4096-4")]
    said += f"; other images up to {most[0]:.1f} % and {most[1]:.1f} %"
    assert said in (measure.REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_stored_results_of_table_1() -> None:
    """[P2-21] The clock stays; what grew is what claims.md says."""
    found = measure.stored("table1")
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


def test_every_item_has_its_line() -> None:
    """Each item of the checklist, in order, and every figure comes from results/."""
    found = claims.reasons()
    assert [item["id"] for item in found["item"]] == [f"P2-{n}" for n in range(1, 28)]
    assert {item["verdict"] for item in found["item"]} <= set(claims_page.VERDICTS)
    text = claims.text_now()
    assert (measure.HERE / "claims.md").read_text(encoding="utf-8") == text
    assert sentences.MISSING not in text
    assert "**no**" not in text


def test_commands_name_what_is_there() -> None:
    """Every file that a claim's command names exists."""
    for arguments in shown.GROUPS.values():
        for path in (part for part in arguments if "/" in part):
            assert (measure.REPOSITORY / path).exists(), path


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


def test_the_report_needs_no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One file with both figures, made from what is stored."""
    monkeypatch.setattr(report, "PAGE", tmp_path / "report.html")
    report.write()
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(f'id="{name}"' in html for name in ("figure9", "figure10"))
    assert "<script src=" not in html


def test_a_quick_run_leaves_what_is_checked_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`run.py --quick` writes to its own folder; a stage that does not exist is named."""
    monkeypatch.setattr(measure, "OUT", tmp_path)
    before = measure.stored("memory")
    run.main(["--quick", "memory"])
    assert (tmp_path / "quick" / "results" / "memory.json").exists()
    assert measure.stored("memory") == before
    with pytest.raises(SystemExit, match="no stage is called wrong"):
        run.main(["wrong"])
