"""The pieces of a kernel's code, and how recordings executed them: the input of planning."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.coldcode.kernel import Kernel
from tautochrone.coldcode.link_map import Piece, alignment_bytes, with_larger_sizes
from tautochrone.coldcode.recording import CodeRecording, refuse_other_kernel
from tautochrone.errors import TauError

UNKNOWN_SHOWN = 3  # Names of functions in a message.
FREED = (".init", ".exit")  # Sections of the kernel that leave RAM when it has booted.


@dataclass(frozen=True)
class Code:
    """The pieces of a kernel by address, and how recordings executed each.

    `most` is the largest number of executions of a block of the piece in steady state, 0 if it was
    not executed. `touches` are pieces in the order of execution; some touches of a
    `truncated` piece are missing. `sizes_bytes` are rounded up to the alignment. A block's piece is
    -1 if it is in none.
    """

    kernel: Kernel
    pieces: tuple[Piece, ...]
    sizes_bytes: np.ndarray
    must_stay: np.ndarray
    most: np.ndarray
    truncated: np.ndarray
    touches: np.ndarray
    times: np.ndarray
    block_pieces: np.ndarray
    block_counts: np.ndarray
    block_instructions: np.ndarray
    recordings: tuple[CodeRecording, ...]

    @cached_property
    def is_freed(self) -> np.ndarray:
        """Pieces of initialization, which leave RAM when the kernel has booted."""
        return np.array([piece.output.startswith(FREED) for piece in self.pieces])

    @property
    def core_bytes(self) -> int:
        """Bytes that stay because they must."""
        return int(self.sizes_bytes[self.must_stay & ~self.is_freed].sum())

    def cold_at(self, hot_count: int) -> np.ndarray:
        """The pieces that can leave RAM if all are hot that have a block of so many executions.

        A piece larger than a page leaves only if it was never executed: a touch does not say which
        of its pages was executed.
        """
        is_small = (self.sizes_bytes <= PAGE_BYTES) | (self.most == 0)
        return ~self.must_stay & ~self.truncated & (self.most < hot_count) & is_small

    @property
    def coldest(self) -> np.ndarray:
        """All pieces that can leave RAM."""
        return self.cold_at(int(self.most.max(initial=0)) + 1)

    def resident_bytes(self, is_cold: np.ndarray) -> int:
        """Code that stays in RAM after boot."""
        return int(self.sizes_bytes[~is_cold & ~self.is_freed].sum())


def code_of(
    kernel: Kernel,
    pieces: Sequence[Piece],
    recordings: Sequence[CodeRecording],
    kept: Collection[str] = (),
    others: Collection[Piece] = (),
) -> Code:
    """Join a kernel's map with recordings of it. Functions whose names are KEPT must stay; of the
    sizes in OTHERS, pieces of other links, the larger count.

    Raises TauError if the map is from another link, or a recording of another kernel.
    """
    starts = np.array([piece.address for piece in pieces], np.uint64)
    ends = starts + np.array([piece.size_bytes for piece in pieces], np.uint64)
    numbers = _numbers_at(kernel.functions.starts, starts, ends)
    _refuse_other_map(kernel, pieces, numbers)
    swappable = np.array([piece.is_swappable for piece in pieces])
    larger = with_larger_sizes(pieces, others)
    sizes = np.array([piece.size_bytes for piece in larger], np.int64)
    alignment = alignment_bytes([piece for piece in pieces if piece.is_swappable])
    must_stay = ~swappable
    must_stay[_numbers_named(kernel, numbers, kept)] = True
    most, truncated = np.zeros(len(pieces), np.uint64), np.zeros(len(pieces), bool)
    touches, times, elapsed = [], [], 0
    owners, counts, instructions = [], [], []
    for recording in recordings:
        refuse_other_kernel(recording, kernel)
        blocks = recording.blocks
        at = numbers[recording.block_functions]
        np.maximum.at(most, at[at >= 0], blocks["steady"][at >= 0])
        is_full = recording.touches_count() >= recording.settings.touches_max
        full = numbers[is_full]
        truncated[full[full >= 0]] = True
        touched = numbers[recording.touches]
        touches.append(touched[touched >= 0])
        times.append(recording.times[touched >= 0] + np.uint64(elapsed))
        elapsed += recording.end_time
        owners.append(at)
        counts.append(blocks["steady"].astype(np.int64))
        instructions.append(blocks["instructions"].astype(np.int64))
    return Code(
        kernel,
        tuple(pieces),
        sizes_bytes=-(-sizes // alignment) * alignment,
        must_stay=must_stay,
        most=most,
        truncated=truncated,
        touches=np.concatenate(touches),
        times=np.concatenate(times),
        block_pieces=np.concatenate(owners),
        block_counts=np.concatenate(counts),
        block_instructions=np.concatenate(instructions),
        recordings=tuple(recordings),
    )


def _numbers_at(addresses: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The piece at each address, -1 where there is none."""
    numbers = np.searchsorted(starts, addresses, side="right") - 1
    is_inside = (numbers >= 0) & (addresses < ends[np.maximum(numbers, 0)])
    return np.where(is_inside, numbers, -1)


def _refuse_other_map(kernel: Kernel, pieces: Sequence[Piece], numbers: np.ndarray) -> None:
    """Raise TauError unless each piece that can be placed starts with a function."""
    known = set(kernel.functions.starts.tolist())
    for piece in pieces:
        if piece.is_swappable and piece.address not in known:
            cause = f"{kernel.path} has no function at {piece.address:#x}, for {piece.section}"
            raise TauError(f"the map is from another link: {cause}", "name the map of that kernel")
    if not (numbers >= 0).any():
        raise TauError("the map has none of the kernel's functions", "name the map of that kernel")


def _numbers_named(kernel: Kernel, numbers: np.ndarray, kept: Collection[str]) -> list[int]:
    """The pieces of the functions of these names, which may be other names of one address. Static
    functions may share a name.

    Raises TauError for a name that the kernel does not have, with near ones.
    """
    by_name: dict[str, list[int]] = {}
    for number, name in zip(numbers.tolist(), kernel.functions.names, strict=True):
        by_name.setdefault(name, []).append(number)
    _refuse_unknown(kernel, sorted(set(kept) - kernel.symbols.keys() - by_name.keys()))
    addresses = np.array([kernel.symbols[name] for name in kept if name in kernel.symbols])
    at = kernel.functions.numbers_at(addresses.astype(np.uint64))
    found = [number for name in kept for number in by_name.get(name, [])]
    found += numbers[at].tolist()
    return sorted({number for number in found if number >= 0})


def _refuse_unknown(kernel: Kernel, names: list[str]) -> None:
    """Raise TauError for names of functions that the kernel does not have, if there are any."""
    if not names:
        return
    more = f" and {len(names) - UNKNOWN_SHOWN:,} more" if len(names) > UNKNOWN_SHOWN else ""
    cause = f"{kernel.path} has no function {', '.join(names[:UNKNOWN_SHOWN])}{more}"
    raise TauError(cause, f"in the list of --keep, {kernel.near(names[0])}")


# ---- Hot and cold


@dataclass(frozen=True)
class Threshold:
    """A part T of the instructions, and H: a piece with a block of H executions is hot."""

    part: float
    hot_count: int


@dataclass(frozen=True)
class Split:
    """Which pieces leave RAM, and T: the threshold's part; without a threshold, the part of all
    instructions that was executed in code that stays."""

    part: float
    is_cold: np.ndarray


def split_of(code: Code, part: float) -> Split:
    """The split of the threshold for PART."""
    return Split(part, code.cold_at(threshold_of(code, part).hot_count))


def part_of(code: Code, is_cold: np.ndarray) -> float:
    """The part of all instructions that pieces execute which stay."""
    instructions = code.block_counts * code.block_instructions
    is_leaving = (code.block_pieces >= 0) & is_cold[code.block_pieces]
    return 1 - float(instructions[is_leaving].sum()) / max(float(instructions.sum()), 1.0)


def threshold_of(code: Code, part: float) -> Threshold:
    """The paper's hotness threshold [P3-14].

    Blocks are taken in falling number of executions until they have PART of all instructions. The
    last one's number is H.
    """
    counts, sums = _accumulated(code)
    if not len(counts):
        raise TauError("no code of the kernel was executed in steady state", "record it again")
    place = int(np.searchsorted(sums, np.ceil(part * float(sums[-1]))))
    return Threshold(part, int(counts[min(place, len(counts) - 1)]))


def thresholds(code: Code) -> list[Threshold]:
    """Every threshold that differs, from the most hot code to the least.

    T is the least part that leads to H, with six digits.
    """
    counts, sums = _accumulated(code)
    kinds = np.unique(code.most[code.most > 0])
    found = [Threshold(1.0, int(counts[-1]))] if len(counts) else []
    for hot_count in kinds.tolist():
        place = int(np.searchsorted(-counts, -int(hot_count), side="right")) - 1
        if place >= 0 and counts[place] != found[-1].hot_count:
            found.append(Threshold(float(sums[place] / sums[-1]), int(counts[place])))
    return found


def _accumulated(code: Code) -> tuple[np.ndarray, np.ndarray]:
    """The executions of each block, falling, and the instructions of these and all before."""
    is_executed = code.block_counts > 0
    counts, instructions = code.block_counts[is_executed], code.block_instructions[is_executed]
    order = np.argsort(-counts, kind="stable")
    return counts[order], np.cumsum(counts[order] * instructions[order])
