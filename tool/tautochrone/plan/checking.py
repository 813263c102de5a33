"""Validates a plan: the rules of SPEC, its recordings, and its sections against this core."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tautochrone.console import output
from tautochrone.errors import TauError
from tautochrone.plan.file import Plan, load_any_plan
from tautochrone.plan.remarks import incomplete
from tautochrone.plan.sections import CODE, WITHOUT_HEAP, section_named
from tautochrone.plan.verified import sha256_of
from tautochrone.trace.checking import Problem
from tautochrone.trace.file import is_plan

if TYPE_CHECKING:
    from tautochrone.plan.code import CodePlan


def check_plan(path: Path, head: bytes) -> tuple[str, list[Problem]]:
    """Return the kind of a file that is not a trace, and its problems as a plan."""
    is_named_so = path.suffix == ".toml" or is_plan(head)
    try:
        plan = load_any_plan(path)
    except TauError as error:
        if is_named_so:
            return "plan", [Problem("plan", error.message.removeprefix(f"{path}: "))]
        return "unknown", [Problem("byte 0", "this is neither a trace nor a plan")]
    problems = [Problem("trace", text) for text in (*incomplete(plan), *_changed(path, plan))]
    if plan.has_heap and "bounds" not in plan.sections:
        step = "to have them, make the plan again with `tau plan`"
        output.note(f"tau: {path}: it has no [bounds]", step)
    for name, value in plan.sections.items():
        found = section_named(name).problems(value, plan)
        problems += [Problem(name, text) for text in found]
    if CODE in plan.sections:
        problems += [Problem(CODE, text) for text in _problems_of_code(path, plan.sections[CODE])]
    return _kind_of(plan), problems


def _changed(path: Path, plan: Plan) -> list[str]:
    """Recordings next to the plan whose content has changed since planning."""
    found = []
    for trace in plan.traces:
        now = path.parent / trace.name
        if now.is_file() and sha256_of(now) != trace.sha256:
            found.append(f"{now} is not the recording that the plan was made from")
    return found


def _problems_of_code(path: Path, value: CodePlan) -> list[str]:
    """How the files next to a plan of code differ from it; a note names missing files."""
    from tautochrone.plan.code import problems_of

    problems, missing = problems_of(path, value)
    if missing:
        step = f"to have them compared, put them into the folder of {path.name}"
        output.note(f"tau: {path}: not there to be compared: {', '.join(missing)}", step)
    return problems


def _kind_of(plan: Plan) -> str:
    """The kinds of a plan's parts, unless it has a heap alone."""
    parts = ["a heap"] if plan.has_heap else []
    parts += [noun for name, noun in WITHOUT_HEAP.items() if name in plan.sections]
    return "plan" if parts == ["a heap"] else f"plan of {' and of '.join(parts)}"
