"""What `tau info` prints of tasks, geometries and plans of TLB sets."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from tautochrone.commands.described import GEOMETRY, LIMITS, PLAN, SYSTEM, TASKS, kind_of
from tautochrone.console import output
from tautochrone.errors import TauError
from tautochrone.plan import bounds
from tautochrone.plan.file import Plan, load_any_plan
from tautochrone.plan.sections import TLB, section_named
from tautochrone.tlb.geometry import Geometry, read_geometry
from tautochrone.tlb.tasks import Kernel, Task, TaskSet, read_tasks

Table = dict[str, Any]


def print_described(path: Path, as_json: bool) -> bool:
    """Print what PATH holds, and return whether it is one of these files.

    Raises TauError for a system, of which a command of its own says more.
    """
    kind = kind_of(path)
    if kind == TASKS:
        print_tasks(path, as_json)
    elif kind == GEOMETRY:
        print_geometry(path, as_json)
    elif kind == LIMITS:
        from tautochrone.commands.info.limits import print_limits

        print_limits(path, as_json)
    elif kind == SYSTEM:
        raise TauError(f"{path} describes a system, not a trace", f"tau compose plan {path}")
    elif kind == PLAN and TLB in (plan := load_any_plan(path)).sections:
        print_plan(path, plan, as_json)
    else:
        return False
    return True


def print_tasks(path: Path, as_json: bool) -> None:
    """The tasks of a file, highest priority first."""
    tasks = read_tasks(path)
    document = {"file": str(path), "kind": TASKS, **_tasks_document(tasks)}

    def show() -> None:
        print(f"tasks        {len(tasks.tasks):,}, highest priority first:")
        for task in tasks.by_priority():
            print(f"             {task.name}: every {task.period_cycles:,} cycles, {_pages(task)}")
        for each in tasks.shared:
            users = ", ".join(each.used_by)
            print(f"shared       {each.name}: {each.size_bytes:,} bytes of {users}")
        print(f"kernel       {_kernel(tasks.kernel)}")
        window = tasks.window
        words = f"words of {window.word_bytes} bytes"
        print(f"addresses    {window.start:#x} to {window.end - 1:#x}, {words}")
        print(f"next: tau tlb plan {path} --geometry NAME -o plan.toml")

    output.emit(as_json, "info", document, show)


def _tasks_document(tasks: TaskSet) -> Table:
    rows = [asdict(task) for task in tasks.by_priority()]
    for row in rows:
        row["program"] = None if row["program"] is None else str(row["program"])
        row["recordings"] = [str(each) for each in row["recordings"]]
    return {
        "tasks": rows,
        "kernel": tasks.kernel and asdict(tasks.kernel),
        "shared": [asdict(each) for each in tasks.shared],
        "window": asdict(tasks.window),
    }


def _pages(task: Task) -> str:
    heap = (
        f"heap from {output.count(len(task.recordings), 'recording')}"
        if task.heap_bytes is None
        else f"heap {task.heap_bytes:,} bytes"
    )
    return (
        f"{task.mode}, {heap}, stack {task.stack_bytes:,}, globals {task.globals_bytes:,},"
        f" code {task.code_bytes:,}"
    )


def _kernel(kernel: Kernel | None) -> str:
    if kernel is None:
        return "no pages, no sets"
    return (
        f"{'colored' if kernel.is_colored else 'uncolored'}, stack {kernel.stack_bytes:,} bytes,"
        f" data {kernel.data_bytes:,}, code {kernel.code_bytes:,}"
    )


def print_geometry(path: Path, as_json: bool) -> None:
    """The arrays of a geometry, and which pages each translates."""
    geometry = read_geometry(path)
    facts = {"geometry": geometry.name, "geometry_sha256": geometry.digest(), **asdict(geometry)}
    del facts["name"]

    def show() -> None:
        print(f"geometry     {geometry.name}, base pages of {geometry.page_bytes:,} bytes")
        print(f"source       {geometry.source}: {geometry.reference}")
        if geometry.assumption:
            print(f"assumption   {geometry.assumption}")
        for number in range(len(geometry.arrays)):
            _print_array(geometry, number)
        print(f"next: tau tlb plan TASKS --geometry {path} -o plan.toml")

    output.emit(as_json, "info", {"file": str(path), "kind": GEOMETRY, **facts}, show)


def _print_array(geometry: Geometry, number: int) -> None:
    array = geometry.arrays[number]
    sets = output.count(array.sets, "set") if array.is_colorable else "one set, so uncolorable"
    ways = f"{output.count(array.ways, 'way')}, {array.safe_ways:,} of them safe"
    print(f"array        {array.name}: {sets}, {ways}")
    for each in geometry.structures:
        if each.array == number:
            rows = " ".join(f"{row:#x}" for row in each.rows) or "none"
            print(f"             {each.role}, {each.page_bytes:,} bytes an entry, rows {rows}")


def print_plan(path: Path, plan: Plan, as_json: bool) -> None:
    """The sets and pages of a plan, as `tau tlb plan` printed them."""
    partition = plan.sections[TLB]
    names = [name for name in (TLB, bounds.NAME) if name in plan.sections]
    sections = [section_named(name) for name in names]
    document = {"file": str(path), "kind": "plan of TLB sets"} | {
        name: section.document(plan.sections[name])
        for name, section in zip(names, sections, strict=True)
    }

    def show() -> None:
        principals = output.count(len(partition.principals), "principal")
        print(f"plan         of TLB sets for {principals} on {partition.geometry.name}")
        for name, section in zip(names, sections, strict=True):
            print(*section.told(plan.sections[name]), sep="\n")
        print(f"next: tau check {path}")

    output.emit(as_json, "info", document, show)
