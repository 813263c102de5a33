"""What tasks and kernel need: pages of each part, and the calls that their heaps must hold."""

import ctypes
import mmap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from tautochrone import native
from tautochrone.errors import TauError
from tautochrone.facts import status_format, trace_format
from tautochrone.facts import trace_format as form
from tautochrone.tlb.partition import (
    CODE,
    GLOBALS,
    HEAP,
    NO_MISS,
    PARTS,
    STACK,
    UNCOLORED,
    Partition,
    Principal,
    roles_of,
)
from tautochrone.tlb.tasks import KERNEL, FixedSets, Kernel, Shared, Task, TaskSet
from tautochrone.trace.ending import Ending, note_ending
from tautochrone.trace.file import open_trace

LIBRARY_OF_WORD = {4: "libtau_core32.so", 8: "libtau_core64.so"}
PAGE_BYTES = 4096  # of this machine
SIZE, POINTER = ctypes.c_size_t, ctypes.c_void_p
VISITOR = ctypes.CFUNCTYPE(ctypes.c_bool, POINTER, POINTER, SIZE, ctypes.c_bool)

Run = tuple[int, int]  # address and bytes


class Call(NamedTuple):
    """One event of a recording: a slot is an object."""

    operation: int
    slot: int
    size_bytes: int
    alignment: int


class RunHeap:
    """A heap; it is not started if the smallest run is too small for the control block."""

    def __init__(self, runs: Sequence[Run], word_bytes: int) -> None:
        self._core = native.library(LIBRARY_OF_WORD[word_bytes])
        sizes = {run: run[1] for run in sorted(runs)}
        places, total = {}, 0
        for run, size in sizes.items():
            places[run] = total
            total += size + PAGE_BYTES  # never adjacent
        self._memory = mmap.mmap(-1, total, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        smallest = min(sizes, key=lambda run: (run[1], run[0]))
        largest = max(sizes, key=lambda run: (run[1], run[0]))
        self._heap = self._core.tau_tlsf_init(base + places[smallest], smallest[1], largest[1])
        self.is_started = bool(self._heap)
        others = [run for run in sizes if run not in (smallest, largest)]
        others += [largest] if largest != smallest else []
        for run in others if self.is_started else ():
            added = self._core.tau_tlsf_add_pool(self._heap, base + places[run], run[1])
            assert added == status_format.OK, added

    def largest_object_bytes(self) -> int:
        """The largest object that fits now; 0 if the heap is not started."""
        largest = 0

        def visit(_context: object, _payload: object, size_bytes: int, is_free: bool) -> bool:
            nonlocal largest
            largest = max(largest, size_bytes if is_free else 0)
            return True

        if self.is_started:
            self._core.tau_tlsf_walk(self._heap, VISITOR(visit), None)
        return largest

    def completes(self, calls: Iterable[Call]) -> bool:
        """Whether every call succeeds, in this order."""
        core, heap, objects = self._core, self._heap, dict[int, int | None]()
        for operation, slot, size_bytes, alignment in calls if self.is_started else ():
            if operation == trace_format.OP_FREE:
                core.tau_tlsf_free(heap, objects.pop(slot))
                continue
            if operation == trace_format.OP_REALLOC:
                made = core.tau_tlsf_realloc(heap, objects[slot], size_bytes)
            elif operation == trace_format.OP_ALIGNED_ALLOC:
                made = core.tau_tlsf_aligned_alloc(heap, alignment, size_bytes)
            else:
                made = core.tau_tlsf_malloc(heap, size_bytes)
            if not made and size_bytes:
                return False
            objects[slot] = made
        return self.is_started


THREADS_SHOWN_MAX = 8  # in a message


@dataclass(frozen=True)
class Part:
    """Pages with one use, in runs of at least `run_pages`, but for the last one.

    `is_read`: code that is also read as data.
    """

    name: str
    pages: int
    run_pages: int
    is_read: bool = False

    @property
    def roles(self) -> tuple[str, ...]:
        """How its pages are accessed."""
        return roles_of(self.name, self.is_read)


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
    shares_sets_with: str | None = None
    used_by: tuple[str, ...] = ()

    @property
    def pages(self) -> int:
        """All of them, the heap's included."""
        return self.heap_pages + sum(part.pages for part in self.parts)


def demands_of(tasks: TaskSet, page_bytes: int, is_on_tile: bool = False) -> list[Demand]:
    """The principals: tasks in the file's order, shared data, then the kernel if it has pages.

    With `is_on_tile`, globals of a task with a program are one run, as the linker script of `tau
    tlb run` takes them; so is its code, if the file does not split it. A note says of which
    recordings events are missing.
    """
    endings: dict[Path, Ending] = {}
    found = [
        _of_task(
            *(tasks, f"task[{number}]", _whole(task) if is_on_tile else task, page_bytes, endings)
        )
        for number, task in enumerate(tasks.tasks)
    ]
    found += [
        _of_shared(f"shared[{number}]", each, page_bytes)
        for number, each in enumerate(tasks.shared)
    ]
    return found + ([_of_kernel(tasks.kernel, page_bytes)] if tasks.kernel else [])


def _whole(task: Task) -> Task:
    """With each part in one run, if it has a program; its code, if the file does not split it."""
    if task.program is None:
        return task
    is_split = task.code_run_bytes > 1  # what the reader gives it without the key
    code_run_bytes = task.code_run_bytes if is_split else task.code_bytes
    return replace(task, globals_run_bytes=task.globals_bytes, code_run_bytes=code_run_bytes)


def _parts(
    page_bytes: int, is_code_read: bool, *rows: tuple[str, int, int]
) -> tuple[Part, ...]:
    """The parts that have pages, of their names, bytes, and bytes in a row."""
    return tuple(
        Part(name, -(-size // page_bytes), -(-run // page_bytes), is_code_read and name == CODE)
        for name, size, run in rows
        if size
    )


def _of_shared(place: str, shared: Shared, page_bytes: int) -> Demand:
    parts = _parts(page_bytes, False, (GLOBALS, shared.size_bytes, shared.size_bytes))
    return Demand(shared.name, place, NO_MISS, parts, 0, 0, (), (), None, shared.used_by)


def _of_kernel(kernel: Kernel, page_bytes: int) -> Demand:
    parts = _parts(
        *(page_bytes, kernel.reads_code),
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
        *(page_bytes, task.reads_code),
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
        *(task.name, place, task.mode, parts, pages, object_bytes, calls, task.sets),
        task.shares_sets_with,
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


def unfulfilled(partition: Partition, demands: Sequence[Demand]) -> str:
    """The first demand that the partition does not meet, in words; empty if it meets all."""
    return next(_unfulfilled(partition, demands), "")


def _unfulfilled(partition: Partition, demands: Sequence[Demand]) -> Iterator[str]:
    planned = {each.name: each for each in partition.principals}
    asked = {each.name: each for each in demands}
    yield from (f"it has no {name}" for name in asked if name not in planned)
    yield from (f"it also has {name}" for name in planned if name not in asked)
    for name in asked:
        for wrong in _wrong_sets, _wrong_pages:
            yield from (f"{name} {each}" for each in wrong(partition, planned[name], asked[name]))


def _wrong_sets(partition: Partition, found: Principal, asked: Demand) -> Iterator[str]:
    if found.mode != asked.mode:
        yield f"is {found.mode}, not {asked.mode}"
    if found.used_by != asked.used_by:
        yield "is used by other tasks"
    if found.shares_sets_with != asked.shares_sets_with:
        yield f"has the sets of {found.leader}, not of {asked.shares_sets_with or asked.name}"
    arrays = [array.name for array in partition.geometry.arrays]
    for each in asked.fixed_sets:
        owned = found.sets[arrays.index(each.array)] if each.array in arrays else ()
        first = owned[0] if each.first is None and owned else each.first
        if len(owned) != each.count or owned[0] != first:
            yield f"does not have its sets of {each.array}"


def _wrong_pages(partition: Partition, found: Principal, asked: Demand) -> Iterator[str]:
    page_bytes = partition.geometry.page_bytes
    wanted = {part.name: part.pages * page_bytes for part in asked.parts}
    wanted[HEAP] = asked.heap_pages * page_bytes
    for part in PARTS:
        size, least = found.bytes_of(part), wanted.get(part, 0)
        # A heap from recordings may need more than their peak.
        if size < least or (size > least and not (part == HEAP and asked.calls)):
            yield f"has {size:,} bytes of {part}, not {least:,}"
    is_read = any(part.is_read for part in asked.parts)
    if any(run.is_read != is_read for run in found.runs_of(CODE)):
        yield f"has code that is {'not ' * is_read}read as data"
    if asked.object_bytes > found.largest_object_bytes:
        largest = found.largest_object_bytes
        yield f"has objects up to {largest:,} bytes, not {asked.object_bytes:,}"
    runs = [(run.start, run.size_bytes) for run in found.runs_of(HEAP)]
    for calls in asked.calls:
        if not RunHeap(runs, partition.word_bytes).completes(calls):
            yield "has a heap in which its recordings do not complete"
