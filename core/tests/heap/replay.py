"""Calls on heaps in their models, TLSF, budgets and pools: every offset and every statistic."""

from __future__ import annotations

from core.tests.kit.replay import Replay
from model.budget import Budget
from model.pools import Pools
from model.tlsf import Tlsf
from tautochrone.facts import status_format


class HeapReplay(Replay):
    """Parts that both heaps share. Offsets are from the heap's memory; -1: no pointer."""

    expected = "malloc OK NO\ncalloc OK NO\naligned_alloc OK NO\nrealloc OK NO"

    def __init__(self) -> None:
        """No heap yet."""
        super().__init__()
        self.heap: Tlsf | Budget | None = None

    def answer(self, verb: str, arguments: tuple[int | None, ...], offset: int) -> None:
        """VERB answers with OFFSET."""
        found = getattr(self.heap, verb)(*arguments)
        assert (-1 if found is None else found) == offset
        self.seen[f"{verb} {'NO' if found is None else 'OK'}"] += 1

    def line_m(self, size: int, offset: int) -> None:
        """malloc."""
        self.answer("malloc", (size,), offset)

    def line_c(self, count: int, size: int, offset: int) -> None:
        """calloc."""
        self.answer("calloc", (count, size), offset)

    def line_a(self, alignment: int, size: int, offset: int) -> None:
        """aligned_alloc."""
        self.answer("aligned_alloc", (alignment, size), offset)

    def line_r(self, old: int, size: int, offset: int) -> None:
        """realloc."""
        self.answer("realloc", (None if old == -1 else old, size), offset)

    def line_u(self, offset: int, usable: int) -> None:
        """usable_size."""
        assert self.heap.usable_size(offset) == usable

    def line_f(self, offset: int) -> None:
        """free, or realloc to 0 bytes."""
        assert self.heap.free(offset) == "OK"


class TlsfReplay(HeapReplay):
    """TLSF, with more pools on the way."""

    def line_I(self, size: int, pool_max: int, control: int, *build: int) -> None:
        """A heap is made: word size, alignment, check level and address."""
        word_bits, unit, level, base = build
        self.heap = Tlsf(size, control, word_bits, level, pool_max, base, unit)

    def line_p(self, start: int, size: int, status: int) -> None:
        """A pool is added."""
        assert self.heap.add_pool(start, size) == status_format.NAMES[status]

    def line_s(self, *numbers: int) -> None:
        """All statistics; now and then all blocks, the newest pool first and the first one last."""
        heap = self.heap
        used, peak, capacity, free, largest, refused = numbers[:6]
        assert (used, peak, capacity) == (
            heap.used_bytes,
            heap.peak_used_bytes,
            heap.capacity_bytes,
        )
        assert (free, largest) == (capacity - used, heap.largest_free_bytes)
        assert refused == heap.out_of_memory_count
        if len(numbers) > 6:
            pools = [*reversed(heap.pools[1:]), heap.pools[0]]
            blocks = [
                (block.payload, heap.visible_size(block), block.is_free)
                for pool in pools
                for block in heap.row(pool)
            ]
            assert list(numbers[6:]) == [int(number) for block in blocks for number in block]


class BudgetReplay(HeapReplay):
    """A budgeted heap of a random plan."""

    def line_I(self, size: int, control: int, shared_control: int, *numbers: int) -> None:
        """A heap is made: word size, alignment, check level, address, and the plan."""
        word_bits, unit, level, base, *plan = numbers
        classes = list(zip(plan[::2], plan[1::2], strict=True))
        self.heap = Budget(size, classes, control, shared_control, word_bits, level, base, unit)

    def line_s(self, *numbers: int) -> None:
        """All statistics of the dedicated and the shared regions."""
        regions, shared = self.heap.regions, self.heap.shared
        dedicated = sum(region.end - region.start for region in regions)
        refused = self.heap.refused_count + (shared.out_of_memory_count if shared else 0)
        bytes_of = [0, 0, 0, 0]
        if shared:
            bytes_of = [shared.capacity_bytes, shared.used_bytes, shared.peak_used_bytes]
            bytes_of.append(shared.largest_free_bytes)
        assert list(numbers[:6]) == [dedicated, *bytes_of, refused]
        classes = [
            (region.bucket_bytes, region.count, len(region.used), region.peak_used_count)
            for region in regions
        ]
        assert list(numbers[6:]) == [number for row in classes for number in row]


class PoolsReplay(HeapReplay):
    """Pools of random bands, without an overflow heap; a log with one is not followed."""

    def line_I(self, control: int, word_bits: int, unit: int, alignment: int, *bands: int) -> None:
        """A heap is made."""
        rows = list(zip(bands[::2], bands[1::2], strict=True))
        self.heap = Pools(rows, control, word_bits, alignment, unit)

    def line_s(self, index: int, *numbers: int) -> None:
        """The statistics of a band."""
        band = self.heap.bands[index]
        own = (band.bucket_bytes, len(band.used), band.fresh, band.exceeded_count)
        assert numbers == own
