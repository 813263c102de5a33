"""[bounds]: the bound of each operation of a plan's systems on each target, and of each task's
response (responses.py).

A bound is the longest path through the linked code (machine/longest_path.py). It depends on the
core and the compiler, not on a recording, so the section holds a hash of the core. `tau check`
recomputes all bounds and reports those that changed.
"""

from __future__ import annotations

import functools
import hashlib
import platform
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tautochrone import native
from tautochrone.machine.core_build import FASTEST, Build
from tautochrone.console import output
from tautochrone.errors import TauError
from tautochrone.facts import plan_format
from tautochrone.plan import responses
from tautochrone.plan.build import build_of, has_same_compiler
from tautochrone.plan.responses import Responses
from tautochrone.plan.sections import TLB, Basis, record_type

if TYPE_CHECKING:
    from tautochrone.plan.file import Plan

NAME = "bounds"
POOLS = "pools"
RUN = "run"  # `tau run`'s malloc and free, on the processor of this machine
RUN_POOLS = "run:pools"  # the same within the limits of a plan of bands
RUNS = (RUN, RUN_POOLS)
WITHIN_LIMITS = "bounds hold for calls within the limits; a call beyond a limit takes longer"
RUN_BUILD = "O3-check1"  # linux/runtime/CMakeLists.txt
HOST, X86_64 = "host", "x86-64"
Pair = tuple[str, str]


Bound = record_type("bounds.operations")


class Bounds(NamedTuple):
    """The table [bounds]."""

    core_sha256: str
    operations: tuple[Bound, ...]
    tasks: Responses | None = None


def make(basis: Basis) -> Bounds | None:
    """The bounds on each target whose compiler is installed; None if there is none."""
    found: list[Bound] = []
    for pair in _pairs(basis.system, "pages" in basis.sections, basis.layout):
        try:
            found += bounds_on(*pair, basis.build)
        except TauError as error:
            basis.note(f"no bounds of {pair[0]} on {pair[1]}: {error.message}", error.next_step)
    return Bounds(core_sha256(), tuple(found)) if found else None


def _pairs(system: str, has_pages: bool, layout: str) -> list[Pair]:
    """The pairs of a plan's systems and their targets."""
    systems = [] if layout == HOST else [system]
    systems += ["rtvm", "tile:rtmmu"] if has_pages else []
    if layout == HOST and platform.machine() == "x86_64":
        systems.append(RUN_POOLS if system == "pools" else RUN)
    return [(system, target) for system in systems for target in _targets(system)]


def _targets(system: str) -> tuple[str, ...]:
    """The targets on which a system has bounds; empty for an unknown system."""
    from tautochrone.replay.systems import system_named

    if system in RUNS:
        return (X86_64,)
    try:
        return system_named(system).targets
    except TauError:
        return ()


@functools.cache
def core_sha256() -> str:
    """The SHA-256 of the core's sources: name and content of each C file, in order of names."""
    folder = native.core_sources()
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.[ch]"), key=lambda path: path.relative_to(folder).parts):
        data = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


@functools.cache
def bounds_on(system: str, target: str, build: Build) -> tuple[Bound, ...]:
    """The bounds of a system's operations in a build, without those that have none.

    Heaps on pages, and `tau run`, have one build each, which the rows name.

    Raises TauError if the target's code cannot be built, for example because its compiler is
    missing.
    """
    # Imported late, so that reading a plan does not load what builds and decodes code.
    from tautochrone.replay.systems import system_named

    if system in RUNS:
        from tautochrone.machine import run_bounds

        found = run_bounds.operations(system == RUN_POOLS).items()
        rows = [(name, ("instructions", most)) for name, most in found]
        return tuple(Bound(system, name, target, RUN_BUILD, *row) for name, row in rows)
    chosen = system_named(system)
    made = build if chosen.follows_build else FASTEST
    return tuple(
        Bound(system, operation, target, made.name, unit, bound)
        for operation, unit, bound in chosen.bounds(target, made)
        if bound is not None
    )


def from_table(table: dict[str, Any]) -> Bounds:
    """As Section."""
    operations = tuple(Bound(**row) for row in table["operations"])
    return Bounds(table["core_sha256"], operations, responses.from_table(table))


def to_table(value: Bounds) -> dict[str, Any]:
    """As Section."""
    tasks = responses.to_table(value.tasks) if value.tasks else {}
    table = {**value._asdict(), **tasks, "operations": [row._asdict() for row in value.operations]}
    return {key: table[key] for key in plan_format.SECTIONS[NAME] if key in table}


def rule_broken(value: Bounds) -> str:
    """As Section: [PLAN-15], [PLAN-18]."""
    if not value.operations and value.tasks is None:
        return "bounds.operations is empty"
    seen: set[str] = set()
    for row in value.operations:
        if _macro(row) in seen:
            return f"bounds.operations names {_said(row)} twice"
        seen.add(_macro(row))
    return responses.broken_rule(value.tasks) if value.tasks else ""


def document(value: Bounds) -> dict[str, Any]:
    """As Section."""
    return {
        "bounds": [row._asdict() for row in value.operations],
        "core_sha256": value.core_sha256,
        **(responses.to_table(value.tasks) if value.tasks else {}),
    }


def told(value: Bounds) -> list[str]:
    """As Section. `tau replay` prints the other bounds of calls next to the measured costs."""
    tasks = responses.told(value.tasks) if value.tasks else []
    of_runs = _told_of_run(of_run(value))
    return [*of_runs, *(_conditions(value) if of_runs else ()), *tasks]


def of_run(value: Bounds | None) -> dict[str, int]:
    """The bounds of `tau run` by operation, in instructions; empty if there are none."""
    rows = value.operations if value is not None else ()
    return {row.operation: row.bound for row in rows if row.system in RUNS}


def _told_of_run(bounds: Mapping[str, int]) -> list[str]:
    if not bounds:
        return []
    ways = {"": [], "_alone": []}
    for name, bound in bounds.items():
        verb, alone, _ = name.partition("_alone")
        ways[alone].append(f"{verb} {bound:,}")
    names = {"": "with several threads", "_alone": "with one"}
    said = "; ".join(f"{', '.join(rows)} {names[way]}" for way, rows in ways.items() if rows)
    return [f"instructions of a call under `tau run`, at most: {said}"]


def header(value: Bounds) -> list[str]:
    """As Section."""
    return [
        *(f"// {line}" for line in _conditions(value)),
        "// Bounds of each call, without payload, for the core with this SHA-256:",
        f'#define TAU_PLAN_CORE_SHA256 "{value.core_sha256}"',
        *(f"#define {_macro(row)} {row.bound}u" for row in value.operations),
        *(responses.header(value.tasks) if value.tasks else ()),
    ]


def _conditions(value: Bounds) -> list[str]:
    """The condition under which bounds of pools for bands hold."""
    systems = {row.system for row in value.operations}
    return [WITHIN_LIMITS] if systems & {POOLS, RUN_POOLS} else []


def listed(value: Bounds) -> list[str]:
    """Every bound, a line for each system, target and build."""
    rows: dict[str, list[str]] = {}
    for row in value.operations:
        where = f"{row.system} on {row.target} ({row.build}), {row.unit} at most"
        rows.setdefault(where, []).append(f"{row.operation} {row.bound:,}")
    return [*(f"{where}: {', '.join(calls)}" for where, calls in rows.items()), *_conditions(value)]


def _macro(row: Bound) -> str:
    name = f"TAU_PLAN_BOUND_{row.system}_{row.operation}_{row.target}_{row.build}_{row.unit}"
    return re.sub("[^A-Z0-9]", "_", name.upper())


def _said(row: Bound) -> str:
    return f"{row.operation} of {row.system} on {row.target} ({row.build}), in {row.unit}"


def problems(value: Bounds, plan: Plan) -> list[str]:
    """As Section: [PLAN-16], [PLAN-18] with the installed core, kernel and compilers."""
    of_tasks = _problems_of_tasks(value, plan)
    if not value.operations:
        return of_tasks
    ours = core_sha256()
    other_core = f"made from another core ({value.core_sha256[:12]}…, this is {ours[:12]}…)"
    is_same = value.core_sha256 == ours
    planned = {row[:5]: row for row in value.operations}
    build = build_of(plan)
    told = dict.fromkeys((row.system, row.target) for row in value.operations)
    moved = [
        text
        for pair in told
        for text in _moved(pair, _reason(pair, plan) if is_same else other_core, planned, build)
    ]
    offered = _pairs(plan.system, "pages" in plan.sections, plan.layout)
    missing = [pair for pair in offered if pair not in told and _computed(pair, build)]
    moved += [f"the plan has no bound of {system} on {target}" for system, target in missing]
    return moved + of_tasks


def _reason(pair: Pair, plan: Plan) -> str:
    """Why bounds of the same core differ."""
    if pair[0] in RUNS:
        return "made with another `tau run`"
    if has_same_compiler(plan, pair[1]):
        return "changed by hand, or made by another version of tau"
    return "made with another compiler"


def _problems_of_tasks(value: Bounds, plan: Plan) -> list[str]:
    """Those of the responses; a note if the kernel cannot be built."""
    if value.tasks is None:
        return []
    try:
        return responses.problems(value.tasks, plan.sections.get(TLB))
    except TauError as error:
        output.note(
            f"tau: the bounds of responses were not compared: {error.message}", error.next_step
        )
        return []


def _moved(
    pair: Pair, reason: str, planned: dict[tuple[str, ...], Bound], build: Build
) -> list[str]:
    """The differences between plan and installation for one system on one target."""
    system, target = pair
    if target not in _targets(system):
        return [f"{reason}: {system} has no bounds on {target}"]
    rows = _computed(pair, build)
    if rows is None:
        return []
    found = {row[:5]: row for row in rows}
    ours = {key: row for key, row in planned.items() if (row.system, row.target) == pair}
    made, now = ({row.build for row in each.values()} for each in (ours, found))
    if now and not made & now:
        return [
            f"the bounds of {system} on {target} are of {' and '.join(made)}, but the plan states"
            f" a build of {' and '.join(now)}: run tau plan with --build again"
        ]
    said = []
    for key, row in ours.items():
        now = found.get(key)
        if now is None:
            said.append(f"{_said(row)}, no longer has a bound; the plan says {row.bound}")
        elif now.bound != row.bound:
            change = now.bound - row.bound
            said.append(f"{_said(row)}: now {now.bound}, the plan says {row.bound} ({change:+d})")
    said += [
        f"{_said(row)}: now {row.bound}, the plan has no bound"
        for key, row in found.items()
        if key not in ours
    ]
    return [f"{reason}: {text}" for text in said]


def _computed(pair: Pair, build: Build) -> tuple[Bound, ...] | None:
    """The bounds of one system on one target; None, with a note, if its code cannot be built."""
    try:
        return bounds_on(*pair, build)
    except TauError as error:
        output.note(
            f"tau: the bounds of {pair[0]} on {pair[1]} were not compared: {error.message}",
            error.next_step,
        )
        return None
