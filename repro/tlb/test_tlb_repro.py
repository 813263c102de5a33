"""Small cases of the reproduction: its parts run, and stored results hold together."""

from operator import le
from pathlib import Path
from typing import Any

import pytest

from repro.engine.reproduction import Reproduction
from repro.engine.results import REPOSITORY, results_of
from repro.tlb import (
    bounds, discover, experiment, figure6, figure19, isolation, layouts, table1
)
from repro.tlb.task_sets import FIGURE_19_LEAST, FIGURE_19_MOST, TABLE_1, figure_19
from tautochrone.tlb.tile import shape, simulation

RESULTS = results_of("tlb")
FIGURE_7 = [4, 4, 4, 4, 4, 4, 0, 0] * 2
MEDIAN_MOST = 1.3  # of bound ÷ longest response


def test_colors_put_as_many_pages_into_each_set(tmp_path: Path) -> None:
    """[P4-13] And malloc all of them into two, if objects have eight pages."""
    program = figure6.built(tmp_path)
    assert figure6.pages_per_set(program) == [4] * figure6.SETS
    large = figure6.pages_per_set(program, "32768")
    assert sum(large) == 64 and max(large) == 32


@pytest.mark.parametrize("object_bytes", figure6.OBJECT_BYTES)
def test_figure_6_is_the_same_in_every_run(tmp_path: Path, object_bytes: int) -> None:
    """Wherever the machine puts the heaps: both tasks live at a time, so that each has its own.

    Forty runs: without that, one of twenty differed.
    """
    program = figure6.built(tmp_path)
    found = {tuple(figure6.pages_per_set(program, str(object_bytes))) for _ in range(40)}
    assert len(found) == 1, found


def test_task_sets_are_those_of_the_paper() -> None:
    """[P4-20] [P4-23] What the processor does in a hyperperiod, and pages that fit."""
    for task_set in (*TABLE_1.values(), *(figure_19(count) for count in (5, 10))):
        share = sum(row.execution_ms / row.period_ms for row in task_set.rows)
        assert share < 0.9
        periods = [row.period_ms for row in task_set.rows]
        assert periods == sorted(periods)
    assert figure_19(10).hyperperiod_ms == 2**10
    assert [row.phase_ms for row in figure_19(5).rows] == [4, 3, 2, 1, 0]


@pytest.mark.parametrize("tasks", range(1, FIGURE_19_MOST + 1))
def test_no_set_is_dealt_twice(tasks: int) -> None:
    """Nor are two neighbors dealt to one task, so that a page has no neighbor in its heap."""
    dealt = experiment.dealt_sets(tasks)
    given = [index for sets in dealt for index in sets]
    assert len(given) == len(set(given))
    assert all(experiment.KERNEL_SET < index < experiment.SETS for index in given)
    if tasks > 1:
        assert all(abs(a - b) > 1 for sets in dealt for a in sets for b in sets if a != b)


def test_colored_tasks_do_not_miss_and_others_do(tmp_path: Path) -> None:
    """[P4-21] Two tasks of Table I, one hyperperiod."""
    tried = experiment.Experiment(TABLE_1["3"], 20_000, tmp_path)
    colored, shared = (tried.run(is_colored, 1, 1) for is_colored in (True, False))
    for task in range(3):
        assert set(experiment.misses(colored, task)) == {0}
    assert colored.cross_evictions == 0 < shared.cross_evictions


@pytest.mark.slow
def test_noisy_sets_are_those_of_the_kernel(tmp_path: Path) -> None:
    """[P4-14]"""
    found = isolation.noise(tmp_path, (4, 11), 7)
    assert found["noisy_sets"] == [4, 7, 11]


@pytest.mark.slow
def test_a_shape_is_found(tmp_path: Path) -> None:
    """[P4-11]"""
    found = discover.found_shape(discover.jobs_of("16x4", 2, tmp_path))
    assert found == {"sets": 16, "ways": 4, "index_bits": [12, 13, 14, 15]}


def test_stored_shapes_are_those_that_were_built() -> None:
    """[P4-11] [P4-15] A miss costs the table's latency."""
    for row in RESULTS.stored("discover")["shapes"]:
        first = row["shape"].partition("+")[0]
        assert f"{row['sets']}x{row['ways']}" == first
        if first == row["shape"]:
            assert row["penalty_cycles"] == pytest.approx(row["latency"], rel=0.03)


def test_stored_figures_of_the_synthetic_tasks() -> None:
    """[P4-16] [P4-17] [P4-18] [P4-19]"""
    found = RESULTS.stored("synthetic")
    for latency, row in found["figure7"].items():
        assert row["same"]["misses"] == [FIGURE_7, [20, 24]]
        assert {each for misses in row["other"]["misses"] for each in misses} == {0}
        assert row["cycles_more"] == [misses * int(latency) for misses in FIGURE_7]


def test_stored_misses_of_the_benchmarks() -> None:
    """[P4-21] [P4-22] [P4-23] [P4-24] Nobody misses, or is evicted, with colors."""
    sets = {**RESULTS.stored("table1")["sets"], **RESULTS.stored("figure19")["tasks"]}
    assert set(sets) == {
        *table1.SETS, *(str(count) for count in range(FIGURE_19_LEAST, FIGURE_19_MOST + 1))
    }
    for rows in sets.values():
        assert any(row["malloc"]["job_most"] > 0 for row in rows)
    figures = RESULTS.stored("figure19")
    assert figures["seeds"] == figure19.SEEDS
    for rows in figures["tasks"].values():
        for row in rows:
            seeds = {len(row[name]["cross_evictions"]) for name in ("colored", "malloc")}
            assert seeds == {figure19.SEEDS}


def test_responses_stay_below_their_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One random set, with sets of its own or without, on a tile that other tests have built."""
    tlb = shape.parsed(experiment.SHAPE, latency=experiment.LATENCY)
    monkeypatch.setattr(bounds, "TLB", tlb)
    building = simulation.builder(tmp_path)
    rows = bounds.tried(0, bounds.Costs(building), building)
    assert len(rows) >= bounds.TASKS_LEAST
    assert all(row.bound_cycles is None or row.response_cycles <= row.bound_cycles for row in rows)
    assert bounds.summary(rows)["least"] >= 1


@pytest.mark.slow
def test_random_sets_and_figure_7_stay_below_their_bounds() -> None:
    """[P4-16] Some of them. The stage tries more."""
    expect_bounds(bounds.measure(30))


def test_stored_bounds() -> None:
    """[P4-16]"""
    found = RESULTS.stored("bounds")
    expect_bounds(found)
    kinds = found["random"]
    assert kinds["all"]["sets"] == kinds["colored"]["sets"] + kinds["uncolored"]["sets"]
    assert (found["seed"], found["sets_asked"]) == (bounds.SEED, bounds.SETS)


def expect_bounds(found: dict[str, Any]) -> None:
    """None is exceeded, most are near, and Fig. 7 is met."""
    for row in found["random"].values():
        assert row["least"] >= 1 and row["tasks_above_bound"] == 0
        assert row["median"] <= MEDIAN_MOST
        assert 10 * row["tasks_without_bound"] < row["tasks"]
    for each in found["figure7"].values():
        assert each["misses"] == each["misses_of_model"]
        assert each["misses_bound"] == [max(jobs) for jobs in each["misses"]]
        assert all(map(le, each["response_most"], each["response_bound"]))
    assert found["figure7"]["same"]["misses"] == [FIGURE_7, [20, 24]]


def test_stored_sharing() -> None:
    """[P4-5] [P4-14] [P4-25] Who shares a set misses, as often as the paper says."""
    found = RESULTS.stored("isolation")
    noise = found["noise"]
    assert noise["noisy_sets"] == sorted({*noise["kernel_sets"], noise["own_set"]})
    *fitting, too_many = found["corollary_1"]
    assert all(row["cross_evictions"] == 0 for row in fitting)
    assert too_many["cross_evictions"] > 0 and min(too_many["misses"]) > 0
    equal = found["equal_periods"]
    assert {each for row in equal["misses"] for each in row} == {equal["pages"]}


def test_packed_pages_that_fit_never_miss(tmp_path: Path) -> None:
    """Without any color, as colored; heaps that are shared do."""
    tried = experiment.Experiment(TABLE_1["3"], 20_000, tmp_path)
    found = {name: run(tried, 1) for name, run in layouts.RUNS.items()}
    total = {name: layouts.summary([each], 3)["most"] for name, each in found.items()}
    assert total["packed, in order"] == 0 < total["malloc"]
    assert found["heap alone"].cross_evictions > 0


def test_silicon_is_what_the_design_measured() -> None:
    """The design's two tables have the recorded ticks, and README has the best of them."""
    design = (REPOSITORY / "docs/design/run_colors.md").read_text(encoding="utf-8")
    found = RESULTS.stored("silicon")
    attack = found["attack"]
    for key in ("quiet", "other", "own"):
        assert f" | {attack[key]} | " in design
    for row in found["threads"]:
        assert f" | {row['ticks']:.2f} | " in design
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert f"{attack['other']} ticks" in readme and f"{attack['own']} without" in readme
    assert "colors buy nothing" in readme


def test_each_layout_is_drawn() -> None:
    """Each task set of the stage has a bar for each layout, as high as its median."""
    (panel,) = (each for each in Reproduction("tlb").panels() if each.name == "layouts")
    stored = RESULTS.stored("layouts")["sets"]
    assert panel.columns["task set"] == list(layouts.SETS)
    for layout in (*layouts.RUNS, "colored"):
        medians = [stored[name][layout]["median"] for name in layouts.SETS]
        assert panel.columns[layout] == medians
