"""The golden model of Sv39 regions against answers worked out by hand."""

from __future__ import annotations

import random

from model.sv39 import LARGE_PAGES, READ, SMALL_PAGES, SPACE_PAGES, WRITE, Pools, Space


def test_tables_of_each_kind_of_region() -> None:
    """Small: one, and one that its GiB's small ones share. Large: one, and one for each 2 MiB."""
    pools = Pools(10_000, 1000)
    space = Space(pools)
    assert pools.tables_free == 999
    assert space.map_region(SMALL_PAGES + 9, 5, READ) == "OK"
    assert pools.tables_free == 997
    assert space.map_region(2 * SMALL_PAGES, SMALL_PAGES, READ) == "OK"
    assert pools.tables_free == 996
    assert space.map_region(LARGE_PAGES + SMALL_PAGES - 1, 2, READ | WRITE) == "OK"
    assert pools.tables_free == 995
    for page, left in ((SMALL_PAGES - 1, 994), (SMALL_PAGES, 993)):
        assert space.store(LARGE_PAGES + page, 0, 1) == "OK"
        assert pools.tables_free == left
    assert space.unmap_region(LARGE_PAGES + SMALL_PAGES - 1) == "OK"
    assert (pools.tables_free, pools.pages_free) == (996, 10_000)
    assert space.unmap_region(SMALL_PAGES + 9) == "OK"
    assert space.unmap_region(2 * SMALL_PAGES) == "OK"
    assert pools.tables_free == 998  # the shared table stays
    assert space.map_region(5, LARGE_PAGES - 5, READ) == "OK"
    assert pools.tables_free == 998  # and is the large region's now
    space.close()
    assert pools.tables_free == 1000


def test_slots_exclude_each_other() -> None:
    """A region keeps its whole slot; large and small ones keep each other out."""
    space = Space(Pools(100, None))
    assert space.map_region(SMALL_PAGES, 1, READ) == "OK"
    assert space.map_region(2 * SMALL_PAGES - 1, 1, READ) == "REGION_OVERLAPS"
    assert space.map_region(2 * SMALL_PAGES, 1, READ) == "OK"
    assert space.map_region(3 * SMALL_PAGES - 1, 2, READ) == "REGION_OVERLAPS"
    assert space.map_region(LARGE_PAGES - 1, 2, READ) == "REGION_TOO_LARGE"
    assert space.map_region(SPACE_PAGES - 1, 1, READ) == "OK"


def test_what_is_taken_comes_back() -> None:
    """Random regions and accesses; at the end the pool is as it was."""
    seed = 20261120
    choose = random.Random(seed)
    pools = Pools(300, None)
    spaces = [Space(pools) for _ in range(2)]
    for _ in range(3000):
        space = choose.choice(spaces)
        start = choose.randrange(1, 6 * SMALL_PAGES)
        space.map_region(start, choose.choice((1, 5, 700)), READ | WRITE)
        space.store(start + choose.randrange(700), 8, choose.getrandbits(64))
        if choose.random() < 0.3 and space.regions:
            space.unmap_region(choose.choice(space.regions).start)
        assert pools.pages_free >= 0
        assert space.mapped_pages <= 300
    for space in spaces:
        space.close()
    assert pools.pages_free == 300, seed
