"""Repeats in a Python model what a random program of C did, call by call."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from tautochrone.facts import status_format


class Replay:
    """A log of core/tests/kit/mechanism.c. A subclass has a method line_X for lines "X …".

    `expected` names what a long log must have met, as "CALL STATUS STATUS …" by line.
    """

    expected = ""

    def __init__(self) -> None:
        """Nothing is made yet: a log starts with its first state."""
        self.seen: Counter[str] = Counter()

    def expect(self, kind: str, status: str, logged: int) -> None:
        """The model's STATUS is the logged one."""
        assert status == status_format.NAMES[logged], (
            status,
            status_format.NAMES[logged],
        )
        self.seen[f"{kind} {status}"] += 1

    def run(self, log: Path) -> None:
        """All of a log. Raises AssertionError where the model says something else."""
        for number, line in enumerate(log.read_text().splitlines(), 1):
            kind, *words = line.split()
            method: Any = getattr(self, f"line_{kind}")
            try:
                method(*map(int, words))
            except AssertionError as error:
                raise AssertionError(f"line {number}: {line}: {error}") from error

    def missing(self) -> set[str]:
        """The events that a long log should have and does not."""
        rows = (line.split() for line in self.expected.strip().splitlines())
        return {f"{kind} {each}" for kind, *found in rows for each in found} - set(self.seen)
