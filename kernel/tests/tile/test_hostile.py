"""Applications that try to disturb others, next to one whose every cycle is compared.

Each way is tried by eight tasks, at the end of their slots, from before the last cycle to after it
(kernel/systems/hostile). That one also reports whether its memory is whole.
"""

from __future__ import annotations

import pytest
from tautochrone.compose.run import Run
from tautochrone.compose.system import Application, Command, System

from kernel.tests.tile.systems import (
    FRAMES,
    OS_SLOT,
    START,
    USER_SLOT,
    Builder,
    assert_unmoved,
    with_commands,
)

METRONOME, HOSTILE = 0, 1
TASKS = tuple(f"task{number}" for number in range(8))
MAJOR_FRAMES, FIRST_FRAME = 22, 10
POOL, POOL_PAGES, POOL_FRAMES = 0x80800000, 32, 24

# The name of each way, and whether it stops its task.
STOPS, LIVES = True, False
WAYS = [
    ("illegal", STOPS),
    ("cross_store", STOPS),
    ("call_with_bad_pointers", LIVES),
    ("miss_data", LIVES),
    ("touch_pool", STOPS),
]
MORE_WAYS = [
    ("divide", LIVES),
    ("sleep", LIVES),
    ("store_memory", STOPS),
    ("store_devices", STOPS),
    ("stop_itself", STOPS),
    ("store_window", STOPS),
    ("load_window", LIVES),
    ("load_devices", STOPS),
    ("load_memory", STOPS),
    ("jump_window", STOPS),
    ("jump_devices", STOPS),
    ("jump_memory", STOPS),
    ("jump_to_data", STOPS),
    ("cross_load", LIVES),
    ("cross_own", LIVES),
    ("call_in_a_loop", LIVES),
    ("fence_instructions", LIVES),
    ("miss_fetch", LIVES),
    ("use_system_page", LIVES),
]


def system_of(builder: Builder, way: str) -> System:
    """Eight hostile tasks, and the real-time one behind some of them."""
    flags = [f"-DTAU_HOSTILE={way}", f"-DTAU_HOSTILE_SLOT_CYCLES={USER_SLOT}u"]
    made = builder.executable("hostile/hostile.c", flags, place=1)
    pool = tuple(POOL + 1024 * page for page in range(POOL_PAGES)) if way == "touch_pool" else ()
    frames = POOL_FRAMES if pool else 0
    hostile = Application("hostile", made, TASKS, 1024, pool_pages=pool, pool_frames=frames)
    tasks = [f"hostile.{task}" for task in TASKS]
    slots = ["loader"] * 8
    for number in range(0, len(tasks), 2):
        slots += [*tasks[number : number + 2], "metronome.main"]
    return System(
        (builder.metronome(), hostile),
        (tuple(slots),),
        (
            Command("load", "metronome", FIRST_FRAME - 5),
            Command("load", "hostile", FIRST_FRAME),
        ),
        USER_SLOT,
        OS_SLOT,
        START,
        frame_count=FRAMES,
    )


@pytest.fixture(scope="module")
def alone(builder: Builder) -> Run:
    """The same slots, nobody hostile in them."""
    return builder.run(with_commands(system_of(builder, "sleep"), "metronome"), MAJOR_FRAMES)


@pytest.mark.parametrize(
    ("way", "stops"),
    [*WAYS, *(pytest.param(*way, marks=pytest.mark.slow) for way in MORE_WAYS)],
)
def test_no_way_moves_another_by_one_cycle(
    builder: Builder, alone: Run, way: str, stops: bool
) -> None:
    """[P2-1]: nor changes its memory; who errs is stopped, and the tile goes on."""
    beside = builder.run(system_of(builder, way), MAJOR_FRAMES)
    assert_unmoved(alone, beside, METRONOME)
    lines = beside.output(METRONOME)
    assert len(lines) > 50 and all("whole" in line for line in lines)
    slots = [slot for slot in beside.tiles[0].slots if slot.owner >> 8 == HOSTILE]
    last = slots[-3 * len(TASKS) :]
    assert sum(slot.calls for slot in slots) >= len(TASKS)
    assert (sum(slot.calls for slot in last) == 0) == stops
