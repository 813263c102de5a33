"""What tasks and kernel need: pages of each part, and the calls that their heaps must hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tautochrone.errors import TauError
from tautochrone.facts import trace_format as form
from tautochrone.tlb.partition import CODE, GLOBALS, STACK, UNCOLORED
from tautochrone.tlb.planning.run_heap import Call
from tautochrone.tlb.tasks import KERNEL, FixedSets, Kernel, Task, TaskSet
from tautochrone.trace.ending import Ending, note_ending
from tautochrone.trace.file import open_trace

THREADS_SHOWN_MAX = 8  # in a message


@dataclass(frozen=True)
class Part:
    """Pages with one use, in runs of at least `run_pages`, but for the last one."""

    name: str
    pages: int
    run_pages: int


@dataclass(frozen=True)
class Demand:
    """A principal before it has sets. `heap_pages` is the least; `place` is where the file has it.

    The heap must hold an object of `object_bytes`, and each recording's `calls`.
    """

    name: str
    place: str
    mode: str
    parts: tuple[Part, ...]
    heap_pages: int
    object_bytes: int
    calls: tuple[tuple[Call, ...], ...]
    fixed_sets: tuple[FixedSets, ...]

    @property
    def is_kernel(self) -> bool:
        """Whether it is the kernel, not a task."""
        return self.name == KERNEL

    @property
    def pages(self) -> int:
        """All of them, the heap's included."""
        return self.heap_pages + sum(part.pages for part in self.parts)


def demands_of(tasks: TaskSet, page_bytes: int, is_on_tile: bool = False) -> list[Demand]:
    """The principals: tasks in the file's order, then the kernel if it has pages.

    With `is_on_tile`, globals and code of a task with a program are one run each, as the linker
    script of `tau tlb run` takes them. A note says of which recordings events are missing.
    """
    endings: dict[Path, Ending] = {}
    found = [
        _of_task(
            *(tasks, f"task[{number}]", _whole(task) if is_on_tile else task, page_bytes, endings)
        )
        for number, task in enumerate(tasks.tasks)
    ]
    return found + ([_of_kernel(tasks.kernel, page_bytes)] if tasks.kernel else [])


def _whole(task: Task) -> Task:
    """With each part in one run, if it has a program."""
    if task.program is None:
        return task
    return replace(task, globals_run_bytes=task.globals_bytes, code_run_bytes=task.code_bytes)


def _parts(page_bytes: int, *rows: tuple[str, int, int]) -> tuple[Part, ...]:
    """The parts that have pages, of their names, bytes, and bytes in a row."""
    return tuple(
        Part(name, -(-size // page_bytes), -(-run // page_bytes))
        for name, size, run in rows
        if size
    )


def _of_kernel(kernel: Kernel, page_bytes: int) -> Demand:
    parts = _parts(
        page_bytes,
        (STACK, kernel.stack_bytes, kernel.stack_bytes),
        (GLOBALS, kernel.data_bytes, kernel.data_run_bytes),
        (CODE, kernel.code_bytes, kernel.code_run_bytes),
    )
    mode = kernel.mode if kernel.is_colored else UNCOLORED
    return Demand(KERNEL, KERNEL, mode, parts, 0, 0, (), kernel.sets)


def _of_task(
    tasks: TaskSet, place: str, task: Task, page_bytes: int, endings: dict[Path, Ending]
) -> Demand:
    parts = _parts(
        page_bytes,
        (STACK, task.stack_bytes, task.stack_bytes),
        (GLOBALS, task.globals_bytes, task.globals_run_bytes),
        (CODE, task.code_bytes, task.code_run_bytes),
    )
    calls = tuple(tuple(_calls(path, task.thread, endings)) for path in task.recordings)
    heap_bytes, object_bytes = task.heap_bytes or 0, task.largest_object_bytes or 0
    if task.recordings:
        if not any(calls):
            raise _no_calls(tasks, place, task)
        heap_bytes = max(_peak_bytes(each) for each in calls)
        object_bytes = max(call.size_bytes for each in calls for call in each)
    pages = max(-(-heap_bytes // page_bytes), 1 if calls else 0)
    return Demand(
        *(task.name, place, task.mode, parts, pages, object_bytes, calls, task.sets)
    )


def _no_calls(tasks: TaskSet, place: str, task: Task) -> TauError:
    if task.thread is None:
        return tasks.fail(
            f"{place}.recordings", "they allocate nothing", "name others, or set heap_bytes = 0"
        )
    threads = sorted({thread for path in task.recordings for thread in _threads(path)})
    shown = ", ".join(map(str, threads[:THREADS_SHOWN_MAX]))
    more = " ..." if len(threads) > THREADS_SHOWN_MAX else ""
    return tasks.fail(
        f"{place}.thread",
        f"the recordings have no allocation of thread {task.thread}",
        f"use one of {shown}{more}" if threads else "name other recordings",
    )


def _threads(path: Path) -> set[int]:
    """The threads that allocate; 0 is the first one."""
    with open_trace(path) as reader:
        return {
            thread
            for block in reader.columns(("thread", "op", "flags"))
            for thread, operation, flags in zip(
                *(block.thread.tolist(), block.op.tolist(), block.flags.tolist()), strict=True
            )
            if not flags and operation not in (form.OP_FREE, form.OP_REALLOC, form.OP_TOUCH)
        }


def _calls(path: Path, thread: int | None, endings: dict[Path, Ending]) -> Iterator[Call]:
    """The calls about objects that a thread allocated; of all threads if it is None."""
    own: set[int] = set()
    with open_trace(path) as reader:
        if path not in endings:
            endings[path] = reader.ending
            note_ending(path, reader.ending)
        for block in reader.columns(("size_bytes", "slot", "thread", "op", "align_log2")):
            rows = zip(
                *(block.op.tolist(), block.slot.tolist(), block.size_bytes.tolist()),
                *(block.align_log2.tolist(), block.thread.tolist()),
                strict=True,
            )
            for operation, slot, size_bytes, align_log2, by in rows:
                if operation == form.OP_TOUCH:
                    continue
                is_new = operation not in (form.OP_FREE, form.OP_REALLOC)
                if is_new and (thread is None or by == thread):
                    own.add(slot)
                if slot in own:  # a flagged event names no slot
                    yield Call(operation, slot, size_bytes, 1 << align_log2)
                if operation == form.OP_FREE:
                    own.discard(slot)


def _peak_bytes(calls: tuple[Call, ...]) -> int:
    """The most bytes that are live at a time."""
    sizes: dict[int, int] = {}
    live = peak = 0
    for call in calls:
        live += call.size_bytes - sizes.pop(call.slot, 0)
        if call.operation != form.OP_FREE:
            sizes[call.slot] = call.size_bytes
        peak = max(peak, live)
    return peak
