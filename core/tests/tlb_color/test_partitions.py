"""Partitions of a TLB: against the model, and on all known geometries."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace
from itertools import combinations

import pytest

from core.tests.kit.core_build import Build, build_library
from core.tests.tlb_color.native_tlb_color import Native
from model.tlb_color.ownership import (
    CODE,
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
from tautochrone.declarations import Library
from tautochrone.tlb.geometry import known_geometry, known_names

SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
PAGE = 4096
RANDOM_PARTITIONS = 1500
PRINCIPALS = (8, 16)
WINDOW_PAGES_LOG2_MIN = 12


# ---- Against the model --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The core as a shared library."""
    return Library(build_library(Build(64), tmp_path_factory.mktemp("core")))


def random_geometry(dice: random.Random) -> Geometry:
    """Up to three arrays; now and then with something wrong."""
    arrays, structures = [], []
    for number in range(dice.randint(1, 3)):
        bits = dice.randint(0, 4)
        ways = dice.randint(1, 6)
        safe = dice.randint(1, ways) if dice.random() < 0.98 else dice.choice([0, ways + 1])
        arrays.append(Array(1 << bits, ways, safe))
        for role, size in ((DATA, PAGE), (DIRECTORY, 8 * PAGE), (CODE, PAGE)):
            if role != DATA and dice.random() < 0.6:
                continue
            low = 8 if size > PAGE else 1
            rows = [low << bit for bit in range(bits)]
            for bit in range(bits):  # stays independent: only later rows are joined
                for other in range(bit + 1, bits):
                    rows[bit] ^= rows[other] * dice.randint(0, 1)
                rows[bit] ^= low << (bits + dice.randint(0, 2)) if dice.random() < 0.5 else 0
            if rows and dice.random() < 0.02:
                rows[0] = dice.choice([0, 1, rows[-1]])
            constant = dice.randint(0, (1 << bits) - (dice.random() < 0.98))
            structures.append(Structure(role, size, number, tuple(rows), constant))
    return Geometry(PAGE, tuple(arrays), tuple(structures))


def random_partition(dice: random.Random) -> Partition:
    """Up to three principals, whose sets and windows are mostly apart."""
    geometry = random_geometry(dice)
    count = dice.randint(1, 3)
    owners = [
        [dice.randrange(2 * count) // 2 for _ in range(each.sets)] for each in geometry.arrays
    ]
    if dice.random() < 0.5:
        owners = [sorted(each) for each in owners]
    principals = []
    for number in range(count):
        sets = [{index for index, owner in enumerate(each) if owner == number} for each in owners]
        if dice.random() < 0.05:
            sets[-1].add(dice.randrange(len(owners[-1]) + 1))
        if dice.random() < 0.1:
            sets[0].add(dice.randrange(len(owners[0])))
        start = number if dice.random() < 0.97 else dice.randint(0, count)
        pages = 1 << dice.randint(1, 7)
        window = Window((1 << 44) + start * 128 * PAGE, pages * PAGE, PAGE)
        if dice.random() < 0.02:
            window = replace(window, start=window.start + PAGE)
        taken = [dice.choice([0, 0, 0, 1]) for _ in sets]
        principals.append(Principal(sets, [window], taken, dice.choice([0, 0, 0, 1, 1, 2])))
    return Partition(geometry, principals)


def test_random_partitions_are_the_models(library: Library) -> None:
    """Status and runs of random partitions, right and wrong ones; every status must occur."""
    dice = random.Random(SEED)
    seen: Counter[str] = Counter()
    for turn in range(RANDOM_PARTITIONS):
        partition = random_partition(dice)
        native = Native(library, partition)
        context = f"seed {SEED}, partition {turn}: {partition}"
        assert native.check() == partition.check(), context
        for number in range(len(partition.principals)):
            for mode in (ISOLATED, NO_MISS):
                pages = dice.choice([0, 1, 2, 3, dice.randint(1, 40)])
                status, chosen = partition.heap(number, 0, pages, mode)
                expected = status, runs_of(chosen, PAGE)
                assert native.heap(number, 0, pages, mode) == expected, (context, pages)
                seen[status] += 1
    print(dict(seen))
    wanted = "OK BAD_ARGUMENT SETS_OUTSIDE SETS_OWNED WINDOW_FULL WAYS_EXCEEDED"
    assert set(seen) == set(wanted.split())


# ---- Every known geometry -----------------------------------------------------------------------


def model_of(name: str) -> Geometry:
    """A known geometry as the model's."""
    known = known_geometry(name)
    arrays = (Array(each.sets, each.ways, each.safe_ways) for each in known.arrays)
    structures = (
        Structure(each.role, each.page_bytes, each.array, each.rows, each.constant)
        for each in known.structures
    )
    return Geometry(known.page_bytes, tuple(arrays), tuple(structures))


def equal_shares(geometry: Geometry, count: int) -> Partition:
    """Each has an equal share of each array and a window of whole index periods.

    Who has set s of the smallest array has all sets of the others that equal s modulo its sets.
    """
    rows = [row for structure in geometry.structures for row in structure.rows]
    size = geometry.page_bytes << max(WINDOW_PAGES_LOG2_MIN, *(row.bit_length() for row in rows))
    least = min(array.sets for array in geometry.arrays if array.sets > 1)
    principals = []
    for number in range(count):
        sets = [
            [index for index in range(array.sets) if index % least * count // least == number]
            for array in geometry.arrays
        ]
        window = Window((number + 1) * size, size, geometry.page_bytes)
        principals.append(Principal(sets, [window]))
    return Partition(geometry, principals)


def sets_used(
    truth: Geometry, native: Native, number: int, page_bytes: int
) -> tuple[set[tuple[int, int]], int]:
    """The colorable (array, index) of all pages that a principal can have, and how many these
    are."""
    pages = native.most_pages(number, 0)
    status, runs = native.heap(number, 0, pages, ISOLATED)
    assert status == "OK"
    used = {
        (structure.array, structure.index(address // truth.page_bytes))
        for start, size in runs
        for address in range(start, start + size, page_bytes)
        for structure in truth.translating(page_bytes)
        if truth.arrays[structure.array].sets > 1
    }
    return used, pages


@pytest.mark.parametrize("count", PRINCIPALS)
@pytest.mark.parametrize("name", known_names())
def test_no_two_principals_share_a_set(name: str, count: int, library: Library) -> None:
    """Every page that each of them can ever have, over a whole index period."""
    geometry = model_of(name)
    partition = equal_shares(geometry, count)
    native = Native(library, partition)
    assert native.check() == "OK"
    found = []
    for number, principal in enumerate(partition.principals):
        used, pages = sets_used(geometry, native, number, PAGE)
        owned = {
            (array, index)
            for array, facts in enumerate(geometry.arrays)
            if facts.sets > 1
            for index in principal.sets[array]
        }
        assert pages > 0
        assert used <= owned
        found.append(used)
    assert not any(one & other for one, other in combinations(found, 2))


def without_directories(geometry: Geometry) -> Geometry:
    """As one who colors pages only."""
    kept = tuple(each for each in geometry.structures if each.role != DIRECTORY)
    return replace(geometry, structures=kept)


def with_wrong_bit(geometry: Geometry) -> Geometry:
    """As one who takes VA[19] for VA[21]."""
    changed = tuple(
        replace(each, rows=tuple(0x80 if row == 0x200 else row for row in each.rows))
        for each in geometry.structures
        if each.role != DIRECTORY
    )
    return replace(geometry, structures=changed)


@pytest.mark.parametrize("belief_of", [without_directories, with_wrong_bit])
def test_a_wrong_belief_is_seen(belief_of: object, library: Library) -> None:
    """Zen 4 without its directory entries, or with one index bit wrong: principals meet."""
    truth = model_of("zen4")
    believed = belief_of(truth)  # type: ignore[operator]
    partition = equal_shares(believed, 8)
    size = 1 << 30
    for number, principal in enumerate(partition.principals):
        window = Window((number + 1) * size, size, PAGE)
        partition.principals[number] = replace(principal, windows=[window])
    native = Native(library, partition)
    found = [sets_used(truth, native, number, PAGE)[0] for number in range(2)]
    assert found[0] & found[1]
