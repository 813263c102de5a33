"""Tasks of a plan in TLB sets of their own: the preloaded heap's records, and refusals.

docs/spec/run_colors.md defines the records and the refusals.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.plan.file import load_any_plan
from tautochrone.plan.sections import TLB
from tautochrone.tlb.discover.processors.cpuinfo import processor_name
from tautochrone.tlb.geometry import CODE, DATA, DIRECTORY, Geometry, read_geometry
from tautochrone.tlb.partition import HEAP, ISOLATED, NO_MISS, STACK, UNCOLORED
from tautochrone.tlb.partition import Partition, Principal, Run
from tautochrone.tlb.tasks import KERNEL

PAGE_BYTES, WORD_BYTES = 4096, 8
STACK_MIN_BYTES = 16384  # the least stack of a thread in Linux
NAME_CHARACTERS_MAX = 15  # the longest name of a thread in Linux
THREAD_MAX = (1 << 32) - 1
RUNS_MAX = 60_000  # Linux has 65,530 mappings in a process
TEXT_BYTES_MAX = 128 * 1024 - 64  # in one variable of the environment
MEASURED = "measured"
ROLES = (DATA, DIRECTORY, CODE)
MODES = (ISOLATED, NO_MISS)
PLAN_STEP = "make one with `tau tlb plan`; docs/tutorials/tlb-sets.md has an example"
DISCOVER_STEP = (
    "let `tau tlb discover -o host.toml` find this machine's, plan with it and give it by"
    " --geometry; or run with --unverified"
)


@dataclass(frozen=True)
class Colors:
    """Tasks of a plan, and the threads by number that run one from the start."""

    partition: Partition
    plan_sha256: str
    is_verified: bool
    threads: dict[str, int]

    @property
    def tasks(self) -> list[Principal]:
        """The tasks, in the plan's order."""
        return tasks_of(self.partition)

    def without_stack(self) -> list[str]:
        """The tasks whose threads have ordinary stacks, since the plan's is too small."""
        return [task.name for task in self.tasks if any(map(_is_small_stack, task.runs))]

    def with_stack(self) -> dict[str, int]:
        """The bytes of stack that a thread has, of each task with a stack in the plan."""
        runs = [(task.name, run) for task in self.tasks for run in task.runs if run.part == STACK]
        return {name: run.size_bytes for name, run in runs if not _is_small_stack(run)}

    def without_thread_name(self) -> list[str]:
        """The tasks that no thread can name itself after."""
        return [task.name for task in self.tasks if len(task.name) > NAME_CHARACTERS_MAX]

    def text(self, is_strict: bool) -> str:
        """The settings' line `colors`. Raises TauError if it is too long."""
        text = " ".join([*_records(self), *(["strict"] if is_strict else [])])
        if len(text) > TEXT_BYTES_MAX:
            raise TauError(
                f"the plan's tasks and sets take {len(text):,} bytes; at most"
                f" {TEXT_BYTES_MAX:,}",
                "plan fewer tasks, or with sets in a row",
                EXIT_USAGE,
            )
        return text


def tasks_of(partition: Partition) -> list[Principal]:
    """All principals but the kernel."""
    return [each for each in partition.principals if each.name != KERNEL]


def colors_of(
    path: Path, geometry_path: Path | None, threads: Sequence[tuple[int, str]] = ()
) -> Colors:
    """Return the tasks of a plan, for a geometry that is verified unless there is none.

    Raises TauError if a process of this machine cannot have its pages.
    """
    plan = load_any_plan(path)
    if TLB not in plan.sections:
        raise TauError(f"{path} has no [tlb], so no TLB sets", PLAN_STEP, EXIT_USAGE)
    partition = plan.sections[TLB]
    _refuse_tasks(path, partition)
    if geometry_path is not None:
        if not geometry_path.exists():
            raise TauError(f"{geometry_path}: no such file", DISCOVER_STEP, EXIT_USAGE)
        _refuse_geometry(path, partition, read_geometry(geometry_path), geometry_path)
    names = [task.name for task in tasks_of(partition)]
    for _, name in threads:
        if name not in names:
            step = f"use one of {', '.join(names)}"
            raise TauError(f"--thread: {path} has no task {name}", step, EXIT_USAGE)
    _refuse_threads(threads)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    numbers = {name: number for number, name in threads}
    return Colors(partition, digest, geometry_path is not None, numbers)


# ---- refusals ----------------------------------------------------------------------------------


def _refuse_tasks(path: Path, partition: Partition) -> None:
    tasks = tasks_of(partition)
    if not tasks:
        raise TauError(f"{path} has no tasks: only the kernel", PLAN_STEP, EXIT_USAGE)
    if partition.word_bytes != WORD_BYTES or partition.geometry.page_bytes != PAGE_BYTES:
        raise TauError(
            f"{path} is for words of {partition.word_bytes} bytes and pages of"
            f" {partition.geometry.page_bytes}; this machine has {WORD_BYTES} and {PAGE_BYTES}",
            "give tasks.toml a [window] with word_bytes = 8, and a geometry of this machine",
            EXIT_USAGE,
        )
    for task in tasks:
        if task.mode == UNCOLORED or not any(task.sets):
            step = "plan again for a TLB whose sets can be owned"
            raise TauError(f"{path} gives {task.name} no TLB sets", step, EXIT_USAGE)
    runs = sum(len(task.runs) for task in tasks)
    if runs > RUNS_MAX:
        raise TauError(
            f"{path} has {runs:,} runs of pages; a process can have {RUNS_MAX:,}",
            "give tasks more sets, so that runs are longer",
            EXIT_USAGE,
        )


def _refuse_threads(threads: Sequence[tuple[int, str]]) -> None:
    """Raise TauError unless each thread has one task, and each task one thread."""
    for index, (number, name) in enumerate(threads):
        cause = None
        if number > THREAD_MAX:
            cause = f"no program creates {number:,} threads"
        elif any(number == other for other, _ in threads[:index]):
            cause = f"thread {number} is given twice"
        elif any(name == other for _, other in threads[:index]):
            cause = f"{name} is given twice: a task takes one thread by its number"
        if cause is not None:
            step = "leave one out; further threads of a task name it (pthread_setname_np, tau_task)"
            raise TauError(f"--thread {number}={name}: {cause}", step, EXIT_USAGE)


def _refuse_geometry(path: Path, partition: Partition, known: Geometry, known_path: Path) -> None:
    name = processor_name()
    if known.source != MEASURED:
        raise TauError(
            f"{known_path} was not measured on this machine: its source is {known.source}",
            DISCOVER_STEP,
            EXIT_USAGE,
        )
    if not known.reference.endswith(f" {name}"):
        raise TauError(
            f"{known_path} is for another processor ({known.reference}); this is {name}",
            DISCOVER_STEP,
            EXIT_USAGE,
        )
    if not known.has_sets_of(partition.geometry):
        raise TauError(
            f"{path} is for {partition.geometry.name}, whose sets differ from {known_path}",
            f"plan again with --geometry {known_path}",
            EXIT_USAGE,
        )


# ---- records ------------------------------------------------------------------------------------


def _records(colors: Colors) -> Iterator[str]:
    geometry = colors.partition.geometry
    yield f"page {_log2(geometry.page_bytes)}"
    yield from (f"array {each.sets} {each.ways} {each.safe_ways}" for each in geometry.arrays)
    for each in geometry.structures:
        words = [ROLES.index(each.role), _log2(each.page_bytes), each.array, each.constant]
        yield " ".join(map(str, ["structure", *words, *each.rows]))
    for task in sorted(colors.tasks, key=lambda task: task.window_start):
        yield from _task_records(colors, task)


def _task_records(colors: Colors, task: Principal) -> Iterator[str]:
    heap_log2 = _log2(task.heap_window_bytes) if task.heap_window_bytes else 0
    pages = task.bytes_of(HEAP) // PAGE_BYTES
    words = [MODES.index(task.mode), task.window_start, _log2(task.window_bytes), heap_log2, pages]
    yield " ".join(map(str, ["task", task.name, *words, colors.threads.get(task.name, 0)]))
    for array, sets in enumerate(task.sets):
        if sets:
            yield " ".join(map(str, ["sets", array, task.taken[array], *_ranges(sets)]))
    for run in task.runs:
        if run.part != HEAP and not _is_small_stack(run):
            yield f"{run.part} {run.start} {run.size_bytes}"


def _is_small_stack(run: Run) -> bool:
    """Whether no thread can have it."""
    return run.part == STACK and run.size_bytes < STACK_MIN_BYTES


def _ranges(numbers: Sequence[int]) -> list[int]:
    """The first and the last of each range of numbers, which ascend."""
    starts = [each for before, each in pairwise((-2, *numbers)) if each != before + 1]
    ends = [each for each, after in pairwise((*numbers, -2)) if after != each + 1]
    return [number for pair in zip(starts, ends, strict=True) for number in pair]


def _log2(value: int) -> int:
    return value.bit_length() - 1
