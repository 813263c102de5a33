"""A heap over runs of pages in this process, made by the installed core as tau_tlb_color makes it.

The runs have their sizes and order, not their addresses: gaps do not matter to the allocator.
It answers what only the allocator knows: the largest object, and whether recorded calls succeed.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tautochrone import native
from tautochrone.facts import status_format, trace_format

LIBRARY_OF_WORD = {4: "libtau_core32.so", 8: "libtau_core64.so"}
PAGE_BYTES = 4096  # of this machine
SIZE, POINTER = ctypes.c_size_t, ctypes.c_void_p
VISITOR = ctypes.CFUNCTYPE(ctypes.c_bool, POINTER, POINTER, SIZE, ctypes.c_bool)

Run = tuple[int, int]  # address and bytes


class Call(NamedTuple):
    """One event of a recording: a slot is an object."""

    operation: int
    slot: int
    size_bytes: int
    alignment: int


class RunHeap:
    """A heap; it is not started if the smallest run is too small for the control block."""

    def __init__(self, runs: Sequence[Run], word_bytes: int) -> None:
        self._core = native.library(LIBRARY_OF_WORD[word_bytes])
        sizes = {run: run[1] for run in sorted(runs)}
        places, total = {}, 0
        for run, size in sizes.items():
            places[run] = total
            total += size + PAGE_BYTES  # never adjacent
        self._memory = mmap.mmap(-1, total, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        smallest = min(sizes, key=lambda run: (run[1], run[0]))
        largest = max(sizes, key=lambda run: (run[1], run[0]))
        self._heap = self._core.tau_tlsf_init(base + places[smallest], smallest[1], largest[1])
        self.is_started = bool(self._heap)
        others = [run for run in sizes if run not in (smallest, largest)]
        others += [largest] if largest != smallest else []
        for run in others if self.is_started else ():
            added = self._core.tau_tlsf_add_pool(self._heap, base + places[run], run[1])
            assert added == status_format.OK, added

    def largest_object_bytes(self) -> int:
        """The largest object that fits now; 0 if the heap is not started."""
        largest = 0

        def visit(_context: object, _payload: object, size_bytes: int, is_free: bool) -> bool:
            nonlocal largest
            largest = max(largest, size_bytes if is_free else 0)
            return True

        if self.is_started:
            self._core.tau_tlsf_walk(self._heap, VISITOR(visit), None)
        return largest

    def completes(self, calls: Iterable[Call]) -> bool:
        """Whether every call succeeds, in this order."""
        core, heap, objects = self._core, self._heap, dict[int, int | None]()
        for operation, slot, size_bytes, alignment in calls if self.is_started else ():
            if operation == trace_format.OP_FREE:
                core.tau_tlsf_free(heap, objects.pop(slot))
                continue
            if operation == trace_format.OP_REALLOC:
                made = core.tau_tlsf_realloc(heap, objects[slot], size_bytes)
            elif operation == trace_format.OP_ALIGNED_ALLOC:
                made = core.tau_tlsf_aligned_alloc(heap, alignment, size_bytes)
            else:
                made = core.tau_tlsf_malloc(heap, size_bytes)
            if not made and size_bytes:
                return False
            objects[slot] = made
        return self.is_started
