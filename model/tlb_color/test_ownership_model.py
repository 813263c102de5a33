"""The model of TLB coloring against what can be counted on fingers."""

from __future__ import annotations

from itertools import combinations

from model.tlb_color.ownership import (
    DATA,
    DIRECTORY,
    ISOLATED,
    NO_MISS,
    Array,
    Geometry,
    Partition,
    Principal,
    Structure,
    Window,
    runs_of,
)

PAGE = 4096
LINEAR = (1, 2, 4, 8)
PAPER = Geometry(PAGE, (Array(16, 4, 4),), (Structure(DATA, PAGE, 0, LINEAR),))


def principal(first: int, count: int, start: int, pages: int, taken: int = 0) -> Principal:
    window = Window(start * PAGE, pages * PAGE, PAGE)
    return Principal((range(first, first + count),), (window,), (taken,))


def test_a_linear_index_gives_runs_of_its_sets() -> None:
    """Four sets of sixteen: four pages of every sixteen."""
    partition = Partition(PAPER, [principal(4, 4, 64, 64)])
    status, pages = partition.heap(0, 0, 16, ISOLATED)
    assert status == "OK"
    assert runs_of(pages, PAGE) == [
        ((64 + 16 * turn + 4) * PAGE, 4 * PAGE) for turn in range(4)
    ]


def test_a_set_holds_its_safe_ways() -> None:
    """16 pages in 4 sets of 4 ways; one way less, or one page more, is refused."""
    pages = 16
    assert Partition(PAPER, [principal(4, 4, 128, 128)]).heap(0, 0, pages, NO_MISS)[0] == "OK"
    taken = Partition(PAPER, [principal(4, 4, 128, 128, taken=1)])
    assert taken.heap(0, 0, pages, NO_MISS)[0] == "WAYS_EXCEEDED"
    assert taken.heap(0, 0, pages, ISOLATED)[0] == "OK"
    more = Partition(PAPER, [principal(4, 4, 128, 128)])
    assert more.heap(0, 0, pages + 1, NO_MISS)[0] == "WAYS_EXCEEDED"


def test_the_last_page_of_a_window_is_never_handed_out() -> None:
    """So the run of sets 12 to 15 at its end is a page shorter."""
    partition = Partition(PAPER, [principal(12, 4, 32, 16)])
    assert partition.heap(0, 0, 3, ISOLATED) == ("OK", [page * PAGE for page in (44, 45, 46)])
    assert partition.heap(0, 0, 4, ISOLATED) == ("WINDOW_FULL", [])


def test_owners_and_windows_are_apart() -> None:
    """Each way in which two principals can meet."""
    first = principal(0, 4, 64, 64)
    for other, status in (
        (principal(4, 4, 128, 64), "OK"),
        (principal(3, 4, 128, 64), "SETS_OWNED"),
        (principal(4, 4, 64, 32), "SETS_OWNED"),
        (principal(14, 3, 128, 64), "SETS_OUTSIDE"),
        (principal(4, 4, 96, 64), "BAD_ARGUMENT"),
    ):
        assert Partition(PAPER, [first, other]).check() == status


def test_directory_entries_count_once_and_must_be_owned() -> None:
    """A directory entry covers 4 pages and goes to the array of the pages."""
    directory = Structure(DIRECTORY, 4 * PAGE, 0, (4, 8), constant=1)
    geometry = Geometry(
        PAGE, (Array(4, 2, 2),), (Structure(DATA, PAGE, 0, (1, 2)), directory)
    )
    partition = Partition(geometry, [principal(0, 2, 0, 64)])
    everything = partition.admissible(partition.principals[0], Window(0, 64 * PAGE, PAGE))
    assert [address // PAGE for address in everything] == [
        *(0, 1, 4, 5, 16, 17, 20, 21, 32, 33, 36, 37, 48, 49, 52, 53)
    ]
    counts = partition.entries(PAGE, everything[:2])
    assert counts == {(0, 0): 1, (0, 1): 2}
    assert partition.heap(0, 0, 2, NO_MISS)[0] == "OK"
    assert partition.heap(0, 0, 4, NO_MISS)[0] == "WAYS_EXCEEDED"


def test_an_array_of_one_set_asks_for_nothing() -> None:
    """Whoever owns nothing of it may use it."""
    geometry = Geometry(
        PAGE,
        (Array(1, 8, 1), Array(16, 4, 4)),
        (Structure(DATA, PAGE, 0, ()), Structure(DATA, PAGE, 1, LINEAR)),
    )
    window = Window(0, 64 * PAGE, PAGE)
    alone = Principal((range(0), range(4)), (window,), (0, 0))
    assert Partition(geometry, [alone]).heap(0, 0, 15, NO_MISS)[0] == "OK"


def test_no_page_has_two_owners() -> None:
    """Four principals of a hashed index, every page of its period."""
    hashed = Geometry(
        PAGE,
        (Array(4, 1, 1), Array(16, 1, 1)),
        (Structure(DATA, PAGE, 0, (1, 2)), Structure(DATA, PAGE, 1, (17, 34, 68, 136))),
    )
    window = Window(0, 256 * PAGE, PAGE)
    partition = Partition(hashed)
    found = []
    for number in range(4):
        sets = (range(number, number + 1), range(4 * number, 4 * number + 4))
        found.append(set(partition.admissible(Principal(sets, (window,), (0, 0)), window)))
        assert len(found[-1]) in (15, 16)
    assert not any(one & other for one, other in combinations(found, 2))


def test_wrong_geometries_are_told() -> None:
    """Rows that depend on each other, are too few or inside a page; ways that are not there."""
    for array, rows, constant, size in (
        (Array(16, 4, 4), (1, 2, 4, 7), 0, PAGE),
        (Array(16, 4, 4), (1, 2, 4), 0, PAGE),
        (Array(16, 4, 4), LINEAR, 16, PAGE),
        (Array(16, 4, 4), LINEAR, 0, 2 * PAGE),
        (Array(16, 4, 5), LINEAR, 0, PAGE),
        (Array(16, 4, 0), LINEAR, 0, PAGE),
        (Array(3, 4, 4), LINEAR, 0, PAGE),
    ):
        geometry = Geometry(PAGE, (array,), (Structure(DATA, size, 0, rows, constant),))
        assert Partition(geometry).check() == "BAD_ARGUMENT"
    twice = Geometry(PAGE, PAPER.arrays, 2 * PAPER.structures)
    assert Partition(twice).check() == "BAD_ARGUMENT"
