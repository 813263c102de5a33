"""A system of tasks with the place of each page, and the C that tells the kernel (system.h)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tautochrone.facts import tile_format as tile
from tautochrone.targets.libraries import Libraries
from tautochrone.tlb.geometry import DATA, Geometry

PAGE_BYTES = 4096
READ, WRITE, EXECUTE = 1 << 27, 1 << 28, 1 << 29
TASKS_MAX = 15
ARGUMENTS_MAX = 16
HEAP_WINDOW_PAGES_MAX = 2048  # TAU_TASK_HEAP_PAGES_MAX of kernel/tasks/task.h
MODES = {"isolated": "TAU_TLB_COLOR_ISOLATED", "no-miss": "TAU_TLB_COLOR_NO_MISS"}
Words = dict[int, list[int]]  # of the pages of an executable, by address


@dataclass(frozen=True)
class Extent:
    """Adjacent pages from an address on."""

    start: int
    size_bytes: int

    @property
    def end(self) -> int:
        """The first address behind it."""
        return self.start + self.size_bytes

    def pages(self) -> Iterable[int]:
        """The addresses of its pages."""
        return range(self.start, self.end, PAGE_BYTES)


@dataclass(frozen=True)
class Heap:
    """The lowest `pages` pages of a window that lie in `owned` sets, as a bit mask per array.

    `taken`: per array, what other pages of the task have at most in one of these sets.
    """

    window: Extent
    pages: int
    owned: tuple[int, ...]
    mode: str = "isolated"
    taken: tuple[int, ...] = ()


@dataclass(frozen=True)
class Place:
    """Where a task's pages are. `heap_of` is the task whose heap it uses, if it has none."""

    code: Extent
    globals: Extent
    stack: Extent
    heap: Heap | None
    heap_of: int | None = None


@dataclass(frozen=True)
class Extras:
    """What a program is built from besides its C source. Paths in `flags` start from `folder`."""

    sources: tuple[Path, ...] = ()
    flags: tuple[str, ...] = ()
    libraries: Libraries = Libraries()
    folder: Path | None = None


@dataclass(frozen=True)
class TileTask:
    """A task: when it is released, what it does, and where."""

    name: str
    period_cycles: int
    phase_cycles: int
    program: Path
    arguments: tuple[int, ...]
    place: Place
    extras: Extras = Extras()


@dataclass(frozen=True)
class System:
    """Tasks, the highest priority first, and the kernel's two pages.

    If `is_joint` the core's check sees all owners at once, so that no set has two.
    """

    geometry: Geometry
    tasks: tuple[TileTask, ...]
    kernel_state: int
    kernel_stack: int
    run_cycles: int
    is_joint: bool = True
    seed: int = 1
    forgets: bool = field(default=False)


def c_text(system: System, images: Sequence[Words], entries: Sequence[int]) -> str:
    """The C source of a system, whose tasks' images and entries are those."""
    return "\n".join(
        [
            '#include "kernel/tasks/system.h"',
            *(_geometry(system.geometry) if _heaps(system) else []),
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


def _geometry(geometry: Geometry) -> list[str]:
    lines = ["static const struct tau_tlb_color_array arrays[] = {"]
    lines += [f"    {{{each.sets}u, {each.ways}u, {each.safe_ways}u}}," for each in geometry.arrays]
    lines.append("};")
    for number, each in enumerate(geometry.structures):
        rows = ", ".join(f"{row:#x}u" for row in each.rows) or "0"
        lines.append(f"static const uintptr_t rows_{number}[] = {{{rows}}};")
    lines.append("static const struct tau_tlb_color_structure structures[] = {")
    for number, each in enumerate(geometry.structures):
        role = "TAU_TLB_COLOR_" + each.role.upper()
        page_log2 = each.page_bytes.bit_length() - 1
        lines.append(
            f"    {{rows_{number}, {each.constant}u, {role}, {page_log2}u, {each.array}u}},"
        )
    page_log2 = geometry.page_bytes.bit_length() - 1
    lines += [
        "};",
        "static const struct tau_tlb_color_geometry geometry = {",
        f"    arrays, structures, {len(geometry.arrays)}u, {len(geometry.structures)}u,"
        f" {page_log2}u}};",
    ]
    return lines


def _partitions(system: System) -> list[str]:
    """A principal per heap, and one partition of all, or one of each."""
    lines, principals = [], []
    for number, heap in _heaps(system):
        taken = heap.taken or (0,) * len(heap.owned)
        sets = []
        for array, mask in enumerate(heap.owned):
            words = [
                mask >> shift & 0xFFFFFFFF
                for shift in range(0, max(32, system.geometry.arrays[array].sets), 32)
            ]
            text = ", ".join(f"{word:#x}u" for word in words)
            lines.append(f"static const uint32_t owned_{number}_{array}[] = {{{text}}};")
            sets.append(f"{{owned_{number}_{array}, {taken[array]}u}}")
        size_log2 = heap.window.size_bytes.bit_length() - 1
        lines += [
            f"static const struct tau_tlb_color_sets sets_{number}[] = {{{', '.join(sets)}}};",
            f"static const struct tau_tlb_color_window window_{number} = {{",
            f"    {heap.window.start:#x}u, {size_log2}u, {PAGE_BYTES.bit_length() - 1}u}};",
        ]
        principals.append(f"{{sets_{number}, &window_{number}, 1}}")
    if principals:
        lines.append("static const struct tau_tlb_color_principal principals[] = {")
        lines += [f"    {each}," for each in principals]
        lines.append("};")
    groups = [(0, len(principals))] if system.is_joint else [(i, 1) for i in range(len(principals))]
    for number, (first, count) in enumerate(groups if principals else []):
        lines.append(
            f"static const struct tau_tlb_color_partition partition_{number} ="
            f" {{&geometry, principals + {first}, {count}u}};"
        )
    return lines


def _heaps(system: System) -> list[tuple[int, Heap]]:
    heaps = [task.place.heap for task in system.tasks]
    return list(enumerate(heap for heap in heaps if heap is not None))


def _pages(system: System, images: Sequence[Words]) -> list[str]:
    lines, rows = [], []

    def page(address: int, rights: int, words: list[int]) -> None:
        while words and words[-1] == 0:
            words = words[:-1]
        name = f"words_{address:x}" if words else "0"
        if words:
            text = ",".join(f"{word:#x}u" for word in words)
            lines.append(f"static const uint32_t {name}[] = {{{text}}};")
        number = (address - tile.ADDRESS_WINDOW) // PAGE_BYTES
        rows.append(f"    {{{number}u, {rights}u, {name}, {len(words)}u}},")

    for address in (system.kernel_state, system.kernel_stack):
        page(address, READ | WRITE, [])
    for task, image in zip(system.tasks, images, strict=True):
        for extent, rights in (
            (task.place.code, READ | EXECUTE),
            (task.place.globals, READ | WRITE),
            (task.place.stack, READ | WRITE),
        ):
            for address in extent.pages():
                page(address, rights, image.get(address, []))
    return [*lines, "static const struct tau_tasks_page pages[] = {", *rows, "};"]


def _tasks(system: System, entries: Sequence[int]) -> list[str]:
    """The descriptions. A release after the run is one at its end, so that no cycle exceeds 32
    bits: the kernel would take it for one in the past."""
    heap_numbers = {}
    for number, task in enumerate(system.tasks):
        if task.place.heap is not None:
            heap_numbers[number] = len(heap_numbers)
    lines = ["static const struct tau_tasks_description tasks[] = {"]
    for number, (task, entry) in enumerate(zip(system.tasks, entries, strict=True)):
        place = task.place
        period_cycles, phase_cycles = (
            min(cycles, system.run_cycles) for cycles in (task.period_cycles, task.phase_cycles)
        )
        arguments = ", ".join(f"{value & 0xFFFFFFFF}u" for value in task.arguments) or "0"
        partition, request, heap_of = "0", "{0}", place.heap_of
        if place.heap is not None:
            heap_of = number
            own = heap_numbers[number]
            partition = f"&partition_{0 if system.is_joint else own}"
            request = (
                f"{{{own if system.is_joint else 0}u, 0, {place.heap.pages}u,"
                f" {MODES[place.heap.mode]}}}"
            )
        lines += [
            f"    {{{period_cycles}u, {phase_cycles}u, {entry:#x}u,",
            f"     {place.stack.end:#x}u, (struct tau_task *){place.globals.start:#x}u,",
            f"     {{{arguments}}}, {partition}, {request},",
            f"     {number if heap_of is None else heap_of}u}},",
        ]
    return [*lines, "};"]


def data_arrays(geometry: Geometry) -> set[int]:
    """The arrays that hold entries of data pages."""
    return {each.array for each in geometry.structures if each.role == DATA}
