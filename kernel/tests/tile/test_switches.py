"""Use cases that the host switches through the mailboxes while others run [P2-16].

No cycle of an application moves that stays. A load is admitted by what is free then. An
application that one tile refuses begins on none.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from tautochrone.compose import code
from tautochrone.compose.lateness import late_unloads
from tautochrone.compose.run import Run, mailboxes_of, run
from tautochrone.compose.system import Application, Command, Fifo, System, commands_of, pages_of
from tautochrone.facts import compose_format as facts

from kernel.tests.tile.systems import OS_SLOT, ROOT, START, USER_SLOT, Builder, assert_unmoved

FIRST = 10  # The epoch of the file's own load.
LOAD_EPOCHS = 7  # A load of one application takes less.
BASE_FRAMES, SPARE_FRAMES = 16, 1
READY, REFUSED = facts.ANSWER_READY, facts.ANSWER_REFUSED
ENDED, UNLOADED = facts.ANSWER_ENDED, facts.ANSWER_UNLOADED
ENDS = {"end": ENDED, "unload": UNLOADED}


def carried_out(builder: Builder, system: System) -> Run:
    kernel = code.kernel(ROOT, builder.folder)
    tiles, given = len(system.slots), mailboxes_of(system)
    last = max(each.epoch for each in (*system.commands, *system.switches))
    cycles, content = system.cycles(last + 3), builder.content(system)
    done = run(builder.folder, kernel, content, tiles, cycles, mailboxes=given)
    assert "cycle limit" in done.messages, done.console[-2000:] + done.messages
    return done


def kib_of(system: System, number: int, place: int = 0) -> int:
    pages = pages_of(system, system.applications[number], place)
    return sum(page.size_bytes for page in pages if page.kind == facts.PAGE_KIND_OWN) // 1024


def one_tile(builder: Builder) -> System:
    """The metronome stays; there are frames for one of the others next to it, and a few more."""
    source = "metronome/metronome.c"
    others = tuple(
        Application(
            f"other{number}",
            builder.executable(source, [f"-DTAU_METRONOME_PAGES={pages}u"], place=number + 1),
            ("main",),
            1024,
            1024,
        )
        for number, pages in enumerate((2, 3, 5))
    )
    slots = (("metronome.main", "other0.main", "loader", "other1.main", "loader", "other2.main"),)
    stays = (builder.metronome(), *others)
    system = System(stays, slots, (Command("load", "metronome", FIRST),), USER_SLOT, OS_SLOT, START)
    frames = BASE_FRAMES + kib_of(system, 0) + kib_of(system, 3) + SPARE_FRAMES
    return replace(system, frame_count=frames)


def random_switches(seed: int, count: int) -> list[Command]:
    """Each replaces the application that is there by another one, or adds one that does not fit."""
    chance = random.Random(seed)
    commands, clock, here = [], FIRST, ""
    for _ in range(count):
        name = chance.choice([f"other{number}" for number in range(3) if f"other{number}" != here])
        end = clock + chance.randrange(1, 3)
        if here:
            commands.append(Command("end", here, end, clock))
            if chance.randrange(3) == 0:  # Both at once do not fit.
                commands.append(Command("load", name, end, clock))
                commands.append(Command("unload", name, end, clock))
            commands.append(Command("unload", here, end, clock))
        commands.append(Command("load", name, end + LOAD_EPOCHS, clock))
        clock, here = end + LOAD_EPOCHS + 1, name
    return commands


@pytest.mark.parametrize(
    ("seed", "count"), [(1, 5), pytest.param(2, 1000, marks=pytest.mark.slow)]
)
def test_no_cycle_moves_for_who_stays(builder: Builder, seed: int, count: int) -> None:
    """[KRN-23], seed and number of switches as given."""
    system = one_tile(builder)
    switched = replace(system, switches=tuple(random_switches(seed, count)))
    last = switched.switches[-1].epoch
    done = carried_out(builder, switched)
    still = replace(system, switches=(Command("unload", "other0", last, last - 1),))
    assert_unmoved(carried_out(builder, still), done, 0, 30 * count)
    began: dict[str, int] = {}
    for command, answer in zip(commands_of(switched, 0), done.tiles[0].answers, strict=True):
        fits = command.epoch > command.arrival + 2  # Or it is a second one next to another.
        wanted = ENDS.get(command.operation, READY if fits else REFUSED)
        assert answer.code == wanted, (command, answer)
        if answer.code == READY and answer.application > 0:
            began[command.application] = began.get(command.application, 0) + 1
    for number in (1, 2, 3):
        name = f"other{number - 1}"
        lives = {mark.life for mark in done.tiles[0].marks if mark.application == number}
        assert len(lives) == began.get(name, 0)


def answers(done: Run, place: int) -> list[int]:
    return [answer.code for answer in done.tiles[place].answers]


def two_tiles(builder: Builder, *slots: tuple[str, ...]) -> System:
    """The application of two tiles, and one of tile 0."""
    empty = System((), slots, (), USER_SLOT, OS_SLOT, START)
    flags = [f"-DSTART_CYCLE={START}u", f"-DEPOCH_CYCLES={empty.epoch_cycles}u"]
    fifos = (Fifo("produce", "consume", 1024), Fifo("produce", "consume", 16384, True))
    made = builder.executable(str(ROOT / "kernel/tests/tile/lives.c"), flags)
    lives = Application("lives", made, ("produce", "consume"), 1024, 1024, fifos)
    return replace(empty, applications=(lives, builder.metronome("big")))


def test_who_is_refused_on_one_tile_begins_on_none(builder: Builder) -> None:
    """[KRN-24]: memory of one tile is short until another application goes."""
    slots = ("lives.produce", "loader", "big.main", "loader"), ("lives.consume", "loader")
    system = replace(two_tiles(builder, *slots), commands=(Command("load", "big", 12),))
    switches = (
        Command("load", "lives", 40, 14),
        Command("end", "big", 44, 41),
        Command("unload", "lives", 44, 41),
        Command("unload", "big", 44, 41),
        Command("load", "lives", 70, 45),
        Command("load", "lives", 70, 71),  # It is there.
    )
    frames = BASE_FRAMES + max(kib_of(system, 0, 0), kib_of(system, 0, 1), kib_of(system, 1))
    done = carried_out(builder, replace(system, frame_count=frames, switches=switches))
    assert answers(done, 0) == [READY, REFUSED, ENDED, UNLOADED, UNLOADED, READY, READY]
    assert answers(done, 1) == [READY, UNLOADED, READY, READY]
    assert late_unloads(replace(system, switches=switches), done) == []
    for tile in done.tiles:
        own = [mark for mark in tile.marks if mark.application == 0]
        assert own and {mark.life for mark in own} == {2}
        assert min(mark.cycle for mark in own) >= system.cycles(70)


def test_an_unload_that_comes_late_to_one_tile(builder: Builder) -> None:
    """[KRN-21]: tile 0's loader is busy when the life ends, so its task has one slot more, and
    begins a long transfer. The other tile clears when that has ended."""
    slots = ("lives.produce", "loader", "big.main", "idle"), ("lives.consume", *["loader"] * 3)
    switches = (
        Command("load", "lives", 30, 0),
        Command("load", "big", 60, 33),
        Command("unload", "lives", 35, 33),
        Command("load", "lives", 80, 32),
    )
    system = replace(two_tiles(builder, *slots), switches=switches)
    done = carried_out(builder, system)
    assert answers(done, 0) == [READY, READY, facts.ANSWER_LATE, READY]
    assert answers(done, 1) == [READY, UNLOADED, READY]
    (late,) = late_unloads(system, done)
    assert (late.application, late.tile, late.epoch) == ("lives", 0, 35)
    busy, idle = (tile.answers[number] for tile, number in zip(done.tiles, (2, 1), strict=True))
    assert system.epoch_of(busy.cycle) > system.epoch_of(idle.cycle) == 35
    marks = [mark for mark in done.tiles[1].marks if mark.value >> 24 == 1]
    assert {mark.life for mark in marks} == {1, 2}
    assert not any(mark.value & 1 for mark in marks)


def test_a_load_that_failed_is_not_ready_the_second_time(builder: Builder) -> None:
    """Late and refused ones stay what they are until they are unloaded."""
    switches = [
        Command("load", "other0", FIRST + 1, FIRST),  # Too early by far.
        Command("load", "other0", FIRST + 20, FIRST),
        Command("load", "other2", FIRST + 20, FIRST),  # Both at once do not fit.
        Command("load", "other2", FIRST + 20, FIRST),
        Command("unload", "other2", FIRST + 20, FIRST),
        Command("unload", "other0", FIRST + 20, FIRST),
        Command("load", "other0", FIRST + 40, FIRST),
        Command("load", "other0", FIRST + 40, FIRST),
    ]
    done = carried_out(builder, replace(one_tile(builder), switches=tuple(switches)))
    failed = [facts.ANSWER_LATE] * 2 + [REFUSED] * 2
    assert answers(done, 0) == [READY, *failed, UNLOADED, UNLOADED, READY, READY]


def test_a_command_that_means_nothing_is_answered(builder: Builder) -> None:
    """A wrong operation, and an application that is not there."""
    system = one_tile(builder)
    tiles = len(system.slots)
    words = [(7, 0, 20, 0), (facts.COMMAND_LOAD, 4, 20, 0), (facts.COMMAND_LOAD, 0xFFFFFFFF, 20, 0)]
    given = [b"".join(b"".join(word.to_bytes(4, "little") for word in each) for each in words)]
    kernel = code.kernel(ROOT, builder.folder)
    content = builder.content(system)
    cycles = system.cycles(FIRST + 3)
    done = run(builder.folder, kernel, content, tiles, cycles, mailboxes=given)
    unknown = facts.ANSWER_UNKNOWN
    assert answers(done, 0) == [READY, unknown, unknown, unknown]
    assert {mark.application for mark in done.tiles[0].marks} == {0}
