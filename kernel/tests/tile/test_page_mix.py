"""The page mix is the integrator's [P2-24]: what fragmented memory does to a load, and to nobody.

Fillers come, and some of them go: enough memory is free, but no page of 16 KiB.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import pytest
from tautochrone.compose import check
from tautochrone.compose.run import Run
from tautochrone.compose.system import Application, Command, System

from kernel.tests.tile.systems import (
    OS_SLOT,
    START,
    USER_SLOT,
    Builder,
    assert_unmoved,
    with_commands,
)

WITNESS, LATE = 0, 1
FILLERS = ("filler0", "filler1", "filler2", "filler3")
LATE_FRAME, MAJOR_FRAMES = 30, 40
# 16 of the base code, 9 of the witness and of each filler, the ninth for a stack, 3 that nobody
# has. With the first two fillers gone, 21 are free, but no group of 16.
FRAMES = 64
GONE = FILLERS[:2]


def system_of(builder: Builder, gone: Sequence[str]) -> System:
    """A witness, one that is loaded late, and fillers, some of which go before."""
    source = "metronome/metronome.c"
    large = builder.executable(source, ["-DTAU_METRONOME_PAGES=15u"], 16384, 1)
    small = builder.executable(source, ["-DTAU_METRONOME_PAGES=3u"], 4096, 2)
    applications = (
        builder.metronome("witness"),
        Application("late", large, ("main",), 16384, 4096),
        *(Application(name, small, ("main",), 4096, 4096) for name in FILLERS),
    )
    return System(
        applications,
        (("loader", "loader", "loader", *(f"{each.name}.main" for each in applications)),),
        (
            Command("load", "witness", 5),
            *(Command("load", name, 9 + 4 * number) for number, name in enumerate(FILLERS)),
            *(Command("unload", name, 22) for name in gone),
            Command("load", "late", LATE_FRAME),
        ),
        USER_SLOT,
        OS_SLOT,
        START,
        frame_count=FRAMES,
    )


@functools.cache
def alone_of(builder: Builder, leak: str) -> Run:
    """Without the fillers."""
    system = with_commands(system_of(builder, ()), "witness", "late")
    return builder.run(system, MAJOR_FRAMES, leak)


def both(builder: Builder, gone: Sequence[str], leak: str = "none") -> tuple[Run, Run]:
    """Without and with the fillers."""
    return alone_of(builder, leak), builder.run(system_of(builder, gone), MAJOR_FRAMES, leak)


def test_pages_that_are_not_there_are_refused(builder: Builder) -> None:
    """[P2-10]: and no other application moves by one cycle."""
    alone, beside = both(builder, GONE)
    said = "application 1 is refused: no frames of the sizes in its page list are left"
    assert said in beside.console and said not in alone.console
    assert alone.output(LATE) and not beside.output(LATE)
    assert_unmoved(alone, beside, WITNESS)


@pytest.mark.slow
def test_freed_pages_become_the_same_mix_again(builder: Builder) -> None:
    """[P2-12, P2-14]: the fillers have gone, and nothing tells that they were there."""
    alone, beside = both(builder, FILLERS)
    assert [count for owner, count in beside.tiles[0].entries if owner == LATE] == [5]
    for application in (WITNESS, LATE):
        assert_unmoved(alone, beside, application, 60)


def test_the_leak_page_mix_is_found_and_named(builder: Builder) -> None:
    alone, beside = both(builder, GONE, "page-mix")
    entries = [[n for owner, n in run.tiles[0].entries if owner == LATE] for run in (alone, beside)]
    assert entries == [[5], [11]]
    verdict = check.compare(alone, beside, LATE)
    assert verdict.first is not None and verdict.first.resource == "page mix", verdict
    assert verdict.largest_difference_cycles > 0
    assert check.compare(alone, beside, WITNESS).first is None
