"""A kernel's executable: its functions, its code, and the hash that tells it from another one."""

import difflib
import hashlib
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tautochrone.coldcode.functions import Functions
from tautochrone.errors import TauError
from tautochrone.facts import code_format as form
from tautochrone.files import elf_file, input_file

CODE_FLAGS = 0x6  # SHF_ALLOC and SHF_EXECINSTR.
NEAR_MAX = 3
RELINK = "name the kernel's ELF file with its symbols, for Linux `vmlinux`"


@dataclass(frozen=True)
class Section:
    """Code that is loaded together."""

    start: int
    content: bytes

    @property
    def end(self) -> int:
        """The address after it."""
        return self.start + len(self.content)


@dataclass(frozen=True)
class Place:
    """Where a symbol is, and its bytes."""

    address: int
    size_bytes: int


@dataclass(frozen=True)
class Symbol:
    """A symbol that begins a function. `rank` orders the names of one address: lowest is taken."""

    address: int
    rank: tuple[bool, bool, str] = field(compare=False)
    name: str = field(compare=False)


@dataclass(frozen=True)
class Kernel:
    """A kernel. `code_sha256` covers every section of code and the functions [CODE-5].

    `symbols` are the addresses of functions by name, `places` all symbols, data too.
    """

    path: Path
    functions: Functions
    sections: tuple[Section, ...]
    symbols: dict[str, int]
    places: dict[str, Place]
    code_sha256: str
    build_id: str

    def address_of(self, name: str) -> int:
        """The address of a function; TauError if there is none."""
        if name not in self.symbols:
            raise TauError(f"{self.path} has no function {name}", self.near(name))
        return self.symbols[name]

    def near(self, name: str) -> str:
        """The next step for a name that the kernel does not have."""
        found = difflib.get_close_matches(name, self.symbols, NEAR_MAX)
        step = f"correct {name}: `nm {self.path}` lists all functions"
        return f"{step}; similar names: {', '.join(found)}" if found else step

    def code_at(self, address: int, size_bytes: int) -> bytes:
        """The code there; empty if it is not in one section."""
        for section in self.sections:
            if section.start <= address and address + size_bytes <= section.end:
                offset = address - section.start
                return section.content[offset : offset + size_bytes]
        return b""


def read_kernel(path: Path) -> Kernel:
    """Read an ELF file. Raises TauError if it is not one, or has no code or no symbols."""
    input_file.check(path, "kernel")
    with elf_file.opened(path, RELINK) as elf:
        sections = _sections_of(elf)
        table = elf.get_section_by_name(".symtab")
        rows = list(table.iter_symbols()) if hasattr(table, "iter_symbols") else []
        found = _function_symbols(rows, sections)
        build_id = _build_id_of(elf)
    if not sections or not found:
        raise TauError(f"{path} has no {'symbols' if sections else 'code'}", RELINK)
    functions = _functions_of(sections, found)
    if len(functions.names) > form.FUNCTIONS_MAX:
        raise TauError(f"{path} has more than {form.FUNCTIONS_MAX:,} functions")
    digest = hashlib.sha256(functions.payload())
    for section in sections:
        digest.update(struct.pack("<QQ", section.start, len(section.content)) + section.content)
    symbols = {symbol.name: symbol.address for symbol in reversed(found)}
    places = {row.name: Place(row["st_value"], row["st_size"]) for row in rows}
    return Kernel(path, functions, sections, symbols, places, digest.hexdigest(), build_id)


def _sections_of(elf: Any) -> tuple[Section, ...]:
    """The sections of code, by address."""
    found = [
        Section(section["sh_addr"], section.data())
        for section in elf.iter_sections()
        if section["sh_flags"] & CODE_FLAGS == CODE_FLAGS
        and section["sh_type"] == "SHT_PROGBITS"
        and section["sh_size"]
    ]
    found.sort(key=lambda section: section.start)
    if any(before.end > after.start for before, after in zip(found, found[1:], strict=False)):
        raise ValueError("sections of code overlap")
    if found and found[-1].end > 1 << 64:
        raise ValueError("code ends beyond 64-bit addresses")
    return tuple(found)


def _function_symbols(rows: list[Any], sections: tuple[Section, ...]) -> list[Symbol]:
    """Where functions begin: symbols of functions, and sized ones of assembly, in code."""
    found = []
    for symbol in rows:
        kind, address = symbol["st_info"]["type"], symbol["st_value"]
        is_start = kind == "STT_FUNC" or (kind == "STT_NOTYPE" and symbol["st_size"] > 0)
        if not is_start or not any(one.start <= address < one.end for one in sections):
            continue
        is_weak = symbol["st_info"]["bind"] != "STB_GLOBAL"
        rank = (kind != "STT_FUNC", is_weak, symbol.name)
        found.append(Symbol(address, rank, symbol.name))
    return sorted(found, key=lambda symbol: (symbol.address, symbol.rank))


def _functions_of(sections: tuple[Section, ...], symbols: list[Symbol]) -> Functions:
    """One function from each address with a symbol to the next one, or the section's end."""
    names: dict[int, str] = {}
    for symbol in symbols:
        names.setdefault(symbol.address, symbol.name)
    for section in sections:
        names.setdefault(section.start, "")
    starts = np.array(sorted(names), np.uint64)
    begins = np.array([section.start for section in sections], np.uint64)
    section_ends = np.array([section.end for section in sections], np.uint64)
    ends = section_ends[np.searchsorted(begins, starts, side="right") - 1]
    ends[:-1] = np.minimum(ends[:-1], starts[1:])
    sizes = ends - starts
    if sizes.max() > form.FUNCTION_BYTES_MAX:
        raise TauError(f"a function has more than {form.FUNCTION_BYTES_MAX:,} bytes", RELINK)
    return Functions(starts, sizes, tuple(names[start] for start in starts.tolist()))


def _build_id_of(elf: Any) -> str:
    """The linker's build id in hexadecimal; empty if there is none."""
    section = elf.get_section_by_name(".note.gnu.build-id") or elf.get_section_by_name(".notes")
    for note in section.iter_notes() if hasattr(section, "iter_notes") else ():
        if note["n_type"] == "NT_GNU_BUILD_ID":
            return str(note["n_desc"])
    return ""
