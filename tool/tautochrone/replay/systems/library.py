"""Allocators of other people: users' libraries, C libraries of packages, and a first-fit list.

`library:FILE` is an object, an archive or a shared library with the functions that
core/ports/library.h states. Its machine decides how it runs: this machine's in processes of their
own (session.py), a target's in the emulator, where instructions can be counted.
"""

from __future__ import annotations

import functools
import platform
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import fault_format as faults
from tautochrone.files import elf_file, input_file
from tautochrone.machine.core_build import ALIGNMENT_BYTES
from tautochrone.machine.images import (
    ALIGNMENT_32_BYTES,
    FUNCTIONS,
    ISAS,
    Image,
    build_image,
    building,
    variables_bytes,
)
from tautochrone.replay.document import NAME
from tautochrone.replay.entry import PEER, Entry, arena_entry
from tautochrone.replay.search import last_of, most_of, safe_steps, samples_of, step_of
from tautochrone.replay.session import FOREIGN_STEP, Arena, Session
from tautochrone.replay.system import Options, State, System
from tautochrone.replay.systems.native import Native, with_costs
from tautochrone.targets import build

if TYPE_CHECKING:
    from tautochrone.machine.core_build import Build
    from tautochrone.replay.emulator import Counts
    from tautochrone.replay.open_trace import OpenTrace

PREFIX = "library:"
FUNCTION_PREFIX = "tau_library"
REQUIRED = tuple(f"{FUNCTION_PREFIX}_{verb}" for verb in ("init", "malloc", "free"))
HOST = "host"
HEAP_BYTES_MAX = 1 << 28  # in the emulator
EMULATED_SLOWER = 8  # an eighth of the samples, since a run takes a hundred times as long
FILE_BYTES_MAX = 1 << 28
# Numbers of ELF: kinds of files, and the machines of a word size.
OBJECT, SHARED = 1, 3
TARGETS = {(32, 243): "rv32", (32, 40): "m4"}
HOST_MACHINE = {"x86_64": 62, "aarch64": 183, "riscv64": 243}.get(platform.machine(), 0)
ARCHIVE, MEMBER_HEAD_BYTES, ELF = b"!<arch>\n", 60, b"\x7fELF"
STEP = "name an object, an archive or a shared library for this machine, RV32 or Cortex-M"


def refuse_other(name: str, target: str, options: Options) -> None:
    """Raise TauError (usage) if a layout or instructions of another target are asked for."""
    own = HOST if target == HOST else "32"
    if options.layout not in (None, own, getattr(options.plan, "layout", None)):
        step = f"leave out --layout {options.layout}, or this system"
        raise TauError(f"{name} is compiled for layout {own}", step, EXIT_USAGE)
    if target != HOST and options.isa not in (None, target):
        step = f"give --instructions {target}, or leave out this system"
        raise TauError(f"{name} is code for {ISAS[target].title}", step, EXIT_USAGE)


@dataclass(frozen=True)
class HostLibrary(Native):
    """A library of this machine; `arena.library` is the file that the user named."""

    follows: ClassVar[frozenset[str]] = frozenset({"heap_bytes", "layout", "skip_misuse"})
    targets: ClassVar[tuple[str, ...]] = ()

    def accept(self, options: Options, trace: Path) -> None:
        """Raise TauError (usage) for another layout."""
        refuse_other(self.name, HOST, options)

    def session(
        self,
        trace: OpenTrace,
        plan: Any = None,
        layout: str = HOST,
        check_level: int | None = None,
        alignment: int | None = None,
    ) -> Session:
        """Link it, and prepare it for many runs of a trace. A context manager."""
        linked = str(_shared(Path(self.arena.library)))
        return Session(trace, replace(self.arena, library=linked), None, HOST)

    def run(self, trace: OpenTrace, options: Options) -> Entry:
        """Replay in the requested heap, else in the safe one."""
        return self.run_once(trace, None, options.heap_bytes, HOST)


@dataclass(frozen=True)
class TargetLibrary(System):
    """A library of a target, in the emulator. `path` is an object or an archive."""

    name: str
    target: str
    path: Path
    about: str = ""
    role: str = PEER
    follows: ClassVar[frozenset[str]] = frozenset({"heap_bytes", "layout", "isa", "skip_misuse"})

    def accept(self, options: Options, trace: Path) -> None:
        """Raise TauError (usage) for another layout, or the instructions of another target."""
        refuse_other(self.name, self.target, options)

    @functools.cached_property
    def image(self) -> Image:
        """The code, linked for its target. Raises TauError if a function is missing."""
        is_object = _is_object(self.path)
        return self._linked([self.path] * is_object, [self.path] * (not is_object))

    def _linked(
        self, sources: list[str | Path], archives: list[Path], cflags: tuple[str, ...] = ()
    ) -> Image:
        words = (self.path.stem, self.target, sources, cflags, archives, FUNCTION_PREFIX)
        image = build_image(*words, alignment=ALIGNMENT_32_BYTES)
        refuse_missing(self.name, image.symbols)
        return replace(image, name=self.name)

    def run(self, trace: OpenTrace, options: Options) -> Entry:
        """Replay in the requested heap, else in the safe one."""
        variables = 0 if options.heap_bytes else variables_bytes(self.image)
        taken = options.heap_bytes or self.safe_heap(trace)
        done, fault = self.run_in(trace, taken - variables)
        entry = arena_entry(trace, self.name, self.role, fault, done.fault_event, taken)
        if options.isa is not None and entry.held:
            counts = self.counts(trace, options.heap_bytes)
            costs = {name: with_costs(each, counts) for name, each in entry.operations.items()}
            entry = replace(entry, operations=costs)
        return replace(entry, placement_hash=done.placement_hash)

    def counts(self, trace: OpenTrace, heap_bytes: int | None = None, **options: Any) -> Counts:
        """The instructions of its calls, in the same heap as our systems' are counted in."""
        from tautochrone.replay.emulator import count_calls

        how = {"skip_misuse": True, "forgets_alignment": True, **options}
        return count_calls(self.image, trace, heap_bytes, **how)

    def safe_heap(self, trace: OpenTrace) -> int:
        """The safe arena, found as ours (search.py), and the bytes of variables."""

        def all_hold(sizes: Sequence[int]) -> Iterator[bool]:
            return (self.run_in(trace, size)[1] == faults.COMPLETED for size in sizes)

        least, events = int(trace.facts.peak_live_bytes), int(trace.facts.events)
        samples = samples_of(EMULATED_SLOWER * events)
        steps = safe_steps(all_hold, least, HEAP_BYTES_MAX, samples, None, step_of(least))
        most = most_of(least, HEAP_BYTES_MAX)
        return last_of(steps, self.name, most, None) + variables_bytes(self.image)

    def run_in(self, trace: OpenTrace, arena_bytes: int) -> tuple[Counts, int]:
        """One run, and how it ended. Raises TauError if it errs, or takes too long."""
        from tautochrone.replay.emulator import INSTRUCTIONS_MAX, count_in

        counts, fault = count_in(self.image, trace, arena_bytes)
        if counts.is_truncated:
            cause = f"{self.name} takes more than {INSTRUCTIONS_MAX:,} instructions"
            raise TauError(cause, "replay the beginning of the trace with --events")
        return counts, fault


@dataclass(frozen=True)
class CLibrary(TargetLibrary):
    """malloc of a C library, as its package ships it, in the arena (peers/packages)."""

    package: str = ""
    cflags: tuple[str, ...] = ()

    @functools.cached_property
    def archive(self) -> Path | None:
        """The package's archive; None if it is not installed."""
        path = self.path
        if not path.is_absolute():
            recipe = build.TARGETS[self.target]
            words = [recipe.compiler, *recipe.machine, "-mfloat-abi=soft"]
            if shutil.which(words[0]) is None:
                return None
            path = Path(build.run([*words, f"-print-file-name={path}"]).stdout.strip())
        return path if path.is_absolute() and path.exists() else None

    def state(self, build: bool) -> State:
        """Whether the package is installed."""
        if self.archive is None:
            return State(False, "not installed", f"apt install {self.package}")
        return State(True, str(self.archive))

    @functools.cached_property
    def image(self) -> Image:
        """The package's code, and what gives it the arena."""
        if self.archive is None:
            raise TauError(f"{self.name} is not installed", f"apt install {self.package}")
        return self._linked(["peers/packages/c_library.c"], [self.archive], self.cflags)


@dataclass(frozen=True)
class FirstFit(Native):
    """The first-fit list: its instructions can be counted, and have no bound."""

    targets: ClassVar[tuple[str, ...]] = ()

    def session(
        self,
        trace: OpenTrace,
        plan: Any = None,
        layout: str = "32",
        check_level: int | None = None,
        alignment: int | None = None,
    ) -> Session:
        """See Native. Its objects have the layout's alignment in every build."""
        return super().session(trace, plan, layout, check_level, ALIGNMENT_BYTES[layout])

    def counts(self, trace: OpenTrace, options: Options, build: Build, plan: Any) -> Counts | None:
        """The instructions of its calls on a target."""
        if options.isa is None:
            return None
        from tautochrone.replay.emulator import count_calls

        source, prefix = "peers/conventional/first_fit.c", self.arena.prefix
        how = {"optimize": build.optimize, "alignment": ALIGNMENT_32_BYTES}
        image = build_image(self.name, options.isa, [source], (), (), prefix, **how)
        return count_calls(image, trace, options.heap_bytes, skip_misuse=options.skip_misuse)


def refuse_missing(name: str, symbols: Iterable[str]) -> None:
    """Raise TauError if a library lacks a function."""
    missing = [each for each in REQUIRED if each not in symbols]
    if missing:
        raise TauError(f"{name} has no function {', '.join(missing)}", FOREIGN_STEP)


def named(name: str) -> System | None:
    """The system of `library:FILE`; None for other names. Raises TauError for unfit files."""
    if not name.startswith(PREFIX):
        return None
    path = Path(name.removeprefix(PREFIX))
    if not NAME.fullmatch(name):
        cause = f"{path}: a report cannot show this name"
        raise TauError(cause, "use letters, digits and ./_+- only, 200 at most", EXIT_USAGE)
    head = _head_of(path)
    bits, machine = {1: 32, 2: 64}.get(head[4], 0), int.from_bytes(head[18:20], "little")
    kind, about = int.from_bytes(head[16:18], "little"), f"the allocator in {path.name}"
    if bits == 64 and machine == HOST_MACHINE and kind in (OBJECT, SHARED):
        return HostLibrary(Arena(name, str(path), is_foreign=True), PEER, about)
    target = TARGETS.get((bits, machine))
    if target is None:
        raise TauError(f"{path} is {bits}-bit code for {_machine_named(machine)}", STEP, EXIT_USAGE)
    if kind != OBJECT:
        what = "a shared library" if kind == SHARED else "a linked program"
        step = "name the object or archive that it is linked from"
        raise TauError(f"{path} is {what} of {ISAS[target].title}", step, EXIT_USAGE)
    return TargetLibrary(name, target, path.resolve(), about)


def _is_object(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(ELF)) == ELF


def _head_of(path: Path) -> bytes:
    """The head of an ELF file, or of the first one in an archive. Raises TauError."""
    data = input_file.read(path, "library", FILE_BYTES_MAX)
    place, head = 0, data
    if data.startswith(ARCHIVE):
        place, head = len(ARCHIVE), b""
        while not head.startswith(ELF) and place + MEMBER_HEAD_BYTES < len(data):
            size = data[place + 48 : place + 58].strip()
            place += MEMBER_HEAD_BYTES
            head = data[place : place + MEMBER_HEAD_BYTES]
            place += (int(size) + 1) // 2 * 2 if size.isdigit() else len(data)
    if not head.startswith(ELF) or len(head) < MEMBER_HEAD_BYTES - 8:
        raise TauError(f"{path} is not an object, an archive of objects or a library", STEP)
    return head


def _machine_named(machine: int) -> str:
    from elftools.elf.enums import ENUM_E_MACHINE

    names = (name for name, number in ENUM_E_MACHINE.items() if number == machine)
    return next(names, f"machine {machine}").removeprefix("EM_")


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="tau-library-")


@functools.cache
def _shared(path: Path) -> Path:
    """The shared library of a file of this machine, linked if need be, with all functions."""
    linked = path.resolve()
    if int.from_bytes(_head_of(path)[16:18], "little") != SHARED:
        linked = Path(_folder().name) / f"{_shared.cache_info().misses}.so"
        keep = [f"-Wl,-u,{FUNCTION_PREFIX}_{verb}" for verb in ("init", *FUNCTIONS)]
        with building():
            done = build.run(["gcc", "-shared", *keep, str(path), "-o", str(linked)], "gcc")
            if done.returncode != 0:
                step = "compile it with -fPIC, and put all that it calls into it"
                raise build.BuildError(f"{path} cannot be linked", step, done.stderr)
    with elf_file.opened(linked, STEP) as elf:
        table: Any = elf.get_section_by_name(".dynsym")
        rows = list(table.iter_symbols()) if table is not None else []
    refuse_missing(f"{PREFIX}{path}", [row.name for row in rows if row["st_shndx"] != "SHN_UNDEF"])
    return linked


ARM = "gcc-arm-none-eabi libnewlib-arm-none-eabi"
PICOLIBC = Path("/usr/lib/picolibc/riscv64-unknown-elf/lib/rv32imac/ilp32/libc.a")
SYSTEMS = (
    FirstFit(
        Arena("first-fit", "libtau_core{bits}.so", "tau_first_fit"),
        PEER,
        "a first-fit list that merges, as FreeRTOS's heap_4",
    ),
    CLibrary("newlib", "m4", Path("libc.a"), "newlib's malloc, Cortex-M4", package=ARM),
    CLibrary(
        *("newlib-nano", "m4", Path("libc_nano.a"), "newlib-nano's malloc, Cortex-M4"),
        package=ARM,
        cflags=("-DWITHOUT_MEMALIGN",),
    ),
    CLibrary(
        *("picolibc", "rv32", PICOLIBC, "picolibc's malloc, RV32IMC"),
        package="picolibc-riscv64-unknown-elf",
    ),
)
