"""The compiled heaps behind the same Python interface as their golden models.

Pointers become offsets from the memory that the heap was given, statuses become names.
"""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

from tautochrone.facts import status_format
from testing.ctypes_core import (
    BudgetClass,
    BudgetClassStatistics,
    BudgetStatistics,
    TlsfStatistics,
)

VISITOR = ctypes.CFUNCTYPE(
    ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_bool
)


def load(path: Path) -> ctypes.CDLL:
    """The library at PATH with its functions' types. Raises OSError if it cannot be loaded."""
    library = ctypes.CDLL(str(path))
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    for mechanism in ("tlsf", "budget"):
        for name, result, arguments in (
            ("malloc", pointer, [size]),
            ("calloc", pointer, [size, size]),
            ("aligned_alloc", pointer, [size, size]),
            ("realloc", pointer, [pointer, size]),
            ("free", ctypes.c_int, [pointer]),
            ("usable_size", size, [pointer]),
            ("invariants_hold", ctypes.c_bool, []),
            ("statistics", TlsfStatistics if mechanism == "tlsf" else BudgetStatistics, []),
        ):
            function = getattr(library, f"tau_{mechanism}_{name}")
            function.restype = result
            function.argtypes = [pointer, *arguments]
    library.tau_budget_size.restype = size
    library.tau_budget_size.argtypes = [pointer, size, size]
    library.tau_budget_init.argtypes = [pointer, pointer, size, pointer, size]
    library.tau_budget_class_statistics.restype = BudgetClassStatistics
    library.tau_budget_class_statistics.argtypes = [pointer, size]
    library.tau_tlsf_init.restype = pointer
    library.tau_tlsf_init.argtypes = [pointer, size, size]
    library.tau_tlsf_add_pool.argtypes = [pointer, pointer, size]
    library.tau_tlsf_walk.argtypes = [pointer, VISITOR, pointer]
    return library


class NativeHeap:
    """What both mechanisms share: memory of its own, and the calls."""

    mechanism = ""

    def __init__(self, library: ctypes.CDLL, arena_bytes: int, start: int) -> None:
        """ARENA_BYTES of cleared memory, of which the heap's begins START bytes behind a page."""
        self.library = library
        self.arena = mmap.mmap(-1, arena_bytes)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.arena)) + start
        self.heap = 0

    def _call(self, name: str, *arguments: int | None) -> int | None:
        return getattr(self.library, f"tau_{self.mechanism}_{name}")(self.heap, *arguments)

    def _offset(self, pointer: int | None) -> int | None:
        return None if pointer is None else pointer - self.base

    def _pointer(self, offset: int | None) -> int | None:
        return None if offset is None else self.base + offset

    def malloc(self, size_bytes: int) -> int | None:
        """An offset, or None."""
        return self._offset(self._call("malloc", size_bytes))

    def calloc(self, count: int, size_bytes: int) -> int | None:
        """An offset, or None."""
        return self._offset(self._call("calloc", count, size_bytes))

    def aligned_alloc(self, alignment: int, size_bytes: int) -> int | None:
        """An offset, or None."""
        return self._offset(self._call("aligned_alloc", alignment, size_bytes))

    def realloc(self, offset: int | None, size_bytes: int) -> int | None:
        """An offset, or None."""
        return self._offset(self._call("realloc", self._pointer(offset), size_bytes))

    def free(self, offset: int | None) -> str:
        """The status's name."""
        return status_format.NAMES[self._call("free", self._pointer(offset))]

    def usable_size(self, offset: int) -> int:
        """Bytes."""
        return self._call("usable_size", self._pointer(offset))


class NativeTlsf(NativeHeap):
    """A compiled TLSF."""

    mechanism = "tlsf"

    def __init__(
        self,
        library: ctypes.CDLL,
        size_bytes: int,
        arena_bytes: int = 1 << 18,
        start: int = 0,
        pool_max_bytes: int = 0,
    ) -> None:
        """A heap of SIZE_BYTES; the arena's rest is for more pools."""
        super().__init__(library, arena_bytes, start)
        self.heap = library.tau_tlsf_init(self.base, size_bytes, pool_max_bytes)
        assert self.heap is not None

    @property
    def statistics(self) -> TlsfStatistics:
        """As the C structure."""
        return self._call("statistics")

    def add_pool(self, start: int, size_bytes: int) -> str:
        """The status's name."""
        status = self.library.tau_tlsf_add_pool(self.heap, self.base + start, size_bytes)
        return status_format.NAMES[status]

    def blocks(self) -> list[tuple[int, int, bool]]:
        """(payload, usable bytes, is free) of every block, in the walk's order."""
        found: list[tuple[int, int, bool]] = []

        def visit(_context: object, payload: int, size_bytes: int, is_free: bool) -> bool:
            found.append((payload - self.base, size_bytes, is_free))
            return True

        self.library.tau_tlsf_walk(self.heap, VISITOR(visit), None)
        return found


class NativeBudget(NativeHeap):
    """A compiled budgeted heap."""

    mechanism = "budget"

    def __init__(
        self, library: ctypes.CDLL, size_bytes: int, classes: list[tuple[int, int]], start: int = 0
    ) -> None:
        """A heap of SIZE_BYTES for CLASSES: (size in bytes, count). Raises ValueError if not."""
        super().__init__(library, 1 << 18, start)
        self.classes = (BudgetClass * len(classes))(*classes)
        heap = ctypes.c_void_p()
        status = library.tau_budget_init(
            ctypes.byref(heap), self.base, size_bytes, self.classes, len(classes)
        )
        if status != 0:
            raise ValueError(status_format.NAMES[status])
        self.heap = heap.value

    @property
    def statistics(self) -> BudgetStatistics:
        """As the C structure."""
        return self._call("statistics")

    def class_statistics(self, index: int) -> BudgetClassStatistics:
        """As the C structure, of the plan's class INDEX."""
        return self.library.tau_budget_class_statistics(self.heap, index)


def budget_size(library: ctypes.CDLL, classes: list[tuple[int, int]], shared_bytes: int) -> int:
    """tau_budget_size."""
    array = (BudgetClass * len(classes))(*classes)
    return library.tau_budget_size(array, len(classes), shared_bytes)
