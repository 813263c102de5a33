"""Reads tasks.toml: tasks that share a processor, each with TLB sets of its own.

docs/spec/tasks.md defines the file. A message names the line. What needs the geometry or a
recording is checked by the planner.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tautochrone.errors import TauError
from tautochrone.facts import tasks_format, tile_format
from tautochrone.files.schema import Reader
from tautochrone.files.toml_file import read_toml
from tautochrone.tile import user_flags
from tautochrone.tlb.partition import NO_MISS

KERNEL = "kernel"
NEXT_STEP = "see docs/spec/tasks.md, or the example in docs/tutorials/tlb-sets.md"
TILE_WINDOW_BYTES = tile_format.ADDRESS_FRAMES - tile_format.ADDRESS_WINDOW
Table = dict[str, Any]


@dataclass(frozen=True)
class FixedSets:
    """`count` sets of an array that the user asks for, from `first` on if it is given."""

    array: str
    count: int
    first: int | None


class LoopMax(NamedTuple):
    """How often a loop goes on: the one with this name in the source, or a function's next one."""

    rounds_max: int
    name: str | None = None
    function: str | None = None


@dataclass(frozen=True)
class AddressRange:
    """Addresses from `start` on that windows may use, of a processor with words of a size."""

    start: int
    size_bytes: int
    word_bytes: int

    @property
    def end(self) -> int:
        """The first address after it."""
        return self.start + self.size_bytes


@dataclass(frozen=True)
class Kernel:
    """The kernel's pages, and whether it owns sets. Runs have at least some bytes in a row."""

    is_colored: bool
    stack_bytes: int
    data_bytes: int
    data_run_bytes: int
    code_bytes: int
    code_run_bytes: int
    reads_code: bool
    mode: str
    sets: tuple[FixedSets, ...]


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task as the file has it. Either `heap_bytes` or `recordings`, which are whole paths.

    `sources` come on top of `program`; `flags` and `libraries` start from the file's folder.
    """

    name: str
    period_cycles: int
    phase_cycles: int = 0
    program: Path | None = None
    sources: tuple[Path, ...]
    flags: tuple[str, ...]
    libraries: tuple[str, ...]
    arguments: tuple[int, ...]
    heap_bytes: int | None = None
    largest_object_bytes: int | None = None
    recordings: tuple[Path, ...]
    thread: int | None = None
    stack_bytes: int
    globals_bytes: int
    globals_run_bytes: int
    code_bytes: int
    code_run_bytes: int
    reads_code: bool = False
    mode: str = NO_MISS
    cost_cycles: int | None = None
    restarts: bool = False
    shares_sets_with: str | None = None
    loops: tuple[LoopMax, ...] = ()
    sets: tuple[FixedSets, ...]


@dataclass(frozen=True)
class Shared:
    """Data that several tasks use."""

    name: str
    size_bytes: int
    used_by: tuple[str, ...]


@dataclass(frozen=True)
class TaskSet:
    """A file: `tasks` in its order. `reader` words errors about a place in it."""

    path: Path
    window: AddressRange
    kernel: Kernel | None
    tasks: tuple[Task, ...]
    shared: tuple[Shared, ...]
    reader: Reader

    def fail(self, place: str, text: str, next_step: str | None = None) -> TauError:
        """The error `text` about `place`."""
        return self.reader.fail(f"{place}: {text}", next_step, place)

    def paths(self) -> list[Path]:
        """Programs and recordings that the file names."""
        programs = [task.program for task in self.tasks if task.program is not None]
        programs += [path for task in self.tasks for path in task.sources]
        return programs + [path for task in self.tasks for path in task.recordings]

    def by_priority(self) -> list[Task]:
        """The tasks, highest priority first: the shortest period, then the file's order."""
        return sorted(self.tasks, key=lambda task: task.period_cycles)


def read_tasks(path: Path) -> TaskSet:
    """Read and check a file. Raises TauError with the line, the cause and the next step."""
    _, document, reader = read_toml(path, "file of tasks", NEXT_STEP)
    tables = reader.table("", document, tasks_format.DOCUMENT)
    _check_names(reader, tables)
    kernel = tables.get(KERNEL)
    tasks = tuple(
        _task(reader, f"task[{number}]", path.parent, table)
        for number, table in enumerate(tables["task"])
    )
    _check_sharing(reader, tasks)
    return TaskSet(
        path,
        _window(reader, tables.get("window")),
        kernel and _kernel(reader, kernel),
        tasks,
        tuple(_shared(reader, tables, number) for number in range(len(tables.get("shared", ())))),
        reader,
    )


def _fail(reader: Reader, place: str, text: str, next_step: str | None = None) -> TauError:
    return reader.fail(f"{place}: {text}", next_step, place)


def _check_names(reader: Reader, tables: Table) -> None:
    if not tables["task"]:
        raise reader.fail("task: no task is defined", "add a table [[task]]")
    names = Counter([KERNEL])
    for kind in ("task", "shared"):
        for number, table in enumerate(tables.get(kind, ())):
            name = table["name"].lower().replace("-", "_")  # what C and file names can hold
            names[name] += 1
            if names[name] > 1:
                cause = f"the name {table['name']} is taken"
                raise _fail(reader, f"{kind}[{number}].name", cause)


def _shared(reader: Reader, tables: Table, number: int) -> Shared:
    table, names = tables["shared"][number], {task["name"] for task in tables["task"]}
    users = tuple(table["tasks"])
    for each in users:
        if each not in names or users.count(each) > 1:
            why = "there twice" if each in names else "not a task"
            place = f"shared[{number}].tasks"
            raise _fail(reader, place, f"{each} is {why}", "name each task once")
    others = sorted(names.difference(users))
    if others and not table.get("open_to_all"):
        cause = f"{others[0]} is not among them, and could reach the data: it is open to all tasks"
        raise _fail(reader, f"shared[{number}].tasks", cause, "accept that by open_to_all = true")
    return Shared(table["name"], table["bytes"], users)


def _check_sharing(reader: Reader, tasks: Sequence[Task]) -> None:
    before: dict[str, Task] = {}
    for number, task in enumerate(tasks):
        place, name = f"task[{number}].shares_sets_with", task.shares_sets_with
        if name is None:
            before[task.name] = task
            continue
        if name not in before:
            cause = f"no task before it is called {name} and has sets of its own"
            raise _fail(reader, place, cause, "name a task before it without this key")
        other = before[name]
        if (task.period_cycles, task.phase_cycles) != (other.period_cycles, other.phase_cycles):
            cause = f"{name} has other releases, so it could run between two halves of a job"
            raise _fail(reader, place, cause, "give both the same period_cycles and phase_cycles")
        if task.sets:
            cause = f"it asks for sets of its own, too, beside those of {name}"
            raise _fail(reader, place, cause, "leave out one")


def _window(reader: Reader, table: Table | None) -> AddressRange:
    if table is None:
        return AddressRange(tile_format.ADDRESS_WINDOW, TILE_WINDOW_BYTES, 4)
    start, size_bytes = table["start"], table["size_bytes"]
    if size_bytes.bit_count() != 1:
        raise _fail(reader, "window.size_bytes", f"{size_bytes} is not a power of two")
    if start % size_bytes:
        cause = f"{start:#x} is not a multiple of the window's {size_bytes:#x} bytes"
        raise _fail(reader, "window.start", cause)
    word_bytes = table.get("word_bytes", 4)
    if word_bytes not in (4, 8):
        cause = f"a word cannot have {word_bytes} bytes"
        raise _fail(reader, "window.word_bytes", cause, "use 4 or 8")
    return AddressRange(start, size_bytes, word_bytes)


def _kernel(reader: Reader, table: Table) -> Kernel:
    if "sets" in table and not table["colored"]:
        raise _fail(reader, f"{KERNEL}.sets", "an uncolored kernel owns no sets")
    return Kernel(
        is_colored=table["colored"],
        stack_bytes=table["stack_bytes"],
        **_runs(reader, KERNEL, table, "data"),
        **_runs(reader, KERNEL, table, "code"),
        reads_code=table.get("reads_code", False),
        mode=table.get("mode", NO_MISS),
        sets=_fixed_sets(reader, KERNEL, table),
    )


def _task(reader: Reader, place: str, folder: Path, table: Table) -> Task:
    if ("heap_bytes" in table) == ("recordings" in table):
        raise _fail(reader, place, "give either heap_bytes or recordings")
    if table.get("recordings") == []:
        raise _fail(reader, f"{place}.recordings", "give at least one file")
    for key in ("thread", "largest_object_bytes"):
        if key in table and ("recordings" in table) != (key == "thread"):
            other = "recordings" if key == "thread" else "heap_bytes"
            raise _fail(reader, f"{place}.{key}", f"it needs {other}")
    if table.get("largest_object_bytes", 0) > table.get("heap_bytes", 0):
        raise _fail(reader, f"{place}.largest_object_bytes", "it is larger than the heap")
    if table.get("cost_cycles", 0) > table["period_cycles"]:
        cause = f"a job cannot end within its period of {table['period_cycles']:,} cycles"
        step = "give the cycles of one job, or a longer period_cycles"
        raise _fail(reader, f"{place}.cost_cycles", cause, step)
    program = table.get("program")
    for key in ("sources", "flags", "libraries", "loops"):
        if key in table and program is None:
            raise _fail(reader, f"{place}.{key}", "it needs program")
    wrong = user_flags.refusal(table.get("flags", ()))
    if wrong is not None:
        raise _fail(reader, f"{place}.flags[{wrong[0]}]", wrong[1], user_flags.NEXT_STEP)
    for number, row in enumerate(table.get("loops", ())):
        if ("name" in row) == ("function" in row):
            raise _fail(reader, f"{place}.loops[{number}]", "give either name or function")
    own: Table = {} if program is None else {"program": folder / program}
    for key in ("sources", "recordings"):
        own[key] = tuple(folder / each for each in table.get(key, ()))
    own["loops"] = tuple(LoopMax(**row) for row in table.get("loops", ()))
    for key in ("flags", "libraries", "arguments"):
        own[key] = tuple(table.get(key, ()))
    runs = _runs(reader, place, table, "globals") | _runs(reader, place, table, "code")
    return Task(**(table | own | runs | {"sets": _fixed_sets(reader, place, table)}))


def _runs(reader: Reader, place: str, table: Table, part: str) -> dict[str, int]:
    """The bytes of a part, and how many of them must be in a row."""
    whole, run = f"{part}_bytes", f"{part}_run_bytes"
    if table.get(run, 0) > table[whole]:
        raise _fail(reader, f"{place}.{run}", f"it is more than {whole}, {table[whole]}")
    return {whole: table[whole], run: table.get(run, min(table[whole], 1))}


def _fixed_sets(reader: Reader, place: str, table: Table) -> tuple[FixedSets, ...]:
    rows = table.get("sets", [])
    names = [row["array"] for row in rows]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise _fail(reader, f"{place}.sets[{number}].array", f"{name} is named twice")
    return tuple(FixedSets(row["array"], row["count"], row.get("first")) for row in rows)
