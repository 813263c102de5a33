"""A program in its two forms: in untranslated banks, and as an application in one slot [P2-22].

What remains in a slot that never ends is translation.
"""

import functools
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro.composable.applications import BUILT, PROGRAMS, base, printed, simulated
from repro.engine.results import REPOSITORY
from tautochrone.compose import code
from tautochrone.compose.run import Run
from tautochrone.compose.system import Application, Command, System, pages_of
from tautochrone.targets.build import link
from tautochrone.tile.build import Options

ENTRIES_DEFAULT = 4
OS_SLOT = 800
# More than loading one takes, and what a program does ahead of the part that is measured.
BEGIN_CYCLES = 300_000
# For a slot that does not end before the program does, by entries.
MARGINS = {2: 2.0, 4: 1.3, 8: 1.3}
# Equal alignment: where a loop lies in a word changes its fetches.
FLAGS = ("-falign-functions=4",)


@dataclass(frozen=True)
class Program:
    """Files with the functions of programs/iterations.h, in the order in which they are linked."""

    name: str
    files: tuple[Path, ...]
    flags: tuple[str, ...]


def in_order(program: Program, number: int) -> Program:
    """The program with its files in another order; 0 is its own."""
    files = list(program.files)
    if number:
        random.Random(number).shuffle(files)
    return Program(f"{program.name}-{number}", tuple(files), program.flags)


def bank_cycles(program: Program) -> int:
    """The cycles in untranslated banks."""
    base()
    made = link(
        "tile",
        REPOSITORY,
        [PROGRAMS / "iterations_bank.c", *program.files],
        BUILT / f"bank-{program.name}.elf",
        [*program.flags, *FLAGS],
    )
    return int(printed(made, Options()))


@functools.cache
def application(program: Program, page_bytes: int) -> Application:
    """The same as an application."""
    name = f"iterations-{program.name}-{page_bytes}"
    files = [PROGRAMS / "iterations_application.c", *program.files]
    flags = [*program.flags, *FLAGS]
    made = code.application(REPOSITORY, name, files, base(), BUILT, flags, page_bytes)
    return Application("decoder", made, ("main",), page_bytes, page_bytes)


def interval(run: Run) -> tuple[int, int]:
    """The cycles of the marks in front of the program and behind it."""
    marks = [mark.cycle for mark in run.tiles[0].marks]
    if len(marks) != 2:
        raise RuntimeError(f"the program did not end: {run.console}")
    return marks[0], marks[1]


def never_ending(program: Program, page_bytes: int, entries: int, bank: int) -> dict[str, Any]:
    """The program in one slot: cycles, and misses of the slot."""
    made = application(program, page_bytes)
    system = System(
        (made,),
        (("decoder.main", "loader"),),
        (Command("load", "decoder", 1),),
        user_slot_cycles=int(bank * MARGINS[entries]) + BEGIN_CYCLES,
        os_slot_cycles=OS_SLOT,
    )
    # With the default it is the simulator of all other systems.
    parameters = () if entries == ENTRIES_DEFAULT else (f"Entries={entries}",)
    run = simulated(system, 4, unit_parameters=parameters)
    begin, end = interval(run)
    slot = next(slot for slot in run.tiles[0].slots if slot.first_cycle <= begin <= slot.last_cycle)
    if end > slot.last_cycle:
        raise RuntimeError("the slot ended in the middle of the program")
    return {
        "cycles": end - begin,
        "over": (end - begin) / bank,
        "misses_fetch": slot.misses_fetch,
        "misses_data": slot.misses_data,
        "cycles_more": end - begin - bank,
        "table_entries": len(pages_of(system, made, 0)),
    }
