"""Compiles tasks, each linked to its pages, and the kernel with the system built in."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tautochrone.code.images import building
from tautochrone.errors import TauError
from tautochrone.targets.build import TARGETS, BuildError, compiler_of, link
from tautochrone.targets.sources import CORE_FILES
from tautochrone.tlb.tile.system import PAGE_BYTES, Extent, System, TileTask, Words, c_text

MEMORY = "targets/programs/replay/memory.c"  # memset and memmove, which compiled code may call
CORE = tuple(f"core/{name}" for name in CORE_FILES["tlb_color"])
TASK = "kernel/systems/tasks"
# What is too large for its pages may overlap another part: _words says which is.
FLAGS = (
    *("-nostdlib", "-static", "-Wl,--build-id=none", "-Wl,--gc-sections"),
    "-Wl,--no-check-sections",
)
MAIN = "tau_task_main"  # of a task's program
NO_SYSTEM = """\
#include "kernel/tasks/system.h"
const struct tau_tasks_system tau_tasks_system = {0};
"""
KEPT = ("tau_tasks_timer", "tau_tasks_exception", "tau_tasks_first", "tau_tasks_unexpected")


class Builder:
    """Builds in a folder. Each source is compiled once, and linked once for the same addresses.

    ROOT holds core/, kernel/ and targets/.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder
        self.objects: dict[tuple[Path, tuple[str, ...]], Path] = {}
        self.images: dict[tuple[Path, Extent, Extent], tuple[Words, int]] = {}

    @property
    def program_path(self) -> Path:
        """The file of the program that was built last."""
        return self.folder / "kernel.elf"

    def image(self, task: TileTask) -> tuple[Words, int]:
        """The words of a task's pages by their address, and its entry."""
        key = task.program.absolute(), task.place.code, task.place.globals
        if key not in self.images:
            self.images[key] = self._linked(task)
        return self.images[key]

    def _linked(self, task: TileTask) -> tuple[Words, int]:
        sources = [f"{TASK}/start.c", *CORE, MEMORY]
        objects = [self._object(self.root / source) for source in sources]
        objects.append(self._object(task.program.absolute(), ("-x", "c")))
        elf = self.folder / f"{task.name}.elf"
        symbols = {"code": task.place.code.start, "globals": task.place.globals.start}
        self._compile(
            [
                *("-T", str(self.root / TASK / "task.ld")),
                *(f"-Wl,--defsym=tau_task_{name}={value:#x}" for name, value in symbols.items()),
                *map(str, objects),
                *FLAGS,
            ],
            elf,
            f"the program of {task.name}",
        )
        return _words(elf, task)

    def program(self, system: System) -> Path:
        """The program of the tile."""
        made = [self.image(task) for task in system.tasks]
        text = c_text(system, [words for words, _ in made], [entry for _, entry in made])
        policy = "forget" if system.forgets else "color"
        kernel = system.kernel_state, system.kernel_stack
        return self._program(text, len(system.tasks), policy, *kernel)

    def kernel(self, tasks_count: int, state: int, stack: int) -> Path:
        """The program without its tasks: the code of a kernel for so many, with its two pages."""
        return self._program(NO_SYSTEM, tasks_count, "color", state, stack)

    def _program(self, text: str, tasks_count: int, policy: str, state: int, stack: int) -> Path:
        source = self.folder / "system.c"
        source.write_text(text, encoding="utf-8")
        flags = (
            f'-DTAU_MMU_SWITCH_HEADER="kernel/tasks/mmu_switch_{policy}.h"',
            f"-DTAU_TASKS_COUNT={tasks_count}u",
        )
        sources = sorted((self.root / "kernel/tasks").glob("*.[cS]"))
        try:
            return link(
                "tile",
                self.root,
                [
                    *(self._object(each, flags) for each in sources),
                    *(self._object(self.root / each) for each in (*CORE, MEMORY)),
                    source,
                ],
                self.program_path,
                [
                    f"-Wl,--defsym=tau_tasks_state={state:#x}",
                    f"-Wl,--defsym=tau_tasks_stack_end={stack + PAGE_BYTES:#x}",
                ],
                keep=list(KEPT),
            )
        except BuildError as error:
            raise TauError(error.message, error.next_step, said=error.said) from error

    def _object(self, source: Path, flags: tuple[str, ...] = ()) -> Path:
        if (source, flags) not in self.objects:
            made = self.folder / f"{len(self.objects)}-{source.stem}.o"
            self._compile(["-O2", *flags, "-c", str(source)], made, source.name)
            self.objects[source, flags] = made
        return self.objects[source, flags]

    def _compile(self, words: Sequence[str], made: Path, purpose: str) -> None:
        recipe = TARGETS["tile"]
        with building():
            compiler = compiler_of("tile")
        command = [compiler, *recipe.machine, *recipe.flags, f"-I{self.root}", *words]
        done = subprocess.run(
            [*command, "-o", str(made)],
            capture_output=True,
            text=True,
            errors="backslashreplace",
        )
        if done.returncode != 0:
            is_missing = f"undefined reference to `{MAIN}'" in done.stderr
            step = f"define {MAIN} as kernel/tasks/task.h says" if is_missing else None
            raise TauError(f"{purpose} cannot be built", step, said=done.stderr)


def _words(elf: Path, task: TileTask) -> tuple[Words, int]:
    from elftools.elf.elffile import ELFFile

    words: Words = {}
    extents = {"code": task.place.code, "globals": task.place.globals}
    with open(elf, "rb") as file:
        content = ELFFile(file)
        for segment in content.iter_segments():
            if segment["p_type"] != "PT_LOAD" or segment["p_memsz"] == 0:
                continue
            name = "code" if segment["p_flags"] & 1 else "globals"
            if segment["p_memsz"] > extents[name].size_bytes:
                raise TauError(
                    f"the {name} of {task.name} need {segment['p_memsz']} bytes, and have"
                    f" {extents[name].size_bytes}",
                    f"raise {name}_bytes",
                )
            data = segment.data() + bytes(-segment["p_filesz"] % PAGE_BYTES)
            for offset in range(0, len(data), PAGE_BYTES):
                page = data[offset : offset + PAGE_BYTES]
                words[segment["p_vaddr"] + offset] = list(struct.unpack("<1024I", page))
        return words, int(content.header["e_entry"])
