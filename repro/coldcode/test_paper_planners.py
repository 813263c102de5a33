"""The paper's planners against models written from its text, and ours against them."""

import random
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from repro.coldcode import naive_planners as naive
from repro.coldcode.planners import PLANNERS, entry_points, fragmentation, profile_based
from repro.coldcode.planners.edges import Edge, LinkedPieces
from tautochrone.coldcode import placement
from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.coldcode.placement import ColdPieces, Pages, Touched
from tautochrone.coldcode.replay import Cache, PageTouches, replay
from testing.cold_problems import phased_cold, random_cold

SEEDS = range(150)


def linked(cold: ColdPieces, edges: list[Edge]) -> LinkedPieces:
    """Pieces one after the other, with calls between them."""
    addresses = np.cumsum([0x1000, *cold.sizes_bytes[:-1]]).tolist()
    fields = (cold.sizes_bytes, cold.is_cold, cold.touches, cold.frames)
    return LinkedPieces(*fields, addresses, lambda: edges)


def random_pieces(seed: int, pieces: int = 12) -> LinkedPieces:
    """A few pieces of up to a page, some of them hot, with random calls."""
    source = random.Random(seed)
    edges = [
        Edge(source.randrange(pieces), source.randrange(pieces), source.choice((0, 0, 0, 1, 5)))
        for _ in range(source.randint(0, 3 * pieces))
    ]
    return linked(random_cold(seed, pieces), edges)


def phased_pieces(seed: int, pieces: int, touches: int, frames: int) -> LinkedPieces:
    """Cold code as in a kernel: a piece calls those that are often touched behind it, and others
    that are never executed."""
    source = random.Random(seed)
    cold = phased_cold(seed, pieces, touches, frames)
    played = cold.touches.tolist()
    often = Counter(zip(played, played[1:], strict=False))
    edges = [Edge(one, other, 1) for (one, other), times in often.items() if times > 4]
    edges += [Edge(source.randrange(pieces), source.randrange(pieces), 0) for _ in range(pieces)]
    return linked(cold, edges)


def normal(pages: Pages) -> list[list[int]]:
    """Pages as sets, in the order of their lowest pieces."""
    return sorted(sorted(page) for page in pages if page)


def cold_of(
    sizes: list[int], edges: list[tuple[int, int, int]], hot: tuple[int, ...] = ()
) -> LinkedPieces:
    """Pieces of these sizes, one after the other, never touched."""
    is_cold = np.array([number not in hot for number in range(len(sizes))])
    cold = ColdPieces(sizes, is_cold, np.array([], np.int64), 4)
    return linked(cold, [Edge(*edge) for edge in edges])


@pytest.mark.parametrize("planner", ["profile-based", "entry-points"])
@pytest.mark.parametrize("seed", range(20))
def test_every_planner_places_each_piece_once(planner: str, seed: int) -> None:
    for cold in (random_pieces(seed), phased_pieces(seed, 300, 2000, 4), random_pieces(seed, 1)):
        pages = PLANNERS[planner](cold)
        assert sorted(number for page in pages for number in page) == cold.numbers
        assert all(page and cold.bytes_of(page) <= PAGE_BYTES for page in pages)
        assert PLANNERS[planner](cold) == pages


@pytest.mark.parametrize(
    ("planner", "model"),
    [(profile_based.place, naive.profile_based), (entry_points.place, naive.entry_points)],
    ids=["profile-based", "entry-points"],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_planner_of_the_paper_is_as_its_text(
    planner: Callable[[LinkedPieces], Pages], model: Callable[[LinkedPieces], Pages], seed: int
) -> None:
    cold = random_pieces(seed, pieces=6 + seed % 9)
    assert normal(planner(cold)) == normal(model(cold))


@pytest.mark.parametrize("ties_many", [0, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_ties_are_resolved_alike_with_and_without_a_heap(
    ties_many: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile_based, "TIES_MANY", ties_many)
    cold = random_pieces(seed, pieces=6 + seed % 9)
    assert normal(profile_based.place(cold)) == normal(naive.profile_based(cold))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_pass_is_as_its_text(seed: int) -> None:
    cold = random_pieces(seed, pieces=10)
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


@pytest.mark.parametrize("seed", range(3))
def test_ours_has_fewer_faults_than_the_papers_on_phases(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement, "STEPS_MAX", 2000)
    cold = phased_pieces(seed, 2000, 20_000, 4)
    touched = set(cold.touches.tolist())
    faults = {}
    for name in ("profile-based", "replayed", "link-order"):
        pages = [[one for one in page if one in touched] for page in PLANNERS[name](cold)]
        page_of = {
            number: place for place, page in enumerate(filter(None, pages)) for number in page
        }
        touches = np.array([page_of[number] for number in cold.touches.tolist()], np.uint16)
        times = np.arange(len(touches), dtype=np.uint64)
        faults[name] = replay(PageTouches(touches, times, len(pages)), Cache(cold.frames)).loads
    assert Touched(cold).faults_bound() <= faults["replayed"] < 0.8 * faults["profile-based"]
    assert faults["profile-based"] < faults["link-order"]
