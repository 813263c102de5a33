"""Edges between pieces: jumps against the disassembler, executions and freed code by hand."""

import re
import subprocess
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from repro.coldcode.planners.edges import edges_of, executions, jumps_of
from tautochrone.coldcode.kernel import Kernel, read_kernel
from tautochrone.coldcode.link_map import Piece
from tautochrone.coldcode.pieces import Code
from tautochrone.coldcode.recording import BLOCK, CodeRecording
from tautochrone.targets.build import TARGETS, compiler_of

BASE = 0x80200000
PAIR_BYTES = 26  # size of the code behind `pair`
# Offsets of every length and sign; then calls by two instructions, of which one pair is in a row.
FAR = ".rept 400\nc.nop\n.endr\n"
SOURCE = f"""
    .option norelax
    .type back, @function
    .type ahead, @function
    .type pair, @function
back:
    nop
    .option norvc
    beq a0, a1, back
    bltu a0, a1, ahead
    jal ra, back
    j ahead
    .option rvc
    c.j back
    c.beqz a0, back
    c.bnez a1, near
    c.j ahead
near:
    .rept 40
    c.nop
    .endr
    c.bnez a0, near
    {FAR}
    c.j near
    .option norvc
    bge a0, a1, back
    jal ahead
    .option rvc
ahead:
    ret
pair:
    auipc t0, 0xfffff
    jalr ra, 8(t0)
    auipc t0, 1
    c.nop
    jalr ra, 8(t0)
    auipc t1, 1
    jalr ra, 8(t0)
"""
LINE = re.compile(r"^ *([0-9a-f]+):\s+[0-9a-f]+\s+(\S+)\s+(?:.*,)?([0-9a-f]+) <", re.MULTILINE)
JUMPS = ("j", "jal", "c.j")


@pytest.fixture(scope="module")
def jumps(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    """The linked SOURCE."""
    folder = tmp_path_factory.mktemp("jumps")
    (folder / "code.s").write_text(SOURCE)
    command = [compiler_of("sv39"), *TARGETS["sv39"].machine, "-nostdlib", "-static"]
    command += ["-Wl,-e,0", f"-Wl,-Ttext={BASE:#x}", "code.s", "-o", "code.elf"]
    subprocess.run(command, cwd=folder, check=True)
    return read_kernel(folder / "code.elf")


def code_of(jumps: Kernel, is_freed: np.ndarray) -> Code:
    """The three functions as pieces. The first was executed nine times, the second four times."""
    starts = [jumps.symbols[name] for name in ("back", "ahead", "pair")]
    ends = [*starts[1:], starts[2] + PAIR_BYTES]
    pieces = [
        Piece(start, end - start, "a.o", f".text.{start}", ".text")
        for start, end in zip(starts, ends, strict=True)
    ]
    rows = [(starts[0], 0, 9, ends[0] - starts[0], 9, 0), (starts[1], 0, 4, 2, 1, 0)]
    recording = SimpleNamespace(blocks=np.array(rows, BLOCK))
    code = SimpleNamespace(kernel=jumps, pieces=pieces, is_freed=is_freed, recordings=[recording])
    return cast(Code, code)


def test_jumps_are_those_that_the_disassembler_shows(jumps: Kernel) -> None:
    command = ["riscv64-unknown-elf-objdump", "-d", "-M", "no-aliases", str(jumps.path)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    expected = [
        (int(site, 16), int(target, 16), name not in JUMPS)
        for site, name, target in LINE.findall(shown)
        if name.startswith(("j", "b", "c.j", "c.b")) and not name.endswith(("jr", "jalr"))
    ]
    assert len(expected) == 12
    pair = jumps.symbols["pair"]
    found = list(jumps_of(jumps.code_at(BASE, pair + PAIR_BYTES - BASE), BASE))
    assert found == [*expected, (pair + 4, pair - 0x1000 + 8, False)]


def test_a_branch_is_taken_at_most_as_often_as_its_target(jumps: Kernel) -> None:
    """One of the four ways from the first piece to the second one is a branch."""
    edges = edges_of(code_of(jumps, is_freed=np.zeros(3, bool)))
    counts = [edge.count for edge in edges if (edge.source, edge.target) == (0, 1)]
    assert sorted(counts) == [4, 9, 9, 9]


def test_an_instruction_is_executed_as_often_as_its_blocks() -> None:
    """Two blocks share the instructions at 0x104 … 0x107."""
    rows = [(0x100, 0, 5, 8, 4, 0), (0x104, 9, 7, 4, 2, 0)]
    recording = cast(CodeRecording, SimpleNamespace(blocks=np.array(rows, BLOCK)))
    addresses = np.array([0xFE, 0x100, 0x102, 0x104, 0x106, 0x108], np.uint64)
    assert executions([recording], addresses).tolist() == [0, 5, 5, 12, 12, 0]
    assert executions([recording, recording], addresses).tolist() == [0, 10, 10, 24, 24, 0]


def test_what_boot_frees_has_no_edges(jumps: Kernel) -> None:
    """Though it calls, and is called."""
    for freed in range(3):
        code = code_of(jumps, is_freed=np.arange(3) == freed)
        ends = {end for edge in edges_of(code) for end in (edge.source, edge.target)}
        assert freed not in ends and (ends == {0, 1} or freed < 2)
