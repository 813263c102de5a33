"""Small real cases of the reproduction: the workloads keep their rules, the rule and the replay
count the same pages, and the figures' parts differ in cost."""

import json
import os
import random
import subprocess
from pathlib import Path

import numpy as np
import pytest

from bench.tile import synthetic
from bench.tile.synthetic import FREED, MALLOC, TOUCH, Choice
from repro.engine.reproduction import Reproduction
from repro.rtmmu import (
    figures,
    page_costs,
    page_model,
    table1,
    tile_access,
    tile_figures,
    tile_run,
    tried,
    workloads,
)
from repro.rtmmu.workloads import RESULTS
from tautochrone.trace.file import open_trace
from testing.golden import pinned

ACTIONS = 20_000


@pytest.fixture(scope="module")
def seed() -> int:
    """A seed that is printed; TAU_TEST_SEED repeats one."""
    chosen = int(os.environ.get("TAU_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"TAU_TEST_SEED={chosen}")
    return chosen


def written(folder: Path, seed: int, every_access: bool, actions: int = ACTIONS) -> Path:
    """The workload as a trace."""
    stream = synthetic.events(seed, actions)
    if not every_access:
        stream = synthetic.first_touches(stream)
    return synthetic.write(folder / f"{seed}-{every_access}.tau", seed, stream)


def test_the_synthetic_workload_is_its_seed(seed: int) -> None:
    """[P0-35] A tenth allocates, a tenth frees, the rest reads and writes live objects."""
    events = list(synthetic.events(seed, ACTIONS))
    assert events == list(synthetic.events(seed, ACTIONS))
    assert events != list(synthetic.events(seed + 1, ACTIONS))
    live: dict[int, int] = {}
    for event in events:
        if event.op == MALLOC:
            assert event.slot not in live
            assert 1 <= event.bytes <= synthetic.SIZE_MAX_BYTES
            live[event.slot] = event.bytes
        elif event.op == FREED:
            del live[event.slot]
        else:
            assert 0 <= event.bytes < live[event.slot]
            assert event.bytes % synthetic.GRANULE_BYTES == 0
    share = [sum(event.op == op for event in events) / ACTIONS for op in (MALLOC, FREED, TOUCH)]
    assert np.allclose(share, (0.1, 0.1, 0.8), atol=0.02), share


def drawn(monkeypatch: pytest.MonkeyPatch, *numbers: float, actions: int) -> list[tuple[int, ...]]:
    """(op, slot, size or offset) of the actions that these random numbers lead to."""
    left = iter(numbers)
    monkeypatch.setattr(synthetic, "draws", lambda seed: left)
    made = [(event.op, event.slot, event.bytes) for event in synthetic.events(0, actions)]
    assert next(left, None) is None, "a number was not asked for"
    return made


def test_each_action_has_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """[P0-35] Below 0.1 allocates, below 0.2 frees, all else accesses; first of all, allocates."""
    size = synthetic.SIZE_MAX_BYTES // 2 + 1
    allocated = (MALLOC, 0, size)
    assert drawn(monkeypatch, 0.0999, 0.5, 0.1, 0.0, actions=2) == [allocated, (FREED, 0, 0)]
    assert drawn(monkeypatch, 0.0, 0.5, 0.1999, 0.0, actions=2) == [allocated, (FREED, 0, 0)]
    assert drawn(monkeypatch, 0.999, 0.5, actions=1) == [allocated]
    for choice in (0.2, 0.6, 0.999):
        touched = drawn(monkeypatch, 0.0, 0.5, choice, 0.0, 0.0, 0.0, actions=2)
        assert touched == [allocated, (TOUCH, 0, 0)], choice


def test_an_address_is_any_byte_of_any_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """[P0-35] An object is taken with the probability of its size, then any granule of it."""
    quarter = synthetic.SIZE_MAX_BYTES // 4
    two = (0.0, 0.25, 0.0, 0.75)  # a quarter of the largest size and a byte, then three quarters
    # The small object is refused by a number above its share, and then the large one is not.
    refused = drawn(monkeypatch, *two, 0.5, 0.0, 0.26, 0.5, 0.74, 0.5, actions=3)
    assert refused[2] == (TOUCH, 1, 3 * quarter // 2)
    taken = drawn(monkeypatch, *two, 0.5, 0.0, 0.24, 0.999, actions=3)
    assert taken[2][:2] == (TOUCH, 0)
    granules = synthetic.GRANULE_BYTES
    assert taken[2][2] == int(0.999 * (quarter + 1)) // granules * granules


def test_a_trace_says_how_many_accesses_there_were(tmp_path: Path, seed: int) -> None:
    """[P0-35] Half of them read."""
    trace = written(tmp_path, seed, True, 2000)
    with open_trace(trace) as reader:
        accesses = reader.header["accesses"]
        touches = reader.totals.events_of_op[TOUCH]
    assert accesses["heap_loads"] == touches // 2
    assert accesses["heap_loads"] + accesses["heap_stores"] == touches


def test_other_choices_differ() -> None:
    """Sizes and addresses are drawn as a Choice says."""
    log = Choice(size_max_bytes=1 << 20, sizes="log-uniform")
    sizes = [e.bytes for e in synthetic.events(1, 5000, log) if e.op == MALLOC]
    assert min(sizes) < 4 and 512 < np.median(sizes) < 2048 and max(sizes) > 1 << 19
    by_object = synthetic.events(1, 400, Choice(addresses="objects"))
    assert list(by_object) != list(synthetic.events(1, 400))


def test_first_touches_lose_nothing(tmp_path: Path, seed: int) -> None:
    """[G-4] Replayed, the trace of first touches and the one of all accesses show the same."""
    reduced, full = (written(tmp_path, seed, every) for every in (False, True))
    for system in page_costs.SYSTEMS[:2]:
        few, all_of_them = page_costs.replayed(reduced, system), page_costs.replayed(full, system)
        assert few.touches <= all_of_them.touches == pytest.approx(0.8 * ACTIONS, rel=0.02)
        assert few.faults == all_of_them.faults
        assert few.peak_mapped_pages == all_of_them.peak_mapped_pages


def test_replay_counts_what_the_rule_says(tmp_path: Path, seed: int) -> None:
    """[P0-33] [P0-34] Pages over time from the code and from page_model.py: the same in every bin.

    A bin of the replay also has the pages before its first event.
    """
    trace = written(tmp_path, seed, False)
    pages = page_model.count(synthetic.first_touches(synthetic.events(seed, ACTIONS)))
    curves = {page_costs.OURS: pages.ours, page_costs.CONVENTIONAL: pages.conventional}
    for system, curve in curves.items():
        run = page_costs.replayed(trace, system)
        assert run.peak_mapped_pages == max(curve), system
        assert run.end_mapped_pages == curve[-1], system
        ends = [*run.mapped_pages.event[1:].tolist(), len(curve)]
        bins = zip(run.mapped_pages.event.tolist(), ends, run.mapped_pages.high, strict=True)
        for first, end, most in bins:
            assert max(curve[max(first - 1, 0) : end]) == most, (system, first)


def test_figures_of_a_short_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """[P0-39] [P0-40] [P0-41] Bands differ in cost, returned pages explain free's cost."""
    monkeypatch.setattr(RESULTS, "out", tmp_path)
    result = figures.measure(seed=3, actions=ACTIONS)
    ours = result["figure5"][page_costs.OURS]
    assert ours["apart"] > 0.99
    medians = [part["median"] for part in ours["instructions"].values() if part["count"]]
    assert medians == sorted(medians, reverse=True)
    free = result["figure6"]
    assert free["cost_by_returned_pages"]["explained"] > 0.9
    inside = free[page_costs.CONVENTIONAL][figures.FREE_KINDS[0]]["max"]
    assert inside < free[page_costs.OURS]["max"] < free["extreme"]["instructions"]
    assert result["figure7"][page_costs.OURS]["model_agrees"]
    assert result["figure7"][page_costs.CONVENTIONAL]["model_agrees"]


def test_costs_tell_kinds_apart_or_do_not() -> None:
    """A cost stands for the kind that has it most often; its other calls are not told apart."""
    costs = np.array([10, 10, 20, 20, 20])
    assert figures.apart(costs, np.array([0, 0, 1, 1, 1])) == 1
    assert figures.apart(costs, np.array([0, 1, 1, 1, 1])) == 4 / 5
    assert figures.apart(np.full(6, 10), np.array([0, 1, 2, 0, 1, 0])) == 3 / 6


@pytest.mark.parametrize("measured", page_costs.MEASURES)
@pytest.mark.parametrize("call", ["malloc", "free", "fault"])
def test_one_more_than_a_bound_is_seen(call: str, measured: str) -> None:
    """A row is within its bounds if every call of ours that was made is."""
    calls = {
        name: {"count": 1} | {f"{k}_{m}": 9 for k in ("max", "bound") for m in page_costs.MEASURES}
        for name in ("malloc", "free", "fault")
    }
    row = {"program": "x", "rv32": {"systems": {page_costs.OURS: calls}}}
    assert table1.within_bounds(row, "rv32")
    calls[call][f"max_{measured}"] = 10
    assert not table1.within_bounds(row, "rv32")
    calls[call]["count"] = 0
    assert table1.within_bounds(row, "rv32")


def test_arcs_are_found() -> None:
    """An arc ends below a tenth of its height; the last one may be unfinished."""
    high = figures.ARC_PAGES_MIN
    curve = np.array([0, high, 0, 2 * high, high, high // 10, 0, high + 5])
    assert figures.arcs(curve) == [high, 2 * high, high + 5]
    assert figures.arcs(np.array([0, high - 1, 0])) == []


def test_a_request_without_room_is_told() -> None:
    """A workload that does not fit into the heap's addresses is a row that says so."""
    assert tried.counted(1, 4000, Choice(size_max_bytes=1 << 29))["no_room"]
    assert not tried.counted(1, 4000)["no_room"]


@pytest.mark.parametrize("name", ["fft", "mc"])
def test_programs_do_their_work(tmp_path: Path, name: str) -> None:
    """[P0-36] The C programs compile without a warning, check themselves and refuse bad input."""
    source = workloads.PROGRAMS / f"{name}.c"
    warnings = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror".split()
    made = tmp_path / name
    for compiler in ("clang-14", "gcc"):
        command = [compiler, "-std=c17", "-O2", *warnings, "-o", str(made), str(source), "-lm"]
        subprocess.run(command, check=True, timeout=300)
    arguments = {"fft": ["8"], "mc": ["sparse", "20", "8", "64", "1"]}[name]
    first, second = (
        subprocess.run([made, *arguments], capture_output=True, text=True) for _ in range(2)
    )
    assert first.returncode == 0 and first.stdout == second.stdout, first.stderr
    if name == "mc":  # both tables count the same
        arguments[0] = "hash"
        hashed = subprocess.run([made, *arguments], capture_output=True, text=True)
        assert hashed.stdout == first.stdout
    for bad in ([], ["0"], ["wrong", "1", "1", "1", "1"]):
        assert subprocess.run([made, *bad], capture_output=True).returncode == 2


@pytest.mark.parametrize("name", ["mc", "picosat", "fft"])
def test_a_recorded_program_in_pages(tmp_path: Path, name: str) -> None:
    """[P0-37] [P0-38] Record, replay, and a row of Table I whose bounds hold."""
    program = workloads.programs(quick=True)[name]
    trace = workloads.record(name, program, tmp_path)
    row = page_costs.row_of(name, trace)
    for isa in page_costs.ISAS:
        assert table1.within_bounds(row, isa)
        assert row[isa]["ratios"]["footprint"] >= 1
        assert row[isa]["ratios"]["malloc_penalty_instructions"] < 1.35
    facts = table1.recording(trace)
    assert facts["heap_accesses"] > facts["touch_events"] > 0
    if name == "mc":
        assert row["rv32"]["ratios"]["footprint"] > 20
    with open_trace(trace) as reader:
        assert reader.header["clock"] == "accesses"


@pytest.mark.slow
def test_table1_on_the_tile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """[P0-38] Small real cases in cycles: places and pages as in the software, bounds kept."""
    monkeypatch.setattr(RESULTS, "out", tmp_path)
    Reproduction("rtmmu").main(["--quick", "tile_table1"])
    path = tmp_path / "quick" / "results" / "tile_table1.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    assert set(found["rows"]) == {"synthetic", "mc"}
    assert found["extremes"]["agrees"] and found["bounds"]["kept"]
    assert 1 < found["extremes"]["malloc_penalty"]["max"] <= 1.25
    assert found["rows"]["mc"]["ratios"]["free_gain"] > 1000
    assert found["rows"]["mc"]["ratios"]["footprint"] > 20
    for row in found["rows"].values():
        for system in tile_run.SYSTEMS:
            for kind in ("load", "store"):
                assert [cycles for cycles, _ in row["systems"][system][kind]["counted"]] == [3]


def test_a_replay_on_the_tile_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is simulated once, and the kept replay equals it."""
    monkeypatch.setattr(RESULTS, "out", tmp_path)
    trace = table1.synthetic_trace(actions=500)
    first = tile_run.replayed(trace, page_costs.OURS)
    monkeypatch.setattr(tile_run, "tile_replay", None)
    second = tile_run.replayed(trace, page_costs.OURS)
    assert second.facts == first.facts and second.facts["malloc"]["count"] > 30
    for kind, calls in first.calls.items():
        assert calls.cycles.tolist() == second.calls[kind].cycles.tolist()


def test_figures_on_the_tile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """[P0-39] [P0-40] [P0-41] The same bands in cycles; the tile's pages follow the rule."""
    monkeypatch.setattr(RESULTS, "out", tmp_path)
    result = tile_figures.measure(seed=3, actions=3000)
    assert result["figure5"][page_costs.OURS]["apart"] > 0.95
    assert result["figure6"]["cost_by_returned_pages"]["explained"] > 0.9
    assert all(result["figure7"][system]["model_agrees"] for system in tile_run.SYSTEMS)
    assert (tmp_path / "points_cycles.json").exists()


def test_unmapping_on_the_tile() -> None:
    """[P0-10] Flat within 5 % over sizes, within its bound; the page table's grows."""
    found = tile_access.unmap((1, 64), 6)
    ours, theirs = (found[system] for system in tile_run.SYSTEMS)
    assert ours["flat"] <= 1.05 and ours["cycles"][1] <= ours["bound_cycles"]
    assert theirs["flat"] > 5 and theirs["bound_cycles"] is None


def test_stored_results_follow_from_their_rows() -> None:
    """[P0-38] What claims.md quotes of a table is what the table's rows give, for all programs."""
    found = RESULTS.stored("table1")
    rows = [found["rows"][name] for name in ("synthetic", *workloads.programs())]
    for stage in (found, RESULTS.stored("tile_table1")):
        assert set(stage["rows"]) == {"synthetic", *workloads.programs()} and not stage["missing"]
    for row in rows:
        for isa in page_costs.ISAS:
            assert row[isa]["ratios"] == pytest.approx(page_costs.ratios(row[isa]["systems"]))
    for isa in page_costs.ISAS:
        assert found["extremes"][isa] == table1.extremes(rows, isa)
        assert found["extremes"][isa]["within_bounds"]


def test_the_chosen_seed_is_told_from_the_others() -> None:
    """[P0-35] As Limits says, the chosen seed has more footprint to gain than any other seed."""
    chosen = RESULTS.stored("table1")["rows"]["synthetic"]["rv32"]["ratios"]
    found = RESULTS.stored("tried")
    assert found["fitting_count"] + found["no_room_count"] == found["seeds_count"]
    assert synthetic.SEED not in {row["seed"] for row in found["seeds"]}
    for span in found["spans"].values():
        assert span["min"] <= span["median"] <= span["max"]
    assert chosen["footprint"] > found["spans"]["footprint"]["max"]
    assert chosen["free_gain_instructions"] < found["spans"]["free_gain_instructions"]["median"]


def test_a_row_of_the_synthetic_workload_is_exact(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """[P0-38] The same seed costs the same to the instruction: our own last figures."""
    monkeypatch.setattr(RESULTS, "out", tmp_path)
    row = page_costs.row_of("synthetic", table1.synthetic_trace(actions=ACTIONS))
    seen = {
        system: {
            "peak_mapped_pages": cost["peak_mapped_pages"],
            **{call: cost[call]["max_instructions"] for call in page_costs.CALLS},
        }
        for system, cost in row["rv32"]["systems"].items()
    }
    assert seen == pinned(RESULTS.home / "synthetic_golden.json", seen)
