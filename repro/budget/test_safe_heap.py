"""The safe heap is behind every size that fails, however the sizes below it do."""

from dataclasses import dataclass
from types import SimpleNamespace

from repro.budget import safe_heap
from tautochrone.facts import fault_format as faults


@dataclass
class Heaps:
    """A session whose heaps of `bad` sizes fail, as do all below 4,000 bytes."""

    bad: range

    def run(self, heap_bytes: int, checked: bool) -> SimpleNamespace:
        """One replay."""
        fails = heap_bytes < 4000 or heap_bytes in self.bad
        return SimpleNamespace(fault=faults.NO_MEMORY if fails else faults.COMPLETED)


def test_the_scanned_heap_lies_behind_the_last_size_that_fails() -> None:
    """Holes above the bisected heap count; without one both are the same."""
    assert safe_heap.scanned_heap(Heaps(range(4400, 4808)), 4000, 6000) == 4808
    assert safe_heap.scanned_heap(Heaps(range(0)), 4000, 6000) == 4000
