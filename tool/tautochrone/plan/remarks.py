"""Remarks on incomplete recordings that a plan was made from."""

from __future__ import annotations

from pathlib import Path

from tautochrone.console import output
from tautochrone.plan.file import Plan


def note_plan(path: Path | str | None, plan: Plan | None) -> None:
    """Print a line on stderr for each incomplete recording that the plan at `path` was made from.
    """
    for text in plan_remarks(plan):
        output.note(f"tau: {path}: {text}")


def plan_remarks(plan: Plan | None) -> list[str]:
    """Return a sentence for each incomplete recording that a plan, if any, was made from."""
    return [
        f"made from {trace.name}, which is incomplete: {trace.incomplete}"
        for trace in (plan.traces if plan else ())
        if trace.incomplete
    ]
