"""Kernels for tests: one of which every function is cold that can be placed, and first programs."""

import subprocess
from dataclasses import replace
from pathlib import Path

from tautochrone.coldcode.fragment import fragment_text
from tautochrone.coldcode.link_map import read_link_map, with_larger_sizes
from tautochrone.coldcode.linux.build import Built, Wish, build, compiler_tools
from tautochrone.coldcode.linux.initramfs import EXECUTABLE, FLAGS, FOLDER, Entry, archive
from testing.code_kernel import in_link_order

ROOT = Path(__file__).resolve().parents[3]
FIRST = ".text.ksys_read"
HOSTILE = Path(__file__).resolve().parent / "programs" / "hostile"


def all_cold(wish: Wish, plain: Built, folder: Path) -> Built:
    """A kernel of which every function leaves RAM that can be placed, hot ones too.

    The first byte of cold code is one that is executed.
    """
    pieces = read_link_map(plain.link_map)
    for _ in range(2):
        swappable = [piece for piece in pieces if piece.is_swappable]
        swappable.sort(key=lambda piece: piece.section != FIRST)
        placement = folder / "all.lds"
        placement.write_text(fragment_text(in_link_order(swappable)))
        built = build(replace(wish, placement=placement))
        pieces = with_larger_sizes(pieces, read_link_map(built.link_map))
    return built


def cold_names(placement: Path) -> set[str]:
    """The functions that a fragment names."""
    text = placement.read_text()
    return {line.partition("(.text.")[2].partition(")")[0] for line in text.splitlines()}


def hostile_initramfs(folder: Path, parts: int, seed: int, rounds: int) -> Path:
    """The archive with the hostile program: bits of its PARTS, and ROUNDS of its fuzzer."""
    folder.mkdir(exist_ok=True)
    program = folder / "init"
    command = [compiler_tools()["compiler"], *FLAGS, f"-I{ROOT}", f"-DTAU_PARTS={parts}"]
    command += [f"-DTAU_SEED={seed}", f"-DTAU_ROUNDS={rounds}", "-o", str(program)]
    command += sorted(map(str, HOSTILE.glob("*.c")))
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    entries = [Entry("dev", FOLDER), Entry("init", EXECUTABLE, program.read_bytes())]
    path = folder / "initramfs.cpio"
    path.write_bytes(archive(entries))
    return path
