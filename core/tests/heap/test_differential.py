"""The compiled core against the golden models: the same calls, the same offsets, the same numbers.

Every returned offset is compared, so the models predict the placement exactly. Random programs run
hundreds of thousands of calls; short programs are run exhaustively.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator

import pytest

from core.tests.kit.core_build import Build, build_library
from core.tests.kit.native_heap import NativeBudget, NativeTlsf, budget_size
from model.budget import Budget
from model.tlsf import Tlsf
from tautochrone.declarations import Library

SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
WALK_EVERY = 64  # calls between two comparisons of all blocks


BUILDS = [(32, 2), (64, 1)]
MORE_BUILDS = [(32, 1), (64, 0)]


@pytest.fixture(
    scope="module",
    params=[*BUILDS, *(pytest.param(each, marks=pytest.mark.slow) for each in MORE_BUILDS)],
    ids=str,
)
def core(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Library, int, int]:
    """The core, its word size in bits, and its check level."""
    word_bits, check_level = request.param
    build = Build(word_bits, check_level, optimize="-O2")
    path = build_library(build, tmp_path_factory.mktemp("core"))
    return Library(path), word_bits, check_level


def tlsf_pair(
    core: tuple[Library, int, int], size_bytes: int, start: int = 0, pool_max_bytes: int = 0
) -> tuple[NativeTlsf, Tlsf]:
    """A compiled heap and its model in memory of the same address."""
    library, word_bits, check_level = core
    native = NativeTlsf(library, size_bytes, start=start, pool_max_bytes=pool_max_bytes)
    control_bytes = native.statistics.control_bytes
    model = Tlsf(size_bytes, control_bytes, word_bits, check_level, pool_max_bytes, native.base)
    return native, model


def assert_same_blocks(native: NativeTlsf, model: Tlsf) -> None:
    """The walk visits the model's blocks, the newest pool first and the first pool last."""
    pools = [*reversed(model.pools[1:]), model.pools[0]]
    expected = [
        (block.payload, model.visible_size(block), block.is_free)
        for pool in pools
        for block in pool.blocks
    ]
    assert native.blocks() == expected


def assert_same_statistics(native: NativeTlsf, model: Tlsf) -> None:
    """All O(1) statistics equal the model's sums."""
    now = native.statistics
    assert now.used_bytes == model.used_bytes
    assert now.peak_used_bytes == model.peak_used_bytes
    assert now.capacity_bytes == model.capacity_bytes
    assert now.free_bytes == model.capacity_bytes - model.used_bytes
    assert now.largest_free_bytes == model.largest_free_bytes
    assert now.out_of_memory_count == model.out_of_memory_count


def random_size(source: random.Random, heap_bytes: int) -> int:
    """Mostly small, sometimes about the heap's size, seldom absurd."""
    kind = source.randrange(40)
    if kind == 0:
        return 2**64 - 1 - source.randrange(64)
    if kind < 4:
        return source.randrange(heap_bytes)
    return int(2 ** source.uniform(0, 9))


def random_calls(source: random.Random, heap_bytes: int, live: list[int]) -> Iterator[tuple]:
    """Calls without end. LIVE holds the objects' offsets and is kept by the caller."""
    while True:
        size = random_size(source, heap_bytes)
        kind = source.randrange(20)
        if not live or kind < 6:
            yield "malloc", size
        elif kind < 8:
            yield "aligned_alloc", 1 << source.randrange(14), size
        elif kind == 8:
            yield "calloc", source.randrange(4), size
        elif kind < 13:
            yield "realloc", source.choice(live), size
        elif kind == 13:
            yield "realloc", None, size
        else:
            yield "free", source.choice(live)


def run_both(native: object, model: object, call: tuple, live: list[int]) -> None:
    """Runs CALL on both and keeps LIVE. Raises AssertionError if they answer differently."""
    name, *arguments = call
    theirs = getattr(native, name)(*arguments)
    ours = getattr(model, name)(*arguments)
    assert theirs == ours, f"{call}: {theirs} is not the model's {ours}"
    if name == "free":
        live.remove(arguments[0])
    elif name == "realloc" and arguments[0] is not None:
        if ours is not None or arguments[1] == 0:
            live.remove(arguments[0])
    if name != "free" and ours is not None:
        live.append(ours)
        assert native.usable_size(ours) == model.usable_size(ours)


def run_program(native: NativeTlsf, model: Tlsf, source: random.Random, calls_count: int) -> None:
    """CALLS_COUNT random calls on both heaps; pools are added on the way."""
    live: list[int] = []
    heap_bytes = model.capacity_bytes
    pool_start = 1 << 17
    calls = random_calls(source, heap_bytes, live)
    for number, call in enumerate(itertools.islice(calls, calls_count)):
        run_both(native, model, call, live)
        assert_same_statistics(native, model)
        if number % WALK_EVERY == 0:
            assert_same_blocks(native, model)
        if source.randrange(2000) == 0 and len(model.pools) < 4:
            pool_start += source.randrange(100)
            pool_bytes = source.randrange(heap_bytes)
            status = native.add_pool(pool_start, pool_bytes)
            assert status == model.add_pool(pool_start, pool_bytes)
            pool_start += pool_bytes
    for offset in list(live):
        run_both(native, model, ("free", offset), live)
    assert_same_blocks(native, model)


def random_programs(core: tuple[Library, int, int], seeds: range, calls_count: int) -> None:
    """One program a seed, each on a heap of its own shape."""
    for seed in seeds:
        print(f"seed {seed} (TAU_TEST_SEED)")
        source = random.Random(seed)
        size_bytes = 1024 + source.randrange(1 << source.randrange(1, 15))
        native, model = tlsf_pair(core, size_bytes, source.randrange(64))
        run_program(native, model, source, calls_count)


def test_tlsf_places_as_the_model(core: tuple[Library, int, int]) -> None:
    """A hundred and twenty thousand calls in each configuration."""
    random_programs(core, range(SEED, SEED + 40), 3000)


@pytest.mark.slow
def test_tlsf_places_as_the_model_for_long(core: tuple[Library, int, int]) -> None:
    """Another million calls in each configuration."""
    random_programs(core, range(SEED + 1000, SEED + 1250), 4000)


@pytest.mark.parametrize("size_bytes", [1 << bits for bits in range(10, 18)])
@pytest.mark.parametrize("start", [0, 1, 7, 8, 15])
def test_tlsf_lays_out_as_the_model(
    core: tuple[Library, int, int], size_bytes: int, start: int
) -> None:
    """The first pool and the classes of every size and skew."""
    for pool_max_bytes in (0, size_bytes * 5, size_bytes * 40):
        native, model = tlsf_pair(core, size_bytes - start, start, pool_max_bytes)
        assert_same_blocks(native, model)
        whole = native.statistics.largest_free_bytes
        for request in (whole + 1, whole, 1):
            assert native.malloc(request) == model.malloc(request)
        assert_same_statistics(native, model)


def short_calls(live: list[int]) -> list[tuple]:
    """Every call that the exhaustive test tries with the objects LIVE."""
    calls: list[tuple] = [("malloc", size) for size in (1, 100, 116, 300)]
    calls.append(("aligned_alloc", 64, 90))
    for offset in live:
        calls.append(("free", offset))
        calls += [("realloc", offset, size) for size in (20, 130, 420)]
    return calls


def explore(core: tuple[Library, int, int], depth: int) -> int:
    """Runs every sequence of DEPTH calls on a heap of 1 KiB, and returns their number."""
    native, model = tlsf_pair(core, 1024)
    empty = native.arena[:]
    count = 0
    pending: list[list[tuple]] = [[]]
    while pending:
        sequence = pending.pop()
        native.arena[:] = empty
        model = Tlsf(1024, native.statistics.control_bytes, core[1], core[2], base=native.base)
        live: list[int] = []
        for call in sequence:
            run_both(native, model, call, live)
        assert_same_statistics(native, model)
        assert_same_blocks(native, model)
        count += 1
        if len(sequence) < depth:
            pending += [[*sequence, call] for call in short_calls(live)]
    return count


def test_tlsf_every_short_program(core: tuple[Library, int, int]) -> None:
    """All sequences of three calls."""
    print(explore(core, 3), "sequences")


@pytest.mark.slow
def test_tlsf_every_longer_program(core: tuple[Library, int, int]) -> None:
    """All sequences of five calls."""
    print(explore(core, 5), "sequences")


def random_plan(source: random.Random, unit: int) -> list[tuple[int, int]]:
    """Up to sixteen classes, in no order, sizes not multiples of the alignment."""
    keys = source.sample(range(1, 80), source.randrange(17))
    return [(key * unit - source.randrange(unit), source.randrange(1, 9)) for key in keys]


def budget_pair(
    core: tuple[Library, int, int], classes: list[tuple[int, int]], shared_bytes: int, start: int
) -> tuple[NativeBudget, Budget]:
    """A compiled budgeted heap and its model in memory of the same address."""
    library, word_bits, check_level = core
    size_bytes = budget_size(library, classes, shared_bytes)
    assert size_bytes > 0
    native = NativeBudget(library, size_bytes + 64, classes, start)
    now = native.statistics
    model = Budget(
        size_bytes + 64,
        classes,
        now.control_bytes,
        now.shared.control_bytes,
        word_bits,
        check_level,
        native.base,
    )
    return native, model


def assert_same_budget(native: NativeBudget, model: Budget) -> None:
    """All statistics of the dedicated and the shared regions."""
    now = native.statistics
    assert now.dedicated_bytes == sum(region.end - region.start for region in model.regions)
    assert now.classes_count == len(model.regions)
    refused = model.refused_count
    if model.shared is not None:
        refused += model.shared.out_of_memory_count
        assert now.shared.used_bytes == model.shared.used_bytes
        assert now.shared.peak_used_bytes == model.shared.peak_used_bytes
        assert now.shared.largest_free_bytes == model.shared.largest_free_bytes
    else:
        assert now.shared.capacity_bytes == 0
    assert now.shared.out_of_memory_count == refused
    for index, region in enumerate(model.regions):
        theirs = native.class_statistics(index)
        assert (theirs.size_bytes, theirs.count) == (region.bucket_bytes, region.count)
        assert theirs.used_count == len(region.used)
        assert theirs.peak_used_count == region.peak_used_count


def budget_calls(
    source: random.Random, classes: list[tuple[int, int]], live: list[int]
) -> Iterator[tuple]:
    """As random_calls, most sizes being a class's or one beside it."""
    for call in random_calls(source, 4096, live):
        if classes and source.randrange(4) and call[0] != "free":
            size = max(source.choice(classes)[0] + source.randrange(-1, 2), 0)
            yield (*call[:-1], size)
        else:
            yield call


def budget_programs(core: tuple[Library, int, int], seeds: range, calls_count: int) -> None:
    """One random plan and program a seed."""
    for seed in seeds:
        print(f"seed {seed} (TAU_TEST_SEED)")
        source = random.Random(seed)
        classes = random_plan(source, core[1] // 4)
        shared_bytes = source.choice((0, 300, 2000, 2000, 6000))
        native, model = budget_pair(core, classes, shared_bytes, source.randrange(16))
        live: list[int] = []
        calls = budget_calls(source, classes, live)
        for number, call in enumerate(itertools.islice(calls, calls_count)):
            run_both(native, model, call, live)
            if number % 16 == 0:
                assert_same_budget(native, model)
        for offset in list(live):
            run_both(native, model, ("free", offset), live)
        assert_same_budget(native, model)


def test_budget_places_as_the_model(core: tuple[Library, int, int]) -> None:
    """Sixty thousand calls in each configuration."""
    budget_programs(core, range(SEED, SEED + 60), 1000)


@pytest.mark.slow
def test_budget_places_as_the_model_for_long(core: tuple[Library, int, int]) -> None:
    """Another million calls in each configuration."""
    budget_programs(core, range(SEED + 1000, SEED + 1500), 2000)
