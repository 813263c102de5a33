"""Each planner against one written from the paper, and against the best placement of all."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tautochrone import native
from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.plan.code.planners import (
    entry_points,
    fragmentation,
    link_order,
    profile_based,
    replayed,
)
from tautochrone.plan.code.cold import Cold, Edge, Pages, best_fit, without_repeats
from tautochrone.plan.code.planners import PLANNERS
from tool.tests.plan.code import naive_planners as naive
from tool.tests.plan.code.cold_problems import phased_cold, random_cold

SEEDS = range(150)
GOLDEN_RATIO, ALL_BITS = 0x9E3779B97F4A7C15, (1 << 64) - 1


def normal(pages: Pages) -> list[list[int]]:
    """Pages as sets, in the order of their lowest pieces."""
    return sorted(sorted(page) for page in pages if page)


def check_pages(cold: Cold, pages: Pages) -> None:
    """Each cold piece once, no page too large."""
    assert sorted(number for page in pages for number in page) == cold.numbers
    assert all(page and cold.bytes_of(page) <= PAGE_BYTES for page in pages)


def cold_of(sizes: list[int], edges: list[tuple[int, int, int]], hot: tuple[int, ...] = ()) -> Cold:
    """Pieces of these sizes, one after the other."""
    is_cold = np.array([number not in hot for number in range(len(sizes))])
    addresses = np.cumsum([0, *sizes[:-1]]).tolist()
    nothing = np.array([], np.int64)
    return Cold(addresses, sizes, is_cold, nothing, 4, lambda: [Edge(*edge) for edge in edges])


@pytest.mark.parametrize("planner", sorted(PLANNERS))
@pytest.mark.parametrize("seed", range(20))
def test_every_planner_places_each_piece_once(
    planner: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replayed, "STEPS_MAX", 300)
    for cold in (random_cold(seed), phased_cold(seed, 300, 2000, 4), random_cold(seed, pieces=1)):
        pages = PLANNERS[planner](cold)
        check_pages(cold, pages)
        assert PLANNERS[planner](cold) == pages


@pytest.mark.parametrize(
    ("planner", "model"),
    [(profile_based.place, naive.profile_based), (entry_points.place, naive.entry_points)],
    ids=["profile-based", "entry-points"],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_planner_of_the_paper_is_as_its_text(
    planner: Callable[[Cold], Pages], model: Callable[[Cold], Pages], seed: int
) -> None:
    cold = random_cold(seed, pieces=6 + seed % 9)
    assert normal(planner(cold)) == normal(model(cold))


@pytest.mark.parametrize("ties_many", [0, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_ties_are_resolved_alike_with_and_without_a_heap(
    ties_many: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile_based, "TIES_MANY", ties_many)
    cold = random_cold(seed, pieces=6 + seed % 9)
    assert normal(profile_based.place(cold)) == normal(naive.profile_based(cold))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_pass_is_as_its_text(seed: int) -> None:
    cold = random_cold(seed, pieces=10)
    pages = [[number] for number in cold.numbers]
    assert normal(fragmentation.merged(cold, pages)) == normal(naive.defragmented(cold, pages))


def test_a_page_is_small_up_to_a_half() -> None:
    """0 and 1 are close. Best fit alone would put 1 and 3 together."""
    for half, pages in ((2048, [[0, 1], [3]]), (2050, [[0], [1, 3]])):
        cold = cold_of([1000, half, 5000, 2040], [], hot=(2,))
        assert normal(fragmentation.merged(cold, [[0], [1], [3]])) == pages


def test_pages_are_close_up_to_their_size() -> None:
    """0 and 2 start a page apart, or a bit less. Best fit alone would put 2 and 4 together."""
    for between, pages in ((3094, [[0, 2], [4]]), (3096, [[0], [2, 4]])):
        cold = cold_of([1000, between, 2000, 5000, 2090], [], hot=(1, 3))
        assert normal(fragmentation.merged(cold, [[0], [2], [4]])) == pages


@pytest.mark.parametrize("ties_many", [0, 2])
@pytest.mark.parametrize("seed", range(100))
def test_the_first_step_merges_as_its_text(
    ties_many: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls that were never executed, so that most edges are alike. Without the other steps, which
    can lead from other nodes to the same pages."""
    monkeypatch.setattr(profile_based, "TIES_MANY", ties_many)
    source, pieces = random.Random(seed), 14
    sizes = [2 * source.randint(100, 700) for _ in range(pieces)]
    calls = source.randint(pieces, 3 * pieces)
    places = [(source.randrange(pieces), source.randrange(pieces), 0) for _ in range(calls)]
    cold = cold_of(sizes, places)
    graph, model = profile_based.Graph(cold), naive.Naive(cold)
    profile_based.merge_heaviest(graph)
    model.cluster()
    assert sorted(graph.members.values()) == model.nodes


def test_the_heaviest_edge_is_merged_first() -> None:
    cold = cold_of([3000, 1000, 1000], [(0, 1, 5), (0, 2, 6)])
    assert normal(profile_based.clustered(cold)) == [[0, 2], [1]]


def test_ties_go_to_the_larger_common_weight() -> None:
    """0-1 and 2-3 weigh the same; only 2 and 3 have a common neighbor that fits as well."""
    cold = cold_of([2000, 2000, 2000, 2000, 90], [(0, 1, 1), (2, 3, 1), (2, 4, 0), (3, 4, 0)])
    graph = profile_based.Graph(cold)
    assert graph.common_weight(2, 3) == 2 and graph.common_weight(0, 1) == 0
    assert normal(profile_based.clustered(cold))[1] == [2, 3, 4]
    larger = cold_of([2000, 2000, 2000, 2000, 97], [(0, 1, 1), (2, 3, 1), (2, 4, 0), (3, 4, 0)])
    assert profile_based.Graph(larger).common_weight(2, 3) == 0


def test_hot_code_connects_but_takes_no_room() -> None:
    """The prologue and the epilogue of a hot loop are on one page."""
    cold = cold_of([2048, 50_000, 2048, 2048], [(0, 1, 9), (1, 2, 9)], hot=(1,))
    assert normal(profile_based.clustered(cold)) == [[0, 2], [3]]


def test_siblings_with_the_heaviest_edges_to_their_parent_are_merged() -> None:
    """1, 2 and 3 do not fit with 0. 1 and 3 weigh most together."""
    cold = cold_of([4096, 2000, 2000, 2000], [(0, 1, 5), (0, 2, 1), (0, 3, 4)])
    assert normal(profile_based.clustered(cold)) == [[0], [1, 3], [2]]


def test_pages_of_one_entry_point_are_few() -> None:
    """0 is hot and calls 1, which calls 2 and 3; 4 and 5 belong to another entry point."""
    calls = [(0, 1, 0), (1, 2, 0), (2, 3, 0), (0, 4, 0), (4, 5, 0)]
    cold = cold_of([64, 1000, 1000, 1000, 1000, 2000], calls, hot=(0,))
    assert normal(entry_points.clustered(cold)) == [[1, 2, 3], [4, 5]]
    assert entry_points.entries_of(cold) == {1: 1, 2: 1, 3: 1, 4: 2, 5: 2}


def test_pages_with_nothing_in_common_are_left_to_the_pass() -> None:
    cold = cold_of([64, 100, 100, 100], [(0, 1, 0), (0, 2, 0)], hot=(0,))
    assert normal(entry_points.clustered(cold)) == [[1], [2], [3]]
    assert normal(entry_points.place(cold)) == [[1, 2, 3]]


def test_link_order_fills_one_page_after_the_other() -> None:
    assert link_order.place(cold_of([4000, 90, 90, 4000], [])) == [[0, 1], [2, 3]]


def test_best_fit_takes_the_fullest_page() -> None:
    assert best_fit([[0], [1], [2]], [3000, 2000, 1000]) == [[0, 2], [1]]


def test_repeats_are_dropped() -> None:
    assert without_repeats(np.array([1, 1, 2, 2, 1])).tolist() == [1, 2, 1]
    assert without_repeats(np.array([], int)).tolist() == []


# ---- Ours


@pytest.mark.parametrize("seed", SEEDS)
def test_affinity_is_counted_within_the_window(seed: int) -> None:
    """[CPLAN-14] The last six pieces."""
    cold = random_cold(seed, pieces=10, touches=60)
    counts: dict[tuple[int, int], int] = {}
    last: list[int] = []
    touched = replayed.Touched(cold)
    places = {number: place for place, number in enumerate(touched.numbers.tolist())}
    for number in cold.touches.tolist():
        piece = places[number]
        ahead = last[: last.index(piece)] if piece in last else last
        for other in ahead:
            pair = (min(piece, other), max(piece, other))
            counts[pair] = counts.get(pair, 0) + 1
        last = [piece, *(other for other in last if other != piece)][:6]
    expected = sorted((-times, *pair) for pair, times in counts.items())
    assert touched.affinity() == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_faults_are_those_of_a_queue(seed: int) -> None:
    cold = random_cold(seed, frames=1 + seed % 3)
    touched = replayed.Touched(cold)
    pages = [page for page in replayed.by_affinity(cold, touched) if page]
    assert _faults(touched, pages) == naive.round_robin_faults(cold, pages)


def _faults(touched: replayed.Touched, pages: Pages) -> int:
    page_of = {number: place for place, page in enumerate(pages) for number in page}
    column = np.array([page_of[number] for number in touched.numbers.tolist()], np.uint16)
    return touched.faults(column, max(len(pages), 1))


def disturbed_faults(cold: Cold, page_of: dict[int, int], seed: int) -> int:
    """Loads when one in 24 faults makes a second page leave, by numbers from a seed; 0: none."""
    held: list[int | None] = [None] * cold.frames
    turn = faults = 0
    for piece in cold.touches.tolist():
        if page_of[piece] in held:
            continue
        held[turn] = page_of[piece]
        turn = (turn + 1) % cold.frames
        faults += 1
        seed ^= seed << 13 & ALL_BITS
        seed ^= seed >> 7
        seed ^= seed << 17 & ALL_BITS
        if seed and (seed >> 11) % 24 == 0:
            held[turn] = None
            turn = (turn + 1) % cold.frames
    return faults


@pytest.mark.parametrize("seed", range(20))
def test_the_search_judges_by_five_replays(seed: int) -> None:
    """[CPLAN-14] Before its first step, and behind its last one."""
    cold = random_cold(seed, pieces=12, touches=600, frames=2 + seed % 3)
    touched = replayed.Touched(cold)
    pages = replayed.by_affinity(cold, touched)
    number_of = {number: place for place, page in enumerate(pages) for number in page}
    column = np.array([number_of[number] for number in touched.numbers.tolist()], np.uint16)
    for steps in (0, 100):
        found = column.copy()
        search = native.struct("tau_code_search")(steps, 1, cold.frames, len(pages) + 2)
        answer = native.library().tau_code_improve(touched.sequence, search, found)
        page_of = dict(zip(touched.numbers.tolist(), found.tolist(), strict=True))
        seeds = [disturbance * GOLDEN_RATIO & ALL_BITS for disturbance in range(5)]
        assert answer == sum(disturbed_faults(cold, page_of, each) for each in seeds)


def test_the_search_exchanges_pieces_of_full_pages() -> None:
    """Four halves of pages, two of which are touched in turn: no page has room to move one to."""
    cold = replace(cold_of([2048] * 4, []), touches=np.array([0, 1] * 20 + [2, 3] * 20), frames=1)
    found = replayed.Touched(cold).improved(np.array([0, 1, 0, 1], np.uint16), 2, 1000)
    assert found[0] == found[1] != found[2] == found[3]


@pytest.mark.parametrize(("touches", "steps"), [(0, 100_000), (20_000, 100_000), (40_000, 50_000)])
def test_a_search_is_as_long_as_specified(
    touches: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[CPLAN-14] With two pages more than there are."""
    asked = []

    def improved(
        _touched: replayed.Touched, page_of: np.ndarray, pages_count: int, steps: int, _seed: int
    ) -> np.ndarray:
        asked.append((pages_count - len(np.unique(page_of)), steps))
        return page_of

    monkeypatch.setattr(replayed.Touched, "improved", improved)
    in_turn = np.arange(touches) % 3
    replayed.place(replace(cold_of([3000] * 3, []), touches=in_turn))
    assert asked == [(2, steps)]


def test_our_placement_is_the_best_of_all_or_next_to_it() -> None:
    """Against every placement of up to seven pieces. The search takes only steps that are better,
    so that it misses the optimum of a few. The first step alone is never better than it."""
    above = []
    for seed in range(60):
        cold = random_cold(seed, pieces=7, touches=30)
        least = min(naive.round_robin_faults(cold, pages) for pages in naive.placements(cold))
        touched = replayed.Touched(cold)
        found = naive.round_robin_faults(cold, replayed.searched(cold, touched, 20_000))
        assert least <= found <= naive.round_robin_faults(cold, replayed.by_affinity(cold, touched))
        above.append(found - least)
    assert above.count(0) >= 58 and max(above) <= 3


@pytest.mark.parametrize("seed", range(60))
def test_no_placement_and_no_policy_is_below_the_bound(seed: int) -> None:
    for frames in (1, 2):
        cold = random_cold(seed, pieces=6, touches=24, frames=frames)
        least = min(naive.fewest_faults(cold, pages) for pages in naive.placements(cold))
        assert replayed.Touched(cold).faults_bound() <= least


def test_the_bound_is_reached_where_pages_are_full() -> None:
    """Three pieces of a page each in two frames, in turn: each window of three costs a load."""
    touches = np.array([0, 1, 2] * 8)
    cold = replace(cold_of([4096] * 3, []), touches=touches, frames=2)
    assert replayed.Touched(cold).faults_bound() == 3 + 7
    least = naive.fewest_faults(cold, [[0], [1], [2]])
    assert least == 13


def naive_bound(cold: Cold) -> int:
    """The largest sum over windows, from its definition [CPLAN-21]."""
    touches = cold.touches.tolist()
    best = [0] * (len(touches) + 1)
    for end in range(1, len(touches) + 1):
        seen: set[int] = set()
        for start in reversed(range(end)):
            seen.add(touches[start])
            size = cold.bytes_of(sorted(seen))
            held = 0 if start == 0 else cold.frames * PAGE_BYTES
            gain = max(-(-(size - held) // PAGE_BYTES), 0)
            best[end] = max(best[end], best[start] + gain)
    return best[-1]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bound_is_as_its_definition(seed: int) -> None:
    cold = random_cold(seed, pieces=12, touches=60, frames=1 + seed % 3)
    assert replayed.Touched(cold).faults_bound() == naive_bound(cold)


def naive_missed(cold: Cold, held_bytes: int) -> list[int]:
    """What a queue of pieces misses, from its definition [CPLAN-25]."""
    queue: list[int] = []
    missed = []
    for piece in cold.touches.tolist():
        if piece not in queue:
            queue.append(piece)
            missed.append(piece)
            while cold.bytes_of(queue) > held_bytes:
                queue.pop(0)
    return missed


@pytest.mark.parametrize("seed", SEEDS)
def test_a_queue_of_pieces_misses_what_its_definition_says(seed: int) -> None:
    cold = random_cold(seed, pieces=12, touches=60)
    touched = replayed.Touched(cold)
    for held_bytes in (PAGE_BYTES, 2 * PAGE_BYTES, 1 << 40):
        missed = naive_missed(cold, held_bytes)
        assert touched.numbers[touched.missed(held_bytes)].tolist() == missed
        counts = [missed.count(number) for number in touched.numbers.tolist()]
        assert touched.misses(held_bytes).tolist() == counts


@pytest.mark.parametrize("seed", range(60))
def test_nobody_with_so_much_ram_is_below_its_bound(seed: int) -> None:
    """Whatever stays, wherever the rest lies, and however many frames there are."""
    cold = random_cold(seed, pieces=6, touches=24)
    touched = replayed.Touched(cold)
    for pages in (1, 2, 3):
        bound = touched.bound(pages * PAGE_BYTES, is_empty=False)
        for stays in range(1 << 6):
            is_cold = np.array([bool(place & ~stays) for place in (1 << at for at in range(6))])
            is_cold &= cold.is_cold
            room = pages * PAGE_BYTES - cold.bytes_of(np.flatnonzero(cold.is_cold & ~is_cold))
            if room < PAGE_BYTES:
                continue
            frames = room // PAGE_BYTES
            touches = without_repeats(cold.touches[is_cold[cold.touches]])
            rest = replace(cold, is_cold=is_cold, touches=touches, frames=frames)
            least = min(naive.fewest_faults(rest, pages) for pages in naive.placements(rest))
            assert bound <= least


@pytest.mark.parametrize("seed", range(3))
def test_ours_has_fewer_faults_than_the_papers_on_phases(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replayed, "STEPS_MAX", 2000)
    cold = phased_cold(seed, 2000, 20_000, 4)
    touched = set(np.unique(cold.touches).tolist())
    faults = {}
    for name in ("profile-based", "replayed", "link-order"):
        pages = [[one for one in page if one in touched] for page in PLANNERS[name](cold)]
        faults[name] = naive.round_robin_faults(cold, pages)
    assert (
        replayed.Touched(cold).faults_bound() <= faults["replayed"] < 0.8 * faults["profile-based"]
    )
    assert faults["profile-based"] < faults["link-order"]
