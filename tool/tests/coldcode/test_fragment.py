"""The map of a link and the placement of cold code: read, written, linked by GNU ld, refused."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tautochrone.coldcode.fragment import (
    PAGE_BYTES,
    fragment_text,
    misplaced,
    page_bytes_of,
    read_fragment,
    sha256_of,
)
from tautochrone.coldcode.link_map import (
    Piece,
    alignment_bytes,
    read_link_map,
    with_larger_sizes,
)
from tautochrone.errors import TauError

MAP = """Discarded input sections

 .text.gone     0x0000000000000000       0x10 init/main.o

Linker script and memory map

.head.text      0xffffffff80000000       0x20 load address 0x0000000000000000
 *(.head.text)
 .head.text     0xffffffff80000000       0x20 arch/riscv/kernel/head.o
                0xffffffff80000010                _start_kernel

.text           0xffffffff80002000       0x90 load address 0x0000000000002000
                0xffffffff80002000                _text = .
 *(.text .text.[0-9a-zA-Z_]* .text.fixup)
 .text.unlikely.run_init_process
                0xffffffff80002000       0x32 init/main.o
 .text.c_stop   0xffffffff80002032        0x2 arch/riscv/kernel/cpu.o
                                          0x8 (size before relaxing)
 .text.twice    0xffffffff80002034        0x4 lib/lib.a(sort.o)
 *fill*         0xffffffff80002038        0x0
 .text.empty    0xffffffff80002038        0x0 lib/lib.a(sort.o)
 .text.twice    0xffffffff80002038        0x6 lib/lib.a(sort.o)
 .text          0xffffffff80002040       0x20 arch/riscv/lib/memcpy.o
 .noinstr.text  0xffffffff80002060       0x10 kernel/entry/common.o
 .text.fixup    0xffffffff80002070       0x10 mm/extable.o

.init.text      0xffffffff80003000       0x10
 .init.text     0xffffffff80003000       0x10 init/main.o
.data           0xffffffff80004000       0x10
 .data          0xffffffff80004000       0x10 init/main.o
OUTPUT(vmlinux elf64-littleriscv)
"""
BASE = 0xFFFFFFFF80000000


def pieces_of(tmp_path: Path, text: str = MAP) -> tuple[Piece, ...]:
    """The pieces that are read from a map."""
    path = tmp_path / "vmlinux.map"
    path.write_text(text)
    return read_link_map(path)


def piece(number: int, size_bytes: int, file: str = "mm/slub.o") -> Piece:
    """A function of C."""
    return Piece(BASE + number, size_bytes, file, f".text.f{number}", ".text")


def test_a_map_is_read(tmp_path: Path) -> None:
    pieces = pieces_of(tmp_path)
    rows = [(one.section, one.object_file, one.address - BASE, one.size_bytes) for one in pieces]
    assert rows == [
        (".head.text", "arch/riscv/kernel/head.o", 0x0, 0x20),
        (".text.unlikely.run_init_process", "init/main.o", 0x2000, 0x32),
        (".text.c_stop", "arch/riscv/kernel/cpu.o", 0x2032, 0x2),
        (".text.twice", "lib/lib.a(sort.o)", 0x2034, 0xA),
        (".text", "arch/riscv/lib/memcpy.o", 0x2040, 0x20),
        (".noinstr.text", "kernel/entry/common.o", 0x2060, 0x10),
        (".text.fixup", "mm/extable.o", 0x2070, 0x10),
        (".init.text", "init/main.o", 0x3000, 0x10),
    ]
    swappable = [one.section for one in pieces if one.is_swappable]
    assert swappable == [".text.unlikely.run_init_process", ".text.c_stop", ".text.twice"]


def test_overlapping_pieces_and_other_files_are_refused(tmp_path: Path) -> None:
    overlapping = MAP.replace("0xffffffff80002032        0x2", "0xffffffff80002030        0x2")
    for text in ("", "ELF", MAP.split(".head.text  ")[0], overlapping):
        with pytest.raises(TauError, match="link map"):
            pieces_of(tmp_path, text)


@pytest.mark.parametrize("line", [-2, 20, 12])
def test_a_map_that_is_cut_is_refused(tmp_path: Path, line: int) -> None:
    """Else a plan of a part of the kernel would be made, and called one of the kernel."""
    with pytest.raises(TauError, match="not a whole link map"):
        pieces_of(tmp_path, "\n".join(MAP.split("\n")[:line]))


def test_the_larger_of_both_sizes_is_taken() -> None:
    mine, other = [piece(0, 10), piece(16, 10)], [piece(0, 14), piece(16, 6)]
    assert [one.size_bytes for one in with_larger_sizes(mine, other)] == [14, 10]


def test_the_alignment_is_that_of_all() -> None:
    assert alignment_bytes([piece(8, 1), piece(12, 1)]) == 4
    assert alignment_bytes([piece(8, 1), piece(10, 1)]) == 2
    assert alignment_bytes([]) == 64
    assert page_bytes_of([piece(0, 3), piece(4, 4)], 4) == 8


def test_a_fragment_is_read_back(tmp_path: Path) -> None:
    pages = [[piece(0, 10), piece(16, 4000, "lib/lib.a(sort.o)")], [piece(32, 5)]]
    path = tmp_path / "cold.lds"
    path.write_text(fragment_text(pages))
    read = read_fragment(path)
    assert [list(page) for page in read.pages] == pages
    assert read.sha256 == sha256_of(pages) != sha256_of(pages[:1])
    assert "\n[l]ib/lib.a:sort.o(.text.f16) /* 0xffffffff80000010 4000 */\n" in path.read_text()


def test_a_damaged_fragment_is_refused(tmp_path: Path) -> None:
    text = fragment_text([[piece(0, 10)], [piece(32, 5)]])
    path = tmp_path / "cold.lds"
    for cut in range(len(text) - 1):
        path.write_text(text[:cut])
        with pytest.raises(TauError):
            read_fragment(path)
    for place in range(0, len(text), 7):
        path.write_text(text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :])
        with pytest.raises(TauError):
            read_fragment(path)


def test_a_piece_that_is_placed_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cold.lds"
    path.write_text(fragment_text([[piece(0, 10)], [piece(0, 10)]]))
    with pytest.raises(TauError, match="placed twice"):
        read_fragment(path)


def test_misplaced_pieces_are_named() -> None:
    pages = ((piece(0, 10), piece(16, 10)), (piece(32, 5),))
    start = BASE + 0x10000
    linked = [
        Piece(start, 10, "mm/slub.o", ".text.f0", ".text.cold"),
        Piece(start + PAGE_BYTES - 4, 10, "mm/slub.o", ".text.f16", ".text.cold"),
    ]
    assert len(misplaced(pages, linked, start)) == 1
    assert ".text.f16 of mm/slub.o" in misplaced(pages, linked, start)[0]


@pytest.mark.skipif(shutil.which("riscv64-linux-gnu-gcc-12") is None, reason="no compiler")
def test_ld_places_what_the_fragment_says(tmp_path: Path) -> None:
    """Two files of one name, with functions of the same names: each lies on its own page."""
    for folder, size in (("kernel", 5), ("arch/kernel", 7)):
        (tmp_path / folder).mkdir(parents=True)
        body = "x++;" * size
        source = f"static volatile int x; static void stop(void) {{{body}}}"
        if folder == "kernel":
            source += "int other(void); int _start(void) { stop(); return other(); }"
        else:
            source += "int other(void) { stop(); return x; }"
        (tmp_path / folder / "signal.c").write_text(source)
        compiler = ["riscv64-linux-gnu-gcc-12", "-Os", "-fno-inline", "-ffunction-sections", "-c"]
        names = [f"{folder}/signal.c", "-o", f"{folder}/signal.o"]
        subprocess.run([*compiler, *names], cwd=tmp_path, check=True)
    script = "SECTIONS {{ . = 0x80000000; .text.cold : {{ {} }} .text : {{ *(.text .text.*) }} }}"
    (tmp_path / "plain.lds").write_text(script.format(""))
    (tmp_path / "placed.lds").write_text(script.format("INCLUDE cold.lds"))

    def linked(name: str) -> tuple[Piece, ...]:
        files = ["kernel/signal.o", "arch/kernel/signal.o"]
        options = ["-T", f"{name}.lds", f"-Map={name}.map", "-o", name]
        subprocess.run(["riscv64-linux-gnu-ld", *options, *files], cwd=tmp_path, check=True)
        return read_link_map(tmp_path / f"{name}.map")

    stops = [one for one in linked("plain") if one.section == ".text.stop"]
    pages = tuple((one,) for one in reversed(stops))
    (tmp_path / "cold.lds").write_text(fragment_text(pages))
    placed = linked("placed")
    assert len(stops) == 2
    assert not misplaced(pages, placed, 0x80000000)
    assert sum(one.output == ".text.cold" for one in placed) == 2
