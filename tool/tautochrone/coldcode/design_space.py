"""Explores the cost of a kernel's cold code over thresholds, numbers of frames and policies.

space = explore(code, Wanted(Cache(16), 0.999))
space.points        # RAM and faults of each placement
space.floor         # RAM, and a lower bound of faults for all placements and policies

Each threshold is placed in link order, as a baseline, and by the search, which is repeated for each
number of frames. All placements are judged by a replay of the recordings.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.coldcode.pieces import Code, Split, Threshold, threshold_of
from tautochrone.coldcode.placement import in_link_order, without_repeats
from tautochrone.coldcode.planning import Planned, cold_of, planned, with_pages
from tautochrone.coldcode.replay import POLICIES, Cache, PageTouches, replay
from tautochrone.coldcode.touch_sequence import TouchSequence
from tautochrone.console import bars

REPLAYED, LINK_ORDER = PLANNERS = "replayed", "link-order"
PARTS = (1.0, 0.9999, 0.9995, 0.999, 0.995, 0.99, 0.98)
PARTS_OF_FOOTPRINTS = (*PARTS, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
FRAMES = (4, 8, 16, 32, 64)
FRAMES_OF_POLICIES = (16, 32, 64)  # As in the paper.
FLOOR_STEPS = 24  # Steps of RAM for which the lower bound is computed.
SMALL_QUEUE = 4  # The RAM of frames and hot code, divided by this.


@dataclass(frozen=True)
class Wanted:
    """The space to explore. `part` is the threshold at which policies are compared; `cache` has
    the policy of all other points, and a number of frames in addition to FRAMES."""

    cache: Cache
    part: float
    parts: Sequence[float] = PARTS

    @property
    def all_parts(self) -> list[float]:
        """The thresholds, from the one with the most hot code."""
        return sorted({*self.parts, self.part}, reverse=True)

    @property
    def all_frames(self) -> list[int]:
        """The numbers of frames."""
        return sorted({*FRAMES, self.cache.frames})


@dataclass(frozen=True)
class Point:
    """A placement in a cache. `ram_bytes` is the code that stays, and the frames."""

    threshold: float
    planner: str
    policy: str
    frames: int
    ram_bytes: int
    faults: int


@dataclass(frozen=True)
class Space:
    """The results. `footprints` are pairs of a threshold and the code that stays, without
    frames; `floor` pairs of RAM and faults; `instructions` are counted in the recordings."""

    wanted: Wanted
    code_bytes: int
    instructions: int
    points: Sequence[Point]
    policies: Sequence[Point]
    footprints: Sequence[tuple[float, int]]
    floor: Sequence[tuple[int, int]] = field(default=())

    def at(self, planner: str, part: float, frames: int) -> Point:
        """The point of a planner."""
        wanted = (planner, part, frames)
        return next(
            point
            for point in self.points
            if (point.planner, point.threshold, point.frames) == wanted
        )


def explore(code: Code, wanted: Wanted) -> Space:
    """Plan and replay each wanted point."""
    touched = np.unique(code.touches)
    points: list[Point] = []
    policies: list[Point] = []
    known: dict[tuple[int, str, int], Planned] = {}
    tasks = [(part, planner) for part in wanted.all_parts for planner in PLANNERS]
    for part, planner in bars.progress(tasks, "planning", len(tasks)):
        threshold = threshold_of(code, part)
        is_cold = code.cold_at(threshold.hot_count)
        is_used = bool(is_cold[touched].any())
        for frames in wanted.all_frames:
            key = (threshold.hot_count, planner, frames if planner == REPLAYED else 0)
            resident = code.resident_bytes(is_cold)
            cache = replace(wanted.cache, frames=frames)
            if not is_used:
                points.append(_point(part, planner, cache, resident, 0))
                continue
            if key not in known:
                known[key] = _planned_by(planner, code, Split(part, is_cold), cache)
            faults = replay(known[key].touches, cache).loads
            points.append(_point(part, planner, cache, resident, faults))
            if part == wanted.part and frames in FRAMES_OF_POLICIES:
                policies += _by_policy(known[key].touches, points[-1])
    return Space(
        wanted,
        int(code.sizes_bytes[~code.is_freed].sum()),
        int((code.block_counts * code.block_instructions).sum()),
        points,
        policies,
        [(part, _resident(code, threshold_of(code, part))) for part in PARTS_OF_FOOTPRINTS],
        list(floor_of(code)),
    )


def _planned_by(planner: str, code: Code, split: Split, cache: Cache) -> Planned:
    if planner == REPLAYED:
        return planned(code, split, cache)
    cold = cold_of(code, split.is_cold, cache.frames)
    return with_pages(code, split, cache, in_link_order(cold))


def _by_policy(touches: PageTouches, point: Point) -> Iterator[Point]:
    """The same placement and frames with each policy."""
    for policy in POLICIES:
        faults = replay(touches, Cache(point.frames, policy)).loads
        yield replace(point, policy=policy, faults=faults)


def policies_of(touches: PageTouches, point: Point) -> list[Point]:
    """The same placement with each policy, in the paper's numbers of frames."""
    resident = point.ram_bytes - point.frames * PAGE_BYTES
    points = []
    for frames in FRAMES_OF_POLICIES:
        ram_bytes = resident + frames * PAGE_BYTES
        points += _by_policy(touches, replace(point, frames=frames, ram_bytes=ram_bytes))
    return points


def _point(part: float, planner: str, cache: Cache, resident: int, faults: int) -> Point:
    ram_bytes = resident + cache.frames * PAGE_BYTES
    return Point(part, planner, cache.policy, cache.frames, ram_bytes, faults)


def _resident(code: Code, threshold: Threshold) -> int:
    return code.resident_bytes(code.cold_at(threshold.hot_count))


# ---- The lower bound


def floor_of(code: Code) -> Iterator[tuple[int, int]]:
    """Pairs of RAM, and a lower bound of the faults of all plans in so much RAM: from one frame and
    the code that must stay, up to all code that was executed.

    The bound holds whichever code stays and however many frames there are: code that need not stay
    is in the rest of RAM, or is loaded by pages. Touches that a small queue of pieces does not miss
    are left out. They hardly change the bound, and fewer touches never raise it.
    """
    is_cold = code.coldest
    resident = code.resident_bytes(is_cold)
    executed = int(code.sizes_bytes[is_cold & (code.most > 0)].sum())
    touches = without_repeats(code.touches[is_cold[code.touches]])
    step = max((executed - PAGE_BYTES) // FLOOR_STEPS, 1)
    for held_bytes in range(PAGE_BYTES, executed + step, step):
        queue_bytes = max(held_bytes // SMALL_QUEUE, PAGE_BYTES)
        missed = TouchSequence(touches, code.sizes_bytes).missed(queue_bytes)
        bound = TouchSequence(missed, code.sizes_bytes).bound(held_bytes, is_empty=False)
        yield resident + held_bytes, bound
