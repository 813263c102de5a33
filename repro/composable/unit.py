"""The cycles of the unit, seen by a program: loading a table, a hit, a miss [P2-13, P2-23]."""

import functools
from typing import Any

from hw.build import Options
from repro.composable.applications import BUILT, PROGRAMS, base, printed
from repro.engine.results import REPOSITORY
from tautochrone.targets.build import link


@functools.cache
def unit_cycles() -> dict[str, Any]:
    """The lines that programs/unit.c prints, by their name. All of one name must be equal."""
    base()
    program = link("tile", REPOSITORY, [PROGRAMS / "unit.c"], BUILT / "unit.elf")
    seen: dict[str, list[int]] = {}
    for line in printed(program, Options(unit="composable", special_frames=True)).splitlines():
        name, value = line.split()
        seen.setdefault(name, []).append(int(value))
    return {
        **{f"{name}_cycles": max(values) for name, values in seen.items()},
        **{f"{name}_spread_cycles": max(values) - min(values) for name, values in seen.items()},
        **{f"{name}_count": len(values) for name, values in seen.items()},
    }


def measure() -> dict[str, Any]:
    """The stage."""
    return dict(unit_cycles())


quick = measure
