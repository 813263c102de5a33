"""Starts a program with the allocator preloaded; docs/spec/runtime.md has the variables."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tautochrone.errors import TauError
from tautochrone.native import RUN_LIBRARY
from tautochrone.record import launch
from tautochrone.record.program import EXIT_CANNOT_RECORD as EXIT_CANNOT_RUN_SO
from tautochrone.run import exchange

if TYPE_CHECKING:
    from tautochrone.plan.file import Plan
    from tautochrone.run.colors import Colors

# The core's limit: the largest pool of a TLSF with words of 64 bits. It is smaller on machines
# without an instruction to scan a word (core/private/heap/tlsf_block.h).
RESERVED_BYTES = 1 << (33 if platform.machine() == "riscv64" else 36)
SPILL_MIN_BYTES = 1 << 20
ARENA_ALIGNMENT = 1 << 21  # TAU_REPLAY_ARENA_ALIGNMENT; larger if the plan's alignment is
LOCKED_PART = 8


@dataclass(frozen=True)
class How:
    """The user's settings; `spill_bytes` None: as much as it needs.

    Bands that came to `threshold_percent` of their limits are named at the end; without one, those
    that came to 80 % and held more than was recorded.
    """

    plan: Plan | None = None
    spill_bytes: int | None = None
    is_strict: bool = False
    is_locked: bool = False
    with_children: bool = False
    variables: dict[str, str] | None = None
    colors: Colors | None = None
    threshold_percent: int | None = None


@dataclass(frozen=True)
class Ran:
    """How the program ended, and the lines of its report; empty if it left none."""

    ended: launch.Ended
    report: str


def plan_line(plan: Plan) -> tuple[str, str]:
    """The plan as the allocator reads it from its settings: the name of the line, and its text."""
    pairs = [f"{item.size_bytes}*{item.count}" for item in plan.classes]
    is_bands = plan.system == "pools"
    first = plan.alignment_bytes if is_bands else plan.check_level
    return ("bands" if is_bands else "plan"), " ".join([str(first), str(plan.heap_bytes), *pairs])


def spill_bytes(how: How) -> int | None:
    """The bytes of the spill heap next to the plan's; None: as many as it can have."""
    if how.is_strict:
        return 0
    if how.spill_bytes is not None:
        return how.spill_bytes
    if how.is_locked and how.plan is not None:
        return max(SPILL_MIN_BYTES, how.plan.heap_bytes // LOCKED_PART)
    return None


def settings_text(how: How) -> str:
    """The lines of the allocator's settings; docs/spec/runtime.md has their meaning."""
    found = {}
    if how.plan is not None:
        name, text = plan_line(how.plan)
        found[name] = text
        if how.plan.alignment_bytes > ARENA_ALIGNMENT:
            found["arena"] = str(how.plan.alignment_bytes)
        if (bytes_count := spill_bytes(how)) is not None:
            found["spill"] = str(bytes_count)
    if how.colors is not None:
        found["colors"] = how.colors.text(how.is_strict)
    if how.is_locked:
        found["lock"] = "1"
    if how.with_children:
        found["children"] = "1"
    return "".join(f"{name} {value}\n" for name, value in found.items())


def preloaded_before(environment: dict[str, str]) -> str:
    """LD_PRELOAD without this library. Raises TauError if the recorder is in it."""
    names = environment.get("LD_PRELOAD", "").replace(":", " ").split()
    if any(Path(name).name == launch.RECORDER for name in names):
        raise TauError(
            "the recorder is preloaded already, and both would serve malloc",
            "let `tau run` start it: tau run -- tau record -- PROGRAM; or run the program alone",
            EXIT_CANNOT_RUN_SO,
        )
    return ":".join(name for name in names if Path(name).name != RUN_LIBRARY)


def run(words: list[str], how: How) -> Ran:
    """Run a program to its end. Raises TauError with exit code 125 to 127 if it cannot be run."""
    environment = dict(os.environ)
    before = preloaded_before(environment)
    environment |= how.variables or {}
    with (
        launch.preloaded_library(RUN_LIBRARY) as library,
        exchange.opened(settings_text(how)) as shared,
    ):
        environment["LD_PRELOAD"] = f"{library}:{before}" if before else library
        ended = launch.run_in(words, environment, False, False, shared.value)
        return Ran(ended, shared.report())
