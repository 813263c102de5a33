"""Golden model of the budgeted heap: dedicated exact-size regions before a shared TLSF.

Written from docs/spec/budget.md alone. A class is a list of bucket numbers given back
(newest last) and a high-water mark; an address is looked up by trying every region. Addresses are
offsets from the memory that the heap was given.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from model.tlsf import Tlsf, round_up

SHARED_MIN_BYTES = 256


@dataclass
class Region:
    """One class: COUNT buckets of BUCKET_BYTES from offset START."""

    bucket_bytes: int
    count: int
    start: int = 0
    fresh: int = 0  # buckets below this were handed out at least once
    returned: list[int] = field(default_factory=list)
    used: set[int] = field(default_factory=set)
    peak_used_count: int = 0

    @property
    def end(self) -> int:
        """The first offset after the region."""
        return self.start + self.bucket_bytes * self.count

    def take(self) -> int | None:
        """The offset of a bucket; None if all are in use."""
        if self.returned:
            bucket = self.returned.pop()
        elif self.fresh < self.count:
            bucket = self.fresh
            self.fresh += 1
        else:
            return None
        self.used.add(bucket)
        self.peak_used_count = max(self.peak_used_count, len(self.used))
        return self.start + bucket * self.bucket_bytes

    def give_back(self, offset: int) -> None:
        """End the use of a bucket. Raises KeyError if no bucket in use starts at OFFSET."""
        bucket, rest = divmod(offset - self.start, self.bucket_bytes)
        if rest or bucket not in self.used:
            raise KeyError(offset)
        self.used.remove(bucket)
        self.returned.append(bucket)


def bucket_of(size_bytes: int, unit: int, word: int) -> int:
    """The bucket of a request: 0 of no object, else a multiple of UNIT with room for two words."""
    return max(round_up(size_bytes, unit), 2 * word) if size_bytes else 0


class Budget:
    """A heap of SIZE_BYTES at address BASE for the plan CLASSES.

    Its control block and tables take CONTROL_BYTES, its shared TLSF's SHARED_CONTROL_BYTES. Both
    are facts of the build, so the caller says them. CLASSES is the plan: (size in bytes, count).
    """

    def __init__(
        self,
        size_bytes: int,
        classes: list[tuple[int, int]],
        control_bytes: int,
        shared_control_bytes: int,
        word_bits: int = 32,
        check_level: int = 1,
        base: int = 0,
        unit: int = 0,
    ) -> None:
        """Lays out the regions. Raises ValueError if the plan is invalid or too large."""
        self.unit = unit or 2 * word_bits // 8
        self.word = word_bits // 8
        self.base = base
        buckets = [bucket_of(size, self.unit, self.word) for size, _ in classes]
        self.regions = [
            Region(bucket, count) for bucket, (_, count) in zip(buckets, classes, strict=True)
        ]
        if len({region.bucket_bytes for region in self.regions}) != len(classes) or any(
            region.bucket_bytes == 0 or region.count == 0 for region in self.regions
        ):
            raise ValueError("PLAN_INVALID")
        position = round_up(base, self.unit) - base + round_up(control_bytes, self.unit)
        for region in sorted(self.regions, key=lambda each: -each.bucket_bytes * each.count):
            region.start = position
            position = region.end
        if position > size_bytes:
            raise ValueError("PLAN_TOO_LARGE")
        self.shared: Tlsf | None = None
        self.shared_start = position
        self.refused_count = 0
        if size_bytes - position >= SHARED_MIN_BYTES:
            self.shared = Tlsf(
                size_bytes - position,
                shared_control_bytes,
                word_bits,
                check_level,
                base=base + position,
                unit=self.unit,
            )

    def _region_of_size(self, request_bytes: int) -> Region | None:
        bucket_bytes = bucket_of(request_bytes, self.unit, self.word)
        for region in self.regions:
            if region.bucket_bytes == bucket_bytes:
                return region
        return None

    def _region_at(self, offset: int) -> Region | None:
        for region in self.regions:
            if region.start <= offset < region.end:
                return region
        return None

    def _take(self, size_bytes: int) -> int | None:
        """A bucket of the region of a size, or None if there is none."""
        region = self._region_of_size(size_bytes)
        return None if region is None else region.take()

    def _from_shared(self, offset: int | None) -> int | None:
        return None if offset is None else offset + self.shared_start

    def malloc(self, request_bytes: int) -> int | None:
        """As tau_budget_malloc."""
        if request_bytes == 0:
            return None
        offset = self._take(request_bytes)
        if offset is not None:
            return offset
        if self.shared is None:
            self.refused_count += 1
            return None
        return self._from_shared(self.shared.malloc(request_bytes))

    def calloc(self, count: int, size_bytes: int) -> int | None:
        """As tau_budget_calloc; a product above the largest size_t is larger than any memory."""
        return self.malloc(count * size_bytes)

    def aligned_alloc(self, alignment: int, request_bytes: int) -> int | None:
        """As tau_budget_aligned_alloc."""
        if alignment <= 0 or alignment & (alignment - 1) or request_bytes == 0:
            return None
        if alignment <= self.unit:
            return self.malloc(request_bytes)
        if self.shared is None:
            self.refused_count += 1
            return None
        return self._from_shared(self.shared.aligned_alloc(alignment, request_bytes))

    def free(self, offset: int | None) -> str:
        """As tau_budget_free, for a pointer that is an object or None."""
        if offset is None:
            return "OK"
        region = self._region_at(offset)
        if region is not None:
            region.give_back(offset)
            return "OK"
        if self.shared is None:
            raise KeyError(offset)
        return self.shared.free(offset - self.shared_start)

    def realloc(self, offset: int | None, request_bytes: int) -> int | None:
        """As tau_budget_realloc, for a pointer that is an object or None."""
        if offset is None:
            return self.malloc(request_bytes)
        if request_bytes == 0:
            self.free(offset)
            return None
        region = self._region_at(offset)
        if region is not None:
            if request_bytes <= region.bucket_bytes:
                return offset
            fresh = self.malloc(request_bytes)
        else:
            assert self.shared is not None
            inside = offset - self.shared_start
            refused_before = self.shared.out_of_memory_count
            fresh = self._from_shared(self.shared.realloc(inside, request_bytes))
            if fresh is not None or self.shared.alignment_of(inside):
                return fresh
            fresh = self._take(request_bytes)
            if fresh is not None:
                self.shared.out_of_memory_count = refused_before  # served after all
        if fresh is not None:
            self.free(offset)
        return fresh

    def usable_size(self, offset: int) -> int:
        """Payload bytes of the object at OFFSET that belong to its user."""
        region = self._region_at(offset)
        if region is not None:
            return region.bucket_bytes
        assert self.shared is not None
        return self.shared.usable_size(offset - self.shared_start)
