"""Fig. 9: start and end of each iteration of the decoder, alone and with others.

Two tiles as in the paper: vld on one, idct and cc on the other. Four comparisons, each of absolute
cycles:
- with the synthetic application, whose tasks 1, 3, 5 and 2, 4 share these tiles [P2-18];
- the synthetic application loaded before or behind the decoder [P2-20];
- with neighbors that come, go, fault and load at random;
- the same with one page table for all, which is not composable [P2-19].
"""

from dataclasses import dataclass
from typing import Any

from repro.composable.applications import decoder, neighbor, pipeline, simulated
from tautochrone.compose import check
from tautochrone.compose.neighborhood import Room, neighborhood
from tautochrone.compose.run import Run
from tautochrone.compose.system import Command, System
from tautochrone.console.output import note

USER_SLOT, OS_SLOT = 50_000, 800
TASKS = ("vld", "idct", "cc")
NEIGHBORS = 2
SEED = 7
LOAD_FRAMES = 3  # to load a neighbor
ONE_TABLE = "one-table"


@dataclass(frozen=True)
class Size:
    """An image, the major frame in which its decoder starts, and when it has ended."""

    image: str
    start_frame: int
    end_frame: int


FULL = Size("192x144", 16, 64)
QUICK = Size("64x64", 12, 20)


def with_pipeline(size: Size, order: tuple[str, ...]) -> System:
    """The paper's mapping; ORDER is the order of the loads."""
    tasks = [f"pipeline.task{number}" for number in range(1, 6)]
    return System(
        (decoder(size.image), pipeline()),
        (
            ("loader", "jpeg.vld", tasks[0], tasks[2], tasks[4]),
            ("loader", "jpeg.idct", tasks[1], "jpeg.cc", tasks[3]),
        ),
        tuple(Command("load", name, size.start_frame) for name in order),
        user_slot_cycles=USER_SLOT,
        os_slot_cycles=OS_SLOT,
    )


def with_neighbors(size: Size, seed: int | None) -> System:
    """Neighbors on both tiles; without a seed their slots are idle."""
    names = [f"neighbor{number}" for number in range(NEIGHBORS)]
    first, second = (f"{name}.main" for name in names)
    system = System(
        (decoder(size.image), *(neighbor(number) for number in range(NEIGHBORS))),
        (
            ("loader", "jpeg.vld", first, second, first),
            ("loader", "jpeg.idct", second, "jpeg.cc", first),
        ),
        (Command("load", "jpeg", size.start_frame),),
        user_slot_cycles=USER_SLOT,
        os_slot_cycles=OS_SLOT,
    )
    if seed is None:
        return system
    start = size.start_frame
    room = Room(start, start - 2, start + 2, LOAD_FRAMES)
    return neighborhood(system, dict.fromkeys(names, 0), [room, room], seed, size.end_frame)


def run(size: Size, system: System, leak: str = "none") -> Run:
    """Run it to the end; the decoder must have printed its checksum."""
    slots = size.end_frame * len(system.slots[0])
    done = simulated(system, slots, leak, is_refusal_allowed=True)  # one neighbor comes too late
    if not any("jpeg" in line for line in done.output(0)):
        raise RuntimeError("the decoder has not ended: " + done.console)
    return done


def marks(run: Run) -> dict[tuple[int, int, int], int]:
    """Cycle of each task, iteration, and 0 for its start or 1 for its end."""
    return {
        (value >> 24, value >> 1 & 0x7FFFFF, value & 1): cycle for _, value, cycle in run.events(0)
    }


def compared(alone: Run, beside: Run) -> dict[str, Any]:
    """What Fig. 9 draws, for each task; and all other events of the decoder."""
    one, two = marks(alone), marks(beside)
    verdict = check.compare(alone, beside, 0)
    result: dict[str, Any] = {
        "events_compared": verdict.events_compared,
        "largest_difference_cycles": verdict.largest_difference_cycles,
        "resource": verdict.first.resource if verdict.first else "none",
        "outputs_equal": alone.output(0) == beside.output(0),
        "tasks": {},
    }
    for task, name in enumerate(TASKS):
        count = 1 + max(key[1] for key in one if key[0] == task)
        starts, durations, differing = [], [], 0
        for i in range(count):
            begin, end = ((task, i, 0), (task, i, 1))
            start, stop = two.get(begin, 0) - one[begin], two.get(end, 0) - one[end]
            starts.append(start)
            durations.append(stop - start)
            differing += start != 0 or stop != 0
        result["tasks"][name] = {
            "iterations": count,
            "differing": differing,
            "start_difference_cycles": starts,
            "duration_difference_cycles": durations,
        }
    return result


def with_synthetic(size: Size, is_order_compared: bool = True) -> dict[str, Any]:
    """[J] against [JS], and [JS] against [SJ]; J is the decoder, S the synthetic application."""
    note("fig. 9: the synthetic application")
    alone = run(size, with_pipeline(size, ("jpeg",)))
    behind = run(size, with_pipeline(size, ("jpeg", "pipeline")))
    found = marks(alone)
    iterations = 1 + max(iteration for task, iteration, _ in found if task == 0)
    result = {
        "vld_cycles": [found[0, i, 1] - found[0, i, 0] for i in range(iterations)],
        "synthetic": compared(alone, behind),
        "synthetic_events": len(behind.events(1)),
    }
    if is_order_compared:
        before = run(size, with_pipeline(size, ("pipeline", "jpeg")))
        result["load_order"] = compared(behind, before)
    return result


def beside_neighbors(size: Size, leak: str = "none") -> dict[str, Any]:
    """The decoder alone against the decoder with neighbors."""
    note(f"fig. 9: neighbors, leak: {leak}")
    alone = run(size, with_neighbors(size, None), leak)
    beside = run(size, with_neighbors(size, SEED), leak)
    loads = [
        application
        for tile in beside.tiles
        for step, application, _ in tile.set_up
        if step == 2 and application > 0
    ]
    return compared(alone, beside) | {"neighbor_loads": len(loads)}


def measure(size: Size = FULL) -> dict[str, Any]:
    """All four comparisons."""
    result: dict[str, Any] = {
        "image": size.image,
        "user_slot_cycles": USER_SLOT,
        "os_slot_cycles": OS_SLOT,
        "neighbor_seed": SEED,
        **with_synthetic(size),
        "neighbors": beside_neighbors(size),
        "one_table": beside_neighbors(size, ONE_TABLE),
    }
    vld = result["one_table"]["tasks"]["vld"]
    result["one_table_percent"] = 100 * vld["differing"] / vld["iterations"]
    return result


def quick() -> dict[str, Any]:
    """With small inputs."""
    return with_synthetic(QUICK, is_order_compared=False)
