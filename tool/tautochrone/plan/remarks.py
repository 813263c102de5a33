"""Remarks on a plan's recordings: incomplete recordings, another ABI, another program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tautochrone.console import output
from tautochrone.plan import sizes
from tautochrone.plan.file import Plan
from tautochrone.plan.sections import section_named

NO_HEADER: Mapping[str, Any] = {}


def note_plan(
    path: Path | str | None, plan: Plan | None, header: Mapping[str, Any] = NO_HEADER
) -> None:
    """Print a line on stderr for each remark on the plan at `path`."""
    for text in plan_remarks(plan, header):
        output.note(f"tau: {path}: {text}")


def plan_remarks(plan: Plan | None, header: Mapping[str, Any] = NO_HEADER) -> list[str]:
    """Return a sentence for each reason why a plan, if any, may mislead.

    `header` is the recorder's of the recording that the plan is used for, if it is used for one.
    """
    if plan is None:
        return []
    of_sizes = [sizes.remark(plan)] if plan.sizes in (sizes.ESTIMATE, sizes.AS_RECORDED) else []
    # A firmware does not tell its name: its recordings have the name of their capture.
    is_named = header.get("recorder") != "target"
    other = other_program(plan, str(header.get("program") or "")) if is_named else ""
    return [*of_sizes, *incomplete(plan), *([other] if other else [])]


def other_program(plan: Plan, path: str) -> str:
    """Return a sentence if the plan is of another program than the one at `path`, else "".

    File names are all that is compared. An empty path is an unknown program.
    """
    planned = dict.fromkeys(trace.program for trace in plan.traces if trace.program)
    name = Path(path).name
    is_other = bool(planned) and bool(name) and name not in planned
    return f"the plan is of {', '.join(planned)}, not of {name}" if is_other else ""


def provenance(plan: Plan) -> dict[str, str]:
    """Return whose sizes a plan has, for which build it was measured, and what verified it."""
    found = {"sizes": sizes.remark(plan) or "sizes of the target's ABI"}
    for name in ("build", "verified"):
        if name in plan.sections:
            found[name] = "; ".join(section_named(name).told(plan.sections[name]))
    if plan.layout == "32":
        found.setdefault("verified", "on no target's machine code; `tau verify` does it")
    return found


def incomplete(plan: Plan) -> list[str]:
    """Return a sentence for each incomplete recording that a plan was made from."""
    return [
        f"made from {trace.name}, which is incomplete: {trace.incomplete}"
        for trace in plan.traces
        if trace.incomplete
    ]
