"""The linker-script fragment that places cold code on pages. It is the placement's file, too.

The kernel's linker script includes it before .text, in a section that starts a page. Each
piece has its address and size in the kernel that was planned for, as a comment. So a placement is
read back without the map, and a recording of that kernel is replayed on it.

    /* Placement of cold code 1, sha256 of all lines below: 5f0c… */
    . = ALIGN(4096);
    [f]s/ext4/inode.o(.text.foo) /* 0xffffffff80002000 144 */
    . = ALIGN(4096);
    [m]m/slub.o(.text.bar) /* 0xffffffff80004010 4000 */

The brackets make the name a pattern that only this file matches. A file whose name is not a pattern
would be opened by ld once more. `*mm/slub.o` would match every path with this end: kernel/signal.o
and arch/riscv/kernel/signal.o have functions of the same name.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tautochrone.coldcode.link_map import Piece
from tautochrone.errors import TauError
from tautochrone.files import input_file

PAGE_BYTES = 4096
FILE_BYTES_MAX = 1 << 28
OUTPUT = ".text"
HEAD = "/* Placement of cold code 1, sha256 of all lines below: {} */\n"
HEAD_LINE = re.compile(r"/\* Placement of cold code 1, sha256 of all lines below: (\w+) \*/")
PAGE_LINE = f". = ALIGN({PAGE_BYTES});"
PIECE_LINE = re.compile(
    r"\[(?P<first>[^\s*()])\](?P<rest>[^\s:*()]*)(?::(?P<member>[^\s:*()]+))?"
    r"\((?P<section>[^\s*()]+)\)"
    r" /\* 0x(?P<address>[0-9a-f]{1,16}) (?P<size>\d{1,9}) \*/"
)
MEMBER = re.compile(r"(.+)\((.+)\)")
PLAN_AGAIN = "plan again with `tau coldcode plan`"
BESIDE_PLAN = "name the .lds file next to the plan"
Page = tuple[Piece, ...]


@dataclass(frozen=True)
class Fragment:
    """The pages of cold code, by address, and the hash that tells this placement from another.

    A piece that is larger than a page is alone on its first page; the pages it goes on are empty.
    """

    pages: tuple[Page, ...]
    sha256: str


def fragment_text(pages: Sequence[Sequence[Piece]]) -> str:
    """The text of the fragment. Equal pages give equal text."""
    lines = []
    for page in pages:
        lines += [PAGE_LINE, *map(_piece_line, page)]
    body = "".join(f"{line}\n" for line in lines)
    return HEAD.format(_sha256_of(body)) + body


def sha256_of(pages: Sequence[Sequence[Piece]]) -> str:
    """The hash that the fragment of these pages names."""
    return fragment_text(pages).partition("\n")[0].split()[-2]


def read_fragment(path: Path) -> Fragment:
    """Read a fragment. Raises TauError with the line if it is damaged or was changed by hand."""
    data = input_file.read(path, "placement", FILE_BYTES_MAX, BESIDE_PLAN)
    head, _, body = data.decode("utf-8", "replace").partition("\n")
    said = HEAD_LINE.fullmatch(head)
    if said is None:
        raise TauError(f"{path} is not a placement of cold code", BESIDE_PLAN)
    if _sha256_of(body) != said[1]:
        raise TauError(f"{path} was cut short or changed since it was written", PLAN_AGAIN)
    pages: list[list[Piece]] = []
    names = set()
    for number, line in enumerate(body.splitlines(), 2):
        row = PIECE_LINE.fullmatch(line)
        if line == PAGE_LINE:
            pages.append([])
        elif row is None or not pages:
            raise TauError(f"{path}, line {number}: neither a page nor a piece", PLAN_AGAIN)
        else:
            piece = _piece_of(row)
            if piece.name in names:
                raise TauError(f"{path}, line {number}: {line} is placed twice", PLAN_AGAIN)
            if not piece.is_swappable:
                cause = f"{piece.section} of {piece.object_file} must stay in RAM"
                raise TauError(f"{path}, line {number}: {cause}", PLAN_AGAIN)
            names.add(piece.name)
            pages[-1].append(piece)
    return Fragment(tuple(map(tuple, pages)), said[1])


def page_bytes_of(page: Sequence[Piece], alignment: int) -> int:
    """The bytes that the pieces of a page take, in this order, from the start of the page."""
    return sum(-(-piece.size_bytes // alignment) * alignment for piece in page)


def pages_of(piece: Piece) -> int:
    """The pages that a piece takes; one that is larger than a page starts a page."""
    return -(-piece.size_bytes // PAGE_BYTES)


def misplaced(pages: Sequence[Sequence[Piece]], linked: Sequence[Piece], start: int) -> list[str]:
    """How a kernel that was linked with these pages differs from the placement, in words.

    `linked` are the pieces of its map, `start` is the address of the first page.
    """
    places = {piece.name: piece for piece in linked}
    problems = []
    for number, page in enumerate(pages):
        first = start + number * PAGE_BYTES
        for piece in page:
            there = places.get(piece.name)
            if there is None:
                continue  # Nothing calls it, so the linker left it out.
            end = there.address + there.size_bytes
            if there.address < first or end > first + pages_of(piece) * PAGE_BYTES:
                where = f"{there.address:#x}, not on page {number} at {first:#x}"
                problems.append(f"{piece.section} of {piece.object_file} is at {where}")
    return problems


def _piece_line(piece: Piece) -> str:
    file = MEMBER.sub(r"\1:\2", piece.object_file)
    return f"[{file[0]}]{file[1:]}({piece.section}) /* {piece.address:#x} {piece.size_bytes} */"


def _piece_of(row: re.Match[str]) -> Piece:
    file, member = row["first"] + row["rest"], row["member"]
    name = f"{file}({member})" if member else file
    return Piece(int(row["address"], 16), int(row["size"]), name, row["section"], OUTPUT)


def _sha256_of(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
