"""`tau tlb discover` on the simulated tile, whose registers hold sets and ways.

Method: the same procedure, in exact cycles, on shapes with and without a second level, linear and
hashed. Algorithm 1 counts misses. The result must be the shape.
"""

from collections.abc import Callable

import numpy as np
import pytest

from tautochrone.tlb.discover.checks import check_of, find_bits
from tautochrone.tlb.discover.index import Index
from tautochrone.tlb.discover.linear import reduced
from tautochrone.tlb.discover.meter import Limit
from tautochrone.tlb.discover.procedure import Found, discover
from tautochrone.tlb.discover.processors.oracle import Pages
from tautochrone.tlb.discover.processors.tile import TESTED_BITS, Tile
from tautochrone.tlb.geometry import DATA
from tautochrone.tlb.tile.shape import Shape, parsed

LATENCY = 16
SAFE: dict[str, Callable[[int], int]] = {
    "lru": lambda ways: ways,
    "plru": lambda ways: ways.bit_length(),
    "random": lambda _: 1,
}


def found_on(shape: Shape) -> Found:
    """What the procedure finds."""
    with Tile(shape) as tile:
        return discover(tile, 1, Limit())


def check(shape: Shape, found: Found) -> None:
    """All of it is true."""
    truth = [each for each in shape.geometry().structures if each.role == DATA]
    mask = (1 << TESTED_BITS) - 1
    assert len(found.arrays) == len(truth) == len(shape.levels)
    for array, structure, (sets, ways) in zip(found.arrays, truth, shape.levels, strict=True):
        assert array.level is not None and not array.unknown, array.unknown
        assert array.level.index.sets == sets
        rows = [row & mask for row in structure.rows]
        assert reduced(array.level.index.rows) == reduced(rows)
        assert array.level.ways.least <= ways <= array.level.ways.most
        assert array.safe is not None and array.safe.count <= SAFE[shape.policy](ways)
        counted = [each for each in array.checks if each.name == "Algorithm 1"]
        assert len(counted) == (not shape.is_hashed)
        assert all(each.is_passed for each in array.checks)
    assert found.sharing is not None and not found.sharing.rows
    assert found.is_verified


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["lru", "plru", "random"])
@pytest.mark.parametrize("name", ["16x4", "16x4:xor", "16x4+128x4", "16x4+128x4:xor"])
def test_the_shape_is_found(name: str, policy: str) -> None:
    shape = parsed(name, policy, LATENCY)
    found = found_on(shape)
    print(f"{name}, {policy}: {found.calls} walks, {found.wall_seconds:.0f} s")
    check(shape, found)


class Counter:
    """Counts misses of a TLB with LRU, one set after another."""

    counted_levels = (0,)

    def __init__(self, sets: int, ways: int) -> None:
        self.sets, self.ways = sets, ways

    def misses(self, pages: Pages, level: int) -> float:
        """Every access to a set with more pages than ways misses."""
        assert level == 0
        counts = np.bincount(pages.astype(int) % self.sets, minlength=self.sets)
        return float(counts[counts > self.ways].sum())


@pytest.mark.parametrize("bits", range(6))
@pytest.mark.parametrize("ways", [1, 2, 3, 4, 12])
def test_algorithm_1_counts_the_bits_of_a_linear_index(bits: int, ways: int) -> None:
    counter = Counter(1 << bits, ways)
    assert find_bits(counter, 0, ways, 20) == bits
    right = Index(tuple(1 << bit for bit in range(bits)), ())
    assert check_of(counter, 0, right, ways, 20).is_passed
    wrong = Index(tuple(1 << bit for bit in range(bits + 1)), ())
    assert not check_of(counter, 0, wrong, ways, 20).is_passed


def test_algorithm_1_finds_nothing_where_nothing_conflicts() -> None:
    assert find_bits(Counter(1 << 12, 4), 0, 4, 10) is None
