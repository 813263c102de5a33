"""The order in which pieces of code were touched, for the native calls that look at each touch."""

from __future__ import annotations

import numpy as np

from tautochrone import native
from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.errors import TauError

FAILED = (1 << 64) - 1


class TouchSequence:
    """Touches of pieces, which are numbers below the length of `sizes_bytes`."""

    def __init__(self, touches: np.ndarray, sizes_bytes: np.ndarray) -> None:
        self._touches = np.ascontiguousarray(touches, np.uint32)
        self._sizes = np.ascontiguousarray(sizes_bytes, np.uint32)
        self.count = len(self._touches)
        self.sequence = native.struct("tau_code_sequence")(
            self._touches, self._sizes, self.count, len(self._sizes), PAGE_BYTES
        )

    def misses(self, held_bytes: int) -> np.ndarray:
        """How often each piece is missed by a queue of pieces that holds so many bytes."""
        found = np.zeros(len(self._sizes), np.uint64)
        self._missed(held_bytes, found, None)
        return found.astype(np.int64)

    def missed(self, held_bytes: int) -> np.ndarray:
        """The pieces that this queue misses, in the order of their touches."""
        pieces = np.zeros(self.count, np.uint32)
        count = self._missed(held_bytes, np.zeros(len(self._sizes), np.uint64), pieces)
        return pieces[:count]

    def bound(self, held_bytes: int, is_empty: bool) -> int:
        """Loads below which nobody comes who has so many bytes for all these pieces. IS_EMPTY: no
        piece is there at the first touch."""
        bound = native.library().tau_code_faults_bound
        return checked(bound(self.sequence, held_bytes, is_empty))

    def _missed(self, held_bytes: int, misses: np.ndarray, pieces: np.ndarray | None) -> int:
        function = native.library().tau_code_misses
        return checked(function(self.sequence, held_bytes, misses, pieces))


def checked(value: int) -> int:
    """The answer of such a function. Raises TauError if memory was short."""
    if value == FAILED:
        raise TauError("there is not enough memory to plan from so many touches")
    return value
