"""Random lives of an application on two tiles whose major frames differ (lives.c).

In each run it is loaded and unloaded many times, often too early for one of its tiles, while
another application keeps the loader of one tile busy. A life begins in its epoch on both tiles or
on none, and no word of another life is ever seen.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest
from tautochrone.compose import code
from tautochrone.compose.run import Run, run
from tautochrone.compose.system import Application, Command, Fifo, System
from tautochrone.facts import compose_format as facts

from kernel.tests.tile.systems import OS_SLOT, ROOT, START, Builder

USER_SLOT = 4_000
TASKS = ("produce", "consume")
BEGINS, MOVED = 0x7FFFFF, 2
# Of the producer's tile, whose loader is slow, and of the consumer's.
SLOT_COUNTS = ((3, 9), (4, 8), (3, 6), (3, 5), (4, 6), (3, 4))


@dataclass
class Seen:
    """What runs showed: lives that began or were late, tokens, and looks that saw moved words."""

    begun: int = 0
    late: int = 0
    tokens: int = 0
    moved: int = 0


def slots_of(chance: random.Random) -> tuple[tuple[str, ...], ...]:
    """Major frames of different lengths, with a slot of each task, in a random order."""
    tiles = []
    for names, count in zip(
        (["lives.produce", "other.main"], ["lives.consume"]),
        chance.choice(SLOT_COUNTS),
        strict=True,
    ):
        slots = [*names, *["loader"] * (count - len(names))]
        chance.shuffle(slots)
        tiles.append(tuple(slots))
    chance.shuffle(tiles)
    return tuple(tiles)


def commands_of(chance: random.Random, lives: int) -> list[Command]:
    """Lives of both applications; a load may come a little too early."""
    commands: list[Command] = []
    clock = chance.randrange(4, 16)
    commands.append(Command("load", "other", clock))
    for _ in range(lives):
        start = clock + chance.randrange(6)
        stop = start + chance.randrange(2, 4)
        commands.append(Command("load", "lives", start))
        if chance.randrange(2):  # One loader is busy when the life ends.
            commands.append(Command("unload", "other", stop - 1))
            commands.append(Command("load", "other", stop))
        commands.append(Command("unload", "lives", stop))
        clock = stop
    return commands


def system_of(builder: Builder, seed: int, lives: int) -> System:
    chance = random.Random(seed)
    slots = slots_of(chance)
    empty = System((), slots, (), USER_SLOT, OS_SLOT, START, 64, 192)
    flags = [f"-DSTART_CYCLE={START}u", f"-DEPOCH_CYCLES={empty.epoch_cycles}u"]
    source = ROOT / "kernel/tests/tile/lives.c"
    made = builder.executable(str(source), flags)
    fifos = (Fifo("produce", "consume", 1024), Fifo("produce", "consume", 16384, True))
    application = Application("lives", made, TASKS, 16384, 1024, fifos)
    applications = (application, builder.metronome("other"))
    commands = tuple(commands_of(chance, lives))
    return replace(empty, applications=applications, commands=commands)


def carried_out(builder: Builder, system: System) -> Run:
    kernel = code.kernel(ROOT, builder.folder)
    cycles = system.cycles(system.commands[-1].epoch + 1)
    done = run(builder.folder, kernel, builder.content(system), 2, cycles)
    assert "cycle limit" in done.messages, done.console[-2000:] + done.messages
    return done


def seen_in(system: System, done: Run) -> Seen:
    """Fail if a token is wrong, or a life is not in its epochs on both tiles alike."""
    seen = Seen()
    loads = [each for each in system.commands if each.application == "lives"]
    tiles = [system.tile_of(system.applications[0], task) for task in TASKS]
    for life in range(1, len(loads) // 2 + 1):
        start, stop = (each.epoch for each in loads[2 * life - 2 : 2 * life])
        begun = []
        for number, place in enumerate(tiles):
            marks = [
                mark
                for mark in done.tiles[place or 0].marks
                if (mark.application, mark.life, mark.value >> 24) == (0, life, number)
            ]
            first = [mark for mark in marks if mark.value >> 1 & BEGINS == BEGINS]
            assert all(system.epoch_of(mark.cycle) == start for mark in first), (life, first)
            assert all(system.epoch_of(mark.cycle) < stop for mark in marks), (life, marks[-1])
            begun.append(len(first))
            tokens = [mark.value for mark in marks if mark not in first]
            assert [value >> 1 & BEGINS for value in tokens] == [*range(len(tokens))]
            assert not any(value & 1 for value in tokens), (life, tokens)
            seen.tokens += len(tokens)
        assert begun in ([0, 0], [1, 1]), (life, begun)
        seen.begun += begun[0]
    seen.moved = sum(
        mark.value & 1 for tile in done.tiles for mark in tile.marks if mark.value >> 24 == MOVED
    )
    seen.late = sum(
        answer.code == facts.ANSWER_LATE and answer.application == 0
        for tile in done.tiles
        for answer in tile.answers
    )
    return seen


@pytest.mark.parametrize(
    ("seeds", "lives"),
    [(range(2, 3), 10), pytest.param(range(100, 140), 25, marks=pytest.mark.slow)],
)
def test_no_life_sees_a_word_of_another_one(builder: Builder, seeds: range, lives: int) -> None:
    """[KRN-6, KRN-20, KRN-21, KRN-22]."""
    total = Seen()
    for seed in seeds:
        print(f"seed {seed}")
        system = system_of(builder, seed, lives)
        seen = seen_in(system, carried_out(builder, system))
        total.begun += seen.begun
        total.late += seen.late
        total.tokens += seen.tokens
        total.moved += seen.moved
    print(total)
    assert total.begun > lives * len(seeds) // 4 and total.late > 0 and total.moved > 0
    assert total.tokens > 4 * total.begun
