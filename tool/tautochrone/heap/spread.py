"""How much the heaps differ that several recordings need, with the plan's pools and without.

A plan from some recordings also fits them too closely. So each recording is left out in turn: how
much more it needs than a plan from the others has, with the pools of that plan. These pools are the
best of those found for each of the others alone; a whole search for each would take too long.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tautochrone.heap.recordings import Classes, Recording
from tautochrone.heap.safe import safe_heap


@dataclass(frozen=True)
class Needs:
    """The heap that each recording needs alone."""

    heaps: tuple[int, ...]

    @property
    def least(self) -> int:
        """Of the recording that needs least."""
        return min(self.heaps)

    @property
    def most(self) -> int:
        """Of the recording that needs most."""
        return max(self.heaps)


@dataclass(frozen=True)
class LeftOut:
    """A recording that was left out: the heap that it needs, and a plan's from the others."""

    name: str
    needed_bytes: int
    planned_bytes: int

    @property
    def short_bytes(self) -> int:
        """By how much the plan falls short of the recording; 0 if it does not."""
        return max(0, self.needed_bytes - self.planned_bytes)


@dataclass(frozen=True)
class Spread:
    """The spread of several recordings."""

    plain: Needs
    planned: Needs
    left_out: tuple[LeftOut, ...]

    @property
    def bytes(self) -> int:
        """The larger of the distance between least and most, and the largest shortfall."""
        short = max((item.short_bytes for item in self.left_out), default=0)
        return max(self.planned.most - self.planned.least, short)

    @property
    def fraction(self) -> float:
        """The same as a part of the most."""
        return min(1.0, self.bytes / self.planned.most) if self.planned.most else 0.0

    def document(self) -> dict[str, Any]:
        """Return its object in the JSON."""
        return {
            "plain": {"least_bytes": self.plain.least, "most_bytes": self.plain.most},
            "planned": {"least_bytes": self.planned.least, "most_bytes": self.planned.most},
            "left_out": [
                vars(item) | {"short_bytes": item.short_bytes} for item in self.left_out
            ],
            "spread_bytes": self.bytes,
        }


def spread_of(
    recordings: Sequence[Recording],
    names: Sequence[str],
    classes: Classes,
    alone: Sequence[Classes],
) -> Spread | None:
    """The spread of recordings with `classes`; None of fewer than two.

    `alone` has the classes that were found for each recording alone, or nothing.
    """
    if len(recordings) < 2:
        return None
    plain = Needs(tuple(safe_heap([recording], ()) for recording in recordings))
    planned = Needs(tuple(safe_heap([recording], classes) for recording in recordings))
    # A plan without pools came from no search, so nothing fits too closely.
    candidates = list(alone) if classes and alone else [()] * len(recordings)

    @functools.cache
    def needed(index: int, tried: Classes) -> int:
        return safe_heap([recordings[index]], tried)

    left_out = []
    for out, name in enumerate(names):
        others = [index for index in range(len(recordings)) if index != out]
        heap_bytes, chosen = min(
            (max(needed(index, tried) for index in others), tried)
            for tried in dict.fromkeys([*(candidates[index] for index in others), ()])
        )
        left_out.append(LeftOut(name, needed(out, chosen), heap_bytes))
    return Spread(plain, planned, tuple(left_out))
