"""Makes a system from its description: links the sources, fits the system, writes the memory tile.

Everything is refused here that the kernel would refuse or stop at later, with the line of the
description: executables, page lists, FIFOs, memory at each command, slots.
"""

import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tautochrone.compose import code
from tautochrone.compose.bounds import os_slot_bound_cycles
from tautochrone.compose.description import Description
from tautochrone.compose.memory import Memory, loads_of, state_bytes
from tautochrone.compose.pages import (
    ORDER_MAX,
    UNIT,
    WINDOW_END,
    Page,
    Segment,
    segments_of,
)
from tautochrone.compose.system import (
    SPECIAL,
    Application,
    Command,
    Fifo,
    System,
    communication_frames,
    pages_of,
    system_file,
)
from tautochrone.console.terminal import in_one_line
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import compose_format as facts
from tautochrone.facts import tile_format as tile
from tautochrone.files import input_file, search
from tautochrone.targets.build import BuildError
from tautochrone.targets.libraries import Libraries
from tautochrone.tile.sources import root

RELINK = "link it with `tau compose link`"
RELINK_CORRECTED = "correct it in the source and link again"
ODD_STACK = "stack_bytes of TAU_TASK must be a multiple of 16"
NO_NOTE = "it has no note that lists its tasks"
NAME_TASKS = (
    "name its tasks in a source by TAU_TASK and TAU_APPLICATION, as in kernel/base/application.h"
)
EXECUTABLE_BYTES_MAX = 1 << 24
FIFO_PAGE_BYTES = 4096
ADDRESS = facts.ADDRESS_APPLICATION


@dataclass(frozen=True)
class Base:
    """The base code: its file, its bytes, their hash."""

    path: Path
    content: bytes
    digest: bytes


@dataclass(frozen=True)
class TileUse:
    """State of a tile's memory: free frames after every load, and at the fullest moment."""

    frames: int
    free_least: int


@dataclass(frozen=True)
class Made:
    """A system whose parts fit, and its files."""

    system: System
    base: Base
    kernel: Path
    content: bytes
    tiles: tuple[TileUse, ...]


def base_of(folder: Path) -> Base:
    """Link the base code into FOLDER."""
    path = code.base_code(root(), folder)
    return Base(path, code.base_bytes(path), code.base_hash(path))


def address_of(text: str) -> int:
    """The address that a user wrote. Raises TauError (usage) if no application can begin there."""
    try:
        address = int(text, 0)
    except ValueError:
        address = -1
    if not ADDRESS <= address < WINDOW_END or address % UNIT:
        raise TauError(
            f"no application can begin at {in_one_line(text)}",
            f"give a multiple of {UNIT} from {ADDRESS:#x} to {WINDOW_END - UNIT:#x}",
            EXIT_USAGE,
        )
    return address


def refusal_step(wrong: str, is_linked_now: bool) -> str:
    """The next step for an executable that is refused because of WRONG."""
    if wrong == ODD_STACK:
        return RELINK_CORRECTED
    return NAME_TASKS if is_linked_now or wrong == NO_NOTE else RELINK


def refuse_executable(path: Path, name: str = "", base: Base | None = None) -> None:
    """Raise TauError if the loader would refuse an executable with the base code.

    BASE is given by who has just linked the executable.
    """
    image = input_file.read(path, "executable", EXECUTABLE_BYTES_MAX)
    is_linked_now = base is not None
    if base is None:
        with tempfile.TemporaryDirectory() as folder:
            base = base_of(Path(folder))
    wrong = code.refusal(image, base.digest)
    if wrong is not None:
        raise TauError(f"{name or path}: {wrong}", refusal_step(wrong, is_linked_now))


def make(description: Description, folder: Path, leak: str | None = None) -> Made:
    """Link and fit a system; files go to FOLDER. Raises TauError with the line and the cause.

    A kernel with a LEAK is not for users, so its OS slot has no bound.
    """
    base = base_of(folder)
    applications = tuple(
        _application(description, index, table, base, folder)
        for index, table in enumerate(description.tables["application"])
    )
    time, memory = description.tables["time"], description.tables["memory"]
    commands = tuple(Command(**table) for table in description.tables["command"])
    system = System(
        applications,
        tuple(tuple(each["slots"]) for each in description.tables["tile"]),
        commands,
        **time,
        **memory,
        switches=tuple(switches_of(description)),
    )
    kernel = code.kernel(root(), folder, leak or "none")
    if leak is None:
        _check_os_slot(description, system, kernel)
    _check_frames(description, system)
    _check_pages(description, system)
    if leak == "page-mix":  # This kernel gives what does not fit.
        return made_of(system, base, kernel)
    tiles = tuple(_fit(description, system, place) for place in range(len(system.slots)))
    return made_of(system, base, kernel, tiles)


def made_of(system: System, base: Base, kernel: Path, tiles: tuple[TileUse, ...] = ()) -> Made:
    """The files of a system that fits."""
    content = system_file(system, base.content, base.digest)
    if len(content) > facts.SYSTEM_BYTES_MAX:
        largest = max(system.applications, key=lambda each: each.executable.stat().st_size)
        raise TauError(
            f"the system takes {len(content):,} bytes, the memory tile has"
            f" {facts.SYSTEM_BYTES_MAX:,}; the executable of {largest.name} is the largest"
        )
    return Made(system, base, kernel, content, tiles)


def switches_of(description: Description) -> Iterator[Command]:
    """The commands that switch use cases. If both fit, the new ones are loaded first.

    The loader is told of all ends before it begins with what takes time.
    """
    use_cases = {
        each["name"]: each["applications"] for each in description.tables.get("use_case", ())
    }
    here: list[str] = []
    for table in description.tables.get("switch", ()):
        after = use_cases[table["use_case"]]
        arrival, epoch, ends = table["arrives"], table["epoch"], table.get("ends", table["epoch"])
        come = [Command("load", name, epoch, arrival) for name in after if name not in here]
        go = [Command("unload", name, ends, arrival) for name in here if name not in after]
        yield from (replace(each, operation="end") for each in go)
        yield from (*come, *go) if ends == epoch else (*go, *come)
        here = after


def _application(
    description: Description, index: int, table: dict[str, Any], base: Base, folder: Path
) -> Application:
    place, name = f"application[{index}]", table["name"]
    round_bytes = table.get("round_bytes", table["page_bytes"])
    if "sources" in table:
        at = f"{place}.sources"
        executable = _linked(description, at, table, base, folder)
    else:
        executable = description.folder / table["executable"]
        at = f"{place}.executable"
    try:
        image = input_file.read(executable, "executable", EXECUTABLE_BYTES_MAX)
    except TauError as error:
        raise description.fail(at, error.message, error.next_step) from error
    wrong = code.refusal(image, base.digest)
    if wrong is not None:
        raise description.fail(at, f"{name}: {wrong}", refusal_step(wrong, "sources" in table))
    tasks = len(code.tasks_of(executable))
    if tasks != len(table["tasks"]):
        raise description.fail(
            f"{place}.tasks", f"{name} has {tasks} tasks, but the file names {len(table['tasks'])}"
        )
    return Application(
        name,
        executable,
        tuple(table["tasks"]),
        table["page_bytes"],
        round_bytes,
        tuple(
            Fifo(
                fifo["writer"],
                fifo["reader"],
                fifo.get("page_bytes", FIFO_PAGE_BYTES),
                fifo.get("channel", False),
            )
            for fifo in table.get("fifos", ())
        ),
        tuple(
            table["pool_address"] + number * UNIT for number in range(table.get("pool_pages", 0))
        ),
        table.get("pool_frames", 0),
    )


def _linked(
    description: Description, at: str, table: dict[str, Any], base: Base, folder: Path
) -> Path:
    """An application's executable from its sources. AT is their place in the description."""
    own = folder / "applications"
    own.mkdir(exist_ok=True)
    sources = _sources(description, at, table["sources"])
    try:
        libraries = Libraries.named(table.get("libraries", ()), description.folder)
    except BuildError as error:
        place = at.replace(".sources", ".libraries")
        raise description.fail(place, error.message, error.next_step) from error
    try:
        return code.application(
            root(),
            table["name"],
            sources,
            base.path,
            own,
            table.get("flags", ()),
            page_bytes=table["page_bytes"],
            address=table.get("address", ADDRESS),
            libraries=libraries,
            paths_from=description.folder,
        )
    except TauError as error:
        step = error.next_step or "correct the first error above"
        failure = description.fail(at, error.message, step)
        failure.said = error.said
        raise failure from error


def _sources(description: Description, place: str, patterns: list[str]) -> list[Path]:
    found: list[Path] = []
    for pattern in patterns:
        try:
            files = search.files_of(pattern, description.folder)
        except TauError as error:
            raise description.fail(place, error.message, error.next_step) from error
        if not files:
            raise description.fail(place, f"{pattern} does not exist", "check the path")
        found += files
    return found


def inputs_of(description: Description) -> list[Path]:
    """The files that a system was made from: its own, executables, sources, archives."""
    found = [description.path]
    for index, table in enumerate(description.tables["application"]):
        if "sources" in table:
            found += _sources(description, f"application[{index}].sources", table["sources"])
            found += Libraries.named(table.get("libraries", ()), description.folder).archives
        else:
            found.append(description.folder / table["executable"])
    return found


def _check_os_slot(description: Description, system: System, kernel: Path) -> None:
    bound = os_slot_bound_cycles(kernel)
    if system.os_slot_cycles < bound:
        raise description.fail(
            "time.os_slot_cycles",
            f"{system.os_slot_cycles} cycles are too few for this kernel, whose bound is {bound}",
            f"give {bound} or more",
        )


def _check_frames(description: Description, system: System) -> None:
    end = system.frame_first + system.frame_count
    if end > SPECIAL or state_bytes(end) > tile.SIZE_PLAIN_BYTES:
        raise description.fail(
            "memory.frame_count", f"the kernel of a tile cannot hand out {end} KiB"
        )


def _places(system: System) -> Iterator[tuple[int, Application, int]]:
    for index, application in enumerate(system.applications):
        for place in range(len(system.slots)):
            if system.runs_on(application, place):
                yield index, application, place


def _check_pages(description: Description, system: System) -> None:
    """The page list of each application on each of its tiles, against limits and reservation."""
    for index, application, place in _places(system):
        where = f"application[{index}]"
        table = description.tables["application"][index]
        try:
            communication_frames(system)
            pages = pages_of(system, application, place)
        except TauError as error:
            raise description.fail(where, error.message, error.next_step) from error
        segments = segments_of(application.executable)
        guards = [segment.guard for segment in segments if segment.is_stack]
        round_bytes = application.round_bytes
        _check_overlap(description, where, [*pages, *guards], segments, round_bytes)
        _check_reserved(description, where, table, pages, place)


def _check_overlap(
    description: Description,
    where: str,
    pages: list[Page],
    segments: list[Segment],
    round_bytes: int,
) -> None:
    in_order = sorted(pages, key=lambda page: page.address)
    for one, two in zip(in_order, in_order[1:], strict=False):
        if one.address + one.size_bytes > two.address:
            raise description.fail(
                where,
                f"its pages, or guards of stacks, at {one.address:#x} ({one.size_bytes:,} bytes)"
                f" and {two.address:#x} overlap",
                _overlap_step(segments, round_bytes),
            )


def _overlap_step(segments: list[Segment], round_bytes: int) -> str:
    """The next step for pages that overlap: of segments that are linked closer, or of a pool."""
    fits = [
        size_bytes
        for size_bytes in (UNIT << 2 * order for order in range(ORDER_MAX + 1))
        if all(each.address % size_bytes == 0 for each in segments)
    ]
    if fits and fits[-1] < round_bytes:
        return (
            f"its segments are linked for pages of {fits[-1]:,} bytes: give round_bytes ="
            f" {fits[-1]}, or link it with --page-bytes {round_bytes}"
        )
    return "move its pool"


def _check_reserved(
    description: Description, where: str, table: dict[str, Any], pages: list[Page], place: int
) -> None:
    used = {"entries": len(pages), "memory_bytes": memory_bytes(pages, table.get("pool_frames", 0))}
    for key, value in used.items():
        if key in table and value > table[key]:
            raise description.fail(
                f"{where}.{key}",
                f"{table['name']} needs {value:,} on tile {place}, {table[key]:,} are reserved",
                "reserve more, or see `tau compose plan` for other pages",
            )


def memory_bytes(pages: list[Page], pool_frames: int) -> int:
    """The loader's part of the tile's memory."""
    own = sum(page.size_bytes for page in pages if page.kind == facts.PAGE_KIND_OWN)
    return own + pool_frames * UNIT


def _fit(description: Description, system: System, place: int) -> TileUse:
    """Carry out the commands of a tile on the kernel's allocator."""
    memory = Memory(system.frame_first, system.frame_count)
    if not memory.has_base:
        raise description.fail("memory.frame_count", "the base code does not fit")
    free_least = memory.free_frames
    for load in loads_of(system, place):
        if load.missing is not None:
            free = load.memory.free_frames
            raise description.fail(
                f"command[{load.command}]",
                f"{load.application.name} does not fit on tile {place}: no page of"
                f" {UNIT << 2 * load.missing:,} bytes is left; {free:,} KiB are free,"
                f" the largest page {load.memory.largest_free_bytes:,} bytes",
                "raise memory.frame_count, load larger pages first, or give it smaller ones",
            )
        free_least = load.memory.free_least
    return TileUse(system.frame_count, free_least)


def hashes(made: Made, description: Description | None) -> dict[str, Any]:
    """SHA-256 of everything that a run depends on; of executables, the loaded part."""
    return {
        "system_sha256": hashlib.sha256(description.text.encode()).hexdigest()
        if description
        else None,
        "base_sha256": made.base.digest.hex(),
        "kernel_sha256": code.loaded_hash(made.kernel),
        "executables_sha256": {
            each.name: code.loaded_hash(each.executable) for each in made.system.applications
        },
    }


def without(system: System, names: set[str]) -> System:
    """The system without the commands of some applications: they are never there."""
    kept = tuple(each for each in system.commands if each.application not in names)
    return replace(system, commands=kept)
