"""Evictions by whom: none crosses principals that own their sets, whatever the replacement."""

from __future__ import annotations

import os
import random

import pytest

from core.tests.kit.core_build import Build, build_library
from core.tests.tlb_color.native_tlb_color import Native
from core.tests.tlb_color.test_partitions import (
    equal_shares,
    model_of,
    with_wrong_bit,
    without_directories,
)
from model import tlb
from model.tlb_color.ownership import DATA, ISOLATED, Array, Geometry, Partition, Structure
from model.tlb_color.simulator import LRU, PLRU, POLICIES, SEED_MAX, Simulator
from tautochrone.declarations import Library
from tautochrone.tlb.geometry import known_names

SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
PAGE = 4096
PAGES, HOSTILE_PAGES = 24, 1600  # of a task and of the hostile one, if its window has as many
ACCESSES = 25  # by a task until the next one runs
PRINCIPALS = (8, 16)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The core as a shared library."""
    return Library(build_library(Build(64), tmp_path_factory.mktemp("core")))


def wanted_pages(number: int) -> int:
    """How many pages a principal wants; the first is the hostile one."""
    return HOSTILE_PAGES if number == 0 else PAGES


def colored_pages(library: Library, partition: Partition) -> list[list[int]]:
    """The pages that the core gives each principal."""
    native = Native(library, partition)
    found = []
    for number in range(len(partition.principals)):
        status, runs = native.heap(number, 0, wanted_pages(number), ISOLATED)
        if status == "WINDOW_FULL":
            status, runs = native.heap(number, 0, native.most_pages(number, 0), ISOLATED)
        assert status == "OK"
        found.append([at for start, size in runs for at in range(start, start + size, PAGE)])
    return found


def arenas(pages: list[list[int]], partition: Partition) -> list[list[int]]:
    """As many pages of each principal, the lowest of its window, as allocators do."""
    return [
        [principal.windows[0].start + number * PAGE for number in range(len(own))]
        for own, principal in zip(pages, partition.principals, strict=True)
    ]


def run(geometry: Geometry, policy: str, pages: list[list[int]], turns: int) -> Simulator:
    """Tasks at random; every second turn is the hostile one's, which walks through its pages."""
    dice = random.Random(SEED)
    simulator = Simulator(geometry, policy, 1 + SEED % SEED_MAX)
    swept = 0
    for turn in range(turns):
        owner = 0 if turn % 2 else dice.randrange(1, len(pages))
        for _ in range(ACCESSES):
            page = pages[0][swept % len(pages[0])] if owner == 0 else dice.choice(pages[owner])
            swept += owner == 0
            simulator.access(owner, page, PAGE)
    return simulator


def expect_isolated(name: str, count: int, turns: int, library: Library) -> None:
    """No cross eviction with colors, with every policy; some without."""
    geometry = model_of(name)
    partition = equal_shares(geometry, count)
    colored = colored_pages(library, partition)
    plain = arenas(colored, partition)
    for policy in POLICIES:
        assert run(geometry, policy, colored, turns).cross_count == 0, policy
        assert run(geometry, policy, plain, turns).cross_count > 0, policy


@pytest.mark.parametrize("count", PRINCIPALS)
@pytest.mark.parametrize("name", known_names())
def test_nothing_crosses(name: str, count: int, library: Library) -> None:
    """Ten geometries, five policies, one hostile task: long enough to fill the largest array."""
    entries = max(array.sets * array.ways for array in model_of(name).arrays)
    expect_isolated(name, count, 40 + entries // 12, library)


@pytest.mark.slow
@pytest.mark.parametrize("count", PRINCIPALS)
@pytest.mark.parametrize("name", known_names())
def test_nothing_crosses_for_long(name: str, count: int, library: Library) -> None:
    """The same with 20,000 accesses."""
    expect_isolated(name, count, 800, library)


@pytest.mark.parametrize("belief_of", [without_directories, with_wrong_bit])
def test_a_wrong_belief_crosses(belief_of: object, library: Library) -> None:
    """Zen 4 colored without directory entries, or with one index bit wrong."""
    truth = model_of("zen4")
    partition = equal_shares(truth, 8)
    believed = Partition(belief_of(truth), partition.principals)  # type: ignore[operator]
    simulator = run(truth, LRU, colored_pages(library, believed), 300)
    assert simulator.cross_count > 0


@pytest.mark.parametrize(("policy", "number"), [(LRU, tlb.LRU), (PLRU, tlb.PLRU)])
@pytest.mark.parametrize("ways", [1, 2, 4, 8])
def test_a_level_is_the_tiles(policy: str, number: int, ways: int) -> None:
    """Each access hits, misses and evicts as in model/tlb.py."""
    rows = (1, 2, 4, 8)
    geometry = Geometry(PAGE, (Array(16, ways, 1),), (Structure(DATA, PAGE, 0, rows),))
    simulator = Simulator(geometry, policy, 1 + SEED % SEED_MAX)
    level = tlb.Level(16, ways, tlb.MODULO, number)
    dice = random.Random(SEED)
    evictions = 0
    for turn in range(4000):
        owner, page = turn // 10 % 3, dice.randrange(24 * ways)
        misses = simulator.misses.total()
        simulator.access(owner, page * PAGE, PAGE)
        entry = level.find(page, owner)
        assert (entry is None) == (simulator.misses.total() > misses)
        if entry is not None:
            level.touch(entry)
        else:
            new = tlb.Entry(page, 0, 0, owner, is_shared=True)
            evicted = level.fill(new, level.ways_of(page))
            evictions += evicted is not None
            kept = {(at.page, at.owner) for ways in level.entries for at in ways if at}
            own = [at for ways in simulator.sets.values() for at in ways.ways if at]
            assert kept == {(at.number, at.owner) for at in own}
    assert evictions == simulator.evictions.total() > 0
