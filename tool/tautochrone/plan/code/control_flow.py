"""The direct control flow between pieces: jumps and calls in RISC-V code, and their executions.

A recording counts blocks. An instruction was executed as often as all blocks that hold it. A jump
or call is taken as often as it is executed; a conditional branch to another piece, at most as often
as it is executed, and as its target is. Calls through registers are not seen, as in the paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tautochrone.coldcode.link_map import Piece
from tautochrone.coldcode.recording import CodeRecording
from tautochrone.errors import TauError
from tautochrone.plan.code.cold import Edge
from tautochrone.plan.code.pieces import Code

RISCV = b"\xf3\x00"  # e_machine, little-endian
JAL, BRANCH, JALR, AUIPC = 0x6F, 0x63, 0x67, 0x17
COMPRESSED_JUMP, COMPRESSED_BRANCHES = 0xA001, (0xC001, 0xE001)


def edges_of(code: Code) -> list[Edge]:
    """An edge for each instruction that leads from one piece to another, in RAM after boot."""
    with open(code.kernel.path, "rb") as file:
        head = file.read(20)
    if head[18:20] != RISCV:
        step = "choose the planner link-order or replayed"
        raise TauError(f"{code.kernel.path} is no RISC-V code: its calls cannot be read", step)
    sources, targets, sites, is_branch = _jumps(code)
    starts = np.array([piece.address for piece in code.pieces], np.uint64)
    ends = starts + np.array([piece.size_bytes for piece in code.pieces], np.uint64)
    to = np.searchsorted(starts, targets, side="right") - 1
    is_inside = (to >= 0) & (targets < ends[np.maximum(to, 0)]) & (to != sources)
    is_inside &= ~code.is_freed[np.maximum(to, 0)]
    counts = executions(code.recordings, sites)
    at_target = executions(code.recordings, targets)
    counts = np.where(is_branch, np.minimum(counts, at_target), counts)
    rows = zip(sources[is_inside], to[is_inside], counts[is_inside], strict=True)
    return [Edge(int(source), int(target), int(count)) for source, target, count in rows]


def executions(recordings: Sequence[CodeRecording], addresses: np.ndarray) -> np.ndarray:
    """How often the instructions at these addresses were executed in steady state."""
    total = np.zeros(len(addresses), np.int64)
    for recording in recordings:
        blocks = recording.blocks
        starts, counts = blocks["start"], blocks["steady"].astype(np.int64)
        ends = starts + blocks["bytes"]
        order = np.argsort(ends, kind="stable")
        begun = np.concatenate(([0], np.cumsum(counts)))
        ended = np.concatenate(([0], np.cumsum(counts[order])))
        total += begun[np.searchsorted(starts, addresses, side="right")]
        total -= ended[np.searchsorted(ends[order], addresses, side="right")]
    return total


def _jumps(code: Code) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of each jump, call and branch: the piece it is in, its target, its address, whether it is
    conditional."""
    rows = [
        (number, target, site, is_branch)
        for number, piece in enumerate(code.pieces)
        if not code.is_freed[number]
        for site, target, is_branch in jumps_of(_content(code, piece), piece.address)
    ]
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    kinds = np.int64, np.uint64, np.uint64, bool
    sources, targets, sites, is_branch = map(np.array, columns, kinds)
    return sources, targets, sites, is_branch


def _content(code: Code, piece: Piece) -> bytes:
    return code.kernel.code_at(piece.address, piece.size_bytes)


def jumps_of(content: bytes, address: int) -> Iterator[tuple[int, int, bool]]:
    """The address and target of each direct jump in code at ADDRESS, and whether it is conditional.
    """
    at, upper = 0, {}
    while at + 2 <= len(content):
        half = int.from_bytes(content[at : at + 2], "little")
        if half & 3 != 3:
            if half & 0xE003 == COMPRESSED_JUMP:
                yield address + at, _wrapped(address + at + _compressed_jump(half)), False
            elif half & 0xE003 in COMPRESSED_BRANCHES:
                yield address + at, _wrapped(address + at + _compressed_branch(half)), True
            at += 2
            continue
        word = int.from_bytes(content[at : at + 4], "little")
        opcode = word & 0x7F
        if opcode == JAL:
            yield address + at, _wrapped(address + at + _jal(word)), False
        elif opcode == BRANCH:
            yield address + at, _wrapped(address + at + _branch(word)), True
        elif opcode == AUIPC:
            upper = {word >> 7 & 31: (at, _signed(word & 0xFFFFF000, 32))}
        elif opcode == JALR and upper.get(word >> 15 & 31, (-1, 0))[0] == at - 4:
            offset = upper[word >> 15 & 31][1] + _signed(word >> 20, 12)
            yield address + at, _wrapped(address + at - 4 + offset), False
        at += 4


def _signed(value: int, bits: int) -> int:
    return value - (value >> (bits - 1) << bits)


def _wrapped(address: int) -> int:
    return address & 0xFFFFFFFFFFFFFFFF


def _gathered(word: int, places: Sequence[tuple[int, int, int]]) -> int:
    """An offset from its fields: (lowest bit in the word, bits, lowest bit in the offset)."""
    value = sum((word >> low & (1 << bits) - 1) << to for low, bits, to in places)
    return _signed(value, max(to + bits for _, bits, to in places))


def _jal(word: int) -> int:
    return _gathered(word, ((21, 10, 1), (20, 1, 11), (12, 8, 12), (31, 1, 20)))


def _branch(word: int) -> int:
    return _gathered(word, ((8, 4, 1), (25, 6, 5), (7, 1, 11), (31, 1, 12)))


def _compressed_jump(half: int) -> int:
    return _gathered(
        half,
        (
            *((3, 3, 1), (11, 1, 4), (2, 1, 5), (7, 1, 6), (6, 1, 7), (9, 2, 8), (8, 1, 10)),
            (12, 1, 11),
        ),
    )


def _compressed_branch(half: int) -> int:
    return _gathered(half, ((3, 2, 1), (10, 2, 3), (2, 1, 5), (5, 2, 6), (12, 1, 8)))
