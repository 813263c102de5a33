"""Linear algebra over bits: spans of page numbers, and the rows of an index.

A vector is an int, its bits the coordinates. The index of a set is linear in the page number, so
two pages are in one set if and only if their difference (exclusive or) is in the *kernel*.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from tautochrone.tlb.discover.processors.oracle import Pages


def span(vectors: Sequence[int]) -> Pages:
    """All sums of the vectors, the first one varying fastest."""
    found = np.zeros(1, np.uint64)
    for vector in vectors:
        found = np.concatenate([found, found ^ np.uint64(vector)])
    return found


def sums(left: Pages, right: Pages) -> Pages:
    """Each of `left` with each of `right`."""
    return (left[:, None] ^ right[None, :]).ravel()


def reduced(vectors: Iterable[int]) -> list[int]:
    """The basis of their span in which each highest bit is in one vector only, ascending."""
    basis: list[int] = []
    for vector in vectors:
        for known in basis:
            vector = min(vector, vector ^ known)
        if vector:
            top = vector.bit_length() - 1
            basis = [each ^ vector if each >> top & 1 else each for each in basis] + [vector]
    return sorted(basis)


def is_in(vector: int, basis: Sequence[int]) -> bool:
    """Whether a vector is in the span of a reduced basis."""
    for known in sorted(basis, reverse=True):
        vector = min(vector, vector ^ known)
    return vector == 0


def annihilator(vectors: Sequence[int], bits: int) -> list[int]:
    """A basis of the masks under which each of the vectors has parity 0, lowest bits distinct."""
    basis = reduced(vectors)
    tops = [each.bit_length() - 1 for each in basis]
    free = [bit for bit in range(bits) if bit not in tops]
    return [
        1 << bit | sum(1 << top for top, each in zip(tops, basis, strict=True) if each >> bit & 1)
        for bit in free
    ]


def lowest(vector: int) -> int:
    """Its lowest bit alone."""
    return vector & -vector
