"""The limits and borders of bands are those that a naive search finds, for random recordings."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from tautochrone.errors import TauError
from tautochrone.heap.planners import bands
from tautochrone.plan.file import CLASSES_MAX
from tautochrone.trace.file import open_trace
from testing.random_trace import FREE, REALLOC, Event, random_events, random_trace, write_events

FIRST_SEED = int(os.environ.get("TAU_TEST_SEED", "1"))


def key_of(event: Event, unit: int) -> tuple[int, int]:
    """An object's size as a band counts it, and its alignment."""
    _, _, size, align_log2 = event
    alignment = max(unit, 1 << align_log2)
    return -(-max(size, 1) // alignment) * alignment, alignment


def naive_peaks(events: Sequence[Event], sizes: Sequence[int], unit: int) -> np.ndarray:
    """The most objects alive at once for each range of sizes, by looking after every event."""
    peaks = np.zeros((len(sizes), len(sizes)), np.int64)
    alive: dict[int, int] = {}
    for event in events:
        if event[0] == FREE:
            del alive[event[1]]
            continue
        alive[event[1]] = key_of(event, unit)[0]
        counts = np.cumsum([0, *(list(alive.values()).count(size) for size in sizes)])
        peaks = np.maximum(peaks, np.triu(counts[None, 1:] - counts[:-1, None]))
    return peaks


def partitions(count: int) -> Iterator[list[int]]:
    """The first size of each band, for every division of `count` sizes into bands."""
    for size in range(count):
        for inner in itertools.combinations(range(1, count), size):
            yield [0, *inner]


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + 12))
@pytest.mark.parametrize(("unit", "others"), [(8, False), (8, True), (16, True)])
def test_peaks(seed: int, unit: int, others: bool, tmp_path: Path) -> None:
    """Those of every range of sizes, over two recordings, with realloc and alignment."""
    made = [random_events(seed + k, 150, 12, None, others) for k in (0, 1000)]
    readers = []
    for number, events in enumerate(made):
        write_events(tmp_path / f"{number}.tau", events)
        readers.append(open_trace(tmp_path / f"{number}.tau"))
    sizes = bands.sizes_of(readers, unit)
    events = [event for each in made for event in each if event[0] != FREE]
    keys = sorted({key_of(event, unit)[0] for event in events})
    assert sizes.sizes_bytes.tolist() == keys
    for key, alignment in zip(keys, sizes.alignments.tolist(), strict=True):
        rows = [key_of(event, unit) for event in events]
        assert alignment == max(own for size, own in rows if size == key)
    assert sizes.changes["instant"].min() == 0
    assert sizes.changes["instant"].max() == sizes.instants_count - 1
    expected = np.maximum(*(naive_peaks(each, keys, unit) for each in made))
    assert (bands.peaks_of(sizes) == expected).all()


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + 10))
def test_best_borders(seed: int, tmp_path: Path) -> None:
    """No other borders give a smaller arena, by the core's own count of every byte."""
    sizes_bytes = [8, 16, 24, 40, 104, 1000, 1008, 5000, 5008]
    trace = random_trace(
        tmp_path / "a.tau", seed, events=600, live_max=40, sizes=sizes_bytes, others=False
    )
    build = bands.Build(check_level=seed % 3)
    sizes = bands.sizes_of([open_trace(trace)], 8)
    peaks = bands.peaks_of(sizes)
    best = bands.best_bands(sizes, peaks, build)
    arena_bytes = build.arena_bytes(best.bands, 0)
    others = []
    for lows in partitions(len(sizes_bytes)):
        highs = [*(low - 1 for low in lows[1:]), len(sizes_bytes) - 1]
        tried = [
            bands.Band(sizes_bytes[high], int(peaks[low, high]))
            for low, high in zip(lows, highs, strict=True)
        ]
        others.append(build.arena_bytes(tried, 0))
    least = min(filter(None, others))
    assert best.least_bytes <= least <= arena_bytes
    assert arena_bytes - least <= 8, "more than the table of owners can differ"
    assert least - best.least_bytes <= 48, "more than owners and roundings take"


def every_choice(sizes: bands.Sizes, peaks: np.ndarray) -> Iterator[list[bands.Band]]:
    """Bands of every division, with blocks up to a few multiples above what the sizes need."""
    keys, alignments = sizes.sizes_bytes.tolist(), sizes.alignments.tolist()
    for lows in partitions(len(keys)):
        options = []
        for low, high in zip(lows, [*(low - 1 for low in lows[1:]), len(keys) - 1], strict=True):
            alignment = max(alignments[low : high + 1])
            block = -(-keys[high] // alignment) * alignment
            following = keys[high + 1] if high + 1 < len(keys) else block + 4 * alignment
            blocks = range(block, following, alignment)[:8]
            options.append([bands.Band(each, int(peaks[low, high])) for each in blocks])
        yield from map(list, itertools.product(*options))


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + 40))
@pytest.mark.parametrize("is_aligned", [False, True])
def test_no_bands_are_below_the_bound(seed: int, is_aligned: bool) -> None:
    """Nor with borders between the recorded sizes: sizes that share steps, with alignments."""
    source = random.Random(seed)
    unit = source.choice([8, 16])
    base = unit * source.choice([3, 10, 60, 250, 1000])
    keys = sorted({base + unit * source.randint(0, 40) for _ in range(source.randint(2, 5))})
    alignments = [unit] * len(keys)
    for index, key in enumerate(keys):
        if is_aligned and source.random() < 0.7:
            alignments[index] = min(key & -key, 1024)
    alive = [[source.choice([0, 1, 2, 5, 40]) for _ in keys] for _ in range(3)]
    alive[0] = [max(count, 1) for count in alive[0]]
    peaks = np.zeros((len(keys), len(keys)), np.uint32)
    for low, high in itertools.combinations_with_replacement(range(len(keys)), 2):
        peaks[low, high] = max(sum(each[low : high + 1]) for each in alive)
    nothing = np.empty(0)
    sizes = bands.Sizes(np.array(keys), np.array(alignments), nothing, nothing, 0)
    build = bands.Build(unit // 2, seed % 3)
    best = bands.best_bands(sizes, peaks, build)
    arenas = [build.arena_bytes(each, max(alignments)) for each in every_choice(sizes, peaks)]
    least = min(filter(None, arenas))
    assert best.least_bytes <= least <= build.arena_bytes(best.bands, max(alignments))


def test_a_step_keeps_one_border() -> None:
    """Three sizes of one step of level 0 have no three bands there, but have them without a table.
    """
    keys = np.array([1000, 1008, 1016])
    peaks = np.triu(np.full((3, 3), 100, np.uint32)) + np.triu(np.full((3, 3), 100, np.uint32), 1)
    peaks[0, 2] = 300
    sizes = bands.Sizes(keys, np.full(3, 8), np.empty(0), np.empty(0), 0)
    build = bands.Build(check_level=0)
    free, coarse = (bands._Search(sizes, peaks, build, level).solve(0) for level in (None, 0))
    assert free == (100 * (1000 + 1008 + 1016) + 3 * build.band_bytes, [0, 1, 2])
    assert coarse[1] in ([0, 1], [0, 2])


def test_two_refused_choices_do_not_overflow() -> None:
    """Two borders in a step, before a block that reaches the next size: refused, not the best."""
    keys = np.array([528, 568, 600, 608, 624, 704, 728, 760])
    alignments = np.array([16, 8, 8, 32, 16, 64, 8, 8])
    peaks = np.triu(np.ones((8, 8), np.uint32))
    sizes = bands.Sizes(keys, alignments, np.empty(0), np.empty(0), 0)
    for level in bands.LEVELS:
        arena_bytes, _ = bands._Search(sizes, peaks, bands.Build(), level).solve(0)
        assert 760 < arena_bytes < bands.UNREACHED


@pytest.mark.parametrize("word_bytes", [4, 8])
@pytest.mark.parametrize("check_level", [0, 1])
def test_the_bound_knows_what_a_band_takes(word_bytes: int, check_level: int) -> None:
    """With doubling sizes, all that the bound leaves out is the table of owners and a rounding."""
    build = bands.Build(word_bytes, check_level)
    given: list[bands.Band] = []
    for power in range(19):
        given.append(bands.Band(build.granule_bytes << power, 1))
        bits = int(build.bits_bytes(np.ones(len(given), np.int64)).sum())
        own = sum(band.size_bytes for band in given) + len(given) * build.band_bytes + bits
        least = build.least_bytes(own, given[-1].size_bytes)
        assert least <= build.arena_bytes(given, 0) <= least + 40


def test_sizes_have_a_limit(tmp_path: Path) -> None:
    """SIZES_MAX sizes are planned, one more is refused."""
    for more in (0, 1):
        count = bands.SIZES_MAX + more
        write_events(tmp_path / "a.tau", [(0, slot, 8 * slot + 8, 0) for slot in range(count)])
        readers = [open_trace(tmp_path / "a.tau")]
        if more:
            with pytest.raises(TauError, match="4,097 different sizes"):
                bands.sizes_of(readers, 8)
        else:
            assert len(bands.sizes_of(readers, 8).sizes_bytes) == count


def test_more_sizes_than_bands(tmp_path: Path) -> None:
    """With 200 sizes, no more than 64 bands come out, and every size has one."""
    events = [(0, slot, 8 * slot + 8, 0) for slot in range(200)]
    events += [(FREE, slot, 0, 0) for slot in range(200)]
    write_events(tmp_path / "a.tau", events * 3)
    sizes = bands.sizes_of([open_trace(tmp_path / "a.tau")], 8)
    best = bands.best_bands(sizes, bands.peaks_of(sizes), bands.Build())
    assert len(best.bands) <= CLASSES_MAX and best.bands[-1].size_bytes == 1600
    assert sum(band.count for band in best.bands) == 200
    assert bands.Build().arena_bytes(best.bands, 0) >= best.least_bytes


def test_aligned_objects_get_aligned_blocks(tmp_path: Path) -> None:
    """A band with an aligned object has blocks of a multiple of the alignment."""
    events: list[Event] = [(3, 0, 100, 6), (0, 1, 120, 0), (0, 2, 136, 0), (REALLOC, 1, 30, 0)]
    write_events(tmp_path / "a.tau", events)
    sizes = bands.sizes_of([open_trace(tmp_path / "a.tau")], 8)
    assert sizes.sizes_bytes.tolist() == [32, 120, 128, 136]
    best = bands.best_bands(sizes, bands.peaks_of(sizes), bands.Build())
    serving = min(band.size_bytes for band in best.bands if band.size_bytes >= 128)
    assert serving % 64 == 0, best.bands
