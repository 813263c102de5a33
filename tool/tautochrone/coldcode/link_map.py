"""Reads the map that GNU ld writes of a kernel: which piece of code is where.

pieces = read_link_map(Path("vmlinux.map"))      # CONFIG_VMLINUX_MAP=y
swappable = [piece for piece in pieces if piece.is_swappable]

A piece is what the linker can place: a section of an object file. Only code counts.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tautochrone.errors import TauError
from tautochrone.files import input_file

FILE_BYTES_MAX = 1 << 30
BEGINNING = "Linker script and memory map"
ENDING = "OUTPUT("  # Behind all code.
STEP = "build the kernel with CONFIG_VMLINUX_MAP=y, and name vmlinux.map"
OUTPUT_SECTION = re.compile(r"(\.[\w.]+)(?:\s+0x[0-9a-f]+\s+0x[0-9a-f]+.*)?$")
PIECE = re.compile(r" ([.\w][^\s*()]*)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+) (\S.*)$")
NAME_ALONE = re.compile(r" (\.\S+)$")
CODE = re.compile(r"\.(?:\w+\.)?text\b")
FUNCTION_SECTION = ".text."
# The kernel's linker script gives these a place of its own.
NOT_FUNCTIONS = (".text.fixup", ".text.startup", ".text.exit")
ALIGNMENT_BYTES_MAX = 64


@dataclass(frozen=True, order=True)
class Piece:
    """A section of an object file. `output` is the section of the kernel that has it."""

    address: int
    size_bytes: int
    object_file: str
    section: str
    output: str

    @property
    def name(self) -> tuple[str, str]:
        """Its identity, the same in any link."""
        return self.object_file, self.section

    @property
    def is_swappable(self) -> bool:
        """Whether the linker can place it on a page of cold code: it is one function of C.

        Most code that must stay is in sections of other names (.noinstr.text, .sched.text, …), and
        assembly in `.text`. What else must stay cannot be told from the map.
        """
        is_function = self.section.startswith(FUNCTION_SECTION)
        is_late = self.output.startswith(FUNCTION_SECTION[:-1])
        return is_function and is_late and self.section not in NOT_FUNCTIONS


def read_link_map(path: Path) -> tuple[Piece, ...]:
    """The pieces of code by address. Raises TauError if it is not a kernel's map."""
    lines = input_file.read(path, "link map", FILE_BYTES_MAX).decode("utf-8", "replace").split("\n")
    pieces = sorted(_pieces_of(lines))
    if not pieces:
        raise TauError(f"{path} is not a link map of GNU ld, or has no code", STEP)
    if not any(line.startswith(ENDING) for line in lines):
        raise TauError(f"{path} is not a whole link map: it ends before {ENDING}…)", STEP)
    for before, after in zip(pieces, pieces[1:], strict=False):
        if before.address + before.size_bytes > after.address:
            cause = f"{before.section} and {after.section} overlap"
            raise TauError(f"{path} is not a valid link map: {cause}", STEP)
    return _united(pieces)


def alignment_bytes(pieces: Sequence[Piece]) -> int:
    """The alignment that all of these have: code of one compiler and one setting."""
    together = ALIGNMENT_BYTES_MAX
    for piece in pieces:
        together |= piece.address
    return together & -together


def with_larger_sizes(pieces: Sequence[Piece], others: Collection[Piece]) -> tuple[Piece, ...]:
    """PIECES, each with the largest of its sizes in several links.

    The linker shortens a call if its target is near. A piece that grew in one placement may grow in
    the next one too, so that a page planned with the smaller size would not fit.
    """
    sizes: dict[tuple[str, str], int] = {}
    for piece in others:
        sizes[piece.name] = max(piece.size_bytes, sizes.get(piece.name, 0))
    return tuple(
        replace(piece, size_bytes=max(piece.size_bytes, sizes.get(piece.name, 0)))
        for piece in pieces
    )


def _pieces_of(lines: list[str]) -> Iterator[Piece]:
    """Each row of code that is not empty. A long name stands on a line of its own."""
    output, name = "", ""
    try:
        first = lines.index(BEGINNING) + 1
    except ValueError:
        return
    for line in lines[first:]:
        section = OUTPUT_SECTION.match(line)
        if section:
            output, name = section[1], ""
            continue
        alone = NAME_ALONE.match(line)
        if alone:
            name = alone[1]
            continue
        row = PIECE.match(f" {name}{line}" if name else line)
        name = ""
        if row and CODE.match(output) and int(row[3], 16):
            yield Piece(int(row[2], 16), int(row[3], 16), row[4], row[1], output)


def _united(pieces: list[Piece]) -> tuple[Piece, ...]:
    """PIECES, joined by name, because a pattern of the linker names all of one name."""
    places: dict[tuple[str, str], int] = {}
    united: list[Piece] = []
    for piece in pieces:
        place = places.setdefault(piece.name, len(united))
        if place == len(united):
            united.append(piece)
            continue
        together = united[place].size_bytes + piece.size_bytes
        united[place] = replace(united[place], size_bytes=together)
    return tuple(united)
