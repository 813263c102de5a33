"""Tasks of a plan in TLB sets of their own: the preloaded heap's settings, and refusals.

docs/spec/run_colors.md defines both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.plan.file import load_any_plan
from tautochrone.plan.sections import TLB
from tautochrone.tlb.discover.processors.cpuinfo import processor_name
from tautochrone.tlb.geometry import Geometry, read_geometry
from tautochrone.tlb.in_c import image
from tautochrone.tlb.partition import STACK, UNCOLORED, Partition, Principal, Run
from tautochrone.tlb.tasks import KERNEL

PAGE_BYTES, WORD_BYTES = 4096, 8
STACK_MIN_BYTES = 16384  # the least stack of a thread in Linux
NAME_CHARACTERS_MAX = 15  # the longest name of a thread in Linux
THREAD_MAX = (1 << 32) - 1
RUNS_MAX = 60_000  # Linux has 65,530 mappings in a process
MEASURED = "measured"
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
        """The settings' line `colors`."""
        tasks = sorted(self.tasks, key=lambda task: task.window_start)
        threads = (self.threads.get(task.name, 0) for task in tasks)
        runs = (tuple(run for run in task.runs if not _is_small_stack(run)) for task in tasks)
        own = tuple(replace(task, runs=kept) for task, kept in zip(tasks, runs, strict=True))
        words = image(replace(self.partition, principals=own))
        return checked([int(is_strict), len(own), *threads, *words])


def checked(numbers: Sequence[int]) -> str:
    """The text of numbers, behind their checksum (FNV-1a)."""
    total = 0xCBF29CE484222325
    for number in numbers:
        total = (total ^ number) * 0x100000001B3 & (1 << 64) - 1
    return " ".join(map(str, (total, *numbers)))


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


def _is_small_stack(run: Run) -> bool:
    """Whether no thread can have it."""
    return run.part == STACK and run.size_bytes < STACK_MIN_BYTES
