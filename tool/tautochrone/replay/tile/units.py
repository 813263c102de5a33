"""The memory management units that replay on the tile, and the suffixes of their names."""

from __future__ import annotations

from dataclasses import dataclass

from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import unit_format

PREFIX = "tile:"
# Configurations of the processor (hw/build.py), and the suffix for tables as slow as the page
# table.
CONFIGS = ("small", "small-b", "fast", "fast-b")
PIPELINED = "pipelined"
CONVENTIONAL_HEAP = "break_heap"  # of core/conventional


@dataclass(frozen=True)
class Unit:
    """A unit in the MMU socket; `is_conventional`: ours is compared with it."""

    name: str
    is_conventional: bool = False


UNITS = tuple(Unit(name, heap == CONVENTIONAL_HEAP) for name, heap in unit_format.HEAPS.items())


def parsed(name: str) -> tuple[Unit, list[str]] | None:
    """The unit of a system's name and the words after it; None if it is not on the tile.

    Raises TauError (usage) for a word that is not a configuration.
    """
    first, *chosen = name.removeprefix(PREFIX).split(":")
    unit = next((each for each in UNITS if each.name == first), None)
    if not name.startswith(PREFIX) or unit is None:
        return None
    if not set(chosen) <= {*CONFIGS, PIPELINED}:
        raise TauError(
            f"{PREFIX}{first} has no configuration {':'.join(chosen)!r}",
            f"append one of {', '.join(CONFIGS)}, or {PIPELINED}, or both",
            EXIT_USAGE,
        )
    return unit, chosen
