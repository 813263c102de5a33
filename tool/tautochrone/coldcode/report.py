"""The part of a report about a kernel's cold code: sentences, figures, facts and provenance."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tautochrone import unseen
from tautochrone.coldcode import figures
from tautochrone.coldcode.design_space import (
    LINK_ORDER,
    PARTS,
    REPLAYED,
    Point,
    Space,
    Wanted,
    explore,
    policies_of,
)
from tautochrone.coldcode.figures import Clock, share
from tautochrone.coldcode.kernel import read_kernel
from tautochrone.coldcode.link_map import read_link_map
from tautochrone.coldcode.linux import must_stay
from tautochrone.coldcode.linux.build_cache import file_hash
from tautochrone.coldcode.pieces import Code, code_of
from tautochrone.coldcode.recording import CodeRecording, kernel_path, load
from tautochrone.coldcode.replay import (
    Cache,
    PageTouches,
    refuse_other_kernel,
    replay,
    touches_of,
)
from tautochrone.console.output import change, count, percent
from tautochrone.errors import TauError
from tautochrone.plan.code import opened
from tautochrone.report.figure import Panel, of_bytes
from tautochrone.report.page import Part

PART, FRAMES_COUNT, POLICY = 0.999, 16, "round-robin"  # Without a plan.
# Loads of booted kernels, compared with replay: repro/coldcode/claims.md has each case.
LESS_PERCENT, MORE_PERCENT, LITTLE_MEMORY_TIMES = 2, 19, 2.3


@dataclass(frozen=True)
class Asked:
    """The kernel's files, if they are named; thresholds to plan for, and the time of a load."""

    elf: Path | None
    map_path: Path | None
    parts: tuple[float, ...]
    page_us: float


@dataclass(frozen=True)
class ReplayedPlan:
    """The plan's point in the recordings, and its pages. `is_own`: it was made from these."""

    point: Point
    touches: PageTouches
    code_bytes: int
    core_bytes: int
    bound_faults: int | None
    is_own: bool


def part_of(paths: Sequence[Path], plan_path: Path | None, asked: Asked) -> Part:
    """The part of a report for recordings of a kernel."""
    recordings = [load(path) for path in paths]
    plan = None if plan_path is None else _planned(plan_path, recordings)
    code, remarks = _code(recordings, asked)
    if code is None and plan is None:
        raise TauError(remarks[0], "name the recorded kernel with --kernel and its map with --map")
    space = None if code is None else _space(code, plan, asked)
    steady = sum(int(one.instructions("steady").sum()) for one in recordings)
    clock = Clock(steady, asked.page_us)
    if plan is not None:
        if not plan.is_own:
            remarks.append(f"{plan_path} was made from other recordings than these")
        if code is not None and plan.core_bytes != code.core_bytes:
            remarks.append(
                f"the plan keeps {plan.core_bytes:,} bytes because they must stay, other placements"
                f" {code.core_bytes:,}: it was made with --keep or --sizes"
            )
    return Part(
        f"Cold code of {Path(recordings[0].settings.said('kernel') or paths[0].name).name}",
        _sentences(space, plan, clock),
        _facts(recordings, steady),
        _panels(space, plan, clock),
        _provenance(recordings, plan),
        remarks,
        _document(paths, space, plan),
        _kernel_files(recordings, asked),
    )


# ---- The inputs


def _planned(path: Path, recordings: Sequence[CodeRecording]) -> ReplayedPlan:
    """The plan, replayed on the recordings."""
    value, fragment, _ = opened(path)
    pages, times, elapsed = [], [], 0
    for recording in recordings:
        refuse_other_kernel(recording, value.code_sha256)
        touches = touches_of(recording, fragment)
        pages.append(touches.pages)
        times.append(touches.times + np.uint64(elapsed))
        elapsed += recording.end_time
    together = PageTouches(np.concatenate(pages), np.concatenate(times), len(fragment.pages))
    faults = replay(together, Cache(value.frames, value.policy)).loads
    row = (value.threshold, value.planner, value.policy, value.frames, value.ram_bytes, faults)
    hashes = sorted(file_hash(one.path) for one in recordings)
    is_own = hashes == sorted(one.sha256 for one in value.recordings)
    bound = value.lower_bound_faults if is_own else None
    return ReplayedPlan(Point(*row), together, value.code_bytes, value.core_bytes, bound, is_own)


def _code(recordings: Sequence[CodeRecording], asked: Asked) -> tuple[Code | None, list[str]]:
    """The recorded kernel; None, with the reason, if it is not named and no longer there."""
    said = recordings[0].settings.said("kernel")
    elf, map_path = _kernel_files(recordings, asked)
    if asked.elf is None and not (said and elf.is_file() and map_path.is_file()):
        cause = f"{recordings[0].path}: the kernel {said or 'without a name'} or its map is gone"
        return None, [f"{cause}, so that other placements are not planned"]
    kernel = read_kernel(elf)
    if asked.elf is None and kernel.code_sha256 != recordings[0].settings.said("code_sha256"):
        cause = f"{elf} is no longer the kernel that was recorded"
        return None, [f"{cause}, so that other placements are not planned"]
    kept = must_stay.patched_while_booting(kernel)
    return code_of(kernel, read_link_map(map_path), recordings, kept), []


def _kernel_files(recordings: Sequence[CodeRecording], asked: Asked) -> tuple[Path, Path]:
    """Where the recorded kernel and its map are, or were: vmlinux.map of vmlinux, kernel.map of
    kernel.elf."""
    elf = asked.elf or kernel_path(recordings[0])
    longer = Path(f"{elf}.map")
    return elf, asked.map_path or (longer if longer.is_file() else elf.with_suffix(".map"))


def _space(code: Code, plan: ReplayedPlan | None, asked: Asked) -> Space:
    point = plan.point if plan else None
    cache = Cache(point.frames, point.policy) if point else Cache(FRAMES_COUNT, POLICY)
    return explore(code, Wanted(cache, point.threshold if point else PART, asked.parts or PARTS))


# ---- The output


def _sentences(space: Space | None, plan: ReplayedPlan | None, clock: Clock) -> list[str]:
    if plan is not None:
        point = plan.point
        told = verdict(point, True, plan.code_bytes, plan.bound_faults, clock)
    else:
        assert space is not None
        point = space.at(REPLAYED, space.wanted.part, space.wanted.cache.frames)
        told = verdict(point, False, space.code_bytes, None, clock)
    if space is not None:
        others = [space.at(LINK_ORDER, point.threshold, point.frames)]
        if plan is not None and not plan.is_own:
            others.insert(0, space.at(REPLAYED, point.threshold, point.frames))
        named = ", ".join(f"{one.planner} {one.faults:,}" for one in others)
        told.append(
            "Faults of other placements that were planned from it, with the same threshold and"
            f" frames: {named}."
        )
    return told


def verdict(
    point: Point, is_planned: bool, code_bytes: int, bound_faults: int | None, clock: Clock
) -> list[str]:
    """The RAM of POINT, its loads in this recording, and how booted kernels differ from that."""
    asked = "the plan" if is_planned else f"T = {share(point.threshold)}"
    less_or_more = change(point.ram_bytes, max(code_bytes, 1))
    told = [
        f"With {asked} and {point.frames} frames, {of_bytes(point.ram_bytes)} of"
        f" {of_bytes(code_bytes)} of kernel code are in RAM: {less_or_more}."
    ]
    cost = f"This recording has {count(point.faults, 'fault')}"
    if bound_faults is not None:
        cost += f"; no placement and no policy has less than {bound_faults:,}"
    total = clock.seconds(point.faults)
    if total > 0:
        part = percent(clock.page_seconds(point.faults) / total)
        cost += f". At {clock.page_us:g} µs per load they take {part} of the kernel's time"
    real = (
        f"Booted kernels loaded from {LESS_PERCENT} % fewer to {MORE_PERCENT} % more pages than"
        f" replay said. They loaded {LITTLE_MEMORY_TIMES:g} times as many where they had so little"
        " memory that they reclaimed it, which the recorded kernel did not."
    )
    return [*told, f"{cost}.", real]


def _panels(space: Space | None, plan: ReplayedPlan | None, clock: Clock) -> list[Panel]:
    panels: list[Panel] = []
    points: list[Point] = []
    if plan is not None:
        planner = f"plan: {plan.point.planner}"
        points += policies_of(plan.touches, replace(plan.point, planner=planner))
    if space is not None:
        chosen = (LINK_ORDER,) if plan is not None else (REPLAYED, LINK_ORDER)
        points += [one for one in space.policies if one.planner in chosen]
        panels.append(figures.ram(space, plan.point if plan else None))
        panels.append(figures.footprint(space, space.wanted.cache.frames))
        panels += figures.thresholds(space, clock)
    return panels + figures.policies(points, clock)


def _facts(recordings: Sequence[CodeRecording], steady: int) -> dict[str, str]:
    settings = recordings[0].settings
    return {
        "kernel": settings.said("kernel"),
        "code": settings.said("code_sha256")[:16],
        "end of boot": settings.said("marker") or "none: all of it is steady state",
        "instructions of the kernel": f"{steady:,}",
        "touches": f"{sum(len(one.touches) for one in recordings):,}",
        "of the code, not looked at": "; ".join(unseen.CODE_PLAN),
    }


def _provenance(recordings: Sequence[CodeRecording], plan: ReplayedPlan | None) -> dict[str, str]:
    made = {f"SHA-256 of {one.path.name}": file_hash(one.path) for one in recordings}
    return made | ({} if plan is None else {"planner of the code": plan.point.planner})


def _document(
    paths: Sequence[Path], space: Space | None, plan: ReplayedPlan | None
) -> dict[str, Any]:
    """For --json."""
    rows: dict[str, Any] = {
        "recordings": [str(path) for path in paths],
        "plan": None if plan is None else vars(plan.point),
    }
    if space is not None:
        rows |= {
            "code_bytes": space.code_bytes,
            "points": [vars(point) for point in space.points],
            "policies": [vars(point) for point in space.policies],
            "footprints": [
                {"threshold": part, "resident_bytes": resident}
                for part, resident in space.footprints
            ],
            "lower_bound": [
                {"ram_bytes": ram_bytes, "faults": faults} for ram_bytes, faults in space.floor
            ],
        }
    return {"code": rows}
