"""The memory that applications get from the loader, and its refusals (loaded.c)."""

from __future__ import annotations

import shutil
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from tautochrone.compose import code
from tautochrone.compose.run import Answer, Run, run
from tautochrone.compose.system import Application, Command, Fifo, System, pages_of, system_file
from tautochrone.facts import compose_format as facts

from kernel.tests.tile.systems import Builder, assert_unmoved

ROOT = Path(__file__).resolve().parents[3]
SOURCE = ROOT / "kernel/tests/tile/loaded.c"
TASKS = ("main", "greedy", "bad", "jump", "beyond")
MAIN, GREEDY, BAD, JUMP, BEYOND = range(5)
USER, OS, START = 4_000, 800, 150_000
POOL, POOL_PAGES = 0x80400000, 7
BASE_FRAMES = 16
LIVES = (("a", 6, 9), ("b", 14, 17), ("a", 22, 25))
Patch = dict[tuple[int, int], int]  # page of the list, word of it


class Parts:
    """The executables."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.base = code.base_code(ROOT, folder)
        self.kernel = code.kernel(ROOT, folder)
        flags = [f"-DPOOL_PAGES={POOL_PAGES}u"]
        made = code.application(ROOT, "loaded", [SOURCE], self.base, folder, flags, 4096)
        pool = tuple(POOL + facts.SIZE_PAGE_BYTES_MIN * i for i in range(POOL_PAGES))
        fifos = (Fifo("main", "main", 1024),)
        self.applications = tuple(
            Application(name, made, TASKS, 4096, 1024, fifos, pool, POOL_PAGES - 1)
            for name in ("a", "b")
        )

    def system(self) -> System:
        """Both applications, one after the other: there are frames for one of them."""
        commands = [
            Command(operation, name, frame)
            for name, start, stop in LIVES
            # Loaded a second time it stays.
            for operation, frame in (("load", start), ("load", stop - 1), ("unload", stop))
        ]
        # Tasks come before the loader, who could hide that a major frame is not theirs.
        slots = [f"{each.name}.{task}" for task in reversed(TASKS) for each in self.applications]
        slots += ["loader"] * 6
        system = System(self.applications, (tuple(slots),), tuple(commands), USER, OS, START)
        own = [
            page.size_bytes // 1024
            for page in pages_of(system, self.applications[0], 0)
            if page.kind == facts.PAGE_KIND_OWN
        ]
        return replace(system, frame_count=BASE_FRAMES + sum(own) + POOL_PAGES - 1 + 4)

    def carried_out(self, system: System, change: Patch | None = None) -> Run:
        """Run it some frames beyond its last command, if the tile does not stop before."""
        content = bytearray(
            system_file(system, code.base_bytes(self.base), code.base_hash(self.base))
        )
        (part,) = struct.unpack_from("<I", content)
        (pages,) = struct.unpack_from("<I", content, part + 4 * facts.HEADER_PAGE_OFFSET)
        for (page, word), value in (change or {}).items():
            place = part + pages + 4 * (facts.SYSTEM_PAGE_WORDS * page + word)
            struct.pack_into("<I", content, place, value)
        slots = (system.commands[-1].epoch + 3) * len(system.slots[0])
        return run(self.folder, self.kernel, bytes(content), 1, START + slots * (USER + OS))

    def words(self, number: int) -> list[tuple[int, int]]:
        """The page list of an application, as it is in the system file."""
        return [page.words() for page in pages_of(self.system(), self.applications[number], 0)]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    """The executables."""
    return Parts(tmp_path_factory.mktemp("loader"))


def marked(done: Run, system: System, application: int, task: int) -> list[tuple[int, int]]:
    """Major frame and number of each mark of a task."""
    frame_cycles = len(system.slots[0]) * (USER + OS)
    return [
        ((mark.cycle - START) // frame_cycles, mark.value >> 1 & 0x7FFFFF)
        for mark in done.tiles[0].marks
        if mark.application == application and mark.value >> 24 == task
    ]


def test_tasks_run_in_their_frames_in_clear_memory(parts: Parts) -> None:
    """[KRN-1, KRN-5, KRN-7, KRN-8], three lives in the same frames."""
    system = parts.system()
    done = parts.carried_out(system)
    assert "cycle limit" in done.messages, done.console + done.messages
    lines = [line for line in done.console.splitlines() if "application" in line]
    lives = [system.number(name) for name, _, _ in LIVES]
    assert lines == [f"application {number}: begins" for number in lives]
    for number in (0, 1):
        frames = [
            (frame, frame - start)
            for name, start, stop in LIVES
            if system.number(name) == number
            for frame in range(start, stop)
        ]
        begins = [start for name, start, _ in LIVES if system.number(name) == number]
        assert marked(done, system, number, MAIN) == frames
        for task in (BAD, JUMP, BEYOND):
            assert marked(done, system, number, task) == [(start, 0) for start in begins]
        touched = [mark for _, mark in marked(done, system, number, GREEDY)]
        assert touched == [*range(POOL_PAGES - 1)] * len(begins)


def test_a_slot_may_end_in_any_cycle_of_the_end_of_a_load(builder: Builder) -> None:
    """[KRN-6]: the loader's only slot before the epoch ends about when its load does. The task
    calls the kernel before the loader goes on."""
    made = builder.executable(str(ROOT / "kernel/tests/tile/waits.c"))
    application = Application("a", made, ("main",), 1024, 1024)
    load = (Command("load", "a", 1),)
    system = System((application,), (("a.main", "loader"),), load, 2 * USER, OS, START)
    system = replace(system, frame_count=BASE_FRAMES + 16)

    def answer(user_slot_cycles: int) -> Answer:
        done = builder.run(replace(system, user_slot_cycles=user_slot_cycles), 3)
        (given,) = done.tiles[0].answers
        return given

    free = answer(2 * USER)  # Of the other tasks of this file a load takes longer.
    assert free.code == facts.ANSWER_READY
    load_cycles = free.cycle - START - OS - 2 * USER
    codes = [answer(load_cycles + more).code for more in range(-60, 13, 4)]
    late = codes.count(facts.ANSWER_LATE)
    assert 0 < late < len(codes)
    assert codes == [facts.ANSWER_LATE] * late + [facts.ANSWER_READY] * (len(codes) - late)


def refusal(done: Run) -> str:
    """What the kernel said about application 0."""
    name = "kernel: application 0 is refused: "
    said = [line.partition(name)[2] for line in done.console.splitlines() if name in line]
    assert len(said) == 1, done.console + done.messages
    return said[0]


def test_segments_are_in_own_pages_of_their_rights(parts: Parts) -> None:
    """And an application that is refused leaves its frames to the next one."""
    system = parts.system()
    system = replace(system, commands=system.commands[:6])
    words = parts.words(0)
    data = next(
        row
        for row, (place, rest) in enumerate(words)
        if rest == 3 << facts.PAGE_SHIFT_RIGHTS and place < 1 << facts.PAGE_SHIFT_ORDER
    )
    for change in (
        {(data, 1): words[data][1] ^ 2 << facts.PAGE_SHIFT_RIGHTS},
        {(data, 1): words[data][1] | facts.PAGE_KIND_FIXED << facts.PAGE_SHIFT_KIND},
    ):
        done = parts.carried_out(system, change)
        assert refusal(done) == "a segment lies outside the pages with its rights"
        assert marked(done, system, 0, MAIN) == []
        assert [frame for frame, _ in marked(done, system, 1, MAIN)] == [14, 15, 16]


def test_a_page_that_was_not_granted_stops_the_tile(parts: Parts) -> None:
    """[KRN-15, KRN-18]: before any application runs, with a message."""
    words = parts.words(0)
    for rest in (
        words[0][1] | 4 << facts.PAGE_SHIFT_RIGHTS,
        words[0][1] & 7 << facts.PAGE_SHIFT_RIGHTS | facts.PAGE_KIND_FIXED << 24 | 70,
    ):
        done = parts.carried_out(parts.system(), {(0, 1): rest})
        assert "kernel: pages overlap, or have frames or rights that were not" in done.console
        assert done.code == 1 and done.tiles[0].marks == []


def test_too_few_frames_are_refused(parts: Parts) -> None:
    """For its own pages, and for its pool; its frames go to the next one."""
    system = parts.system()
    few = replace(system, commands=system.commands[:3], frame_count=BASE_FRAMES + 4)
    one, other = system.applications
    hungry = (replace(one, pool_frames=POOL_PAGES + 4), other)
    for tried in (few, replace(system, commands=system.commands[:6], applications=hungry)):
        done = parts.carried_out(tried)
        assert refusal(done) == "no frames of the sizes in its page list are left"
        assert marked(done, tried, 0, MAIN) == []
        begun = [frame for frame, _ in marked(done, tried, 1, MAIN)]
        assert begun == ([14, 15, 16] if tried is not few else [])


def test_pages_of_a_pool_follow_each_other(parts: Parts) -> None:
    """[KRN-11]: in the list and in the window."""
    words = parts.words(0)
    system = parts.system()
    system = replace(system, commands=system.commands[:3])
    last = len(words) - 1
    own = words[last][1] & 7 << facts.PAGE_SHIFT_RIGHTS
    for change in ({(last, 0): words[last][0] + 1}, {(last - 1, 1): own}):
        done = parts.carried_out(system, change)
        assert refusal(done) == "no frames of the sizes in its page list are left"


def test_a_late_load_begins_never_and_keeps_its_frames_until_its_unload(parts: Parts) -> None:
    """[KRN-6]: the next one in the same frames is as if it had not been there."""
    others = (Command("load", "b", 14), Command("unload", "b", 17))
    late = (Command("load", "a", 1), Command("unload", "a", 6), *others)
    system = replace(parts.system(), commands=late)
    done = parts.carried_out(system)
    assert "kernel: application 0 is refused: its load ended after its epoch" in done.console
    assert [mark.application for mark in done.tiles[0].marks if mark.application == 0] == []
    assert [frame for frame, _ in marked(done, system, 1, MAIN)] == [14, 15, 16]
    codes = [answer.code for answer in done.tiles[0].answers]
    ready, unloaded = facts.ANSWER_READY, facts.ANSWER_UNLOADED
    assert codes == [facts.ANSWER_LATE, unloaded, ready, unloaded]
    alone = parts.carried_out(replace(system, commands=others))
    assert_unmoved(alone, done, 1, 100)
    kept = parts.carried_out(replace(system, commands=late[:1] + late[2:]))
    assert [answer.code for answer in kept.tiles[0].answers][1] == facts.ANSWER_REFUSED


def test_an_unload_of_an_absent_application_changes_nothing(parts: Parts) -> None:
    """Before its first life, and twice after one: it would be alive again, without its frames."""
    ends = [Command("unload", "a", epoch) for epoch in (9, 12)]
    lives = (Command("unload", "a", 4), Command("load", "a", 6), *ends, Command("load", "b", 14))
    system = replace(parts.system(), commands=lives)
    done = parts.carried_out(system)
    assert "assertion" not in done.console
    assert [frame for frame, _ in marked(done, system, 0, MAIN)] == [6, 7, 8]
    assert [frame for frame, _ in marked(done, system, 1, MAIN)] == [14, 15, 16]


def test_who_is_alive_in_the_last_epoch_lives_on(parts: Parts, tmp_path: Path) -> None:
    """[KRN-20]: by a kernel whose first epoch is 10 before the last one that 32 bits count."""
    for name in ("core", "facts", "targets"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "kernel", tmp_path / "kernel", ignore=lambda *_: ("systems", "tests"))
    main, old = tmp_path / "kernel/slots/main.c", "kernel->epoch = UINT32_MAX;"
    text = main.read_text(encoding="utf-8")
    assert text.count(old) == 1
    main.write_text(text.replace(old, "kernel->epoch = UINT32_MAX - 12;"), encoding="utf-8")
    system = replace(parts.system(), commands=(Command("load", "a", 0xFFFFFFFE - 4),))
    content = system_file(system, code.base_bytes(parts.base), code.base_hash(parts.base))
    frames = 14
    cycles = START + frames * len(system.slots[0]) * (USER + OS)
    done = run(tmp_path, code.kernel(tmp_path, tmp_path), content, 1, cycles)
    assert [frame for frame, _ in marked(done, system, 0, MAIN)] == [*range(6, frames)]
