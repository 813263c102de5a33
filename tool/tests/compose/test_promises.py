"""What the check searches, on records made by hand: each way to break a promise, and none."""

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from tautochrone.compose import campaign, leaks, promises
from tautochrone.compose.audit import ENTRY, HEAD, TABLES_BYTES, VALID, Audit, Entry, Snapshot
from tautochrone.compose.pages import EXECUTE, READ, WRITE, Page
from tautochrone.compose.run import Answer, Mark, Run, Slot, TileRun
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


KEYS = {"b": 0x5EED}
PAGE = facts.SIZE_PAGE_BYTES_MIN
TOKEN_PAGE, CODE_PAGE, DATA_PAGE = bytes(PAGE), b"code".ljust(PAGE, b"\0"), bytes(4 * PAGE)
FOREIGN = struct.pack("<I", KEYS["b"])
LINES = (
    "application 1: reached: 7\napplication 1: found: x\n"
    "application 1: fine\napplication 0: reached: b\n"
)


CONTENT = TOKEN_PAGE + CODE_PAGE + DATA_PAGE


def life(
    cycle: int, content: bytes = CONTENT, is_end: bool = False, has_run: bool = False
) -> Snapshot:
    """A snapshot of application 0 with this content."""
    made = snapshot(ENTRIES, OTHER)
    return replace(made, cycle=cycle, content=content, is_end=is_end, has_run=has_run)


def ready(cycle: int, code: int = facts.ANSWER_READY, application: int = 0) -> Answer:
    """An answer of the loader."""
    return Answer(application, code, 1, cycle, 10)


CLEAN, BAD_END = life(20), life(30, FOREIGN + TOKEN_PAGE[4:] + CODE_PAGE + DATA_PAGE, is_end=True)
UNCLEARED = TOKEN_PAGE + CODE_PAGE + bytes(4) + b"x" + DATA_PAGE[5:]
OTHER_TOKENS = b"t" + TOKEN_PAGE[1:] + CODE_PAGE + DATA_PAGE
NO_PAGE = replace(CLEAN, tables=snapshot(ENTRIES[:2], OTHER).tables, content=TOKEN_PAGE + CODE_PAGE)


@pytest.mark.parametrize(
    ("snapshots", "answers", "found", "lives"),
    [
        ([CLEAN], [ready(20)], [], 1),
        ([CLEAN, life(25)], [ready(10), ready(21)], [], 2),
        ([CLEAN], [ready(21)], [], 0),  # The life before has no record.
        ([CLEAN], [ready(20, facts.ANSWER_LATE), ready(5, application=1)], [], 0),
        ([life(20, is_end=True), BAD_END], [ready(10)], [("memory", 30)], 0),
        ([CLEAN, BAD_END], [ready(10)], [("memory", 30)], 1),
        ([life(20, UNCLEARED)], [ready(10)], [("memory", 20)], 1),
        ([CLEAN, life(25, UNCLEARED)], [ready(10)], [], 1),  # It may write its own pages.
        ([life(20, OTHER_TOKENS)], [ready(10)], [("token", 20)], 1),
        ([life(20, OTHER_TOKENS, has_run=True)], [ready(10)], [], 1),  # Another tile's task ran.
        ([NO_PAGE], [ready(10)], [("rights", 20)], 1),
        ([NO_PAGE], [ready(30)], [], 0),
        ([life(25, UNCLEARED), BAD_END], [ready(10)], [("memory", 25), ("memory", 30)], 1),
    ],
)
def test_what_snapshots_break(
    monkeypatch: pytest.MonkeyPatch,
    snapshots: list[Snapshot],
    answers: list[Answer],
    found: list[tuple[str, int]],
    lives: int,
) -> None:
    """Only the first snapshot of a life shows what the loader put there; each shows a neighbor."""
    monkeypatch.setattr(promises, "pages_of", lambda *_: PAGES)
    image = promises.Image(((CODE, b"code"),))
    monkeypatch.setattr(promises.Image, "of", lambda *_: image)
    run = Run(0, "", "", [TileRun(answers=answers)], (Audit(tuple(snapshots)),))
    findings, searched = promises.findings(SYSTEM, run, b"", KEYS, [])
    assert [(each.resource, each.cycle) for each in findings] == found
    assert all(each.what.startswith("a: ") and each.what.endswith("tile 0") for each in findings)
    late = sum(each.code == facts.ANSWER_LATE for each in answers)
    frames = sum(len(each.content) // PAGE for each in snapshots)
    assert searched == promises.Searched(lives=lives, frames=frames, late_loads=late)


def test_findings_name_page_neighbor_and_rights(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool's page may hold anything but a neighbor's words, and a neighbor its own words."""
    pool = [*PAGES[:2], replace(PAGES[2], kind=facts.PAGE_KIND_POOL)]
    monkeypatch.setattr(promises, "pages_of", lambda *_: pool)
    monkeypatch.setattr(promises.Image, "of", lambda *_: promises.Image(((CODE, b"code"),)))
    foreign = TOKEN_PAGE + CODE_PAGE + FOREIGN + DATA_PAGE[4:]
    own = replace(snapshot([], OTHER), application=1, cycle=40, content=FOREIGN + bytes(PAGE - 4))
    audit = Audit((life(20, UNCLEARED), life(30, foreign), own))
    tiles = [TileRun(answers=[ready(10)], marks=[Mark(1, 1, 3), Mark(0, 1, 4), Mark(1, 2, 5)])]
    run = Run(0, LINES, "", tiles, (audit,))
    found, searched = promises.findings(SYSTEM, run, b"", KEYS, [])
    texts = [(each.what, each.resource) for each in found if each.cycle in (0, 30)]
    assert texts == [
        ("b reached: 7", "rights"),
        ("b found: x", "kernel state"),
        (f"a: the page at {DATA:#x} has words of b on tile 0", "memory"),
    ]
    assert searched.probes == 2
    table = snapshot([ENTRIES[0], words(Page(CODE, 0, READ | WRITE), 80)])
    said = promises._wrong_table(table, PAGES, False)
    assert said == (f"the page at {CODE:#x} allows read/write, not read/execute", "rights")
    assert promises._rights(0) == "nothing"


def slot(number: int, is_idle: bool, calls: int = 0) -> Slot:
    """A slot of application 0, or of the loader."""
    owner = (facts.SLOT_LOADER << 8, 0, 1 << 8)[number % 3]
    cycles = tuple(range(calls))
    return Slot(owner, 1000 * number, 1000 * number + 9, 0, cycles, is_idle=is_idle)


@pytest.mark.parametrize(
    ("slots", "lost", "ran"),
    [
        ([(True, 0), (False, 0), (False, 0)], None, 2),  # Not promised yet.
        ([(True, 0), (False, 0), (True, 0)], 7, 1),
        ([(True, 0), (True, 0), (False, 0)], 4, 1),
        ([(True, 0), (True, 0), (True, 0)], 4, 1),  # The first one is named.
        ([(True, 0), (True, 1), (True, 0)], None, 2),  # It has ended.
        ([(True, 0), (True, 1), (False, 0)], None, 2),  # It has waited.
    ],
)
def test_a_task_gets_its_slots_until_it_ends(
    slots: list[tuple[bool, int]], lost: int | None, ran: int
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
    assert (counts.slots_promised, counts.slots_run) == (2, ran)


def test_the_first_lost_slot_of_all_tiles_is_a_finding() -> None:
    """Of application b, whose second life begins with epoch 3, with slots of its own again."""
    commands = tuple(
        Command(operation, "b", epoch)
        for epoch, operation in enumerate(("load", "unload", "load"), start=1)
    )
    system = replace(SYSTEM, slots=2 * SYSTEM.slots, commands=commands)
    owned = {5: (True, 1), 8: (False, 0), 11: (True, 0)}  # Idle or not, and calls, of b's slots.
    slots = [slot(number, *owned.get(number, (False, 0))) for number in range(12)]
    tiles = [TileRun(slots=slots), TileRun(slots=slots)]
    run = Run(0, "", "", tiles, (Audit(), Audit()))
    found, searched = promises.findings(system, run, b"", {}, ["b"])
    assert [(each.what, each.cycle) for each in found] == [
        ("b.work did not get slot 11 of tile 0", 11_000)
    ]
    assert (searched.slots_promised, searched.slots_run) == (4, 2)


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
