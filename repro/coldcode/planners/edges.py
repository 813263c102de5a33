"""The direct control flow between pieces: jumps and calls in RISC-V code, and their executions.

A recording counts blocks. An instruction was executed as often as all blocks that hold it. A jump
or call is taken as often as it is executed; a conditional branch to another piece, at most as often
as it is executed, and as its target is. Calls through registers are not seen, as in the paper.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tautochrone.coldcode.control_flow import decode
from tautochrone.coldcode.pieces import Code
from tautochrone.coldcode.placement import ColdPieces
from tautochrone.coldcode.planning import cold_of
from tautochrone.coldcode.recording import CodeRecording

INSTRUCTION_BYTES_MIN, INSTRUCTION_BYTES_MAX = 2, 4
ADDRESSES = 1 << 64


class Edge(NamedTuple):
    """An instruction of a piece that jumps to or calls another one, and its executions."""

    source: int
    target: int
    count: int


@dataclass(frozen=True)
class LinkedPieces(ColdPieces):
    """The input of the paper's placements: also the addresses of all pieces, and a function that
    computes the direct control flow between them."""

    addresses: Sequence[int] = ()
    edges: Callable[[], Sequence[Edge]] = tuple


def linked_pieces(code: Code, is_cold: np.ndarray, frames: int) -> LinkedPieces:
    """The pieces to place, with addresses and edges."""
    cold = cold_of(code, is_cold, frames)
    addresses = [piece.address for piece in code.pieces]
    return LinkedPieces(
        cold.sizes_bytes, cold.is_cold, cold.touches, frames, addresses, lambda: edges_of(code)
    )


def edges_of(code: Code) -> list[Edge]:
    """An edge for each instruction that leads from one piece to another, in RAM after boot."""
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
    """For each jump, call and branch: the piece it is in, its target, its address, whether it is
    conditional."""
    rows = [
        (number, target, site, is_branch)
        for number, piece in enumerate(code.pieces)
        if not code.is_freed[number]
        for site, target, is_branch in jumps_of(
            code.kernel.code_at(piece.address, piece.size_bytes), piece.address
        )
    ]
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    kinds = np.int64, np.uint64, np.uint64, bool
    sources, targets, sites, is_branch = map(np.array, columns, kinds)
    return sources, targets, sites, is_branch


def jumps_of(content: bytes, address: int) -> Iterator[tuple[int, int, bool]]:
    """Address and target of each direct jump in code at ADDRESS, and whether it is conditional."""
    place, pair = 0, None
    while place < len(content):
        encoded = content[place : place + INSTRUCTION_BYTES_MAX]
        instruction = decode(address + place, encoded)
        if instruction is None:
            place, pair = place + INSTRUCTION_BYTES_MIN, None
            continue
        targets = [target for target in instruction.targets if target != instruction.end]
        is_branch = bool(targets) and instruction.end in instruction.targets
        if instruction.calls is not None:
            targets = [instruction.calls]
        elif pair is not None and pair[0] == instruction.through:
            targets = [pair[1] + instruction.offset]
        for target in targets:
            yield instruction.address, target % ADDRESSES, is_branch
        place, pair = place + instruction.size, instruction.sets
