"""A best-effort application next to a real-time one: pages on demand, in its own slots."""

from __future__ import annotations

import pytest
from tautochrone.compose.run import Run
from tautochrone.compose.system import Application, Command, System
from tautochrone.facts import compose_format as facts

from kernel.tests.tile.systems import (
    FRAMES,
    OS_SLOT,
    ROOT,
    START,
    USER_SLOT,
    Builder,
    assert_unmoved,
    with_commands,
)

METRONOME, BEST_EFFORT = 0, 1
MAJOR_FRAMES, FIRST_FRAME = 58, 8
POOL, POOL_PAGES, POOL_FRAMES = 0x80800000, 24, 16


def best_effort(builder: Builder, pages: range) -> Application:
    """More pages than frames."""
    made = builder.executable("besteffort/besteffort.c", place=1)
    at = tuple(POOL + facts.SIZE_PAGE_BYTES_MIN * page for page in pages)
    return Application("best", made, ("main",), 1024, pool_pages=at, pool_frames=POOL_FRAMES)


def system_of(builder: Builder, application: Application) -> System:
    """It comes, goes when it has failed, and comes again."""
    return System(
        (builder.metronome(), application),
        (("loader", "best.main", "metronome.main", "loader"),),
        (
            Command("load", "metronome", FIRST_FRAME),
            Command("load", "best", FIRST_FRAME + 8),
            Command("unload", "best", FIRST_FRAME + 20),
            Command("load", "best", FIRST_FRAME + 36),
        ),
        USER_SLOT,
        OS_SLOT,
        START,
        frame_count=FRAMES,
    )


@pytest.fixture(scope="module")
def runs(builder: Builder) -> tuple[Run, Run]:
    """Without it, and next to it."""
    system = system_of(builder, best_effort(builder, range(POOL_PAGES)))
    alone = with_commands(system, "metronome")
    return builder.run(alone, MAJOR_FRAMES), builder.run(system, MAJOR_FRAMES)


def test_its_faults_change_no_cycle_of_another(runs: tuple[Run, Run]) -> None:
    """[P2-17]: it takes all of its pool, and is stopped at the next page."""
    assert_unmoved(*runs, METRONOME)


def test_its_pool_is_its_own_and_ends(runs: tuple[Run, Run]) -> None:
    """Each frame comes once and clean, in the second life too; the next page stops it."""
    lines = runs[1].output(BEST_EFFORT)
    assert len(lines) == 2 * POOL_FRAMES
    assert all("touch" in line for line in lines)
    slots = [slot for slot in runs[1].tiles[0].slots if slot.owner >> 8 == BEST_EFFORT]
    assert sum(slot.calls for slot in slots) == 2 * (POOL_FRAMES + 1)


def test_a_fault_fits_the_os_slot(runs: tuple[Run, Run]) -> None:
    """It may begin in a slot's last cycle. The clock is read on both sides."""
    cycles = [int(line.split()[-1], 16) for line in runs[1].output(BEST_EFFORT)]
    within = [each for each in cycles if each < OS_SLOT]
    print(sorted(set(within)))
    assert len(within) > POOL_FRAMES
    assert len(set(within)) == 1 and within[0] < OS_SLOT
    design = (ROOT / "docs/design/kernel.md").read_text(encoding="utf-8")
    assert f"constant time: {within[0]} cycles" in " ".join(design.split())


def test_a_pool_with_a_gap_is_refused(builder: Builder) -> None:
    """A fault finds its page at once, so the pages follow each other."""
    gap = best_effort(builder, range(0, 8, 2))
    system = system_of(builder, gap)
    done = builder.run(system, FIRST_FRAME + 12)
    assert "application 1 is refused" in done.console
