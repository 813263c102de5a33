"""DMA channels of applications: what arrives, and that no channel delays another one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tautochrone.compose import check
from tautochrone.compose.system import Application, Command, Fifo, System, channels_of
from tautochrone.errors import TauError

from kernel.tests.tile.systems import (
    FRAMES,
    OS_SLOT,
    START,
    USER_SLOT,
    Builder,
    assert_unmoved,
    with_commands,
)

MAJOR_FRAMES, FIRST_FRAME = 44, 8
HOG, SENDER = 0, 1  # the lower channel is the hog's


def system_of(builder: Builder) -> System:
    """A sender, and a neighbor whose channel is always busy."""
    hog = Application(
        "hog",
        builder.executable("dma/hog.c", place=1),
        ("hog", "sink"),
        1024,
        fifos=(Fifo("hog", "sink", 16384, True),),
    )
    sender = Application(
        "sender",
        builder.executable("dma/sender.c"),
        ("produce", "consume"),
        1024,
        fifos=(Fifo("produce", "consume", 4096, True),),
    )
    return System(
        (hog, sender),
        (
            ("loader", "hog.hog", "sender.produce", "loader"),
            ("loader", "hog.sink", "sender.consume", "loader"),
        ),
        (Command("load", "sender", FIRST_FRAME), Command("load", "hog", FIRST_FRAME + 10)),
        USER_SLOT,
        OS_SLOT,
        START,
        frame_count=FRAMES,
    )


def test_a_busy_neighbor_does_not_change_one_cycle(builder: Builder) -> None:
    """[P2-6, P2-18]: a channel's turns are its own; each token arrives as it was made."""
    system = system_of(builder)
    alone = builder.run(with_commands(system, "sender"), MAJOR_FRAMES)
    beside = builder.run(system, MAJOR_FRAMES)
    assert_unmoved(alone, beside, SENDER)
    lines = beside.output(SENDER)
    assert len(lines) > 20 and all("right" in line for line in lines)
    words = [sum(slot.words_moved for slot in each.tiles[0].slots) for each in (alone, beside)]
    assert words[1] > 2 * words[0] > 0


def test_without_turns_the_link_is_found(builder: Builder) -> None:
    """Leak `dma`: it is found, and named."""
    system = system_of(builder)
    alone = builder.run(with_commands(system, "sender"), MAJOR_FRAMES, "dma")
    beside = builder.run(system, MAJOR_FRAMES, "dma")
    verdict = check.compare(alone, beside, SENDER)
    assert verdict.first is not None and verdict.first.resource == "DMA", verdict
    assert verdict.largest_difference_cycles > 0


def test_a_link_has_eight_channels(builder: Builder) -> None:
    system = system_of(builder)
    hog, sender = system.applications
    many = replace(sender, fifos=(Fifo("produce", "consume", 1024, True),) * 7)
    full = replace(system, applications=(hog, many))
    assert [channel.number for channel in channels_of(full)] == list(range(8))
    many = replace(sender, fifos=(Fifo("produce", "consume", 1024, True),) * 8)
    with pytest.raises(TauError, match="no DMA channel left of 8"):
        channels_of(replace(system, applications=(hog, many)))
    one_tile = replace(system, slots=(("sender.produce", "sender.consume"),) * 2)
    with pytest.raises(TauError, match="where its reader has no slot"):
        channels_of(one_tile)
