"""The loader's reading of executables: each kind of bad input is refused by its reason.

The good file is a neighbor, as `tautochrone.compose` links it; each bad one differs from it in one
field. The fuzzer changes fields at random, under both sanitizers.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from tautochrone.compose import code
from tautochrone.declarations import Library

from kernel.tests.host.host_build import ROOT, SANITIZERS, build, build_library, counts_of, run

SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
CHANGES = 200_000
NEIGHBOR = ROOT / "kernel/systems/neighbors/neighbor.c"
SOURCES = ["kernel/slots/executable.c"]
PROGRAMS = 52  # where the program headers are: after the ELF header
WORDS = 8  # in a program header: type, offset, address, -, file bytes, memory bytes, flags, align
LOAD, NOTE = 1, 4
REASONS_MIN = 14


class Good:
    """A good executable, its base code's hash, and the reader."""

    def __init__(self, folder: Path) -> None:
        base = code.base_code(ROOT, folder)
        made = code.application(ROOT, "neighbor", [NEIGHBOR], base, folder, page_bytes=1024)
        self.content = made.read_bytes()
        self.path = made
        self.hash = struct.unpack("<8I", code.base_hash(base))
        self.library = Library(build_library(folder / "executable.so", SOURCES))

    def answer(self, content: bytes, hash_words: tuple[int, ...] | None = None) -> str | None:
        """Why CONTENT is refused; None if it is not."""
        words = self.library.array("u32", hash_words or self.hash)
        out = self.library.struct("tau_executable")()
        said = self.library.tau_executable_read(out, content, len(content), words)
        return None if said is None else said.decode()

    def program(self, kind: int, number: int = 0) -> int:
        """Where the NUMBER-th program header of a kind is."""
        count = struct.unpack_from("<H", self.content, 44)[0]
        places = [PROGRAMS + 4 * WORDS * i for i in range(count)]
        return [at for at in places if self.word(at) == kind][number]

    def word(self, place: int) -> int:
        """The word at a place."""
        return struct.unpack_from("<I", self.content, place)[0]

    def changed(self, *fields: tuple[int, int]) -> bytes:
        """The file with other words at some places."""
        content = bytearray(self.content)
        for place, value in fields:
            struct.pack_into("<I", content, place, value)
        return bytes(content)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Good:
    """One for all tests."""
    return Good(tmp_path_factory.mktemp("executable"))


def test_the_good_one_is_accepted(good: Good) -> None:
    assert good.answer(good.content) is None
    assert good.word(28) == PROGRAMS


CASES: dict[str, tuple[Callable[[Good], tuple[tuple[int, int], ...]], str]] = {
    "class": (lambda g: ((4, 0x00010102),), "not an ELF32 executable"),
    "byte order": (lambda g: ((4, 0x00010201),), "not an ELF32 executable"),
    "machine": (lambda g: ((16, 0x00280002),), "not an ELF32 executable"),
    "type": (lambda g: ((16, 0x00F30003),), "not an ELF32 executable"),
    "headers outside": (lambda g: ((28, 0xFFFFFFF0),), "headers are not inside"),
    "headers unaligned": (lambda g: ((28, PROGRAMS + 2),), "headers are not inside"),
    "too many headers": (lambda g: ((44, 0x0028FFFF),), "headers are not inside"),
    "offset overflows": (lambda g: ((g.program(LOAD) + 4, 0xFFFFFFFC),), "not inside the file"),
    "size overflows": (
        lambda g: ((g.program(LOAD) + 16, 0xFFFFFFFC), (g.program(LOAD) + 20, 0xFFFFFFFC)),
        "not inside the file",
    ),
    "memory less than file": (lambda g: ((g.program(LOAD) + 20, 4),), "not inside the file"),
    "memory overflows": (lambda g: ((g.program(LOAD) + 20, 0xFFFFFFF0),), "outside the addresses"),
    "behind the window": (
        lambda g: ((g.program(LOAD) + 8, 0xFFFFFFF0),),
        "outside the addresses",
    ),
    "page 0": (lambda g: ((g.program(LOAD) + 8, 0x80000000),), "outside the addresses"),
    "base code": (lambda g: ((g.program(LOAD) + 8, 0x80004000),), "outside the addresses"),
    "a FIFO": (lambda g: ((g.program(LOAD) + 8, 0x80010000),), "outside the addresses"),
    "the kernel": (lambda g: ((g.program(LOAD) + 8, 0x00100000),), "outside the addresses"),
    "unaligned": (lambda g: ((g.program(LOAD) + 8, 0x80100002),), "not aligned"),
    "writable code": (lambda g: ((g.program(LOAD) + 24, 7),), "writable and executable"),
    "overlap": (
        lambda g: ((g.program(LOAD, 1) + 8, g.word(g.program(LOAD) + 8)),),
        "segments overlap",
    ),
    "no note": (lambda g: ((g.program(NOTE), 0),), "no note"),
    "note outside": (lambda g: ((g.program(NOTE) + 4, 0xFFFFFFFC),), "note is not inside"),
    "note's version": (lambda g: ((g.word(g.program(NOTE) + 4) + 16, 99),), "different version"),
    "no tasks": (lambda g: ((g.word(g.program(NOTE) + 4) + 20, 0),), "no tasks, or too many"),
    "many tasks": (lambda g: ((g.word(g.program(NOTE) + 4) + 20, 9),), "no tasks, or too many"),
    "base code's hash": (lambda g: ((g.word(g.program(NOTE) + 4) + 24, 0),), "different base code"),
    "entry outside": (
        lambda g: ((g.word(g.program(NOTE) + 4) + 56, 0x80004000),),
        "entry is not code",
    ),
    "entry in data": (
        lambda g: ((g.word(g.program(NOTE) + 4) + 56, g.word(g.program(LOAD, 1) + 8)),),
        "entry is not code",
    ),
    "stack in code": (
        lambda g: ((g.word(g.program(NOTE) + 4) + 60, g.word(g.program(LOAD) + 8) + 16),),
        "stack does not end",
    ),
    "stack of 8 bytes more": (
        lambda g: ((at := g.word(g.program(NOTE) + 4) + 60, g.word(at) + 8),),
        "stack_bytes of TAU_TASK must be a multiple of 16",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_bad_one_is_refused_by_its_reason(good: Good, name: str) -> None:
    fields, reason = CASES[name]
    said = good.answer(good.changed(*fields(good)))
    assert said is not None and reason in said, said


def test_no_byte_outside_is_read(good: Good, tmp_path: Path) -> None:
    """Every shorter file, and files with up to eight changes."""
    base_hash = ",".join(f"{word:#x}u" for word in good.hash)
    sources = ["kernel/tests/host/fuzz_executable.c", *SOURCES]
    program = build(tmp_path / "fuzz", sources, [*SANITIZERS, f"-DBASE_HASH={base_hash}"])
    shorter = counts_of(run(program, "truncations", good.path))
    assert sum(shorter.values()) == len(good.content) + 1
    print("seed", SEED)
    changed = counts_of(run(program, "mutations", SEED, CHANGES, good.path))
    print(changed)
    assert len(shorter.keys() | changed.keys()) >= REASONS_MIN and changed["accepted"] > 1
