"""The order in which pieces of code were touched, for the native calls that look at each touch."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from tautochrone import native
from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.errors import TauError

U32, U64, POINTER = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
FAILED = (1 << 64) - 1


class _Sequence(ctypes.Structure):
    _fields_ = (
        ("touches", POINTER),
        ("sizes_bytes", POINTER),
        ("count", ctypes.c_size_t),
        ("pieces_count", U32),
        ("page_bytes", U32),
    )


class Sequenced:
    """Touches of pieces, which are numbers below the length of `sizes_bytes`."""

    def __init__(self, touches: np.ndarray, sizes_bytes: np.ndarray) -> None:
        self._touches = np.ascontiguousarray(touches, np.uint32)
        self._sizes = np.ascontiguousarray(sizes_bytes, np.uint32)
        self.count = len(self._touches)
        columns = self._touches.ctypes.data, self._sizes.ctypes.data
        self._sequence = _Sequence(*columns, self.count, len(self._sizes), PAGE_BYTES)

    @property
    def pointer(self) -> Any:
        """To the native form, as long as this object lives."""
        return ctypes.byref(self._sequence)

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
        function = function_of("tau_code_faults_bound", POINTER, U64, ctypes.c_bool)
        return checked(function(self.pointer, held_bytes, is_empty))

    def _missed(self, held_bytes: int, misses: np.ndarray, pieces: np.ndarray | None) -> int:
        function = function_of("tau_code_misses", POINTER, U64, POINTER, POINTER)
        into = misses.ctypes.data, None if pieces is None else pieces.ctypes.data
        return checked(function(self.pointer, held_bytes, *into))


def function_of(name: str, *types: Any) -> Callable[..., int]:
    """A native function that answers a number."""
    function = getattr(native.library(), name)
    function.restype, function.argtypes = U64, list(types)
    answer: Callable[..., int] = function
    return answer


def checked(value: int) -> int:
    """The answer of such a function. Raises TauError if memory was short."""
    if value == FAILED:
        raise TauError("there is not enough memory to plan from so many touches")
    return value
