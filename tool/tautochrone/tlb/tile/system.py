"""A system of tasks with the place of each page, and the C that tells the kernel (system.h)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tautochrone.facts import tile_format as tile
from tautochrone.targets.libraries import Libraries
from tautochrone.tlb import in_c
from tautochrone.tlb.geometry import Geometry
from tautochrone.tlb.partition import CODE, GLOBALS, STACK, Partition, Principal, Run

PAGE_BYTES = 4096
READ, WRITE, EXECUTE = (f"TAU_TILE_{right}" for right in ("READ", "WRITE", "EXECUTE"))
DATA_RIGHTS = f"{READ} | {WRITE}"
SHARED = "1u << TAU_TILE_PAGE_WORD_SHARED"
RIGHTS = {CODE: EXECUTE, GLOBALS: DATA_RIGHTS, STACK: DATA_RIGHTS}  # Code: read if it `is_read`.
KERNEL_OWNER = 0
TASKS_MAX = 15
ARGUMENTS_MAX = 16
CODE_IS_READ = "if these are constants, give it reads_code = true"
LARGE_FRAME = "raise stack_bytes, or move its arrays to globals"
HEAP_WINDOW_PAGES_MAX = 2048  # TAU_TASK_HEAP_PAGES_MAX of kernel/tasks/task.h.
Words = dict[int, list[int]]  # The content of an executable's pages, by address.


@dataclass(frozen=True)
class Extras:
    """What a program is built from besides its C source. Paths in `flags` start from `folder`."""

    sources: tuple[Path, ...] = ()
    flags: tuple[str, ...] = ()
    libraries: Libraries = Libraries()
    folder: Path | None = None


@dataclass(frozen=True)
class TileTask:
    """A task: its releases, its work, and the places of its pages.

    The pages of globals and of the stack are one run each.
    """

    name: str
    period_cycles: int
    phase_cycles: int
    program: Path
    arguments: tuple[int, ...]
    place: Principal
    extras: Extras = Extras()
    restarts: bool = False

    def run_of(self, part: str) -> Run:
        """The pages of a part that is one run."""
        (run,) = self.place.runs_of(part)
        return run


@dataclass(frozen=True)
class System:
    """Tasks, the highest priority first, and the kernel's two pages.

    If `is_joint` the core's check sees all owners at once, so that no set has two. `shared`: data
    of several tasks.
    """

    geometry: Geometry
    tasks: tuple[TileTask, ...]
    kernel_state: int
    kernel_stack: int
    run_cycles: int
    is_joint: bool = True
    seed: int = 1
    shared: tuple[Principal, ...] = ()


def c_text(system: System, images: Sequence[Words], entries: Sequence[int]) -> str:
    """The C source of a system, whose tasks' images and entries are those."""
    return "\n".join(
        [
            '#include "kernel/tasks/system.h"',
            '#include "targets/tile/tile.h"',
            *_partitions(system),
            *_pages(system, images),
            *_tasks(system, entries),
            "const struct tau_tasks_system tau_tasks_system = {",
            f"    tasks, {len(system.tasks)}u, pages, sizeof pages / sizeof pages[0],",
            f"    {system.run_cycles}u, {system.seed}u,",
            "};",
            "",
        ]
    )


def _partitions(system: System) -> list[str]:
    """One partition of all tasks, or one of each."""
    count = len(system.tasks)
    groups = [(0, count)] if system.is_joint else [(number, 1) for number in range(count)]
    partition = Partition(system.geometry, 4, tuple(task.place for task in system.tasks))
    return [
        *in_c.c_lines("", partition),
        "static const struct tau_tlb_color_partition partitions[] = {",
        *(f"    {{geometry, principals + {first}, {size}u}}," for first, size in groups),
        "};",
    ]


def _pages(system: System, images: Sequence[Words]) -> list[str]:
    lines, rows = [], []

    def page(address: int, owner: int, rights: str, words: list[int]) -> None:
        while words and words[-1] == 0:
            words = words[:-1]
        name = f"words_{address:x}" if words else "0"
        if words:
            text = ",".join(f"{word:#x}u" for word in words)
            lines.append(f"static const uint32_t {name}[] = {{{text}}};")
        number = (address - tile.ADDRESS_WINDOW) // PAGE_BYTES
        rows.append(f"    {{{number}u, {owner}u, {rights}, {name}, {len(words)}u}},")

    for address in (system.kernel_state, system.kernel_stack):
        page(address, KERNEL_OWNER, DATA_RIGHTS, [])
    for owner, (task, image) in enumerate(zip(system.tasks, images, strict=True), start=1):
        for run in (run for run in task.place.runs if run.part in RIGHTS):
            for address in range(run.start, run.end, PAGE_BYTES):
                allowed = RIGHTS[run.part] + f" | {READ}" * run.is_read
                page(address, owner, allowed, image.get(address, []))
    for run in (run for each in system.shared for run in each.runs):
        for address in range(run.start, run.end, PAGE_BYTES):
            page(address, KERNEL_OWNER, f"{DATA_RIGHTS} | {SHARED}", [])
    return [*lines, "static const struct tau_tasks_page pages[] = {", *rows, "};"]


def _tasks(system: System, entries: Sequence[int]) -> list[str]:
    """The descriptions. A release after the run is one at its end, so that no cycle exceeds 32
    bits: the kernel would take it for one in the past."""
    lines = ["static const struct tau_tasks_description tasks[] = {"]
    for number, (task, entry) in enumerate(zip(system.tasks, entries, strict=True)):
        period_cycles, phase_cycles = (
            min(cycles, system.run_cycles) for cycles in (task.period_cycles, task.phase_cycles)
        )
        arguments = ", ".join(f"{value & 0xFFFFFFFF}u" for value in task.arguments) or "0"
        principal, partition = (number, 0) if system.is_joint else (0, number)
        lines += [
            f"    {{{period_cycles}u, {phase_cycles}u, {entry:#x}u,",
            f"     {task.run_of(STACK).end:#x}u,",
            f"     (struct tau_task *){task.run_of(GLOBALS).start:#x}u,",
            f"     {{{arguments}}}, &partitions[{partition}], {principal}u,"
            f" {int(task.restarts)}u}},",
        ]
    return [*lines, "};"]
