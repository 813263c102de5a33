"""[build]: how the core was built for the plan's heap_bytes and bounds, and by which compilers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tautochrone.machine.core_build import TARGETS, Build, of_table
from tautochrone.plan.sections import Basis

if TYPE_CHECKING:
    from tautochrone.plan.file import Plan

NAME = "build"
DEFAULT = "TAU_ALIGNMENT_DEFAULT"
WORD_BITS = {"32": 32, "host": 64}
FLAGS = "-DTAU_ALIGNMENT=4 -DTAU_ALIGNMENT_BELOW_MAX=1"
BELOW_MAX = (
    "objects that need 8 bytes, such as a double, must be requested with their alignment"
    f" (aligned_alloc); build the core, and the recorder of C++ and Rust, with {FLAGS}"
)
UNCOUNTED = (
    "the ports for newlib, FreeRTOS, Zephyr and Rust refuse a plan without statistics; other code"
    " calls the header's functions, with a core built with -DTAU_STATISTICS=0"
)


class Built(NamedTuple):
    """The table [build]; `compilers` are pairs of a target and its compiler's version."""

    build: Build
    compilers: tuple[tuple[str, str], ...]


def build_of(plan: Plan | None) -> Build:
    """The build that a plan was measured with; the default one without a plan."""
    built = plan.sections.get(NAME) if plan is not None else None
    return built.build if built is not None else Build()


def make(basis: Basis) -> Built:
    """As Section."""
    return of(basis.build, basis.layout)


def of(build: Build, layout: str) -> Built:
    """The section of a plan for a layout, with the compilers of this machine."""
    from tautochrone.machine.images import compiler_versions

    return Built(build, compiler_versions(TARGETS) if layout == "32" else ())


def from_table(table: dict[str, Any]) -> Built:
    """As Section."""
    compilers = tuple((row["target"], row["version"]) for row in table["compilers"])
    return Built(of_table(table), compilers)


def to_table(value: Built) -> dict[str, Any]:
    """As Section."""
    alignment = value.build.alignment_bytes
    return {
        "check_level": value.build.check_level,
        "optimize": value.build.optimize,
        "flags": list(value.build.flags),
        **({"alignment_bytes": alignment} if alignment else {}),
        **({} if value.build.statistics else {"statistics": False}),
        "compilers": [{"target": target, "version": text} for target, text in value.compilers],
    }


def rule_broken(value: Built) -> str:
    """As Section: [PLAN-21]."""
    targets = [target for target, _ in value.compilers]
    return "build.compilers names a target twice" if len(set(targets)) < len(targets) else ""


def told(value: Built) -> list[str]:
    """As Section."""
    level = f"check level {value.build.check_level}"
    return [
        f"measured for a core built with {value.build.told() if value.compilers else level}",
        *([BELOW_MAX] if value.build.alignment_bytes else ()),
        *(() if value.build.statistics else [UNCOUNTED]),
    ]


def header(value: Built) -> list[str]:
    """As Section."""
    lines = [f"// Measured for a core built with {value.build.told()}."]
    lines += [f"// {target}: {version}" for target, version in value.compilers]
    aligned = value.build.alignment_bytes
    cause = (
        f"the plan has an alignment of {aligned}: add {FLAGS}"
        if aligned
        else "the plan has another alignment: leave out -DTAU_ALIGNMENT, or tau plan --alignment 4"
    )
    counted = (
        "the plan has statistics: leave out -DTAU_STATISTICS=0, or tau plan --build FILE"
        if value.build.statistics
        else "the plan is without statistics: add -DTAU_STATISTICS=0; if a port refuses it, plan"
        " with statistics"
    )
    lines += [
        f'TAU_STATIC_ASSERT(TAU_CHECK_LEVEL == {value.build.check_level} && TAU_JUNK_FILL == 0,',
        '                  "the plan was measured with other options: tau plan --build FILE");',
        f'TAU_STATIC_ASSERT(TAU_ALIGNMENT == {aligned or DEFAULT},',
        f'                  "{cause}");',
        f'TAU_STATIC_ASSERT(TAU_STATISTICS == {value.build.statistics:d},',
        f'                  "{counted}");',
    ]
    return lines


def has_same_compiler(plan: Plan, target: str) -> bool:
    """True if the plan states the installed compiler for a target."""
    from tautochrone.machine.images import compiler_versions

    built = plan.sections.get(NAME)
    stated = dict(built.compilers).get(target) if built is not None else None
    return stated is not None and compiler_versions((target,)) == ((target, stated),)


def problems(value: Built, plan: Plan) -> list[str]:
    """As Section: [PLAN-21] with the installed compilers."""
    from tautochrone.machine.images import compiler_versions

    now = dict(compiler_versions(tuple(target for target, _ in value.compilers)))
    return [
        f"the compiler for {target} is now {now[target]}; the plan was made with {version}"
        for target, version in value.compilers
        if target in now and now[target] != version
    ]
