"""Remarks on what a plan was made from: incomplete recordings, and sizes of another ABI."""

from __future__ import annotations

from pathlib import Path

from tautochrone.console import output
from tautochrone.plan import sizes
from tautochrone.plan.file import Plan
from tautochrone.plan.sections import section_named


def note_plan(path: Path | str | None, plan: Plan | None) -> None:
    """Print a line on stderr for each remark on the plan at `path`."""
    for text in plan_remarks(plan):
        output.note(f"tau: {path}: {text}")


def plan_remarks(plan: Plan | None) -> list[str]:
    """Return a sentence for each reason why a plan, if any, may not be what it seems."""
    if plan is None:
        return []
    of_sizes = [sizes.remark(plan)] if plan.sizes in (sizes.ESTIMATE, sizes.AS_RECORDED) else []
    return [*of_sizes, *incomplete(plan)]


def provenance(plan: Plan) -> dict[str, str]:
    """Return whose sizes a plan has, for which build it was measured, and what verified it."""
    found = {"sizes": sizes.remark(plan) or "those of the target's ABI"}
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
