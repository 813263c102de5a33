"""The bound of the OS slot, and slots that end in the longest operations (slot_ends.c) [P2-7]."""

from __future__ import annotations

from pathlib import Path

import pytest
from tautochrone.machine.longest_path import Code
from tautochrone.compose import bounds, code
from tautochrone.compose.run import Run, run
from tautochrone.compose.system import Application, Command, System, system_file
from tautochrone.facts import compose_format as facts
from tautochrone.tile.cycle_bounds import (
    ARITHMETIC_CYCLES,
    BANK_ANSWER_CYCLES,
    CyclePaths,
)

from tautochrone.tile.build import Options
from model import composable

ROOT = Path(__file__).resolve().parents[3]
SOURCES = [ROOT / "kernel/tests/tile" / name for name in ("slot_ends.c", "slot_ends.S")]
TASKS = ("divide", "touch", "cross", "call", "sleep")
LOADERS, LOADED_FRAME, MAJOR_FRAMES = 5, 17, 36
USER, START = 4_000, 150_000
TURNS = 16
POOL = 0x80200000
OS_SLOT_MAX = 800
FETCH_CYCLES = 2
SLACK_MAX = 100  # What the bound may be above the worst that is seen.
LATE = "kernel: a slot is late: the OS slot is too short"


class Parts:
    """The kernel, its bound, and the application."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.base = code.base_code(ROOT, folder)
        self.kernel = code.kernel(ROOT, folder)
        self.terms = bounds.os_slot_terms(self.kernel)
        self.bound = bounds.os_slot_bound_cycles(self.kernel)

    def system(self, os_slot: int) -> System:
        """A slot for each task, and enough for the loader."""
        slots = (*["loader"] * LOADERS, *[f"ends.{task}" for task in TASKS])
        values = {"START": START, "USER": USER, "PERIOD": USER + os_slot, "SLOTS": len(slots)}
        values["FIRST_PLACE"] = LOADERS
        flags = [f"-D{name}={value}u" for name, value in values.items()]
        made = code.application(ROOT, "ends", SOURCES, self.base, self.folder, flags, 1024)
        unit = facts.SIZE_PAGE_BYTES_MIN
        pool = [POOL + unit * page for page in range(2 * TURNS + 1)]
        ends = Application("ends", made, TASKS, unit, unit, (), tuple(pool), len(pool))
        return System(
            (ends,),
            (slots,),
            (Command("load", "ends", LOADED_FRAME),),
            USER,
            os_slot,
            START,
            frame_count=256,
        )

    def carried_out(self, os_slot: int) -> Run:
        """Run it, if the tile does not stop it, to the end of its major frames."""
        system = self.system(os_slot)
        content = system_file(system, code.base_bytes(self.base), code.base_hash(self.base))
        slots = MAJOR_FRAMES * len(system.slots[0])
        return run(self.folder, self.kernel, content, 1, START + slots * (USER + os_slot))


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    """The executables."""
    return Parts(tmp_path_factory.mktemp("os_slot"))


def latencies(done: Run, os_slot: int, task: str) -> list[int]:
    """Cycles from the end of each slot of a task to its timer's interrupt."""
    return [
        slot.last_cycle - START - number * (USER + os_slot) - USER
        for number, slot in enumerate(done.tiles[0].slots)
        if slot.owner == TASKS.index(task)
    ]


def holds(done: Run, os_slot: int) -> bool:
    """Whether no slot was late. Every slot that began must have begun at its cycle [KRN-9]."""
    slots = done.tiles[0].slots
    offsets = {
        (slot.owner_cycle - START - number * (USER + os_slot), slot.first_cycle - slot.owner_cycle)
        for number, slot in enumerate(slots)
    }
    assert len(offsets) == 1 and all(slot.is_gated for slot in slots)
    has_stopped = LATE in done.console
    assert has_stopped != ("cycle limit" in done.messages), done.console + done.messages
    return not has_stopped


def test_the_bound_is_small_enough(parts: Parts) -> None:
    assert parts.bound <= OS_SLOT_MAX, parts.terms
    assert facts.UNIT_MISS_CYCLES == composable.MISS_CYCLES
    assert facts.SIZE_TABLE_WORDS == composable.TABLE_WORDS


def test_the_bound_holds_whatever_a_slot_ends_in(parts: Parts) -> None:
    """Each task ends its slots around the worst cycle; the longest time is near the bound."""
    done = parts.carried_out(parts.bound)
    assert holds(done, parts.bound)
    worst = {task: max(latencies(done, parts.bound, task)) for task in TASKS}
    before = parts.bound - parts.terms["timer handler"] - parts.terms["margin of the gate"]
    assert max(worst.values()) <= before and before - max(worst.values()) <= SLACK_MAX
    assert worst["cross"] > worst["touch"] > worst["call"] > worst["divide"] > worst["sleep"]
    # The trap is recorded ahead of the handler's first instruction.
    assert worst["divide"] == ARITHMETIC_CYCLES["divu"] + bounds.INTERRUPT_CYCLES - FETCH_CYCLES


def test_an_os_slot_that_is_too_short_stops_the_tile(parts: Parts) -> None:
    """[KRN-10]: with a message, and no slot begins late."""
    assert not holds(parts.carried_out(parts.bound - SLACK_MAX), parts.bound - SLACK_MAX)


@pytest.mark.slow
def test_what_is_shorter_holds_or_stops(parts: Parts) -> None:
    """In every cycle around the worst that is seen, where the gate is nearest to the release."""
    lengths = range(parts.bound - SLACK_MAX, parts.bound, 3)
    held = [holds(parts.carried_out(length), length) for length in lengths]
    assert True in held and False in held


def test_restoring_registers_takes_longer_than_a_load(parts: Parts) -> None:
    """So nothing waits for the load of a table, and none is refused. There is one path only."""
    linked = Code(parts.kernel)
    paths = CyclePaths(linked, BANK_ANSWER_CYCLES, {})
    restoring = paths.from_address(linked.symbols["tau_trap_return"])
    latency = Options(unit="composable").latencies[0]
    assert restoring > composable.LOAD_CYCLES + latency
