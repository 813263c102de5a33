"""A plan of cold code, read back: its numbers and its pages."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tautochrone.coldcode.fragment import PLAN_AGAIN, Fragment, read_fragment
from tautochrone.errors import TauError
from tautochrone.files import input_file
from tautochrone.plan.code.section import CodePlan, fragment_path, fragment_problem
from tautochrone.plan.file import load_any_plan
from tautochrone.plan.sections import CODE


class Opened(NamedTuple):
    """The section [code] of a plan, and the fragment beside it."""

    value: CodePlan
    fragment: Fragment
    fragment_path: Path


def opened(path: Path) -> Opened:
    """Read a plan. Raises TauError if it has no cold code, or its fragment is another plan's."""
    value = load_any_plan(path).sections.get(CODE)
    if value is None:
        raise TauError(f"{path} has no [code]", "make a plan with `tau coldcode plan -o`")
    there = fragment_path(path)
    input_file.check(there, "placement", f"put it beside the plan, or {PLAN_AGAIN}")
    fragment = read_fragment(there)
    problem = fragment_problem(value, fragment)
    if problem:
        raise TauError(f"{there} is not the fragment of {path}: {problem}", PLAN_AGAIN)
    return Opened(value, fragment, there)
