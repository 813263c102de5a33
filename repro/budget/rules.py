"""The paper's rules of the budgeted heap [P1-1 … P1-8], tried one by one on the library itself.

Each function does what one rule speaks of and returns what happened; nothing is assumed about how
the library does it. The layout is a 32-bit machine's (8-byte alignment).
"""

import ctypes
from typing import Any

from tautochrone import native

HEAP_BYTES = 64 * 1024
CLASSES = ((1024, 2), (40, 3))


class Heap:
    """A budgeted heap in 64 KiB of its own."""

    def __init__(self, classes: tuple[tuple[int, int], ...] = CLASSES) -> None:
        self.core = native.library("libtau_core32.so")
        self.memory = ctypes.create_string_buffer(HEAP_BYTES + 8)
        start = (ctypes.addressof(self.memory) + 7) & ~7
        table = self.core.array("tau_budget_class", classes)
        made = self.core.array("*tau_budget", [None])
        status = self.core.tau_budget_init(made, start, HEAP_BYTES, table, len(classes))
        if status != 0:
            raise RuntimeError(f"tau_budget_init answered {status}")
        self.handle = made[0]

    def malloc(self, size_bytes: int) -> int:
        """Allocate and return the address; 0 if memory is short."""
        return self.core.tau_budget_malloc(self.handle, size_bytes) or 0

    def free(self, address: int) -> int:
        """Free and return the status."""
        return int(self.core.tau_budget_free(self.handle, address))

    def used(self, index: int) -> int:
        """Buckets of a class in use."""
        return int(self.core.tau_budget_class_statistics(self.handle, index).used_count)


def same_size_one_class() -> bool:
    """[P1-1] Objects of different types but equal size come from one class."""
    heap = Heap()
    heap.malloc(40), heap.malloc(40)
    return heap.used(1) == 2


def full_class_goes_to_shared() -> bool:
    """[P1-3] The third object of a class with two buckets is served, and not from any bucket."""
    heap = Heap()
    addresses = [heap.malloc(1024) for _ in range(3)]
    return all(addresses) and heap.used(0) == 2 and heap.used(1) == 0


def never_a_larger_bucket() -> bool:
    """[P1-3] A size without a class goes to the shared region though larger buckets are free."""
    heap = Heap()
    return heap.malloc(1000) != 0 and heap.used(0) == 0 and heap.used(1) == 0


def dedicated_distance_bytes() -> list[int]:
    """[P1-5] Distances between the buckets of a class, in address order: S_i each, so one
    contiguous region.
    """
    heap = Heap()
    addresses = sorted(heap.malloc(40) for _ in range(3))
    return [after - before for before, after in zip(addresses, addresses[1:], strict=False)]


def stack_order() -> bool:
    """[P1-6] The bucket freed last is handed out first."""
    heap = Heap()
    first, second = heap.malloc(40), heap.malloc(40)
    heap.free(first), heap.free(second)
    return heap.malloc(40) == second and heap.malloc(40) == first


def free_needs_only_the_pointer() -> bool:
    """[P1-7] Free tells dedicated from shared by the address alone."""
    heap = Heap()
    dedicated, shared = heap.malloc(1024), heap.malloc(1000)
    both_in_use = heap.used(0) == 1
    return both_in_use and heap.free(dedicated) == 0 == heap.used(0) and heap.free(shared) == 0


def measure() -> dict[str, Any]:
    """Everything above, for the claims."""
    rules = (same_size_one_class, full_class_goes_to_shared, never_a_larger_bucket)
    rules += (dedicated_distance_bytes, stack_order, free_needs_only_the_pointer)
    return {rule.__name__: rule() for rule in rules}
