"""Reads the headers and the dynamic symbols of an ELF program that is about to start.

Only headers, names of sections and the dynamic symbols are read, the rest of the file never. To
load pyelftools takes longer than that, and it parses a program's whole hash table.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, NamedTuple

from tautochrone.errors import TauError

MAGIC = b"\x7fELF"
BITS = {1: 32, 2: 64}  # by the byte EI_CLASS
ORDERS = {1: "<", 2: ">"}  # by the byte EI_DATA
# The machines whose programs run without a note, by e_machine; pyelftools names the others.
MACHINES = {62: "EM_X86_64", 183: "EM_AARCH64", 243: "EM_RISCV"}
INTERPRETER, DYNAMIC_SYMBOLS, NO_BITS = 3, 11, 8  # PT_INTERP, SHT_DYNSYM, SHT_NOBITS
SECTION_UNDEFINED = 0
# By bits: the header from e_type, a segment and a section as far as they are read, and a symbol's
# name and section.
HEADER = {32: "HHIIIIIHHHHHH", 64: "HHIQQQIHHHHHH"}
SEGMENT = {32: "I I 8x I 12x", 64: "I 4x Q 16x Q 16x"}
SECTION = {32: "I I 8x I I I 12x", 64: "I I 16x Q Q I 20x"}
SYMBOL = {32: "I 10x H", 64: "I 2x H 16x"}


class Section(NamedTuple):
    """A section's header."""

    name: int  # its place in the table of names
    kind: int
    offset: int
    size_bytes: int
    link: int


class Program(NamedTuple):
    """What the start asks of a file; `defines` says of each dynamic symbol asked for, if it has
    it, whether the file defines it.
    """

    machine: str
    bits: int
    interpreter: str  # empty if it names none
    sections: frozenset[str]
    defines: dict[str, bool]


def read(path: Path, step: str, exit_code: int, names: Iterable[str] = ()) -> Program:
    """Read a program, with those of `names` that the dynamic linker sees.

    Raises OSError if it cannot be opened, TauError with the next step if it is damaged.
    """
    with open(path, "rb") as file:
        try:
            return _Reader(file).program(names)
        except (ValueError, struct.error, IndexError) as error:
            is_told = type(error) is ValueError
            cause = str(error) if is_told else "its tables contradict each other"
            raise TauError(f"{path} is not a valid ELF file: {cause}", step, exit_code) from error


class _Reader:
    """Parts of an open file. Raises ValueError for one that claims more than the file has, before
    memory is taken for it.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.file_bytes = os.fstat(file.fileno()).st_size
        ident = self.part("its header", 0, 16)
        self.bits, self.order = BITS.get(ident[4], 0), ORDERS.get(ident[5], "")
        if ident[:4] != MAGIC or not self.bits or not self.order:
            raise ValueError("its first bytes name no class or order of bytes")

    def part(self, name: str, offset: int, size_bytes: int) -> bytes:
        """A part of the file."""
        self.check(name, offset, size_bytes)
        return os.pread(self.file.fileno(), size_bytes, offset) if size_bytes > 0 else b""

    def check(self, name: str, offset: int, size_bytes: int) -> None:
        """Raise ValueError if it is not in the file."""
        if size_bytes > 0 and offset + size_bytes > self.file_bytes:
            raise ValueError(f"{name} is larger than the file")

    def rows(
        self, name: str, form: str, offset: int, count: int, row_bytes: int
    ) -> list[tuple[int, ...]]:
        """The rows of a table of headers."""
        row = struct.Struct(self.order + form)
        data = self.part(name, offset, count * row_bytes)
        return [row.unpack_from(data, number * row_bytes) for number in range(count)]

    def program(self, names: Iterable[str]) -> Program:
        """The program."""
        form = self.order + HEADER[self.bits]
        head = struct.unpack(form, self.part("its header", 16, struct.calcsize(form)))
        machine, segments_at, sections_at = head[1], head[4], head[5]
        segment_bytes, segments, section_bytes, sections_count, names_in = head[8:13]
        interpreter = ""
        for kind, offset, size_bytes in self.rows(
            "its table of segments", SEGMENT[self.bits], segments_at, segments, segment_bytes
        ):
            self.check(f"a segment of {size_bytes:,} bytes", offset, size_bytes)
            if kind == INTERPRETER:
                text = self.part("its interpreter", offset, size_bytes)
                interpreter = os.fsdecode(text.partition(b"\0")[0])
        found = [
            Section(*row)
            for row in self.rows(
                *("its table of sections", SECTION[self.bits], sections_at),
                *(sections_count, section_bytes),
            )
        ]
        texts = self.data("its table of names", found[names_in]) if found else b""
        told = [os.fsdecode(texts[one.name :].partition(b"\0")[0]) for one in found]
        for name, one in zip(told, found, strict=True):
            if one.kind != NO_BITS:
                self.check(f"section {name}", one.offset, one.size_bytes)
        symbols = next((one for one in found if one.kind == DYNAMIC_SYMBOLS), None)
        defines = self.defines(names, symbols, found) if symbols is not None else {}
        return Program(machine_name(machine), self.bits, interpreter, frozenset(told), defines)

    def data(self, name: str, section: Section) -> bytes:
        """A section's content."""
        return self.part(name, section.offset, section.size_bytes)

    def defines(
        self, names: Iterable[str], symbols: Section, sections: list[Section]
    ) -> dict[str, bool]:
        """As Program. It finds the names in the table of strings and compares places, since to
        decode each of a large program's 150,000 symbols with pyelftools takes a second.
        """
        texts = self.data("its table of strings", sections[symbols.link])
        of_place = {place: name for name in names for place in _places(texts, name)}
        if not of_place:
            return {}
        symbol = struct.Struct(self.order + SYMBOL[self.bits])
        data = self.data("its table of symbols", symbols)
        return {
            of_place[place]: section != SECTION_UNDEFINED
            for place, section in symbol.iter_unpack(data[: len(data) // symbol.size * symbol.size])
            if place in of_place
        }


def _places(texts: bytes, name: str) -> Iterable[int]:
    """Where a name may begin; names may share their ends."""
    wanted = name.encode() + b"\0"
    place = texts.find(wanted)
    while place >= 0:
        yield place
        place = texts.find(wanted, place + 1)


def machine_name(number: int) -> str:
    """The name of an e_machine."""
    if number in MACHINES:
        return MACHINES[number]
    from elftools.elf.enums import ENUM_E_MACHINE

    names = {value: name for name, value in ENUM_E_MACHINE.items() if name != "_default_"}
    return str(names.get(number, number))
