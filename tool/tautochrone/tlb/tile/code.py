"""Compiles tasks, each linked to its pages, and the kernel with the system built in."""

import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tautochrone.machine.images import building
from tautochrone.console.output import note
from tautochrone.errors import EXIT_LIMIT_EXCEEDED, TauError
from tautochrone.targets.build import link, run
from tautochrone.targets.libraries import STRINGS
from tautochrone.targets.sources import CORE_FILES
from tautochrone.tile.compiled import Object, compiled
from tautochrone.tile.user_flags import linker_flags
from tautochrone.tlb.linker_scripts import SEVERAL_RUNS, task_script
from tautochrone.tlb.partition import CODE, GLOBALS, STACK, Run, shared_symbols
from tautochrone.tlb.tile.system import (
    LARGE_FRAME,
    PAGE_BYTES,
    Extras,
    System,
    TileTask,
    Words,
    c_text,
)

CORE = CORE_FILES["tlb_color"]
TASK = "kernel/systems/tasks"
# A part that is too large for its pages may overlap another one: _image says which is.
FLAGS = (
    *("-nostdlib", "-static", "-Wl,--build-id=none", "-Wl,--gc-sections"),
    "-Wl,--no-check-sections",
)
MAIN = "tau_task_main"  # the entry of a task's program
NO_SYSTEM = """\
#include "kernel/tasks/system.h"
const struct tau_tasks_system tau_tasks_system = {0};
"""
KEPT = ("tau_tasks_timer", "tau_tasks_exception", "tau_tasks_first", "tau_tasks_unexpected")


class Image(NamedTuple):
    """A linked task: its file, the words of its pages by their address, and its entry."""

    elf: Path
    words: Words
    entry: int


class Builder:
    """Builds in a folder. Each task is linked once for the same addresses.

    ROOT holds core/, kernel/ and targets/.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder
        self.objects: dict[tuple[Path, tuple[str, ...]], Object] = {}
        self.images: dict[tuple[Any, ...], Image] = {}

    @property
    def program_path(self) -> Path:
        """The file of the program that was built last."""
        return self.folder / "kernel.elf"

    def image(self, task: TileTask, system: System) -> Image:
        """A task of a system as it is linked."""
        symbols = shared_symbols(system.shared, task.name)
        pages = *task.place.runs_of(CODE), task.run_of(GLOBALS)
        key = task.program.absolute(), task.extras, *pages, *symbols.items()
        if key not in self.images:
            self.images[key] = self._linked(task, symbols)
        return self.images[key]

    @building()
    def _linked(self, task: TileTask, symbols: Mapping[str, int]) -> Image:
        objects = [self._object(self.root / source).path for source in (f"{TASK}/start.c", *CORE)]
        objects += self._own_objects(task)
        elf = self.folder / f"{task.name}-{len(self.images)}.elf"  # never one of another place
        code = task.place.runs_of(CODE)
        script = elf.with_suffix(".ld")
        script.write_text(task_script(code, task.run_of(GLOBALS)), encoding="utf-8")
        libraries = task.extras.libraries
        command = [
            *(*libraries.linker("tile"), *FLAGS, "-T", str(script)),
            *([SEVERAL_RUNS] if len(code) > 1 else []),
            *(f"-Wl,--defsym={name}={value:#x}" for name, value in symbols.items()),
            *map(str, objects),
            *linker_flags(task.extras.flags),
            *libraries.link_words(self._object(self.root / STRINGS).path),
            *("-o", str(elf)),
        ]
        done = run(command, folder=task.extras.folder)
        if done.returncode != 0:
            raise _link_refusal(task, done.stderr)
        return _image(elf, task)

    def _own_objects(self, task: TileTask) -> list[Path]:
        """The objects of a user's sources, whose warnings are the user's."""
        extras = task.extras
        found = extras.libraries.compile_flags(self.root)
        flags = "-Wno-error", "-fstack-usage", "-g", *found, *extras.flags
        first = self._object(task.program.absolute(), (*flags, "-x", "c"), extras.folder)
        more = [self._object(each.absolute(), flags, extras.folder) for each in extras.sources]
        for each in (first, *more):
            _refuse_frames(task, each.stack_usage)
        return [each.path for each in (first, *more)]

    def program(self, system: System) -> Path:
        """The program of the tile."""
        made = [self.image(task, system) for task in system.tasks]
        text = c_text(system, [each.words for each in made], [each.entry for each in made])
        kernel = system.kernel_state, system.kernel_stack
        return self._program(text, len(system.tasks), *kernel)

    def kernel(self, tasks_count: int, state: int, stack: int) -> Path:
        """The program without its tasks: the code of a kernel for so many, with its two pages."""
        return self._program(NO_SYSTEM, tasks_count, state, stack)

    def kernel_sources(self) -> list[Path]:
        """The sources of the kernel of tasks."""
        return sorted((self.root / "kernel/tasks").glob("*.[cS]"))

    @building()
    def _program(self, text: str, tasks_count: int, state: int, stack: int) -> Path:
        source = self.folder / "system.c"
        source.write_text(text, encoding="utf-8")
        flags = (f"-DTAU_TASKS_COUNT={tasks_count}u",)
        return link(
            "tile",
            self.root,
            [
                *(self._object(each, flags).path for each in self.kernel_sources()),
                *(self._object(self.root / each).path for each in (*CORE, STRINGS)),
                source,
            ],
            self.program_path,
            [
                f"-Wl,--defsym=tau_tasks_state={state:#x}",
                f"-Wl,--defsym=tau_tasks_stack_end={stack + PAGE_BYTES:#x}",
            ],
            keep=list(KEPT),
        )

    @building()
    def _object(
        self, source: Path, flags: tuple[str, ...] = (), folder: Path | None = None
    ) -> Object:
        if (source, flags) not in self.objects:
            made = compiled(source, self.root, flags, folder, library_step=_library_step)
            print(made.warnings, end="", file=sys.stderr, flush=True)
            self.objects[source, flags] = made
        return self.objects[source, flags]


def _refuse_frames(task: TileTask, usage: str) -> None:
    """Refuse a function whose frame alone is larger than the stack; assembly has no usage."""
    stack_bytes = task.run_of(STACK).size_bytes
    for line in usage.splitlines():
        where, size_bytes, _ = line.rsplit("\t", 2)
        name = where.rpartition(":")[2]
        if int(size_bytes) > stack_bytes:
            raise TauError(
                f"{name} has a frame of {int(size_bytes):,} bytes, and the stack of {task.name} has"
                f" {stack_bytes:,}",
                LARGE_FRAME,
                EXIT_LIMIT_EXCEEDED,
            )
        if int(size_bytes) > PAGE_BYTES:
            note(
                f"{name} of {task.name} has a frame of {int(size_bytes):,} bytes, so that it may"
                f" step over the unmapped page below the stack"
            )


def _library_step(library: str | None) -> str | None:
    return f'give the task libraries = ["{library}"]' if library else None


def _link_refusal(task: TileTask, said: str) -> TauError:
    """Why a program cannot be linked: one sentence if symbols are missing."""
    missing = task.extras.libraries.missing("tile", said)
    if f"undefined reference to `{MAIN}'" in said:
        step = f"define {MAIN} as kernel/tasks/task.h says"
        return TauError(f"the program of {task.name} has no {MAIN}", step)
    if missing is None:
        return TauError(f"the program of {task.name} cannot be linked", said=said)
    step = _library_step(missing.library) or missing.step
    return TauError(f"the program of {task.name} cannot be linked: {missing.cause}", step)


def _size_refusal(task: TileTask, last: Run, needed_bytes: int) -> TauError:
    """A part's last run is too small for what the others have no room for."""
    runs = task.place.runs_of(last.part)
    where = f" in the last of {len(runs)} runs" if len(runs) > 1 else ""
    return TauError(
        f"the {last.part} of {task.name} need {needed_bytes} bytes{where}, and have"
        f" {last.size_bytes}",
        f"raise {last.part}_bytes" + (f", or {last.part}_run_bytes" if where else ""),
    )


def _image(elf: Path, task: TileTask) -> Image:
    from elftools.elf.elffile import ELFFile

    words: Words = {}
    with open(elf, "rb") as file:
        content = ELFFile(file)
        for segment in content.iter_segments():
            if segment["p_type"] != "PT_LOAD" or segment["p_memsz"] == 0:
                continue
            name = CODE if segment["p_flags"] & 1 else GLOBALS
            (run,) = (run for run in task.place.runs_of(name) if run.start == segment["p_vaddr"])
            if segment["p_memsz"] > run.size_bytes:
                raise _size_refusal(task, run, segment["p_memsz"])
            data = segment.data() + bytes(-segment["p_filesz"] % PAGE_BYTES)
            for offset in range(0, len(data), PAGE_BYTES):
                page = data[offset : offset + PAGE_BYTES]
                words[segment["p_vaddr"] + offset] = list(struct.unpack("<1024I", page))
        return Image(elf, words, int(content.header["e_entry"]))
