"""Problems of placing cold code, made from a seed: small ones, and long ones as in a kernel."""

import random
from collections.abc import Sequence
from typing import cast

import numpy as np

from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.coldcode.link_map import Piece
from tautochrone.coldcode.pieces import Code
from tautochrone.coldcode.placement import ColdPieces, without_repeats


def random_cold(seed: int, pieces: int = 12, touches: int = 40, frames: int = 2) -> ColdPieces:
    """A few pieces of up to a page, some of them hot."""
    source = random.Random(seed)
    largest = source.choice((PAGE_BYTES // 4, PAGE_BYTES // 2, PAGE_BYTES))
    sizes = [2 * source.randint(1, largest // 2) for _ in range(pieces)]
    is_cold = np.array([source.random() < 0.75 for _ in range(pieces)])
    cold = np.flatnonzero(is_cold)
    sequence = source.choices(cold.tolist(), k=touches) if len(cold) else []
    played = without_repeats(np.array(sequence, np.int64))
    return ColdPieces(sizes, is_cold, played, frames)


def phased_cold(seed: int, pieces: int, touches: int, frames: int) -> ColdPieces:
    """Cold code as in a kernel: paths of calls that are taken again and again, in phases.

    A path is some functions from a few files, and each phase takes a few paths, most of them often.
    Nine of ten pieces are never executed.
    """
    source = random.Random(seed)
    sizes = [2 * max(2, min(int(source.lognormvariate(4, 1)), 2000)) for _ in range(pieces)]
    used = source.sample(range(pieces), pieces // 10)
    paths = []
    for _ in range(max(len(used) // 8, 1)):
        begins = [source.randrange(len(used)) for _ in range(3)]
        paths.append([used[(begin + step) % len(used)] for begin in begins for step in range(4)])
    sequence: list[int] = []
    while len(sequence) < touches:
        active = source.sample(paths, min(6, len(paths)))
        for _ in range(source.randint(5, 40)):
            path = source.choice(active)
            sequence += path if source.random() < 0.9 else path[: source.randint(1, len(path))]
            if source.random() < 0.2:
                sequence.append(source.choice(used))
    played = without_repeats(np.array(sequence[:touches], np.int64))
    return ColdPieces(sizes, np.ones(pieces, bool), played, frames)


def code_of(sizes: Sequence[int], touches: Sequence[int], must_stay: Sequence[int] = ()) -> Code:
    """Pieces with one block each, which is executed once per touch and has ten instructions."""
    count = len(sizes)
    most = np.bincount(np.array(touches, np.int64), minlength=count)
    stays = np.zeros(count, bool)
    stays[list(must_stay)] = True
    starts = np.cumsum([0x1000, *sizes]).tolist()
    pieces = tuple(
        Piece(start, size, "a.o", f".text.f{number}", ".text")
        for number, (start, size) in enumerate(zip(starts, sizes, strict=False))
    )
    columns = most.astype(np.uint64), np.zeros(count, bool), np.array(touches, np.int64)
    blocks = np.arange(count), most, np.full(count, 10)
    times = np.arange(len(touches), dtype=np.uint64)
    sized = cast("Code", Code)
    return sized(None, pieces, np.array(sizes), stays, *columns, times, *blocks, ())


def random_code(seed: int, pieces_max: int = 14, touches_max: int = 80) -> Code:
    """A few pieces of up to a page, some of which must stay."""
    source = random.Random(seed)
    count = source.randint(1, pieces_max)
    sizes = [2 * source.randint(1, PAGE_BYTES // 2) for _ in range(count)]
    touches = source.choices(range(count), k=source.randint(1, touches_max))
    return code_of(sizes, touches, source.sample(range(count), source.randint(0, count // 3)))
