"""Plans on recordings of 32-bit programs, verified: `python -m bench verified [--fresh]`.

Makes the recordings, plans each for each build, replays it on each target's machine code, and
writes out/bench/verified.json and a table. A plan has pools wherever they save anything, and no
margin: the hardest case. It must hold in exactly the header's bytes, and no call may take more
instructions than the header's bound. Complains otherwise, and if there are too few recordings.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.commands import ROOT
from bench.runner import Bench, Given
from bench.verified.recordings import recordings
from tautochrone.code.build import TARGETS, Build
from tautochrone.console.output import note
from tautochrone.plan.heap.pools import ALWAYS
from tautochrone.plan.making import Wanted, make_plan, with_sections
from tautochrone.replay.opened import OpenTrace
from tautochrone.verify.recordings import Done, verify

CHECK_LEVELS = (0, 1, 2)
OPTIMIZATIONS = ("-O2", "-Os")
RECORDINGS_MIN = 30
SMALL_MIN = 12  # with a peak of SMALL_BYTES
SMALL_BYTES = range(8 << 10, (264 << 10) + 1)


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


def measure(given: Given) -> dict[str, Any]:
    """Make and list them, then plan and verify each."""
    made, plans = [], []
    for one in recordings(is_fresh=given.fresh):
        note(f"verifying {one['name']}")
        own = [*held(one["name"], ROOT / one["path"])]
        made.append({**one, "plans": len(own), "plans_held": len(own) - len(failed(own))})
        plans += own
    return {"recordings": made, "plans": plans}


def failed(plans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Plans that do not hold."""
    return [row for row in plans if row["refused"] or row["over_bound"]]


def small(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Recordings of small heaps."""
    return [one for one in result["recordings"] if one["peak_live_bytes"] in SMALL_BYTES]


def lines(result: dict[str, Any]) -> list[str]:
    """The sums."""
    plans = result["plans"]
    calls, refused, over = (
        sum(row[key] for row in plans) for key in ("calls", "refused", "over_bound")
    )
    return [
        f"{len(result['recordings'])} recordings, {len(small(result))} with a peak of 8 to 264 KiB",
        f"{len(plans) - len(failed(plans))} of {len(plans)} plans hold in exactly the header's"
        f" bytes; {calls:,} calls, {refused} refused, {over} operations over the header's bound",
    ]


def complaints(result: dict[str, Any]) -> list[str]:
    """Limits that are broken."""
    failures = failed(result["plans"])
    found = [f"{row['recording']}, {row['build']}: does not hold" for row in failures]
    counts = {"recordings": len(result["recordings"]), "small recordings": len(small(result))}
    for (name, count), least in zip(counts.items(), (RECORDINGS_MIN, SMALL_MIN), strict=True):
        found += [f"{count} {name}, at least {least}"] if count < least else []
    return found


FRESH = {"--fresh": {"action": "store_true", "help": "make new recordings"}}
BENCH = Bench("verified", measure, lines, complaints, FRESH)
