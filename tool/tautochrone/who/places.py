"""Names the functions and lines of call sites: which file a module is, and whether it is the same.

places = Places(reader.header, elf)
places.named(reader.sites())                  # a Place for each site
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from tautochrone.console.terminal import in_one_line
from tautochrone.errors import TauError
from tautochrone.files import elf_file, input_file
from tautochrone.files.elf_file import build_id_of
from tautochrone.who.lines import Frame
from tautochrone.who.symbols import STEP, demangled, told_of

Site = tuple[str, int]  # Module and offset.

# Whose offsets count from the module's first page. Those of others are linked addresses.
FROM_FIRST_PAGE = ("preload", "csv")
LIBRARY_FOLDERS = ("/usr/include/", "/usr/lib/", "/rustc/")
LIBRARY_PARTS = (
    "/include/c++/",
    "/ports/cpp/tautochrone.hpp",
    "/rustlib/src/rust/library/",
    "/ports/rust/",
)
# Rust makes this function where a program declares its allocator.
RUST_ALLOCATOR = "::__rust_"
# Symbols whose addresses record_wrap.c hashes, in its order; one that the linker lacks counts as 0.
IMAGE_START, IMAGE_FREES = "tau_record_start", ("free", "vPortFree", "k_free")
IMAGE_ENDS = ("etext", "_etext", "__etext", "end", "_end")
IMAGE_SYMBOLS = (IMAGE_START, *IMAGE_FREES, *IMAGE_ENDS)
FNV_START, FNV_FACTOR, MASK = 0x811C9DC5, 0x01000193, 0xFFFFFFFF
NAME_IT = "name the recorded program or firmware with --elf"
HASH_DIGITS_MAX = 40  # of a build id in a recording


@dataclass(frozen=True)
class Place:
    """A call site. `frames` are the function and line of the call, and the calls that the compiler
    inlined there, the innermost first; empty if the module tells nothing.
    """

    module: str
    offset: int
    frames: tuple[Frame, ...] = ()

    @property
    def frame(self) -> Frame:
        """The innermost frame in the program's own code: outside of the compiler's and system's
        headers. If there is none, the outermost one: the function that the linker knows.
        """
        own = (one for one in self.frames if _is_own(one))
        return next(own, self.frames[-1] if self.frames else Frame("", "", 0))

    @property
    def has_own_line(self) -> bool:
        """Whether the line is one of the program's own code."""
        return bool(self.frame.line) and _is_own(self.frame)

    @property
    def at(self) -> str:
        """FILE:LINE, or the module where the line is not known."""
        frame = self.frame
        if frame.file:
            file = PurePath(frame.file).name if _is_library(frame.file) else frame.file
            while file.startswith("../"):
                file = file[3:]
            return f"{file}:{frame.line}" if frame.line else file
        module = PurePath(self.module).name
        return module if frame.function and module else f"{module}+{self.offset:#x}"

    def document(self) -> dict[str, Any]:
        """Return its part of a JSON document; null for what is not known."""
        return {name: value or None for name, value in self.frame._asdict().items()}

    def told(self) -> str:
        """The place in one line."""
        function = self.frame.function
        text = f"{function} ({self.at})" if function and self.at else function or self.at
        return in_one_line(text)


def _is_library(file: str) -> bool:
    return file.startswith(LIBRARY_FOLDERS) or any(part in file for part in LIBRARY_PARTS)


def _is_own(frame: Frame) -> bool:
    return bool(frame.file) and not _is_library(frame.file) and RUST_ALLOCATOR not in frame.function


@dataclass
class Places:
    """Names sites of one recording, by its header. `elf` is the file of the program or firmware.

    `remarks` says of modules, and of the comparison with the recording, what is not known.
    """

    header: Mapping[str, Any]
    elf: Path | None = None
    remarks: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise TauError if ELF is not the recorded program, or not a valid ELF file."""
        if self.elf is not None:
            input_file.check(self.elf, "program")
            self._compare(self.elf)

    @property
    def program(self) -> str:
        """The path of the recorded program; empty if the recording names none."""
        return str(self.header.get("program") or "")

    def named(self, sites: Sequence[Site]) -> list[Place]:
        """The place of each site, in the same order."""
        offsets: dict[str, list[int]] = {}
        for module, offset in sites:
            offsets.setdefault(module, []).append(offset)
        frames: dict[Site, tuple[Frame, ...]] = {}
        for module, mine in offsets.items():
            for offset, found in self._frames(module, mine).items():
                frames[module, offset] = found
        plain = demangled([one.function for found in frames.values() for one in found])
        return [
            Place(*site, tuple(
                one._replace(function=plain.get(one.function, one.function))
                for one in frames.get(site, ())
            ))
            for site in sites
        ]  # fmt: skip

    def _frames(self, module: str, offsets: Iterable[int]) -> dict[int, tuple[Frame, ...]]:
        """The frames of a module's sites; empty with a remark if its file tells nothing."""
        is_own = self._is_own(module)
        path = self.elf if is_own and self.elf is not None else Path(module)
        step = f"; {NAME_IT}" if is_own and self.elf is None else ""
        try:
            if path is not self.elf:
                self._refuse_unusable(path, is_own)
            told = told_of(path, offsets, self.header.get("recorder") in FROM_FIRST_PAGE)
        except OSError as error:
            self.remarks[module] = f"cannot be read: {error.strerror}{step}"
        except TauError as error:
            if path is self.elf:
                raise
            self.remarks[module] = error.message.removeprefix(f"{path} ") + step
        else:
            if told.remark:
                copy = ", or name an unstripped copy with --elf" if step else ""
                self.remarks[module] = told.remark + (f"; {STEP}{copy}" if is_own else "")
            return told.frames
        return {}

    def _is_own(self, module: str) -> bool:
        """Whether a module is the program, or a firmware that names none."""
        program = self.header.get("program")
        name = PurePath(module).name
        is_firmware = not module and self.header.get("recorder") != "preload"
        is_named = self.elf is not None and name == self.elf.name
        return is_firmware or module == program != "" or is_named

    def _compare(self, path: Path) -> None:
        """Compare --elf with the recording, and say so if that cannot be done."""
        with elf_file.opened(path, STEP) as elf:
            build_id = build_id_of(elf)
            images = images_of(elf)
        known, image = self._build_id, self.header.get("image")
        if not known and isinstance(image, str) and images:
            if image not in images:
                raise TauError(
                    f"{path} is not the recorded firmware: its functions have other addresses",
                    f"{NAME_IT}, or record this one",
                )
        elif not known and isinstance(image, str):
            self.remarks[str(path)] = (
                f"has no {IMAGE_START}, so it may not be the firmware that recorded: then the lines"
                " are wrong"
            )
        elif not known:
            self.remarks[str(path)] = (
                "cannot be compared with the recording, which names no build: if it is another"
                " build, the lines are wrong"
            )
        elif known != build_id[:HASH_DIGITS_MAX]:
            raise TauError(
                f"{path} is not the recorded program: it {_has(build_id)}, the recording names"
                f" {known}",
                f"{NAME_IT}, or record this one",
            )

    @property
    def _build_id(self) -> str:
        known = self.header.get("build_id")
        return known.lower() if isinstance(known, str) else ""

    def _refuse_unusable(self, path: Path, is_own: bool) -> None:
        """Raise TauError for a module that is not there, or has changed since it was recorded."""
        if not path.is_absolute():
            raise TauError("no file is known")
        if not path.is_file():
            raise TauError("missing")
        if is_own and self._build_id:
            with elf_file.opened(path, STEP) as elf:
                build_id = build_id_of(elf)
            if build_id[:HASH_DIGITS_MAX] != self._build_id:
                raise TauError(
                    f"has changed since: it {_has(build_id)}, the recording names"
                    f" {self._build_id}"
                )
            return
        started_ns = self.header.get("started_unix_ns")
        if isinstance(started_ns, int) and path.stat().st_mtime_ns > started_ns > 0:
            raise TauError("has changed since it was recorded (it is newer)")


def images_of(elf: Any) -> list[str]:
    """The numbers by which a recording may name this firmware; core/ports/record_wrap.c has the
    hash. Empty if a symbol is missing, as in a stripped file.
    """
    table = elf.get_section_by_name(".symtab")
    addresses: dict[str, int] = {}
    for symbol in table.iter_symbols() if table is not None else ():
        if symbol.name in IMAGE_SYMBOLS and symbol["st_shndx"] != "SHN_UNDEF":
            addresses[symbol.name] = symbol["st_value"]
    found = []
    for free in IMAGE_FREES:
        hashed = FNV_START
        for name in (IMAGE_START, free, *IMAGE_ENDS):
            hashed = (hashed ^ addresses.get(name, 0) & MASK) * FNV_FACTOR & MASK
        if IMAGE_START in addresses and free in addresses:
            found.append(f"{hashed or 1:08x}")
    return found


def _has(build_id: str) -> str:
    return f"has build id {build_id}" if build_id else "has no build id"
