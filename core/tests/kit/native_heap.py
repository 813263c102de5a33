"""The compiled heaps behind the same Python interface as their golden models.

Pointers become offsets from the memory that the heap was given, statuses become names.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

from tautochrone.declarations import Library, Struct
from tautochrone.facts import status_format

VISITOR = ctypes.CFUNCTYPE(
    ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_bool
)


class NativeHeap:
    """What both mechanisms share: memory of its own, and the calls."""

    mechanism = ""

    def __init__(self, library: Library, arena_bytes: int, start: int) -> None:
        """ARENA_BYTES of cleared memory, of which the heap's begins START bytes behind a page."""
        self.library = library
        self.arena = mmap.mmap(-1, arena_bytes)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.arena)) + start
        self.heap: Any = None

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
        library: Library,
        size_bytes: int,
        arena_bytes: int = 1 << 18,
        start: int = 0,
        pool_max_bytes: int = 0,
    ) -> None:
        """A heap of SIZE_BYTES; the arena's rest is for more pools."""
        super().__init__(library, arena_bytes, start)
        self.heap = library.tau_tlsf_init(self.base, size_bytes, pool_max_bytes)
        assert self.heap

    @property
    def statistics(self) -> Struct:
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
        self, library: Library, size_bytes: int, classes: list[tuple[int, int]], start: int = 0
    ) -> None:
        """A heap of SIZE_BYTES for CLASSES: (size in bytes, count). Raises ValueError if not."""
        super().__init__(library, 1 << 18, start)
        table = library.array("tau_budget_class", classes)
        heap = library.array("*tau_budget", [None])
        status = library.tau_budget_init(heap, self.base, size_bytes, table, len(classes))
        if status != 0:
            raise ValueError(status_format.NAMES[status])
        self.heap = heap[0]

    @property
    def statistics(self) -> Struct:
        """As the C structure."""
        return self._call("statistics")

    def class_statistics(self, index: int) -> Struct:
        """As the C structure, of the plan's class INDEX."""
        return self.library.tau_budget_class_statistics(self.heap, index)


def budget_size(library: Library, classes: list[tuple[int, int]], shared_bytes: int) -> int:
    """tau_budget_size."""
    table = library.array("tau_budget_class", classes)
    return library.tau_budget_size(table, len(classes), shared_bytes)
