"""Maps a size of one build of a program to the size in another build, by the types of both.

Types tell a size if and only if every type of that size in the host's build has a counterpart in
the target's build, all counterparts have the same size, and not all are arrays [TRANS-6].
"""

from __future__ import annotations

from dataclasses import dataclass

from tautochrone.translate.program import Program
from tautochrone.translate.types import POINTER, Definition, Flexible, Key

HINTS_MAX = 3
KINDS_BY_INTEREST = ("tag", "typedef", "array", "base", "pointer")


@dataclass(frozen=True)
class Candidate:
    """A type that an object of a size may have, and its sizes on the target; none: no counterpart.

    `is_hint`: the object may be composed of it, as an array or with a flexible array member.
    """

    type: str
    target_sizes: tuple[int, ...]
    is_hint: bool = False
    is_array: bool = False


@dataclass(frozen=True)
class Match:
    """The types' answer for one size."""

    size_bytes: int
    candidates: tuple[Candidate, ...]

    @property
    def target_sizes(self) -> tuple[int, ...]:
        """All sizes that types of this size have on the target."""
        return tuple(sorted({size for one in self.candidates for size in one.target_sizes}))

    @property
    def target_size(self) -> int | None:
        """The size on the target if types tell it."""
        is_known = all(one.target_sizes and not one.is_hint for one in self.candidates)
        is_told = is_known and len(self.target_sizes) == 1 and not self.has_arrays_only
        return self.target_sizes[0] if is_told else None

    @property
    def has_arrays_only(self) -> bool:
        """Whether only arrays have this size. Programs rarely allocate an object of such a type."""
        return all(one.is_array for one in self.candidates)

    @property
    def has_type(self) -> bool:
        """Whether a type of the host has this size."""
        return any(not one.is_hint for one in self.candidates)


def match(host: Program, target: Program, size_bytes: int, is_hinted: bool) -> Match:
    """Return the answer of both builds' types for a size of the host.

    `is_hinted`: of a size without a type, also its possible parts.
    """
    keys = sorted(host.types.keys_of_size.get(size_bytes, ()), key=_by_interest)
    found = [
        Candidate(
            host.types.labels[key],
            tuple(sorted(_targets(host, target, key, size_bytes))),
            is_array=key[0] == "array",
        )
        for key in keys
    ]
    if not found and is_hinted:
        found = _hints(host, target, size_bytes)
    return Match(size_bytes, tuple(found))


def _by_interest(key: Key) -> tuple[int, str]:
    return KINDS_BY_INTEREST.index(key[0]), key[1]


def _targets(host: Program, target: Program, key: Key, size_bytes: int) -> set[int]:
    """The sizes that a type of the host has on the target; empty if a definition of it has none.

    Where the name has several definitions, those in source files of the same name are compared.
    """
    if key == POINTER:
        return {target.pointer_bytes}
    ours, theirs = host.types.definitions[key], target.types.definitions.get(key, set())
    sizes = {one.size_bytes for one in theirs}
    is_single = len({(one.size_bytes, one.place) for one in ours}) == 1
    if not theirs or (is_single and len(sizes) == 1):
        return sizes
    found: set[int] = set()
    for unit in {one.unit for one in ours if one.size_bytes == size_bytes}:
        in_unit = _sizes_in(theirs, unit)
        if not in_unit and not is_single:
            return set()
        found |= in_unit or sizes
    return found


def _sizes_in(definitions: set[Definition], unit: str) -> set[int]:
    return {one.size_bytes for one in definitions if one.unit == unit}


def _hints(host: Program, target: Program, size_bytes: int) -> list[Candidate]:
    """The kinds of objects of a size without a type: an array of structures, or a flexible one.

    Only the largest structures are named. A hint decides nothing.
    """
    found: list[tuple[int, Candidate]] = []
    for key, flexible in host.types.flexible.items():
        theirs = target.types.flexible.get(key, set())
        if len(flexible) == len(theirs) == 1:
            label = host.types.labels[key]
            found += _with_elements(label, *flexible, *theirs, size_bytes)
    for key, definitions in host.types.definitions.items():
        if key[0] != "tag" or host.types.labels[key].startswith("enum"):
            continue
        for size in {one.size_bytes for one in definitions}:
            count, rest = divmod(size_bytes, size)
            targets = _targets(host, target, key, size) if not rest and count > 1 else set()
            if len(targets) == 1:
                text = f"{count} x {host.types.labels[key]}"
                found.append((size, Candidate(text, (count * targets.pop(),), is_hint=True)))
    found.sort(key=lambda one: (-one[0], one[1].type))
    return [one for _, one in found[:HINTS_MAX]]


def _with_elements(
    label: str, ours: Flexible, theirs: Flexible, size_bytes: int
) -> list[tuple[int, Candidate]]:
    """The hint that a size may be a structure's with elements in its flexible array."""
    count, rest = divmod(size_bytes - ours.size_bytes, ours.element_bytes)
    if rest or count < 1:
        return []
    target_size = theirs.size_bytes + count * theirs.element_bytes
    text = f"{label} with {count} elements"
    return [(ours.size_bytes, Candidate(text, (target_size,), is_hint=True))]
