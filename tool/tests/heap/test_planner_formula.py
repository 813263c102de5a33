"""The paper's budgeting: greedy as printed, exhaustive, and the exact planner's certificate.

Method: worked examples, and random small cases in which all combinations can be tried naively.
"""

from __future__ import annotations

import ctypes
import itertools
import random
from pathlib import Path

import highspy
import numpy as np
import pytest

from tautochrone import solver
from tautochrone.errors import TauError
from tautochrone.heap.planners import exact, exhaustive, greedy
from tautochrone.heap.profile import profile_of
from testing.random_trace import FREE, MALLOC, Event, write_events
from tool.tests.plan.plan_traces import (
    budgeted_bytes,
    come_and_go,
    counts_over_time,
    dedicated_bytes,
    greedy_as_printed,
    instants_of,
)

SECONDS_MAX = 300.0  # so that rounds end a search, on a slow machine, too
# Fig. 3: at t1 few large objects are live and many small ones, at t2 the other way round.
FIG_3_SIZES = (64, 32, 16)
FIG_3_T1 = (1, 4, 4)
FIG_3_T2 = (3, 2, 1)


def fig_3_events() -> list[Event]:
    """Reach t1, then t2, one object at a time; U(t) is largest at t2."""
    events: list[Event] = []
    live: dict[int, list[int]] = {size: [] for size in FIG_3_SIZES}
    free_slots = list(range(20, -1, -1))
    for target in (FIG_3_T1, FIG_3_T2):
        wanted = dict(zip(FIG_3_SIZES, target, strict=True))
        for size in FIG_3_SIZES:
            while len(live[size]) > wanted[size]:
                free_slots.append(live[size].pop())
                events.append((FREE, free_slots[-1], 0, 0))
        for size in FIG_3_SIZES:
            while len(live[size]) < wanted[size]:
                live[size].append(free_slots.pop())
                events.append((MALLOC, live[size][-1], size, 0))
    return events


def test_fig_3(tmp_path: Path) -> None:
    """[P1-14]: N_1 = P_1(t2) costs nothing at the peak t2, but makes U^B(t1) exceed U_max."""
    events = fig_3_events()
    rows = counts_over_time(events, FIG_3_SIZES)
    in_use = rows @ np.array(FIG_3_SIZES)
    t1 = int(np.flatnonzero((rows == FIG_3_T1).all(axis=1))[0])
    t2 = int(np.flatnonzero((rows == FIG_3_T2).all(axis=1))[0])
    u_max = 272
    assert (in_use[t1], in_use[t2], in_use.max()) == (256, u_max, u_max)
    instants = instants_of(tmp_path / "t.tau", events, FIG_3_SIZES)

    too_many = [FIG_3_T2[0], 0, 0]
    with_too_many = budgeted_bytes(rows, FIG_3_SIZES, too_many)
    assert with_too_many[t2] == u_max
    assert with_too_many[t1] == 384
    assert not instants.holds(too_many)
    assert instants.budgeted_bytes(too_many).max() == 384

    assert greedy.budget(instants).counts == greedy_as_printed(rows, FIG_3_SIZES) == [1, 2, 1]
    assert instants.holds([1, 2, 1])
    assert exact.budget(instants, SECONDS_MAX).counts == [1, 2, 1]


@pytest.mark.parametrize("seed", range(25))
def test_greedy_is_at_most_exact_which_is_exhaustive(tmp_path: Path, seed: int) -> None:
    """[P1-15] [P1-16], and Eq 5 and Eq 6 [P1-13] checked over every event for each planner."""
    source = random.Random(seed)
    sizes = sorted(source.sample(range(8, 3200, 8), 4), reverse=True)
    events = come_and_go(seed, sizes, 5, 300)
    rows = counts_over_time(events, sizes)
    u_max = (rows @ np.array(sizes)).max()
    instants = instants_of(tmp_path / "t.tau", events, sizes)
    budgets = [planner.budget(instants) for planner in (greedy, exact, exhaustive)]
    values = [dedicated_bytes(instants, budget.counts) for budget in budgets]
    assert values[0] <= values[1] == values[2]
    assert budgets[1].optimal_within == budgets[2].optimal_within == 0
    assert values[0] >= values[1] * (1 - budgets[0].optimal_within) - 1e-6
    for budget in budgets:
        assert budgeted_bytes(rows, sizes, budget.counts).max() <= u_max
        assert (np.array(budget.counts) <= rows.max(axis=0)).all()


def test_exhaustive_is_the_best_of_all_naively(tmp_path: Path) -> None:
    sizes = [56, 40, 24]
    events = come_and_go(3, sizes, 3, 60)
    rows = counts_over_time(events, sizes)
    u_max = (rows @ np.array(sizes)).max()
    best = max(
        np.array(sizes) @ np.array(counts)
        for counts in itertools.product(*(range(int(peak) + 1) for peak in rows.max(axis=0)))
        if budgeted_bytes(rows, sizes, counts).max() <= u_max
    )
    instants = instants_of(tmp_path / "t.tau", events, sizes)
    assert dedicated_bytes(instants, exhaustive.budget(instants).counts) == best


@pytest.mark.parametrize(("classes", "live_max"), [(4, 10), (4, 20), (5, 10)])
def test_table_1_in_shape(tmp_path: Path, classes: int, live_max: int) -> None:
    """[P1-18]: greedy reaches nearly all of the optimum; repro/budget has the times."""
    sizes = [2952, 1978, 1040, 528, 256][:classes]
    events = come_and_go(7, sizes, live_max, 4000)
    instants = instants_of(tmp_path / "t.tau", events, [-(-size // 8) * 8 for size in sizes])
    best = exact.budget(instants, SECONDS_MAX)
    assert best.optimal_within == 0
    ratio = dedicated_bytes(instants, greedy.budget(instants).counts) / dedicated_bytes(
        instants, best.counts
    )
    assert 0.9 <= ratio <= 1


def test_exact_beats_greedy_where_greedy_is_short_sighted(tmp_path: Path) -> None:
    """Greedy gives the largest size what room there is; the smaller ones would fill it better."""
    sizes = [72, 48, 40, 16]
    instants = instants_of(tmp_path / "t.tau", come_and_go(16, sizes, 3, 24), sizes)
    budgets = [planner.budget(instants) for planner in (greedy, exact, exhaustive)]
    values = [dedicated_bytes(instants, budget.counts) for budget in budgets]
    assert values == [128, 136, 136]
    assert budgets[0].optimal_within >= 1 - 128 / 136


def test_exact_holds_for_many_classes_and_proves_its_distance(tmp_path: Path) -> None:
    sizes = random.Random(5).sample(range(8, 4000, 8), 64)
    sizes.sort(reverse=True)
    events = come_and_go(5, sizes, 20, 20_000)
    rows = counts_over_time(events, sizes)
    instants = instants_of(tmp_path / "t.tau", events, sizes)
    budget = exact.budget(instants, SECONDS_MAX)
    assert budgeted_bytes(rows, sizes, budget.counts).max() <= instants.limit_bytes
    greedy_value = dedicated_bytes(instants, greedy.budget(instants).counts)
    assert dedicated_bytes(instants, budget.counts) >= greedy_value
    assert 0 <= budget.optimal_within < 0.05


def test_exhaustive_refuses_what_it_cannot_finish(tmp_path: Path) -> None:
    sizes = [80, 72, 64, 56, 48, 40, 32]
    instants = instants_of(tmp_path / "t.tau", come_and_go(1, sizes, 12, 3000), sizes)
    with pytest.raises(TauError, match="too many") as refused:
        exhaustive.budget(instants)
    assert "exact" in str(refused.value.next_step)


def test_every_instant_of_several_recordings_binds(tmp_path: Path) -> None:
    sizes = [72, 40, 16]
    recorded = [come_and_go(seed, sizes, 6, 400) for seed in (1, 2, 3)]
    paths = [write_events(tmp_path / f"{i}.tau", one) for i, one in enumerate(recorded)]
    rows = np.vstack([counts_over_time(one, sizes) for one in recorded])
    limit = (rows @ np.array(sizes)).max()
    instants = profile_of(paths).reduce(sizes)
    assert instants.limit_bytes == limit
    assert greedy.budget(instants).counts == greedy_as_printed(rows, sizes)
    best = exact.budget(instants)
    assert budgeted_bytes(rows, sizes, best.counts).max() <= limit
    by_trying_all = exhaustive.budget(instants)
    assert dedicated_bytes(instants, best.counts) == dedicated_bytes(instants, by_trying_all.counts)


def test_no_events_and_no_sizes_give_no_counts(tmp_path: Path) -> None:
    instants = profile_of([write_events(tmp_path / "t.tau", [])]).reduce([])
    for planner in (greedy, exact, exhaustive):
        assert planner.budget(instants).counts == []
    busy = profile_of([write_events(tmp_path / "u.tau", [(MALLOC, 0, 8, 0)])]).reduce([16])
    for planner in (greedy, exact, exhaustive):
        assert planner.budget(busy).counts == [0]


def test_the_solver_prints_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Stdout is for results; the library prints there from native code, through C's own buffer."""
    libc = ctypes.CDLL(None)
    monkeypatch.setattr(highspy.Highs, "run", lambda _: libc.printf(b"a line of the solver\n"))
    assert solver.maximum(np.ones(1), np.ones(1), solver.dense([np.ones(1)], [1.0]), True) is None
    libc.printf(b"a result\n")
    libc.fflush(None)
    assert capfd.readouterr().out == "a result\n"
