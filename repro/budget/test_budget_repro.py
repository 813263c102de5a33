"""Small real cases of the reproduction: Fig. 3, a column of Table 1, one bar of Fig. 5."""

from pathlib import Path

import pytest

from bench.allocators import ours
from repro.budget import figure3, figure7, recordings, rules, table1, traces, workload
from repro.engine.results import REPOSITORY, results_of
from tautochrone.heap.planners import exact, exhaustive, greedy
from tautochrone.replay.run import completes


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces and plans go to a folder of the test's own."""
    monkeypatch.setattr(traces.RESULTS, "out", tmp_path)


def test_rules_of_the_budgeted_heap() -> None:
    """[P1-1] [P1-3] [P1-5] [P1-6] [P1-7] Each rule of Fig. 2, on the library."""
    result = rules.measure()
    assert result.pop("dedicated_distance_bytes") == [40, 40]
    assert all(result.values()), result


def test_figure3(tmp_path: Path) -> None:
    """[P1-14] N_1 = P_1(t2) breaks the limit at t1; what the greedy finds does not."""
    trace = traces.import_events(tmp_path / "figure3.tau", figure3.events())
    instants = table1.instants_of(trace)
    assert instants.limit_bytes == 256
    result = figure3.in_use(greedy.budget(instants).counts)
    rows = result["rows"]
    assert rows["none"]["t2_bytes"] == result["limit_bytes"]
    assert rows["peak"]["t1_bytes"] > result["limit_bytes"]
    assert rows["peak"]["t2_bytes"] == result["limit_bytes"]
    assert rows["greedy"]["counts"] == [1, 1, 2]
    assert max(rows["greedy"]["t1_bytes"], rows["greedy"]["t2_bytes"]) <= result["limit_bytes"]
    assert not instants.holds([3, 0, 0])


def test_a_column_of_table1(tmp_path: Path) -> None:
    """[P1-15] [P1-18] The exact planner finds what exhaustive search finds; the greedy no more."""
    sizes = table1.SIZES_BYTES[:3]
    for seed in range(5):
        workload_events = workload.events(sizes, seed, 2000, 6)
        trace = traces.import_events(tmp_path / f"{seed}.tau", workload_events)
        instants = table1.instants_of(trace)
        best = table1.dedicated_bytes(instants, exhaustive.budget(instants))
        proved = exact.budget(instants)
        assert table1.dedicated_bytes(instants, proved) == best, f"seed {seed}"
        assert proved.optimal_within == 0
        assert 0 < table1.dedicated_bytes(instants, greedy.budget(instants)) <= best


def test_a_workload_is_its_seed() -> None:
    """[P1-20] [P1-21] The same seed gives the same events; live counts stay within P_max."""
    sizes = workload.WORKLOADS["W4"]
    first = list(workload.events(sizes, 3, 500))
    assert first == list(workload.events(sizes, 3, 500)) != list(workload.events(sizes, 4, 500))
    assert first[:3] == [("malloc", 0, first[0][2]), *first[1:3]]
    live: dict[int, int] = {}
    for op, name, size in first:
        if op == "malloc":
            assert name not in live
            live[name] = size
        else:
            del live[name]
        assert max(list(live.values()).count(size) for size in sizes) <= workload.LIVE_MAX
    assert workload.peak_live_bytes(sizes, 3, 500) > 0


def test_the_budget_needs_no_more_than_plain_tlsf() -> None:
    """[P1-23] One bar of Fig. 5, W4, a short run: peak live, the replayed plan, plain TLSF."""
    trace = traces.trace_of("W4", 0, 1, 3000)
    plan = ours.plan_of(trace, "replayed")
    peak = workload.peak_live_bytes(workload.WORKLOADS["W4"], 0, 3000)
    budget = ours.safe_heap(trace, "budget", plan)
    assert peak <= budget <= ours.safe_heap(trace, "tlsf")


def test_bands_hold_what_static_allocation_holds_and_need_their_tables_more() -> None:
    """[P1-23] Four sizes that peak together: a band each, and one block less holds no more."""
    trace = traces.trace_of("W4", 0, 1, 3000)
    plan, static = ours.bands_of(trace), ours.safe_heap(trace, "static")
    assert len(plan.classes) == 4
    assert 0 < plan.heap_bytes - static < 300
    assert ours.safe_heap(trace, "pools", plan) == plan.heap_bytes
    assert not completes(trace, "pools", plan.heap_bytes - 8, plan)


def test_static_and_bands_do_not_move_the_papers_crossover() -> None:
    """[P1-26] They are not among the paper's systems; how often bands win is counted."""
    rows = [
        {
            "heap_bytes": {"budget": heap},
            "total_bytes": {"budget": budget, "tlsf": tlsf, "static": 1, "bands": bands},
        }
        for heap, budget, tlsf, bands in ((200, 250, 240, 260), (400, 500, 510, 499))
    ]
    assert figure7.crossover(rows) == {
        "heap_bytes": 400, "below_bytes": 200, "below_winner": "tlsf"
    }
    assert figure7.bands_below_budget(rows) == [400]


def test_the_crossover_is_the_last_size_below_which_the_budget_loses() -> None:
    """[P1-26] The smallest heap from which on the budget's total stays the smallest."""
    rows = [
        {"heap_bytes": {"budget": heap}, "total_bytes": {"budget": budget, "tlsf": tlsf}}
        for heap, budget, tlsf in (
            (100, 300, 200), (200, 250, 260), (400, 500, 490), (800, 900, 950)
        )
    ]
    assert figure7.crossover(rows) == {
        "heap_bytes": 800, "below_bytes": 400, "below_winner": "tlsf"
    }
    assert figure7.crossover(rows[:1]) is None, "it is the smallest nowhere"
    assert figure7.crossover(rows[3:]) is None, "the sweep's end is not a crossover"


def test_a_plan_that_costs_over_two_percent_on_the_other_input_is_counted() -> None:
    """[P1-27] The other input is counted, both ways; the plan's own is not."""
    pair = {"both": {"a": 0.99, "b": 0.98}}
    pair |= {
        "replayed": {"a": {"a": 0.9, "b": 1.01}, "b": {"a": 1.1, "b": 0.95}},
        "greedy": {"a": {"a": 1.5, "b": 1.3}, "b": {"a": 1.03, "b": 1.5}},
    }
    found = recordings.summarize([pair])
    assert found["plans_count"] == 2
    assert (found["replayed_costly_count"], found["replayed_other_over_tlsf_max"]) == (1, 1.1)
    assert (found["greedy_costly_count"], found["greedy_other_over_tlsf_max"]) == (2, 1.3)
    assert (found["own_over_tlsf_max"], found["both_over_tlsf_max"]) == (0.95, 0.99)


def test_readme_says_what_a_guarantee_costs() -> None:
    """README's row has the range of the stored results."""
    found = results_of("budget").stored("guarantee")
    ratios = [row["arena_over_peak"] for row in found["rows"]]
    assert (min(ratios), max(ratios)) == (found["least_over_peak"], found["most_over_peak"])
    said = f"{min(ratios):.2f} to {max(ratios):.2f} times the peak at the recorded limits of"
    assert len(ratios) == 7 and said in (REPOSITORY / "README.md").read_text(encoding="utf-8")
