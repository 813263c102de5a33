"""Plans every recording for each build, and replays it on each target's machine code.

A plan has pools wherever they save anything, and no margin: the hardest case. It must hold in
exactly the header's bytes, and no call may take more instructions than the header's bound.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tautochrone.code.build import TARGETS, Build
from tautochrone.plan.heap.pools import ALWAYS
from tautochrone.plan.making import Wanted, make_plan, with_sections
from tautochrone.replay.opened import OpenTrace
from tautochrone.verify.recordings import Done, verify

CHECK_LEVELS = (0, 1, 2)
OPTIMIZATIONS = ("-O2", "-Os")


def held(name: str, path: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for the recording in every build on every target."""
    trace = OpenTrace(path)
    for level in CHECK_LEVELS:
        build = Build(level)
        made = make_plan([path], Wanted(pools=ALWAYS, build=build))
        for optimize, target in itertools.product(OPTIMIZATIONS, TARGETS):
            built = with_sections(
                replace(made, build=replace(build, optimize=optimize)), False, lambda *_: None
            )
            yield _row(name, level, optimize, verify(built.plan, trace, target), built.plan.classes)


def _row(name: str, level: int, optimize: str, done: Done, classes: Any) -> dict[str, Any]:
    run = done.run
    parts = [call.instructions_max / call.bound for call in done.calls if call.bound]
    return {
        "recording": name,
        "build": Build(level, optimize).name,
        "target": run.target,
        "heap_bytes": run.heap_bytes,
        "pools": len(classes),
        "calls": run.calls,
        "refused": done.refusals,
        "over_bound": len(done.over),
        "nearest": round(max(parts), 4),  # the call that came nearest to its bound, as a part of it
        "stack_bytes": run.stack_bytes,
    }
