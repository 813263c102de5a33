"""Validates a plan: the rules of SPEC, its recordings, and its sections against this core."""

from __future__ import annotations

from pathlib import Path

from tautochrone.console import output
from tautochrone.errors import TauError
from tautochrone.plan.file import Plan, load_any_plan
from tautochrone.plan.remarks import plan_remarks
from tautochrone.plan.sections import TLB, section_named
from tautochrone.trace.checking import Problem
from tautochrone.trace.file import is_plan


def check_plan(path: Path, head: bytes) -> tuple[str, list[Problem]]:
    """Return the kind of a file that is not a trace, and its problems as a plan."""
    is_named_so = path.suffix == ".toml" or is_plan(head)
    try:
        plan = load_any_plan(path)
    except TauError as error:
        if is_named_so:
            return "plan", [Problem("plan", error.message.removeprefix(f"{path}: "))]
        return "unknown", [Problem("byte 0", "this is neither a trace nor a plan")]
    problems = [Problem("trace", text) for text in plan_remarks(plan)]
    if plan.has_heap and "bounds" not in plan.sections:
        step = "to have them, make the plan again with `tau plan`"
        output.note(f"tau: {path}: it has no [bounds]", step)
    has_classes = bool(plan.classes)
    for name, value in plan.sections.items():
        found = section_named(name).problems(value, has_classes, plan.sections)
        problems += [Problem(name, text) for text in found]
    return _kind_of(plan), problems


def _kind_of(plan: Plan) -> str:
    """What a plan is of, where that is not a heap alone."""
    if TLB not in plan.sections:
        return "plan"
    return "plan of a heap and of TLB sets" if plan.has_heap else "plan of TLB sets"
