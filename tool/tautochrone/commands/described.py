"""Files that describe tasks, a geometry, a system or limits; their `format` says which."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tautochrone.errors import TauError
from tautochrone.facts import (
    geometry_format,
    limits_format,
    plan_format,
    system_format,
    tasks_format,
)
from tautochrone.files import input_file
from tautochrone.files.toml_file import FILE_BYTES_MAX
from tautochrone.trace.checking import Checked, Problem

if TYPE_CHECKING:
    from tautochrone.heap.limits import Limits

PLAN, TASKS, GEOMETRY, SYSTEM, LIMITS = "plan", "tasks", "geometry", "system", "limits"
FORMAT = re.compile(rb"""^(?:\xef\xbb\xbf)?[ \t]*format[ \t]*=[ \t]*["']([^"'\n]*)""", re.MULTILINE)
LINE = re.compile(r":(\d+): (.*)", re.DOTALL)
PAGE_BYTES = 4096  # To look at what tasks need; the geometry's are not known yet.


def kind_of(path: Path) -> str | None:
    """PLAN or the kind of description; None if the file does not say that it is one of these."""
    found = FORMAT.search(input_file.read(path, "trace or plan", FILE_BYTES_MAX))
    kinds = {plan_format.FORMAT: PLAN}
    schemas = {
        TASKS: tasks_format,
        GEOMETRY: geometry_format,
        SYSTEM: system_format,
        LIMITS: limits_format,
    }
    for kind, facts in schemas.items():
        kinds |= dict.fromkeys(facts.DOCUMENT["format"]["values"], kind)
    return kinds.get(found[1].decode(errors="replace")) if found else None


def check(path: Path, kind: str) -> Checked:
    """The first thing that the command for such a description would refuse."""
    try:
        CHECKS[kind](path)
    except TauError as error:
        text = error.message.removeprefix(str(path))
        line = LINE.fullmatch(text)
        place, cause = (f"line {line[1]}", line[2]) if line else (kind, text.removeprefix(": "))
        return Checked([Problem(place, cause)], next_step=error.next_step)
    return Checked([])


def _check_tasks(path: Path) -> object:
    from tautochrone.tlb.planning.demand import demands_of
    from tautochrone.tlb.tasks import read_tasks

    return demands_of(read_tasks(path), PAGE_BYTES)


def _check_geometry(path: Path) -> object:
    from tautochrone.tlb.geometry import read_geometry

    return read_geometry(path)


def _check_system(path: Path) -> object:
    from tautochrone.compose.description import read_description

    return read_description(path)


def read_limits(path: Path) -> Limits:
    """Limits as they are without a program: each type has an unknown size, below 0."""
    from tautochrone.heap.limits import load

    unknown: dict[str, int] = {}
    return load(path, lambda name: -1 - unknown.setdefault(name, len(unknown)))


CHECKS: dict[str, Callable[[Path], object]] = {
    TASKS: _check_tasks,
    GEOMETRY: _check_geometry,
    SYSTEM: _check_system,
    LIMITS: read_limits,
}
