"""Signals of the MMU socket of hw/ in one cycle, for the models of units.

A model of a unit has `step(Inputs) -> Outputs`: one clock cycle, from outputs that follow from
state and inputs to the state of the next cycle.
"""

from __future__ import annotations

from dataclasses import dataclass

INSTR, DATA = 0, 1
PORTS = (INSTR, DATA)
READ, WRITE, EXECUTE = 1, 2, 4  # access of a lookup, and rights of a translation
UNMAPPED, DENIED = 1, 2  # causes of a fault; 0 is none


@dataclass(frozen=True)
class Lookup:
    """A request for the translation of `page`."""

    page: int
    access: int


@dataclass(frozen=True)
class Result:
    """The answer to a lookup; `frame` is None with a fault."""

    cause: int
    frame: int | None


@dataclass(frozen=True)
class Inputs:
    """One cycle: a lookup or none on each port, the word with which table 2 answers, and what
    software writes (register, value) or reads (register). `at_once`: the port could send its
    access to a frame in this cycle. `pair`: the words with which tables 0 and 3 answer."""

    lookups: tuple[Lookup | None, Lookup | None] = (None, None)
    word: int | None = None
    write: tuple[int, int] | None = None
    read: int | None = None
    at_once: tuple[bool, bool] = (False, False)
    pair: tuple[int, int] | None = None


@dataclass(frozen=True)
class Outputs:
    """One cycle: whether each port takes a lookup, its answer, the page whose word is asked of
    table 2, what the read of the cycle before gave, and the events of each port. `last`: the frame
    for the lookup that is asked, if the translation used last allows it. `pair`: the even word that
    is asked of table 0; the next one is asked of table 3."""

    ready: tuple[bool, bool]
    results: tuple[Result | None, Result | None]
    request: int | None
    read: int | None
    hits: tuple[bool, bool]
    misses: tuple[bool, bool]
    last: tuple[int | None, int | None] = (None, None)
    pair: int | None = None


def answer(rights: int, frame: int, access: int) -> Result:
    """The answer of a translation to a lookup with `access`."""
    return Result(DENIED, None) if access & ~rights else Result(0, frame)
