"""The heaps that replay on the tile, each with its unit, and what may follow their names."""

from __future__ import annotations

from dataclasses import dataclass

from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import config_format
from tautochrone.targets.heaps import Heap, heaps

PREFIX = "tile:"
PIPELINED = "pipelined"  # the tables are as slow as the page table


@dataclass(frozen=True)
class Pair:
    """A heap and the unit in the MMU socket that it runs on; `name` stands behind the prefix."""

    name: str
    unit: str
    heap: Heap


PAIRS = tuple(
    Pair(name, unit, heap)
    for name, unit, heap in sorted(
        ((name, unit, heap) for heap in heaps().values() for name, unit in heap.tile.items()),
        key=lambda found: found[0],
    )
)


def parsed(name: str) -> tuple[Pair, list[str]] | None:
    """The heap and the unit of a system's name, and the words behind it; None if it is none.

    Raises TauError (usage) for a word that is not a configuration.
    """
    first, *chosen = name.removeprefix(PREFIX).split(":")
    pair = next((each for each in PAIRS if each.name == first), None)
    if not name.startswith(PREFIX) or pair is None:
        return None
    if not set(chosen) <= {*config_format.CONFIGS, PIPELINED}:
        raise TauError(
            f"{PREFIX}{first} has no configuration {':'.join(chosen)!r}",
            f"append one of {', '.join(config_format.CONFIGS)}, or {PIPELINED}, or both",
            EXIT_USAGE,
        )
    return pair, chosen
