"""What `tau tlb run` refuses before it simulates: other TLBs, tasks or addresses, and periods that
leave no time for tasks."""

from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import tile_format
from tautochrone.tlb.partition import Partition
from tautochrone.tlb.planning.demand import demands_of, unfulfilled
from tautochrone.tlb.response import EntryCycles
from tautochrone.tlb.tasks import AddressRange, TaskSet
from tautochrone.tlb.tile.shape import Shape


def check_plan(tasks: TaskSet, partition: Partition, shape: Shape) -> None:
    """Refuse a plan for other TLBs or tasks, or one that the tasks have changed since."""
    if partition.geometry.digest() != shape.geometry().digest():
        raise TauError(
            f"the plan is for {partition.geometry.name}, whose sets, ways or safe ways differ"
            f" from {shape.name} with {shape.policy}",
            f"plan with --geometry {shape.name} --policy {shape.policy}",
            EXIT_USAGE,
        )
    wrong = _outside(partition, tasks.window) or unfulfilled(
        partition, demands_of(tasks, partition.geometry.page_bytes)
    )
    if wrong:
        raise TauError(
            f"the plan is not for {tasks.path} as it is now: {wrong}",
            "make the plan again with `tau tlb plan`",
            EXIT_USAGE,
        )


def _outside(partition: Partition, window: AddressRange) -> str:
    """Which principal is not in the window, in words; empty if all are."""
    if partition.word_bytes != window.word_bytes:
        return f"it is for words of {partition.word_bytes} bytes"
    for each in partition.principals:
        if each.window_start < window.start or each.window_start + each.window_bytes > window.end:
            return f"{each.name} is at {each.window_start:#x}, outside the window of addresses"
    return ""


def check_window(tasks: TaskSet) -> None:
    """Refuse tasks for other addresses than the tile's."""
    window = tasks.window
    first, end = tile_format.ADDRESS_WINDOW, tile_format.ADDRESS_FRAMES
    if not first <= window.start < window.end <= end or window.word_bytes != 4:
        raise tasks.fail(
            "window",
            f"the tile has addresses {first:#x} to {end - 1:#x} and words of 4 bytes",
            "leave out [window], or give a part of these addresses",
        )


def check_periods(tasks: TaskSet, entry: EntryCycles) -> None:
    """Refuse a period in which the kernel may do nothing but release jobs."""
    for number, task in enumerate(tasks.tasks):
        if task.period_cycles <= entry.release:
            raise tasks.fail(
                f"task[{number}].period_cycles",
                f"{task.period_cycles} cycles are within an entry into the kernel, which takes up"
                f" to {entry.release} cycles, so tasks may never run",
                f"give it at least {entry.release + 1}",
            )
