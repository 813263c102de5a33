"""Makes a system from its description: links what has sources, fits it, writes the memory tile.

Everything is refused here that the kernel would refuse or stop at later, with the line of the
description: executables, page lists, FIFOs, memory at each command, slots.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tautochrone.compose import code
from tautochrone.compose.bounds import os_slot_bound_cycles
from tautochrone.compose.description import Description
from tautochrone.compose.executables import refusal
from tautochrone.compose.memory import Memory, state_bytes
from tautochrone.compose.pages import UNIT, WINDOW_END, Page
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
from tautochrone.files import input_file
from tautochrone.replay.tile.program import hardware_folder

RELINK = "link it with `tau compose link`"
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
    """What a tile's memory holds: free frames after every load, and at the fullest moment."""

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


def root() -> Path:
    """The folder with kernel/, core/ and hw/: the repository, or the package's."""
    return hardware_folder().parent


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


def refuse_executable(path: Path, name: str = "", base: Base | None = None) -> None:
    """Raise TauError if the loader would refuse an executable with the base code."""
    image = input_file.read(path, "executable", EXECUTABLE_BYTES_MAX)
    if base is None:
        with tempfile.TemporaryDirectory() as folder:
            base = base_of(Path(folder))
    wrong = refusal(image, base.digest)
    if wrong is not None:
        raise TauError(f"{name or path}: {wrong}", RELINK)


def make(description: Description, folder: Path, leak: str | None = None) -> Made:
    """Link and fit a system; files go to FOLDER. Raises TauError with the line and the cause.

    A kernel with a LEAK is no kernel for users, so its OS slot has no bound.
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
    )
    kernel = code.kernel(root(), folder, leak if leak in code.LEAKS else "none")
    if leak is None:
        _check_os_slot(description, system, kernel)
    _check_frames(description, system)
    _check_pages(description, system)
    if leak == "page-mix":  # this kernel gives what does not fit
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
            f" {facts.SYSTEM_BYTES_MAX:,}; the largest executable is that of {largest.name}"
        )
    return Made(system, base, kernel, content, tiles)


def _application(
    description: Description, index: int, table: dict[str, Any], base: Base, folder: Path
) -> Application:
    place, name = f"application[{index}]", table["name"]
    round_bytes = table.get("round_bytes", table["page_bytes"])
    if "sources" in table:
        at = f"{place}.sources"
        own = folder / "applications"
        own.mkdir(exist_ok=True)
        sources = _sources(description, at, table["sources"])
        try:
            executable = code.application(
                root(),
                name,
                sources,
                base.path,
                own,
                table.get("flags", ()),
                page_bytes=table["page_bytes"],
                address=table.get("address", ADDRESS),
            )
        except TauError as error:
            failure = description.fail(at, error.message, "correct the first error above")
            failure.said = error.said
            raise failure from error
    else:
        executable = description.folder / table["executable"]
        at = f"{place}.executable"
    try:
        image = input_file.read(executable, "executable", EXECUTABLE_BYTES_MAX)
    except TauError as error:
        raise description.fail(at, error.message, error.next_step) from error
    wrong = refusal(image, base.digest)
    if wrong is not None:
        raise description.fail(at, f"{name}: {wrong}", RELINK)
    tasks = len(code.tasks_of(executable))
    if tasks != len(table["tasks"]):
        raise description.fail(
            f"{place}.tasks", f"{name} has {tasks} tasks, {len(table['tasks'])} are named"
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


def _sources(description: Description, place: str, patterns: list[str]) -> list[Path]:
    found: list[Path] = []
    for pattern in patterns:
        files = sorted(path for path in description.folder.glob(pattern) if path.is_file())
        if not files:
            raise description.fail(place, f"there is no file {pattern}", "check the path")
        found += files
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
            "memory.frame_count", f"a tile has no {end} KiB that its kernel can hand out"
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
        _check_overlap(description, where, pages)
        _check_reserved(description, where, table, pages, place)


def _check_overlap(description: Description, where: str, pages: list[Page]) -> None:
    in_order = sorted(pages, key=lambda page: page.address)
    for one, two in zip(in_order, in_order[1:], strict=False):
        if one.address + one.size_bytes > two.address:
            raise description.fail(
                where,
                f"its pages at {one.address:#x} ({one.size_bytes:,} bytes) and {two.address:#x}"
                " overlap",
                "move its pool, link its segments to multiples of round_bytes, or round less",
            )


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
    """What the loader takes from the tile's memory."""
    own = sum(page.size_bytes for page in pages if page.kind == facts.PAGE_KIND_OWN)
    return own + pool_frames * UNIT


def _fit(description: Description, system: System, place: int) -> TileUse:
    """Carry out the commands of a tile on the kernel's allocator."""
    memory = Memory(system.frame_first, system.frame_count)
    if not memory.has_base:
        raise description.fail("memory.frame_count", "the base code does not fit")
    for index, command in enumerate(system.commands):
        application = system.applications[system.number(command.application)]
        if not system.runs_on(application, place):
            continue
        if command.operation == "unload":
            memory.unload(application.name)
            continue
        pages = pages_of(system, application, place)
        missing = memory.load(application.name, pages, application.pool_frames)
        if missing is not None:
            free = memory.free_frames
            raise description.fail(
                f"command[{index}]",
                f"{application.name} does not fit on tile {place}: no page of"
                f" {UNIT << 2 * missing:,} bytes is left; {free:,} KiB are free,"
                f" the largest page {memory.largest_free_bytes:,} bytes",
                "raise memory.frame_count, load larger pages first, or give it smaller ones",
            )
    return TileUse(system.frame_count, memory.used_least)


def hashes(made: Made, description: Description | None) -> dict[str, Any]:
    """SHA-256 of everything that a run depends on; of executables what is loaded."""
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
