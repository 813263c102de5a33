"""Which pages of a block share a set: the part of the index's kernel that the block shows.

docs/spec/discover.md, [DISC-8] ... [DISC-10]. A block of 2^m pages in a row is the first that does
not fit a level. Take half of its pages, a hyperplane. They do not fit either if and only if the
hyperplane has all of the block's kernel. So masks that the kernel is orthogonal to are found one by
one, and what they leave is the kernel.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from tautochrone.tlb.discover.capacity import Level
from tautochrone.tlb.discover.linear import annihilator, reduced, span
from tautochrone.tlb.discover.meter import Meter, conflicts
from tautochrone.tlb.discover.processors.oracle import Unknown

CLASSES_MAX = 8  # all masks of so many classes are tried


@dataclass(frozen=True)
class Block:
    """A block's kernel, reduced, and the bits that tell its sets apart.

    One vector of the kernel less fits into a set; all of them do not.
    """

    level: Level
    kernel: tuple[int, ...]
    bits: tuple[int, ...]

    @property
    def fitting(self) -> tuple[int, ...]:
        """A part of the kernel whose pages fit into one set, and are more than half of its ways."""
        return self.kernel[:-1]

    @property
    def overflowing(self) -> int:
        """The vector of the kernel that makes them too many."""
        return self.kernel[-1]


def block_of(meter: Meter, level: Level) -> Block:
    """The kernel of a level's block. Raises Unknown."""
    bits, scale = level.block_log2, level.scale
    if scale.conflicts <= scale.fits:
        raise Unknown(
            f"{1 << bits} pages cost {scale.conflicts:.2f} an access, half of them {scale.fits:.2f}"
        )
    masks = [1 << bit for bit in range(bits) if _holds_kernel(meter, level, [1 << bit])]
    used = [bit for bit in range(bits) if 1 << bit not in masks]
    leaders: list[int] = []
    for bit in used:
        ties = (1 << bit | 1 << leader for leader in leaders)
        tie = next((each for each in ties if _holds_kernel(meter, level, [each])), None)
        if tie is None:
            leaders.append(bit)
        else:
            masks.append(tie)
    if len(leaders) > CLASSES_MAX:
        raise Unknown(f"{len(leaders)} independent bits in the conflicts of {1 << bits} pages")
    for size in range(3, len(leaders) + 1):
        for chosen in itertools.combinations(leaders, size):
            mask = sum(1 << bit for bit in chosen)
            if _holds_kernel(meter, level, [mask]):
                masks.append(mask)
    kernel = annihilator(masks, bits)
    if not kernel:
        raise Unknown(f"{1 << bits} pages do not fit, but no bit of their numbers matters")
    if masks and not _holds_kernel(meter, level, masks[-1:]):
        raise Unknown("a walk over half of a block fits once and does not fit another time")
    basis = reduced(kernel)
    tops = {each.bit_length() - 1 for each in basis}
    return Block(level, tuple(basis), tuple(bit for bit in range(bits) if bit not in tops))


def _holds_kernel(meter: Meter, level: Level, masks: list[int]) -> bool:
    """Whether the pages of the block whose parity under each mask is 0 still do not fit."""
    vectors = annihilator(masks, level.block_log2)
    return conflicts(meter, span(vectors), level.scale)[0]
