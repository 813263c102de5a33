"""What the check searches, on records made by hand: each way to break a promise, and none."""

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from tautochrone.compose import campaign, leaks, promises
from tautochrone.compose.audit import ENTRY, HEAD, TABLES_BYTES, VALID, Audit, Entry, Snapshot
from tautochrone.compose.pages import EXECUTE, READ, WRITE, Page
from tautochrone.compose.run import Run, Slot, TileRun
from tautochrone.compose.making import Made, base_of
from tautochrone.compose.system import Application, Command, Fifo, System, pages_of
from tautochrone.facts import compose_format as facts
from tautochrone.facts import tile_format as tile

NOWHERE = Path("nowhere.elf")
APPLICATIONS = tuple(Application(name, NOWHERE, ("work",)) for name in "ab")
SYSTEM = System(APPLICATIONS, (("loader", "a.work", "b.work"),), (Command("load", "a", 1),))
CODE, DATA, TOKENS = 0x80100000, 0x80101000, 0x80010000
PAGES = [
    Page(TOKENS, 0, READ | WRITE, facts.PAGE_KIND_FIXED, 3),
    Page(CODE, 0, READ | EXECUTE),
    Page(DATA, 1, READ | WRITE),
]
FRAMES = [3, 80, 84]  # Of these pages.


def words(page: Page, frame: int) -> bytes:
    """An entry of a table."""
    return ENTRY.pack(page.words()[0] | VALID, page.rights << facts.PAGE_SHIFT_RIGHTS | frame)


def snapshot(entries: list[bytes], other: bytes = b"") -> Snapshot:
    """Application 0 with these entries, and application 1 with one."""
    tables = b"".join(entries).ljust(4 * facts.SIZE_TABLE_WORDS, b"\0") + other
    return Snapshot(0, 1000, False, False, tables.ljust(TABLES_BYTES, b"\0"), b"")


ENTRIES = [words(*each) for each in zip(PAGES, FRAMES, strict=True)]
OTHER = words(Page(CODE, 0, READ | EXECUTE), 100)
WRONG = {
    "rights": (1, words(Page(CODE, 0, READ | WRITE | EXECUTE), 80), "rights"),
    "not mapped": (1, ENTRY.pack(0, 0), "rights"),
    "in no list": (3, words(Page(DATA + 0x1000, 0, READ), 90), "rights"),
    "smaller": (2, words(Page(DATA, 0, READ | WRITE), 84), "page mix"),
    "other tokens": (0, words(PAGES[0], 4), "alias"),
    "twice": (2, words(PAGES[2], 80), "alias"),
    "another's": (2, words(PAGES[2], 100), "alias"),
    "another's tokens": (1, words(PAGES[1], 3), "alias"),
    "not the loader's": (1, words(PAGES[1], 1090), "alias"),
}


def wrong_with(made: Snapshot) -> str | None:
    """The resource."""
    wrong = promises._wrong_table(made, PAGES, True) or promises._alias(SYSTEM, made, PAGES)
    return wrong[1] if wrong else None


def test_a_table_as_the_page_list_says_is_right() -> None:
    assert wrong_with(snapshot(ENTRIES, OTHER)) is None


@pytest.mark.parametrize("name", WRONG)
def test_another_table_is_wrong(name: str) -> None:
    number, entry, resource = WRONG[name]
    entries = [*ENTRIES, ENTRY.pack(0, 0)]
    entries[number] = entry
    assert wrong_with(snapshot(entries, OTHER)) == resource


def test_a_frame_within_a_larger_page_of_another_is_its_frame() -> None:
    """Each frame of a page counts, not the first alone."""
    larger = words(Page(CODE, 1, READ), 76)
    assert wrong_with(snapshot(ENTRIES, larger)) is None
    reaching = words(Page(CODE, 1, READ), 77)
    assert wrong_with(snapshot(ENTRIES, reaching)) == "alias"


def test_a_page_begins_with_its_image_and_zeros() -> None:
    """The rest of a segment's last word is the segment's; everything else counts."""
    image = promises.Image(((CODE + 1020, b"abcdef"),))
    entry = Entry(0, CODE + 1024, 0, 80, READ)
    page = b"ef" + bytes(1022)
    assert image.first_wrong(entry, page) is None
    assert image.first_wrong(entry, b"efgh" + bytes(1020)) is None
    assert image.first_wrong(entry, b"e_" + bytes(1022)) == CODE + 1025
    assert image.first_wrong(entry, page[:1000] + b"x" + page[1001:]) == CODE + 2024


def slot(number: int, is_idle: bool, calls: int = 0) -> Slot:
    """A slot of application 0, or of the loader."""
    owner = (facts.SLOT_LOADER << 8, 0, 1 << 8)[number % 3]
    cycles = tuple(range(calls))
    return Slot(owner, 1000 * number, 1000 * number + 9, 0, cycles, is_idle=is_idle)


@pytest.mark.parametrize(
    ("slots", "lost"),
    [
        ([(True, 0), (False, 0), (False, 0)], None),  # Not promised yet.
        ([(True, 0), (False, 0), (True, 0)], 7),
        ([(True, 0), (True, 0), (False, 0)], 4),
        ([(True, 0), (True, 1), (True, 0)], None),  # It has ended.
        ([(True, 0), (True, 1), (False, 0)], None),  # It has waited.
    ],
)
def test_a_task_gets_its_slots_until_it_ends(
    slots: list[tuple[bool, int]], lost: int | None
) -> None:
    done = [
        slot(3 * frame + place, *own) if place == 1 else slot(3 * frame + place, True)
        for frame, own in enumerate(slots)
        for place in range(3)
    ]
    found, counts = promises._slots(SYSTEM, Run(0, "", "", [TileRun(slots=done)]), "a")
    assert [each.what for each in found] == (
        [f"a.work did not get slot {lost} of tile 0"] if lost is not None else []
    )
    assert counts.slots_promised == 2


def test_memory_differs_from_alone_up_to_the_first_event_that_moved() -> None:
    tiles = [TileRun(slots=[slot(1, False), slot(4, False)])]
    alone, same, other = (
        Run(0, "", "", tiles, (Audit((), {(0, 1009): 1, (0, 4009): hashed}),))
        for hashed in (2, 2, 3)
    )
    assert promises.memory_difference(alone, same, 0, None) == (None, 2)
    found, _ = promises.memory_difference(alone, other, 0, None)
    assert found is not None and (found.resource, found.cycle) == ("memory", 4009)
    assert promises.memory_difference(alone, other, 0, 4009)[0] is not None
    assert promises.memory_difference(alone, other, 0, 4008)[0] is None


def test_records_that_are_cut_short_end_the_audit() -> None:
    tables = bytes(TABLES_BYTES)
    begin = HEAD.pack(tile.AUDIT_BEGIN, 2, 77, 1, 0, 256, 0) + tables + bytes(1024)
    hashed = HEAD.pack(tile.AUDIT_SLOT, 2, 77, 5, 6, 256, 0)
    audit = Audit.read(begin + hashed + begin[:-4])
    assert [(each.application, each.cycle, each.has_run) for each in audit.snapshots] == [
        (2, 77, True)
    ]
    assert audit.hashes == {(2, 77): 6 << 32 | 5}


def test_a_neighbors_word_is_found_in_a_page() -> None:
    content = struct.pack("<4I", 0, 5, 7, 0)
    assert promises._patterns(content, {1: 7, 2: 8}) == {1}
    assert promises._patterns(content, {}) == set()


@pytest.mark.parametrize(
    ("leak", "slots", "fifos", "reason"),
    [
        ("alias", ("loader", "a.work"), (), "it acts on frames of one tile"),
        ("alias", ("loader", "a.work", "b.work"), (), None),
        ("kernel-state", ("loader", "a.work"), (), "no idle slot for one"),
        ("kernel-state", ("loader", "a.work", "idle"), (), None),
        ("stale-token", ("loader", "a.work"), (), "no FIFO has communication memory"),
        ("stale-token", ("loader", "a.work", "idle"), (), None),
        ("stale-token", ("loader", "a.work"), (Fifo("work", "work"),), None),
        ("rights", ("loader", "a.work"), (), None),
        ("uncleared", ("loader", "a.work"), (), None),
    ],
)
def test_a_leak_that_cannot_show_has_a_reason(
    leak: str, slots: tuple[str, ...], fifos: tuple[Fifo, ...], reason: str | None
) -> None:
    first = Application("a", NOWHERE, ("work",), fifos=fifos)
    system = System((first, APPLICATIONS[1]), (slots,), ())
    neighbors = [(0, slots.index("idle"))] if "idle" in slots else []
    said = leaks.cannot_show(leak, system, ["a"], neighbors)
    assert (said is None) == (reason is None)
    assert reason is None or reason in (said or "")


def test_neighbors_get_fifos_while_communication_memory_is_left() -> None:
    full = Application("a", NOWHERE, ("work",), fifos=(Fifo("work", "work", 16384),))
    system = System((full,), (("loader", "a.work", "idle"),), ())
    assert leaks.leaves_room(system, 16 * [(0, 2)])
    assert not leaks.leaves_room(system, 17 * [(0, 2)])


def test_a_neighbor_fits_into_the_one_table_of_a_leak(tmp_path: Path) -> None:
    system = System((), (("loader", "idle"),), ())
    made = Made(system, base_of(tmp_path), tmp_path, b"", ())
    full = campaign.beside(made, tmp_path, [(0, 1)], 1)
    entries = len(pages_of(full, full.applications[0], 0))
    assert full.applications[0].fifos
    assert entries <= facts.LIMIT_ENTRIES // leaks.TABLE_APPLICATIONS


def test_a_check_that_searched_nothing_fails() -> None:
    request = campaign.Request(0, 1, 1, 1, None, None)
    searched = promises.Searched(lives=1, frames=1)
    assert campaign.Campaign(request, searched=searched).failure is None
    for empty in (replace(searched, lives=0), replace(searched, frames=0)):
        assert "nothing was searched" in str(campaign.Campaign(request, searched=empty).failure)
