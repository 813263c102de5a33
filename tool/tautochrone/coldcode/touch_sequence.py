"""The order in which pieces of code were touched, for the native calls that look at each touch."""

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

    def missed(self, held_bytes: int) -> np.ndarray:
        """The pieces that a queue of pieces with so many bytes misses, in the order of their
        touches."""
        pieces = np.zeros(self.count, np.uint32)
        function = native.library().tau_code_misses
        return pieces[: checked(function(self.sequence, held_bytes, pieces))]

    def misses(self, held_bytes: int) -> np.ndarray:
        """How often the queue misses each piece."""
        return np.bincount(self.missed(held_bytes), minlength=len(self._sizes))

    def bound(self, held_bytes: int, is_empty: bool) -> int:
        """A lower bound of the loads with so many bytes for all these pieces. IS_EMPTY: no piece is
        loaded at the first touch."""
        bound = native.library().tau_code_faults_bound
        return checked(bound(self.sequence, held_bytes, is_empty))


def checked(value: int) -> int:
    """The answer of such a function. Raises TauError if memory was short."""
    if value == FAILED:
        raise TauError("not enough memory to plan from so many touches")
    return value
