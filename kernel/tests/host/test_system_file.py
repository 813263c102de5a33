"""The kernel's reading of the system file: each kind of bad file is refused by its reason.

The good file is a decoder's, as `tautochrone.compose` makes it; each bad one differs from it in one
word. A fuzzer changes words at random: the reader answers, whatever they are.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import random
import struct
from pathlib import Path

import pytest
from tautochrone.compose import code
from tautochrone.compose.system import Application, Command, System, system_file
from tautochrone.declarations import Library
from tautochrone.facts import compose_format as facts

from kernel.tests.host.host_build import ROOT, build_library

SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
CHANGES = 20_000
NEIGHBOR = ROOT / "kernel/systems/neighbors/neighbor.c"
MANY = 0xFFFFFFFF


class Good:
    """A good system file, and the reader."""

    def __init__(self, folder: Path) -> None:
        base = code.base_code(ROOT, folder)
        made = code.application(ROOT, "neighbor", [NEIGHBOR], base, folder, page_bytes=1024)
        application = Application("neighbor", made, ("main",), 1024, 1024)
        slots = ("loader", "neighbor.main", "idle")
        commands = (Command("load", "neighbor", 5), Command("unload", "neighbor", 9))
        system = System((application,), (slots,), commands)
        self.words = list(self.unpacked(system_file(system, b"\0" * 64, bytes(32))))
        self.part = self.words[0] // 4
        self.library = Library(build_library(folder / "file.so", ["kernel/slots/system_file.c"]))
        # Untouched pages take no memory.
        mapped = mmap.mmap(-1, facts.SYSTEM_BYTES_MAX)
        self.memory = (ctypes.c_uint32 * (len(mapped) // 4)).from_buffer(mapped)
        self.memory[: len(self.words)] = self.words
        self.out = self.library.struct("tau_system_file")()

    @staticmethod
    def unpacked(content: bytes) -> tuple[int, ...]:
        """The words of a file."""
        return struct.unpack(f"<{len(content) // 4}I", content[: len(content) // 4 * 4])

    def row(self, offset: int, words: int, row: int = 0) -> int:
        """Where a row of the table lies whose offset the header has at OFFSET."""
        return self.part + self.words[self.part + offset] // 4 + words * row

    def answer(self, changes: dict[int, int], tile: int = 0) -> str | None:
        """Why the file with other words at some places is refused; None if it is not."""
        for place, value in changes.items():
            self.memory[place] = value
        said = self.library.tau_system_file_read(self.out, self.memory, tile)
        for place in changes:
            self.memory[place] = self.words[place]
        return None if said is None else said.decode()


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Good:
    """One for all tests."""
    return Good(tmp_path_factory.mktemp("system"))


def test_the_good_one_is_accepted(good: Good) -> None:
    assert good.answer({}) is None
    assert good.answer({}, tile=1) == "the system file has no part for this tile"


BEYOND = "reaches beyond the end"
ABSENT = "names an application that the file lacks"
HEADER = {
    "another magic number": (facts.HEADER_MAGIC, 1, "no system file of"),
    "a newer version": (facts.HEADER_VERSION, facts.SYSTEM_VERSION + 1, "no system file of"),
    "too large": (facts.HEADER_SIZE_BYTES, facts.SYSTEM_BYTES_MAX, BEYOND),
    "beyond the memory tile": (facts.HEADER_SIZE_BYTES, facts.SYSTEM_BYTES_MAX - 4, BEYOND),
    "cut": (facts.HEADER_SIZE_BYTES, 4 * facts.SYSTEM_HEADER_WORDS, BEYOND),
    "too many slots": (facts.HEADER_SLOT_COUNT, facts.LIMIT_SLOTS + 1, BEYOND),
    "too many applications": (facts.HEADER_APPLICATION_COUNT, MANY, BEYOND),
    "too many pages": (facts.HEADER_PAGE_COUNT, MANY, BEYOND),
    "too many commands": (facts.HEADER_COMMAND_COUNT, MANY, BEYOND),
    "too many channels": (facts.HEADER_CHANNEL_COUNT, facts.LIMIT_FIFO_ENDS + 1, BEYOND),
    "an offset outside": (facts.HEADER_PAGE_OFFSET, 0xFFFFFFFC, BEYOND),
    "an unaligned offset": (facts.HEADER_SLOT_OFFSET, 4 * facts.SYSTEM_HEADER_WORDS + 2, BEYOND),
    "no slots": (facts.HEADER_SLOT_COUNT, 0, "has no slots"),
    "slots without cycles": (facts.HEADER_USER_SLOT_CYCLES, 0, "has no slots"),
    "OS slots without cycles": (facts.HEADER_OS_SLOT_CYCLES, 0, "has no slots"),
}
APPLICATION = {
    "an application of more than 64 entries": (facts.APPLICATION_PAGE_COUNT, 65),
    "pages beyond the table": (facts.APPLICATION_PAGE_FIRST, 2),
    "pages that overflow": (facts.APPLICATION_PAGE_FIRST, MANY),
    "too many tasks": (facts.APPLICATION_TASK_COUNT, facts.LIMIT_TASKS + 1),
}


@pytest.mark.parametrize("name", HEADER)
def test_a_bad_header_is_refused_by_its_reason(good: Good, name: str) -> None:
    place, value, reason = HEADER[name]
    assert reason in (good.answer({good.part + place: value}) or "accepted")


@pytest.mark.parametrize("name", APPLICATION)
def test_a_bad_application_is_refused(good: Good, name: str) -> None:
    place, value = APPLICATION[name]
    changes = {good.row(facts.HEADER_APPLICATION_OFFSET, 0) + place: value}
    if place == facts.APPLICATION_PAGE_COUNT:
        # The table has as many, so only the limit of one application is exceeded.
        size = good.part + facts.HEADER_SIZE_BYTES
        changes[good.part + facts.HEADER_PAGE_COUNT] = value
        changes[size] = good.words[size] + 4 * facts.SYSTEM_PAGE_WORDS * value
    assert BEYOND in (good.answer(changes) or "accepted")


def test_images_and_the_base_code_are_inside_the_memory_tile(good: Good) -> None:
    """Offset and size of each, alone and in sums that overflow; the last word is taken."""
    application = good.row(facts.HEADER_APPLICATION_OFFSET, 0)
    room = facts.SYSTEM_BYTES_MAX - 4 * good.part
    for offset, size in (
        (application + facts.APPLICATION_IMAGE_OFFSET, application + facts.APPLICATION_IMAGE_BYTES),
        (good.part + facts.HEADER_BASE_OFFSET, good.part + facts.HEADER_BASE_BYTES),
    ):
        wrong = ((0xF0000044, MANY), (room - 8, 12), (room + 4, 0), (6, 4), (4, MANY))
        for where, count in wrong:
            said = good.answer({offset: where, size: count}) or "accepted"
            assert "reaches beyond the memory tile" in said, (where, count)
        assert good.answer({offset: room - 8, size: 8}) is None


def test_names_of_nobody_are_refused(good: Good) -> None:
    """In a slot, its task, and a command."""
    slot = good.row(facts.HEADER_SLOT_OFFSET, facts.SYSTEM_SLOT_WORDS, 1)
    command = good.row(facts.HEADER_COMMAND_OFFSET, facts.SYSTEM_COMMAND_WORDS)
    places = (
        slot + facts.SLOT_APPLICATION,
        slot + facts.SLOT_TASK,
        command + facts.COMMAND_APPLICATION,
    )
    for place in places:
        assert ABSENT in (good.answer({place: 1}) or "accepted"), place


def test_random_changes(good: Good) -> None:
    """Up to four words of the part: answered, and for most reasons at least once."""
    print("seed", SEED)
    chance = random.Random(SEED)
    size = good.words[good.part + facts.HEADER_SIZE_BYTES] // 4
    counts: dict[str, int] = {}
    for _ in range(CHANGES):
        changes = {
            good.part + chance.randrange(size): chance.choice(
                (0, 1, 2, 65, MANY, chance.getrandbits(32))
            )
            for _ in range(chance.randrange(1, 5))
        }
        reason = good.answer(changes) or "accepted"
        counts[reason] = counts.get(reason, 0) + 1
    print(counts)
    assert len(counts) >= 4 and counts["accepted"] > 1
