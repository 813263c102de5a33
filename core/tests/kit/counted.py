"""Costs of a mechanism's calls on the emulated processor, and the longest paths of its code."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from tautochrone.machine.longest_path import bound_accesses, bound_instructions
from tautochrone.machine.calls import Machine
from tautochrone.facts import status_format


class Counted:
    """The functions of one object on MACHINE, by verb: tau_MECHANISM_VERB(object, …).

    `most` has the most instructions and accesses of each verb, and of each verb and KIND of call.
    """

    def __init__(self, machine: Machine, mechanism: str, size_bytes: int) -> None:
        """The object has SIZE_BYTES and is not initialized."""
        self.machine, self.mechanism = machine, mechanism
        self.object = machine.reserve(size_bytes)
        self.most: dict[Hashable, tuple[int, int]] = {}

    def result(self, verb: str, *arguments: int, kind: Hashable = None) -> int:
        """Counts a call; its result."""
        done = self.machine.call(f"tau_{self.mechanism}_{verb}", self.object, *arguments)
        for key in (verb, (verb, kind)):
            instructions, accesses = self.most.get(key, (0, 0))
            self.most[key] = (
                max(instructions, done.instructions),
                max(accesses, done.accesses),
            )
        return done.result

    def call(self, verb: str, *arguments: int, kind: Hashable = None) -> str:
        """The same of a function that answers with a status; the status's name."""
        return status_format.NAMES[self.result(verb, *arguments, kind=kind)]

    def costs(self, elf: object, verbs: Iterable[str]) -> dict[str, dict[str, int]]:
        """By verb: the longest path and the most that was seen, in instructions and accesses."""
        found = {}
        for verb in verbs:
            name = f"tau_{self.mechanism}_{verb}"
            instructions, accesses = self.most[verb]
            found[verb] = {
                "bound_instructions": bound_instructions(elf, name),
                "max_instructions": instructions,
                "bound_accesses": bound_accesses(elf, name),
                "max_accesses": accesses,
            }
        return found


def within_bounds(found: dict[str, dict[str, int]]) -> bool:
    """Whether nothing took more than its longest path."""
    return all(
        row[f"max_{cost}"] <= row[f"bound_{cost}"]
        for row in found.values()
        for cost in ("instructions", "accesses")
    )
