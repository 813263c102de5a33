"""What a kernel's cold code costs over thresholds, planners, numbers of frames and policies.

space = explore(code, Wanted(Cache(16), 0.999))
space.points        # RAM and faults of each placement
space.floor         # RAM, and faults that no placement and no policy comes below

A placement is planned for each threshold, ours also for each number of frames, since its search
looks at them. All are judged by the replay of the recordings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.coldcode.replay import POLICIES, Cache, PageTouches, replay
from tautochrone.console import output
from tautochrone.plan.code import replayed
from tautochrone.plan.code.cold import Cold, Edge
from tautochrone.plan.code.control_flow import edges_of
from tautochrone.plan.code.making import Planned, cold_of, planned_from
from tautochrone.plan.code.pieces import Code, Threshold, threshold_of, thresholds
from tautochrone.plan.code.planners import PLANNERS, REPLAYED

PARTS = (1.0, 0.9999, 0.9995, 0.999, 0.995, 0.99, 0.98)
PARTS_OF_FOOTPRINTS = (*PARTS, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
FRAMES = (4, 8, 16, 32, 64)
FRAMES_OF_POLICIES = (16, 32, 64)  # the paper's
FLOOR_STEPS = 24  # of RAM
FRAMES_OF_FLOOR = (4, 6, 8, 12, 16, 24, 32, 48, 64)


@dataclass(frozen=True)
class Wanted:
    """What to look at. `part` is the threshold at which policies are compared; `cache` has the
    policy of all other points, and the frames that are looked at besides FRAMES."""

    cache: Cache
    part: float
    parts: Sequence[float] = PARTS
    planners: Sequence[str] = tuple(PLANNERS)

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
    """What was found. `footprints` are pairs of a threshold and the code that stays, without
    frames; `floor` pairs of RAM and faults; `instructions` those of the recordings."""

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
    """Plan and replay all that is wanted."""
    touched = np.unique(code.touches)
    edges: list[Edge] = []

    def edges_once() -> Sequence[Edge]:
        if not edges:
            edges.extend(edges_of(code))
        return edges

    points: list[Point] = []
    policies: list[Point] = []
    known: dict[tuple[int, str, int], Planned] = {}
    tasks = [(part, planner) for part in wanted.all_parts for planner in wanted.planners]
    for part, planner in output.progress(tasks, "planning", len(tasks)):
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
                cold = replace(cold_of(code, is_cold, frames), edges=edges_once)
                known[key] = planned_from(code, threshold, planner, cache, cold)
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
        list(floor_of(code, min(point.ram_bytes for point in points))),
    )


def _by_policy(touches: PageTouches, point: Point) -> Iterator[Point]:
    """The same placement and frames with each policy."""
    for policy in POLICIES:
        faults = replay(touches, Cache(point.frames, policy)).loads
        yield replace(point, policy=policy, faults=faults)


def policies_of(touches: PageTouches, point: Point) -> list[Point]:
    """The same placement with each policy, in the numbers of frames of the paper."""
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


def floor_of(code: Code, least_bytes: int) -> Iterator[tuple[int, int]]:
    """Pairs of RAM from LEAST_BYTES on, and faults that no plan in so much RAM comes below.

    A plan with N frames keeps what is hotter than some threshold. Of the thresholds that fit, the
    hottest leaves the least cold code, so its bound is below those of the others. Of the N between
    two that are looked at, the larger has the lower bound, and the smaller the more room.
    """
    known = [(each, code.cold_at(each.hot_count)) for each in thresholds(code)]
    residents = [code.resident_bytes(is_cold) for _, is_cold in known]
    bounds: dict[tuple[int, int], int] = {}
    most_bytes = max(residents) + PAGE_BYTES * FRAMES_OF_FLOOR[0]
    step = max((most_bytes - least_bytes) // FLOOR_STEPS, 1)
    for ram_bytes in range(least_bytes, most_bytes + step, step):
        found = []
        fewest = FRAMES_OF_FLOOR[0]
        for frames in FRAMES_OF_FLOOR:
            room = ram_bytes - fewest * PAGE_BYTES
            fewest = frames + 1
            place = next((at for at, bytes_ in enumerate(residents) if bytes_ <= room), None)
            if place is None:
                continue
            if (place, frames) not in bounds:
                bounds[place, frames] = _bound(cold_of(code, known[place][1], frames))
            found.append(bounds[place, frames])
        if found:
            yield ram_bytes, min(found)


def _bound(cold: Cold) -> int:
    return replayed.Touched(cold).bound()
