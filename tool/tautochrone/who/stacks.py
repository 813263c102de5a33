"""The calls above each call site of a recording, and the call that its bytes count for.

stacks = Stacks(reader.calls(), places)
stacks.counted_for([1, 2, 3])                 # a Place for each site
tree_of(stacks.held(holders.counts, "peak"))  # functions by their callers, with bytes
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tautochrone.who.lines import Frame
from tautochrone.who.places import Place, Places

# Libraries whose own lines say nothing about the program.
SYSTEM_FOLDERS = ("/usr/lib/", "/usr/lib32/", "/usr/lib64/", "/lib/", "/lib32/", "/lib64/")


class Stack(NamedTuple):
    """A call stack, the innermost place first, and what is held by it."""

    places: tuple[Place, ...]
    size_bytes: int
    objects: int

    @property
    def frames(self) -> list[Frame]:
        """Its functions and lines, inlined calls included, the outermost first."""
        found: list[Frame] = []
        for place in reversed(self.places):
            found += reversed(place.frames or (Frame("", "", 0),))
            if not found[-1].function:
                found[-1] = found[-1]._replace(function=place.at)
        return found


@dataclass
class Tree:
    """A function by its callers: what it and the functions that it calls hold."""

    function: str
    size_bytes: int = 0
    objects: int = 0
    children: dict[str, Tree] = field(default_factory=dict)


class Stacks:
    """The stacks of a recording; a site without a recorded caller is a stack of one call."""

    def __init__(self, calls: Sequence[tuple[str, int, int]], places: Places) -> None:
        self._calls, self._places = calls, places
        self._named: dict[tuple[str, int], Place] = {}
        self.has_callers = any(caller for _, _, caller in calls)

    def sites_of(self, number: int) -> list[int]:
        """The sites of a stack by its innermost one, which is first."""
        found = []
        while number:
            found.append(number)
            number = self._calls[number - 1][2]
        return found

    def places_of(self, number: int) -> tuple[Place, ...]:
        """The places of a stack, the innermost first."""
        sites = self.sites_of(number)
        self.name(sites)
        return tuple(map(self._place, sites))

    def name(self, sites: Iterable[int]) -> None:
        """Look sites up together, which is faster than one by one."""
        pairs = {self._calls[site - 1][:2] for site in sites}
        new = sorted(pairs - self._named.keys())
        self._named.update(zip(new, self._places.named(new), strict=True))

    def _place(self, site: int) -> Place:
        return self._named[self._calls[site - 1][:2]]

    def counted_for(self, numbers: Iterable[int]) -> dict[int, Place]:
        """The place that each site's objects count for: the innermost call with a line of the
        program's own code. If the stack has none, the innermost with a line, or of all, outside of
        system libraries if there is such a call.
        """
        found: dict[int, Place] = {}
        left = {number: number for number in numbers}
        while left:
            self.name(left.values())
            above = {}
            for number, site in left.items():
                caller = self._calls[site - 1][2]
                if self._is_own(self._place(site)):
                    found[number] = self._place(site)
                elif caller:
                    above[number] = caller
                else:
                    places: Sequence[Place] = self.places_of(number)
                    places = [one for one in places if not self.is_system(one)] or places
                    with_line = (place for place in places if place.frame.line)
                    found[number] = next(with_line, places[0])
            left = above
        return found

    def _is_own(self, place: Place) -> bool:
        return place.has_own_line and not self.is_system(place)

    def is_system(self, place: Place) -> bool:
        """Whether a place is in a library of the system, and not in the recorded program."""
        is_in_folder = place.module.startswith(SYSTEM_FOLDERS)
        return is_in_folder and place.module != self._places.program

    def held(self, counts: Any, kind: str) -> list[Stack]:
        """The stacks that hold bytes: KIND `peak`, `left` or `made` of holders.COUNT.

        Objects without a site have a stack of one place.
        """
        objects = "made" if kind == "made" else f"{kind}_objects"
        numbers = [number for number, one in enumerate(counts) if one[f"{kind}_bytes"]]
        self.name(site for number in numbers for site in self.sites_of(number))
        nowhere = (Place("", 0, (Frame("no call site", "", 0),)),)
        return [
            Stack(
                self.places_of(number) if number else nowhere,
                int(counts[number][f"{kind}_bytes"]),
                int(counts[number][objects]),
            )
            for number in numbers
        ]


def tree_of(stacks: Iterable[Stack]) -> Tree:
    """The functions of stacks below one root, each with what it holds."""
    root = Tree("all")
    for stack in stacks:
        node = root
        for frame in (None, *stack.frames):
            if frame is not None:
                node = node.children.setdefault(frame.function, Tree(frame.function))
            node.size_bytes += stack.size_bytes
            node.objects += stack.objects
    return root
