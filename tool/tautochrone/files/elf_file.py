"""Reads ELF files that may be damaged: whatever pyelftools raises of one is one error."""

from __future__ import annotations

import bisect
import contextlib
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tautochrone.errors import EXIT_FAILED, TauError

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

# zlib's best, so a section that claims to unpack to more is damaged.
DEFLATE_RATIO_MAX = 1032
PAGE_MASK = 0xFFF


class Functions(NamedTuple):
    """The functions of a file by address; `ends` are the addresses behind them."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    names: tuple[str, ...]

    def at(self, address: int) -> str:
        """The function with the byte at an address; empty if no symbol covers it."""
        place = bisect.bisect_right(self.starts, address) - 1
        return self.names[place] if place >= 0 and address < self.ends[place] else ""


def _unsound() -> tuple[type[Exception], ...]:
    """The exceptions that pyelftools raises for a file that contradicts itself."""
    from elftools.common.exceptions import DWARFError, ELFError
    from elftools.construct.core import ConstructError

    return (
        *(ELFError, DWARFError, ConstructError, struct.error, zlib.error, AssertionError),
        *(ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError),
        *(EOFError, NotImplementedError, OSError),  # OSError: of a seek beyond what a file can have
    )


@contextlib.contextmanager
def opened(path: Path, step: str, exit_code: int = EXIT_FAILED) -> Iterator[ELFFile]:
    """Yield an ELF file, to be read in the block.

    Fails (TauError with the next step `step`) if and only if the file cannot be opened, or is found
    damaged here or in the block. A table that claims more than the file has is found here.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        with open(path, "rb") as file:
            elf = ELFFile(file)
            _check_extent(elf, path.stat().st_size)
            yield elf
    except _unsound() as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        is_told = isinstance(error, (ValueError, OSError, ELFError))
        cause = str(error).split("\n")[0] if is_told else "its tables contradict each other"
        raise TauError(f"{path} is not a valid ELF file: {cause}", step, exit_code) from error


def _check_extent(elf: Any, file_bytes: int) -> None:
    """Raise ValueError for a part that claims more than the file, before memory is taken for it."""
    for section in elf.iter_sections():
        held = 0 if section["sh_type"] == "SHT_NOBITS" else section["sh_size"]
        is_outside = section["sh_offset"] + held > file_bytes and held > 0
        if is_outside or section.data_size > DEFLATE_RATIO_MAX * file_bytes and held > 0:
            raise ValueError(f"section {section.name} is larger than the file")
    for segment in elf.iter_segments():
        if segment["p_offset"] + segment["p_filesz"] > file_bytes and segment["p_filesz"] > 0:
            raise ValueError(f"a segment of {segment['p_filesz']:,} bytes is larger than the file")


def functions_of(elf: Any) -> Functions:
    """The functions that symbols name; of several for one address the first by the alphabet.

    A stripped file has dynamic symbols only. A symbol without a size covers all up to the next.
    """
    table = elf.get_section_by_name(".symtab") or elf.get_section_by_name(".dynsym")
    found: dict[int, tuple[str, int]] = {}
    for symbol in table.iter_symbols() if hasattr(table, "iter_symbols") else ():
        if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_shndx"] != "SHN_UNDEF":
            one = (symbol.name, symbol["st_size"])
            found[symbol["st_value"]] = min(found.get(symbol["st_value"], one), one)
    starts = tuple(sorted(found))
    ends = [
        start + found[start][1] if found[start][1] else after
        for start, after in zip(starts, (*starts[1:], 1 << 64), strict=False)
    ]
    return Functions(starts, tuple(ends), tuple(found[start][0] for start in starts))


def build_id_of(elf: Any) -> str:
    """The linker's build id in hexadecimal; empty if there is none."""
    notes = [section for section in elf.iter_sections() if hasattr(section, "iter_notes")]
    for part in notes or elf.iter_segments("PT_NOTE"):
        for note in part.iter_notes():
            if note["n_type"] == "NT_GNU_BUILD_ID":
                return str(note["n_desc"])
    return ""


def end_address_of(elf: Any) -> int:
    """The linked address behind the last byte that is loaded."""
    return max((one["p_vaddr"] + one["p_memsz"] for one in elf.iter_segments("PT_LOAD")), default=0)


def first_address_of(elf: Any) -> int:
    """The linked address of the first page that is loaded."""
    loads = [one["p_vaddr"] for one in elf.iter_segments("PT_LOAD")]
    return int(min(loads, default=0)) & ~PAGE_MASK
