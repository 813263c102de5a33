"""Damaged executables, loaded on the tile next to an application whose every cycle is compared.

The kernel's own reader, compiled for the host, says what each has to be refused for.
"""

from __future__ import annotations

import functools
import os
import random
import re
import struct
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tautochrone.compose.run import Run
from tautochrone.compose.system import Application, Command, System, pages_of
from tautochrone.errors import TauError
from tautochrone.facts import compose_format as facts

from kernel.tests.host.test_executable import CASES, LOAD, Good
from kernel.tests.tile.systems import (
    FRAMES,
    OS_SLOT,
    START,
    USER_SLOT,
    Builder,
    assert_unmoved,
    with_commands,
)

SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
METRONOME = 0
BATCH, LOADER_SLOTS = facts.LIMIT_APPLICATIONS - 1, 16
FIRST_FRAME, START_FRAME, MAJOR_FRAMES = 3, 8, 12
RANDOM_FRAMES = 24  # Later: many of them are loaded.
MUTANTS = 30
EDGES = (0, 1, 4, 0x7FFFFFFF, 0x80000000, 0x80100000, 0xFFFFFFFC, 0xFFFFFFFF)
# What only the tile can say, which has the page list.
TILE_SAYS = ("a segment lies outside the pages with its rights", "its number of tasks differs")


@pytest.fixture(scope="module")
def good(builder: Builder) -> Good:
    """The executable that is damaged, and the reader of the host."""
    folder = builder.folder / "good"
    folder.mkdir()
    return Good(folder)


def system_of(builder: Builder, good: Good, later_frames: int = 0) -> System:
    """The real-time application, and a batch of others that load at the same time."""
    names = [f"bad{number}" for number in range(BATCH)]
    bad = [Application(name, good.path, ("main",), 1024) for name in names]
    slots = ["loader"] * LOADER_SLOTS
    for number in range(0, BATCH, 4):
        slots += ["metronome.main", *(f"{name}.main" for name in names[number : number + 4])]
    return System(
        (builder.metronome(), *bad),
        (tuple(slots),),
        (
            Command("load", "metronome", FIRST_FRAME),
            *(Command("load", name, START_FRAME + later_frames) for name in names),
        ),
        USER_SLOT,
        OS_SLOT,
        START,
        frame_count=16 + 16 + 24 * BATCH,
    )


def with_images(content: bytes, images: Sequence[bytes]) -> bytes:
    """The system file with other images of the applications after the first one."""
    changed = bytearray(content)
    part = struct.unpack_from("<I", content)[0]
    table = part + struct.unpack_from("<I", content, part + 4 * facts.HEADER_APPLICATION_OFFSET)[0]
    for number, image in enumerate(images, 1):
        row = table + 4 * facts.SYSTEM_APPLICATION_WORDS * number
        offset = struct.unpack_from("<I", content, row + 4 * facts.APPLICATION_IMAGE_OFFSET)[0]
        changed[part + offset : part + offset + len(image)] = image
        struct.pack_into("<I", changed, row + 4 * facts.APPLICATION_IMAGE_BYTES, len(image))
    return bytes(changed)


def refusals(done: Run) -> dict[int, str]:
    """Application and reason of each refusal."""
    said = re.findall(r"kernel: application (\d+) is refused: (.*)", done.console)
    return {int(number): reason for number, reason in said}


@functools.cache
def alone_of(builder: Builder, good: Good, later_frames: int) -> Run:
    """The same slots, and nobody in them."""
    system = with_commands(system_of(builder, good, later_frames), "metronome")
    return builder.run(system, MAJOR_FRAMES + later_frames)


def check_batch(builder: Builder, good: Good, images: Sequence[bytes], later_frames: int) -> int:
    """Each is refused for its reason, or loaded; returns how many were loaded."""
    system = system_of(builder, good, later_frames)
    names = [each.name for each in system.applications[: len(images) + 1]]
    system = with_commands(system, *names)
    frames = MAJOR_FRAMES + later_frames
    alone = alone_of(builder, good, later_frames)
    content = with_images(builder.content(system), images)
    beside = builder.run(system, frames, content=content)
    assert_unmoved(alone, beside, METRONOME)
    whole = beside.output(METRONOME)[:-1]  # The end of the run may cut the last line.
    assert all("whole" in line for line in whole)
    refused = refusals(beside)
    ran = {slot.owner >> 8 for slot in beside.tiles[0].slots if slot.calls}
    for number, image in enumerate(images, 1):
        reason = good.answer(image)
        if reason is not None:
            assert refused.get(number) == reason
            assert number not in ran
        elif number in refused:
            assert any(said in refused[number] for said in TILE_SAYS), refused[number]
    return len(images) - len(refused)


def batches(images: list[bytes]) -> list[list[bytes]]:
    """As many as fit next to the real-time application, each time."""
    return [images[i : i + BATCH] for i in range(0, len(images), BATCH)]


def test_bad_executables_are_refused_on_the_tile(builder: Builder, good: Good) -> None:
    """Every kind of damage [P2-11]: refused, and nobody else moves by one cycle."""
    images = [good.changed(*fields(good)) for fields, _ in CASES.values()]
    images += [good.content[:40], good.content[:400], b""]
    memory = good.program(LOAD, 1) + 20
    images.append(good.changed((memory, good.word(memory) + 0x10000)))  # More than reserved.
    assert [check_batch(builder, good, batch, 0) for batch in batches(images)] == [0, 0, 0]


def mutant(good: Good, chance: random.Random) -> bytes:
    """The good one with up to four changes, mostly in its headers."""
    content = bytearray(good.content)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(148 if chance.randrange(8) else len(content) - 4)
        if chance.randrange(2):
            content[place] ^= 1 << chance.randrange(8)
        else:
            struct.pack_into("<I", content, place // 4 * 4, chance.choice(EDGES))
    return bytes(content)


@pytest.mark.slow
def test_random_damage_moves_nobody(builder: Builder, good: Good) -> None:
    """Refused, or loaded and running whatever it is."""
    print("seed", SEED)
    chance = random.Random(SEED)
    images = [mutant(good, chance) for _ in range(MUTANTS)]
    loaded = [check_batch(builder, good, batch, RANDOM_FRAMES) for batch in batches(images)]
    assert 0 < sum(loaded) < MUTANTS


def test_more_memory_or_entries_than_there_are(builder: Builder) -> None:
    """[P2-26]: memory is the loader's refusal, entries the tool's."""
    flags = [f"-DTAU_METRONOME_PAGES={FRAMES}u"]
    made = builder.executable("metronome/metronome.c", flags, place=1)
    large = Application("large", made, ("main",), 16384)
    system = System(
        (builder.metronome(), large),
        ((*["loader"] * 6, "metronome.main", "large.main"),),
        (Command("load", "metronome", 12), Command("load", "large", 14)),
        USER_SLOT,
        OS_SLOT,
        START,
        frame_count=FRAMES,
    )
    done = builder.run(system, 16)
    assert refusals(done) == {1: "no frames of the sizes in its page list are left"}
    assert done.output(METRONOME)
    small = replace(large, page_bytes_max=1024)
    with pytest.raises(TauError, match="a table has 64"):
        pages_of(replace(system, applications=(system.applications[0], small)), small, 0)
