"""Which pieces may leave RAM, and what stays. Method: pieces by hand; bounds of all plans."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tautochrone.coldcode.design_space import floor_of
from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.coldcode.link_map import read_link_map
from tautochrone.coldcode.pieces import Code, Threshold, part_of, threshold_of, thresholds
from tautochrone.coldcode.pieces import code_of as join
from tautochrone.coldcode.placement import Touched
from tautochrone.coldcode.planning import cold_of
from tautochrone.coldcode.recording import load
from testing.cold_problems import random_code, random_cold
from tool.tests.coldcode import made_kernel

NO_TOUCHES = np.empty(0, np.int64)


def code_of(rows: list[tuple[int, int, str]], touches: np.ndarray = NO_TOUCHES) -> Code:
    """Code of pieces: bytes, executions of the hottest block, and special properties."""
    sizes, most, kinds = zip(*rows, strict=True)
    starts = np.cumsum([0, *sizes])
    pieces = [
        SimpleNamespace(output=".init.text" if kind == "freed" else ".text", address=int(start))
        for kind, start in zip(kinds, starts, strict=False)
    ]
    return Code(
        kernel=None,
        pieces=tuple(pieces),
        sizes_bytes=np.array(sizes),
        must_stay=np.array([kind in ("stays", "freed") for kind in kinds]),
        most=np.array(most, np.uint64),
        truncated=np.array([kind == "truncated" for kind in kinds]),
        touches=touches,
        times=np.arange(len(touches)),
        block_pieces=np.arange(len(rows)),
        block_counts=np.array(most, np.int64),
        block_instructions=np.ones(len(rows), np.int64),
        recordings=(),
    )


ROWS = [
    (64, 9, ""),
    (64, 10, ""),
    (64, 0, "stays"),
    (64, 3, "truncated"),
    (PAGE_BYTES, 1, ""),
    (PAGE_BYTES + 64, 1, ""),
    (PAGE_BYTES + 64, 0, ""),
    (128, 0, "freed"),
]


def test_what_may_leave() -> None:
    """Less than H, all its touches known, and on one page or never executed."""
    cold = code_of(ROWS).cold_at(10)
    assert np.flatnonzero(cold).tolist() == [0, 4, 6]
    assert cold_of(code_of(ROWS), cold, 4).numbers == [0, 4]


def test_what_stays_is_counted_without_what_boot_frees() -> None:
    code = code_of(ROWS)
    assert code.core_bytes == 64
    assert code.resident_bytes(code.cold_at(10)) == 3 * 64 + PAGE_BYTES + 64


@pytest.mark.parametrize(("part", "hot_count"), [(0.5, 60), (0.6, 60), (0.605, 30), (1.0, 10)])
def test_the_threshold_is_that_of_the_last_block(part: float, hot_count: int) -> None:
    """Blocks in falling number, until they have the part of all 100 instructions."""
    code = code_of([(64, count, "") for count in (10, 60, 30)])
    assert threshold_of(code, part) == Threshold(part, hot_count)
    assert [each.hot_count for each in thresholds(code)] == [10, 30, 60]


@pytest.mark.parametrize("seed", range(5))
def test_no_plan_in_so_much_ram_comes_below_the_floor(seed: int) -> None:
    """Plans with every threshold and number of frames. The first is of one frame."""
    cold = random_cold(seed, pieces=12, touches=400, frames=4)
    most = np.random.default_rng(seed).integers(1, 5, 12)
    rows = [(size, int(each), "") for size, each in zip(cold.sizes_bytes, most, strict=True)]
    code = code_of(rows, cold.touches)
    plans = []
    for threshold in thresholds(code):
        is_cold = code.cold_at(threshold.hot_count)
        for frames in (1, 2, 4):
            bound = Touched(cold_of(code, is_cold, frames)).faults_bound()
            plans.append((code.resident_bytes(is_cold) + frames * PAGE_BYTES, bound))
    floor = list(floor_of(code))
    assert len(floor) > 10 and floor[-1][1] == 0
    for ram_bytes, faults in floor:
        assert faults <= min(
            (bound for needed, bound in plans if needed <= ram_bytes), default=faults
        )


def naive_floor(code: Code, held_bytes: int) -> int:
    """The bound of faults with so many bytes for what can leave, from its definition [CPLAN-23]."""
    sizes, touches, queue = code.sizes_bytes.tolist(), [], []
    for piece in code.touches[code.coldest[code.touches]].tolist():
        if piece not in queue:
            touches.append(piece)
            queue.append(piece)
            while sum(sizes[one] for one in queue) > max(held_bytes // 4, PAGE_BYTES):
                queue.pop(0)
    best = [0] * (len(touches) + 1)
    for end in range(1, len(touches) + 1):
        best[end] = best[end - 1]
        seen: set[int] = set()
        size = 0
        for start in reversed(range(end)):
            size += sizes[touches[start]] if touches[start] not in seen else 0
            seen.add(touches[start])
            gain = max(-(-(size - held_bytes) // PAGE_BYTES), 0)
            best[end] = max(best[end], best[start] + gain)
    return best[-1]


@pytest.mark.parametrize("seed", [0, 1, 3, 4, 5, 6, 7, 8])
def test_the_floor_is_as_its_definition(seed: int) -> None:
    code = random_code(seed, 20, 200)  # more than a page of it can leave
    resident = code.resident_bytes(code.coldest)
    executed = int(code.sizes_bytes[code.coldest & (code.most > 0)].sum())
    floor = list(floor_of(code))
    assert floor[0][0] == resident + PAGE_BYTES and floor[-1][0] >= resident + executed
    for ram_bytes, faults in floor:
        assert faults == naive_floor(code, ram_bytes - resident)


def test_code_that_is_in_no_piece_stays() -> None:
    """10 of 100 instructions are in the piece that leaves, 30 in no piece."""
    rows = [(64, 60, ""), (64, 30, ""), (64, 10, "")]
    code = replace(code_of(rows), block_pieces=np.array([0, -1, 2]))
    assert part_of(code, np.array([False, False, True])) == pytest.approx(0.9)


def test_recordings_are_joined(tmp_path: Path) -> None:
    """The largest count of a block stays. A function at the limit of touches is truncated."""
    kernel, map_path = made_kernel.build(tmp_path)
    recording = load(made_kernel.record(kernel, tmp_path / "1.taucode", 1))
    pieces = read_link_map(map_path)
    once, twice = (join(kernel, pieces, [recording] * times) for times in (1, 2))
    assert once.most.any() and not once.truncated.any()
    assert twice.most.tolist() == once.most.tolist()
    assert twice.block_counts.sum() == 2 * once.block_counts.sum()
    counts = np.bincount(once.touches, minlength=len(pieces))
    settings = replace(recording.settings, touches_max=int(counts.max()))
    limited = join(kernel, pieces, [replace(recording, settings=settings)])
    assert limited.truncated.tolist() == (counts == counts.max()).tolist()
