"""The golden models of frames, validity and address spaces: the paper's examples, answers worked
out by hand, and one model against the other on memory full of anything.
"""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest

from model.frames import Frames, Machine
from model.validity import InitializationFreeArray, PagesValidity
from model.vspace import READ, RIGHTS, WRITE, Space

SEED = int(os.environ.get("TAU_TEST_SEED", "1"))


def machine(frames_count: int) -> Frames:
    """A shared pool with all frames of a machine."""
    pool = Frames(Machine(frames_count))
    assert pool.add(0, frames_count) == "OK"
    return pool


def test_figure_1() -> None:
    """[P0-14] s[h[4]] = 4 by accident, but sp = 1: d[4] is not z."""
    array = InitializationFreeArray(8, lambda name, index: 5)
    array.write(2, "x")
    array.write(6, "y")
    array.data[4], array.helper[4], array.stack[3] = "z", 3, 4
    assert array.stack[array.helper[4]] == 4
    assert array.sp == 1
    assert [array.read(i) for i in range(8)] == [None, None, "x", None, None, None, "y", None]
    array.clear()
    assert [array.read(i) for i in range(8)] == [None] * 8


def test_initialization_free_array_is_an_array() -> None:
    """[P0-13] Read, write and clear as a dictionary, on random memory."""
    source = random.Random(SEED)
    print(f"seed {SEED} (TAU_TEST_SEED)")
    for _ in range(200):
        size = source.randrange(1, 12)
        array = InitializationFreeArray(size, lambda name, index: source.randrange(-2, 14))
        expected: dict[int, int] = {}
        for _ in range(100):
            index = source.randrange(size)
            if source.randrange(30) == 0:
                array.clear()
                expected.clear()
            elif source.randrange(2):
                array.write(index, expected.setdefault(index, source.randrange(100)))
                array.write(index, expected[index])
            assert [array.read(i) for i in range(size)] == [expected.get(i) for i in range(size)]


def hostile(source: random.Random, pages: int) -> list[int]:
    """Memory that looks like an earlier space's tables, mostly."""
    limit = source.choice((pages, pages, pages, 2**32))
    return [source.randrange(limit) for _ in range(pages)]


def test_validity_says_what_the_space_says() -> None:
    """[P0-24, P0-25] Arrays and cache never translate wrongly; each case of Lemma 1 occurs."""
    source = random.Random(SEED)
    print(f"seed {SEED} (TAU_TEST_SEED)")
    cases: Counter[str] = Counter()
    for _ in range(60):
        pages_log2 = source.randrange(1, 6)
        space = Space(pages_log2, machine(20))
        count = space.pages_count
        arrays = PagesValidity(count, *(hostile(source, count) for _ in range(4)))
        for _ in range(300):
            page = source.randrange(1, count)
            region = space.region_of(page)
            if region is None:
                if space.map_region(page, source.randrange(1, 8), RIGHTS) == "OK":
                    arrays.clear(page)
            elif source.randrange(6) == 0:
                chain = arrays.frames_newest_first(region.start)
                assert chain == list(reversed(region.mapped.values()))
                assert space.unmap_region(region.start) == "OK"
                assert space.pool.dirty[: len(chain)] == chain
                arrays.clear(region.start)
            elif space.map_page(page, READ) == "OK":
                assert not arrays.is_mapped(region.start, page)
                arrays.map_page(region.start, page, space.mapped[page])
            mapped = space.mapped
            for other in range(count):
                cases[arrays.case(other)] += 1
                assert arrays.lookup(other) == mapped.get(other)
    print(dict(cases))
    assert set(cases) == {"1", "2.1", "2.2", "mapped"}


@pytest.mark.parametrize(("pages_log2", "reason"), [(0, "TOO_SMALL"), (36, "TOO_LARGE")])
def test_sizes_that_are_not_a_space(pages_log2: int, reason: str) -> None:
    """One page would be page 0; 2^36 is beyond the words."""
    with pytest.raises(ValueError, match=reason):
        Space(pages_log2, machine(1))


def test_reasons_come_in_the_order_of_the_header() -> None:
    """Each reason with all that come after it."""
    space = Space(4, machine(2))
    assert space.map_region(0, 0, RIGHTS) == "BAD_ARGUMENT"
    assert space.map_region(0, 100, RIGHTS + 1) == "BAD_ARGUMENT"
    assert space.map_region(0, 100, RIGHTS) == "PAGE_ZERO"
    assert space.map_region(16, 100, RIGHTS) == "PAGE_OUTSIDE"
    assert space.map_region(3, 4, READ) == "OK"
    assert space.map_region(4, 100, READ) == "REGION_TOO_LARGE"
    assert space.map_region(6, 2, READ) == "REGION_OVERLAPS"
    assert space.map_page(7, WRITE) == "NOT_IN_REGION"
    assert space.map_page(3, WRITE) == "ACCESS_DENIED"
    assert space.map_page(3, READ) == "OK"
    assert space.map_page(3, WRITE) == "ACCESS_DENIED"
    assert space.map_page(3, READ) == "PAGE_MAPPED"
    assert space.map_page(4, READ) == "OK"
    assert space.map_page(3, READ) == "PAGE_MAPPED"
    assert space.map_page(5, READ) == "NO_FRAME"
    assert space.translate(3, READ) == ("OK", 0)
    assert space.translate(3, WRITE) == ("ACCESS_DENIED", None)
    assert space.unmap_region(4) == "NOT_A_REGION"
    assert space.starts() == [0, 3, 7]
    assert space.unmap_region(3) == "OK"
    assert space.starts() == [0]
    assert space.pool.dirty == [1, 0]


def test_admission() -> None:
    """[P0-45] A committed space is refused what its pool would not hold, then never again."""
    shared = machine(6)
    pool = shared.reserve(4)
    assert pool is not None
    space = Space(4, pool, commits=True)
    assert space.map_region(1, 5, RIGHTS) == "NOT_ADMITTED"
    assert space.map_region(1, 3, RIGHTS) == "OK"
    assert space.map_region(8, 2, RIGHTS) == "NOT_ADMITTED"
    assert space.map_region(8, 1, RIGHTS) == "OK"
    assert [space.map_page(page, READ) for page in (1, 2, 3, 8)] == ["OK"] * 4
    assert shared.reserve(3) is None
    assert shared.free_count == 2
