"""The kernel's reading of the system file: each kind of bad file is refused by its reason.

The good file has two applications on two tiles, with FIFOs, a DMA channel and a pool, as
`tautochrone.compose` makes it; each bad one differs from it in one word or two. A fuzzer changes
words at random: the reader answers, whatever they are.
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
from tautochrone.compose.system import (
    Application,
    Command,
    Fifo,
    System,
    pages_of,
    special,
    system_file,
)
from tautochrone.declarations import Library
from tautochrone.facts import compose_format as facts
from tautochrone.facts import tile_format as tile_facts

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
        pool = (0x80800000, 0x80800400)
        neighbor = Application("neighbor", made, ("main",), 1024, 1024, (), pool, 1)
        fifos = (Fifo("one", "two", 1024, True), Fifo("two", "two", 4096))
        pair = Application("pair", made, ("one", "two"), 1024, 1024, fifos)
        slots = (("loader", "neighbor.main", "idle", "pair.one"), ("loader", "pair.two"))
        commands = (Command("load", "neighbor", 5), Command("unload", "neighbor", 9))
        self.system = System((neighbor, pair), slots, commands)
        self.words = list(self.unpacked(system_file(self.system, b"\0" * 64, bytes(32))))
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

    def row(self, offset: int, words: int, row: int = 0, tile: int = 0) -> int:
        """Where a row of the table lies whose offset the header has at OFFSET."""
        part = self.words[tile] // 4
        return part + self.words[part + offset] // 4 + words * row

    def page(self, number: int, kind: int, rights: int) -> tuple[int, int]:
        """Where the first page of an application on tile 0 with KIND and RIGHTS lies, and the
        frame that it names."""
        pages = pages_of(self.system, self.system.applications[number], 0)
        before = len(pages_of(self.system, self.system.applications[0], 0)) if number else 0
        index, page = next(
            (index, page)
            for index, page in enumerate(pages)
            if (page.kind, page.rights) == (kind, rights) and page.order in (0, 2)
        )
        row = self.row(facts.HEADER_PAGE_OFFSET, facts.SYSTEM_PAGE_WORDS, before + index)
        return row, page.frame

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
    assert good.answer({}, tile=1) is None
    assert good.answer({}, tile=2) == "the system file has no part for this tile"


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
    "too many grants": (facts.HEADER_GRANT_COUNT, facts.LIMIT_GRANTS + 1, BEYOND),
    "an offset outside": (facts.HEADER_PAGE_OFFSET, 0xFFFFFFFC, BEYOND),
    "an unaligned offset": (facts.HEADER_SLOT_OFFSET, 4 * facts.SYSTEM_HEADER_WORDS + 2, BEYOND),
    "no slots": (facts.HEADER_SLOT_COUNT, 0, "has no slots"),
    "slots without cycles": (facts.HEADER_USER_SLOT_CYCLES, 0, "has no slots"),
    "OS slots without cycles": (facts.HEADER_OS_SLOT_CYCLES, 0, "has no slots"),
}
APPLICATION = {
    "an application of more than 64 entries": (facts.APPLICATION_PAGE_COUNT, 65),
    "pages beyond the table": (facts.APPLICATION_PAGE_FIRST, 32),
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
        assert ABSENT in (good.answer({place: 2}) or "accepted"), place


READ, WRITE, EXECUTE = (1 << bit + facts.PAGE_SHIFT_RIGHTS for bit in range(3))
LARGER = 1 << facts.PAGE_SHIFT_ORDER
OWN, BASE, FIXED, POOL = (
    facts.PAGE_KIND_OWN,
    facts.PAGE_KIND_BASE,
    facts.PAGE_KIND_FIXED,
    facts.PAGE_KIND_POOL,
)
# Kind and rights of a page, its word, and the bits of it that are changed.
PAGES = {
    "code that is writable": (OWN, 5, 1, WRITE),
    "data that is executable": (OWN, 3, 1, EXECUTE),
    "data that is executable and not readable": (OWN, 3, 1, READ | EXECUTE),
    "a bit above the rights": (OWN, 3, 1, EXECUTE << 1),
    "an order too large": (OWN, 3, 0, LARGER << 3),
    "a page that overlaps the next, or is not aligned": (OWN, 3, 0, LARGER),
    "a page before the one before": (OWN, 3, 0, 1 << 10),
    "base code that is readable": (BASE, 4, 1, READ),
    "base code that is writable": (BASE, 4, 1, WRITE),
    "base code elsewhere": (BASE, 4, 0, 4),
    "less base code": (BASE, 4, 0, 2 * LARGER),
    "a pool that is executable": (POOL, 3, 1, EXECUTE),
    "an unknown kind": (POOL, 3, 1, 4 << facts.PAGE_SHIFT_KIND),
    "the other end's page, readable": (FIXED, 2, 1, READ),
    "a system page that is executable": (FIXED, 3, 1, EXECUTE),
    "a larger system page": (FIXED, 3, 0, LARGER),
}
LINK, DMA, SYSTEM = tile_facts.SPECIAL_LINK, tile_facts.SPECIAL_DMA, tile_facts.SPECIAL_SYSTEM
# Frames that pair's system page, and its page of the other end, must not have instead.
FRAMES = {
    "another's system page": (3, special(SYSTEM, 0)),
    "the system page of nobody": (3, special(SYSTEM, 2)),
    "a DMA channel of nobody": (3, special(DMA, 1)),
    "a device of nobody": (3, special(3, 1)),
    "the loader's memory": (3, 64),
    "communication memory of nobody": (3, 63),
    "communication memory of nobody on the other tile": (2, special(LINK, 63)),
    "the other tile's memory": (2, special(LINK, 64)),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_may_not_be_is_refused(good: Good, name: str) -> None:
    """[KRN-15, KRN-16, KRN-18]: each bit that says more than its kind allows."""
    kind, rights, word, bits = PAGES[name]
    row, _ = good.page(1 if kind == FIXED else 0, kind, rights)
    changed = good.words[row + word] ^ bits
    assert (good.answer({row + word: changed}) or "accepted").startswith("pages overlap")


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_that_was_not_granted_is_refused(good: Good, name: str) -> None:
    """[KRN-18]."""
    rights, frame = FRAMES[name]
    row, own = good.page(1, FIXED, rights)
    changed = good.words[row + 1] - own + frame
    assert (good.answer({row + 1: changed}) or "accepted").startswith("pages overlap")


def test_where_the_last_page_may_not_be(good: Good) -> None:
    """[KRN-16, KRN-18]: the last page of the list, which no other follows, and page 0."""
    last = len(pages_of(good.system, good.system.applications[0], 0)) - 1
    first, before, row = (
        good.row(facts.HEADER_PAGE_OFFSET, facts.SYSTEM_PAGE_WORDS, each)
        for each in (0, last - 1, last)
    )
    pair = {good.row(facts.HEADER_APPLICATION_OFFSET, 8, 1) + facts.APPLICATION_PAGE_COUNT: 0}
    system = {row + 1: FIXED << facts.PAGE_SHIFT_KIND | READ | WRITE | special(SYSTEM, 0)}
    end, size = 1 << 18, 4  # of the window, and of a larger page
    for accepted in (
        {row: end - 1},
        {row: LARGER | end - size},
        {row: end - 1, **system},
    ):
        assert good.answer(pair | accepted) is None, accepted
    for refused in (
        {row: end},
        {row: LARGER | end - size - 1},  # not aligned
        {row: good.words[before]},
        {row: LARGER | end - size, **system},
        {first: good.words[first] >> facts.PAGE_SHIFT_ORDER << facts.PAGE_SHIFT_ORDER},
    ):
        said = good.answer(pair | refused) or "accepted"
        assert said.startswith("pages overlap"), refused


def test_nobody_has_pages_of_what_another_was_granted(good: Good) -> None:
    """[KRN-17, KRN-18, KRN-19]: each grant, given to the other application, smaller, or wrong."""
    assert good.words[good.part + facts.HEADER_GRANT_COUNT] == 4
    for row in range(4):
        tile = int(row > 0)  # Whose communication memory it is, and whose list has its page.
        place = good.row(facts.HEADER_GRANT_OFFSET, facts.SYSTEM_GRANT_WORDS, row, tile)
        assert good.words[place + facts.GRANT_TILE] == tile
        frames = good.words[place + facts.GRANT_FRAMES]
        changes = [{place + facts.GRANT_APPLICATION: 0}]
        if frames > 1:
            changes.append({place + facts.GRANT_FRAMES: frames - 1})
        for each in changes:
            assert "not granted" in (good.answer(each, tile) or "accepted"), (row, each)
        for word, value in (
            (facts.GRANT_APPLICATION, 2),
            (facts.GRANT_FRAMES, 0),
            (facts.GRANT_FRAMES, 65),
            (facts.GRANT_FRAME, 64),
            (facts.GRANT_FRAME, MANY),
        ):
            said = good.answer({place + word: value}, tile) or "accepted"
            assert said.startswith("two grants overlap"), (row, word, value)
        if row > 1:
            before = place - facts.SYSTEM_GRANT_WORDS
            reach = good.words[place + facts.GRANT_FRAME] - good.words[before + facts.GRANT_FRAME]
            said = good.answer({before + facts.GRANT_FRAMES: reach + 1}, tile) or "accepted"
            assert said.startswith("two grants overlap"), row
            assert good.answer({before + facts.GRANT_FRAMES: reach}, tile) is None, row


def test_a_device_has_one_owner(good: Good) -> None:
    """[KRN-19]: a channel twice, of nobody, or with frames that are not its owner's."""
    place = good.row(facts.HEADER_CHANNEL_OFFSET, facts.SYSTEM_CHANNEL_WORDS)
    for word, value in (
        (facts.CHANNEL_APPLICATION, 0),
        (facts.CHANNEL_NUMBER, 8),
        (facts.CHANNEL_SOURCE_FRAME, 64),
        (facts.CHANNEL_SOURCE_FRAME, 63),
        (facts.CHANNEL_DESTINATION_FRAME, 63),
        (facts.CHANNEL_BYTES, 2048),
        (facts.CHANNEL_BYTES, 1028),
        (facts.CHANNEL_BYTES, MANY - 1023),
    ):
        said = good.answer({place + word: value}) or "accepted"
        assert said.startswith("a DMA channel has two owners"), (word, value)
    size_bytes = good.words[good.part + facts.HEADER_SIZE_BYTES]
    twice = {good.part + size_bytes // 4 + i: good.words[place + i % 8] for i in range(16)}
    twice[good.part + facts.HEADER_CHANNEL_COUNT] = 2
    twice[good.part + facts.HEADER_CHANNEL_OFFSET] = size_bytes
    twice[good.part + facts.HEADER_SIZE_BYTES] = size_bytes + 64
    said = good.answer(twice) or "accepted"
    assert said.startswith("a DMA channel has two owners")


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
