"""`tau check`: a plan of bands; `tau check PLAN TRACE…`: which of its limits recordings exceed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tautochrone.console import output
from tautochrone.errors import EXIT_DONE, EXIT_LIMIT_EXCEEDED, EXIT_USAGE, TauError
from tautochrone.heap.exceeding import Exceeded, exceeded
from tautochrone.heap.guarantee import arena_problem
from tautochrone.plan.file import load_any_plan, load_plan
from tautochrone.trace.file import open_trace


def heap_problem(plan_path: Path) -> str:
    """How the heap of a plan of bands differs from what these take, or ""."""
    return arena_problem(load_any_plan(plan_path))


def check(plan_path: Path, traces: tuple[Path, ...], as_json: bool) -> int:
    """Print what exceeds a limit; 3 if anything does. Raises TauError for another plan."""
    plan = load_plan(plan_path)
    if plan.system != "pools":
        raise TauError(
            f"{plan_path} has no limits: it is not a plan of `tau plan --guarantee`",
            f"check the recordings one by one, or replay them: tau replay TRACE --plan {plan_path}",
            EXIT_USAGE,
        )
    found = {trace: exceeded(open_trace(trace), plan) for trace in traces}
    result: dict[str, Any] = {
        "plan": str(plan_path),
        "within_limits": not any(found.values()),
        "traces": [
            {"trace": str(trace), "exceeded": [each._asdict() for each in rows]}
            for trace, rows in found.items()
        ],
    }

    def human() -> None:
        for trace, rows in found.items():
            for row in rows:
                print(f"{trace}: {told(row)}")
            if not rows:
                print(f"{trace}: stays within all {len(plan.classes)} limits")
        if any(found.values()):
            print("next: plan from these recordings too, or raise a limit with --limits")

    output.emit(as_json, "check", result, human)
    return EXIT_LIMIT_EXCEEDED if any(found.values()) else EXIT_DONE


def told(row: Exceeded) -> str:
    """A row in words."""
    where = f" at event {row.first_event:,}" + (f", from {row.site}" if row.site else "")
    if row.limit_count == 0:
        return (
            f"{output.count(row.peak_count, 'object')} at once in no band, of up to"
            f" {row.size_bytes:,} bytes; first{where}"
        )
    return (
        f"{row.peak_count:,} objects of up to {row.size_bytes:,} bytes at once, the limit is"
        f" {row.limit_count:,}; first{where}"
    )
