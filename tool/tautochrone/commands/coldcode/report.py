"""What recordings of a kernel contribute to `tau report`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tautochrone import unseen
from tautochrone.errors import TauError

if TYPE_CHECKING:
    from tautochrone.coldcode.recording import CodeRecording
    from tautochrone.coldcode.replay import PageTouches
    from tautochrone.plan.code.pieces import Code
    from tautochrone.plan.code.space import Point, Space
    from tautochrone.report.page import Part
    from tautochrone.report.panel import Panel

PART, FRAMES_COUNT, POLICY = 0.999, 16, "round-robin"  # without a plan


@dataclass(frozen=True)
class Asked:
    """The kernel's files, if they are named; thresholds to plan for, and the time of a load."""

    elf: Path | None
    map_path: Path | None
    parts: tuple[float, ...]
    page_us: float


@dataclass(frozen=True)
class Planned:
    """The plan's point in the recordings, and its pages. `is_own`: it was made from these."""

    point: Point
    touches: PageTouches
    code_bytes: int
    core_bytes: int
    bound_faults: int | None
    is_own: bool


def part_of(paths: Sequence[Path], plan_path: Path | None, asked: Asked) -> Part:
    """What recordings of a kernel contribute to a report."""
    from tautochrone.coldcode.recording import load
    from tautochrone.report.code.time import Clock
    from tautochrone.report.page import Part

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
    sentences = _sentences(space, plan, clock)
    return Part(
        f"Cold code of {Path(recordings[0].settings.said('kernel') or paths[0].name).name}",
        sentences,
        _facts(recordings),
        _panels(space, plan, clock),
        _provenance(recordings, plan),
        remarks,
        _document(paths, space, plan),
        _kernel_files(recordings, asked),
    )


# ---- The inputs


def _planned(path: Path, recordings: Sequence[CodeRecording]) -> Planned:
    """The plan, replayed on the recordings."""
    import numpy as np

    from tautochrone.coldcode.replay import (
        Cache,
        PageTouches,
        refuse_other_kernel,
        replay,
        touches_of,
    )
    from tautochrone.plan.code.opened import opened
    from tautochrone.plan.code.pieces import sha256_of_file
    from tautochrone.plan.code.space import Point

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
    hashes = sorted(sha256_of_file(one.path) for one in recordings)
    is_own = hashes == sorted(one.sha256 for one in value.recordings)
    bound = value.lower_bound_faults if is_own else None
    return Planned(Point(*row), together, value.code_bytes, value.core_bytes, bound, is_own)


def _code(recordings: Sequence[CodeRecording], asked: Asked) -> tuple[Code | None, list[str]]:
    """The recorded kernel; None, with the reason, if it is not named and no longer there."""
    from tautochrone.coldcode.kernel import read_kernel
    from tautochrone.coldcode.link_map import read_link_map
    from tautochrone.coldcode.linux.patching import patched_while_booting
    from tautochrone.coldcode.recording import kernel_path
    from tautochrone.plan.code.pieces import code_of

    said = recordings[0].settings.said("kernel")
    elf, map_path = _kernel_files(recordings, asked)
    if asked.elf is None and not (said and elf.is_file() and map_path.is_file()):
        cause = f"{recordings[0].path}: the kernel {said or 'without a name'} or its map is gone"
        return None, [f"{cause}, so that other placements are not planned"]
    kernel = read_kernel(elf)
    if asked.elf is None and kernel.code_sha256 != recordings[0].settings.said("code_sha256"):
        cause = f"{elf} is no longer the kernel that was recorded"
        return None, [f"{cause}, so that other placements are not planned"]
    kept = patched_while_booting(kernel)
    return code_of(kernel, read_link_map(map_path), recordings, kept), []


def _kernel_files(recordings: Sequence[CodeRecording], asked: Asked) -> tuple[Path, Path]:
    """Where the recorded kernel and its map are, or were."""
    from tautochrone.coldcode.recording import kernel_path

    elf = asked.elf or kernel_path(recordings[0])
    return elf, asked.map_path or _map_beside(elf)


def _map_beside(elf: Path) -> Path:
    """vmlinux.map of vmlinux, kernel.map of kernel.elf."""
    longer = Path(f"{elf}.map")
    return longer if longer.is_file() else elf.with_suffix(".map")


def _space(code: Code, plan: Planned | None, asked: Asked) -> Space:
    from tautochrone.coldcode.replay import Cache
    from tautochrone.plan.code.space import PARTS, Wanted, explore

    point = plan.point if plan else None
    cache = Cache(point.frames, point.policy) if point else Cache(FRAMES_COUNT, POLICY)
    return explore(code, Wanted(cache, point.threshold if point else PART, asked.parts or PARTS))


# ---- What is shown


def _sentences(space: Space | None, plan: Planned | None, clock: Any) -> list[str]:
    from tautochrone.plan.code.planners import REPLAYED
    from tautochrone.report.code.verdict import compared, sentences

    if plan is not None:
        told = sentences(plan.point, True, plan.code_bytes, plan.bound_faults, clock)
        point = plan.point
    else:
        assert space is not None
        point = space.at(REPLAYED, space.wanted.part, space.wanted.cache.frames)
        told = sentences(point, False, space.code_bytes, None, clock)
    if space is not None:
        others = [
            one
            for one in space.points
            if (one.threshold, one.frames) == (point.threshold, point.frames)
            and (one.planner != point.planner or (plan is not None and not plan.is_own))
        ]
        told.append(compared(others))
    return told


def _panels(space: Space | None, plan: Planned | None, clock: Any) -> list[Panel]:
    from tautochrone.plan.code.planners import REPLAYED
    from tautochrone.plan.code.space import policies_of
    from tautochrone.report.code import footprint, policies, ram, thresholds

    panels: list[Panel] = []
    points: list[Point] = []
    if plan is not None:
        planner = f"plan: {plan.point.planner}"
        points += policies_of(plan.touches, replace(plan.point, planner=planner))
    if space is not None:
        chosen = ("profile-based",) if plan is not None else (REPLAYED, "profile-based")
        points += [one for one in space.policies if one.planner in chosen]
        panels.append(ram.draw(space, plan.point if plan else None))
        panels.append(footprint.draw(space, space.wanted.cache.frames))
        panels += thresholds.draw(space, clock)
    return panels + policies.draw(points, clock)


def _facts(recordings: Sequence[CodeRecording]) -> dict[str, str]:
    settings = recordings[0].settings
    steady = sum(int(one.instructions("steady").sum()) for one in recordings)
    return {
        "kernel": settings.said("kernel"),
        "code": settings.said("code_sha256")[:16],
        "end of boot": settings.said("marker") or "none: all of it is steady state",
        "instructions of the kernel": f"{steady:,}",
        "touches": f"{sum(len(one.touches) for one in recordings):,}",
        "of the code, not looked at": "; ".join(unseen.CODE_PLAN),
    }


def _provenance(recordings: Sequence[CodeRecording], plan: Planned | None) -> dict[str, str]:
    from tautochrone.plan.code.pieces import sha256_of_file

    made = {}
    for recording in recordings:
        made[f"SHA-256 of {recording.path.name}"] = sha256_of_file(recording.path)
    return made | ({} if plan is None else {"planner of the code": plan.point.planner})


def _document(paths: Sequence[Path], space: Space | None, plan: Planned | None) -> dict[str, Any]:
    """For --json."""
    rows = {
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
