"""Golden model of pools for bands of sizes.

Written from docs/spec/pools.md alone. A pool is a list of block numbers given back (newest last)
and a high-water mark; a size's band and an address's pool are found by trying each. Addresses are
offsets from the memory that the heap was given. Without an overflow heap: requests above a limit
are refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from model.budget import Region, bucket_of
from model.tlsf import round_up

ALIGNMENT_MAX = 4096


@dataclass
class Band(Region):
    """The region of a band, which counts the requests beyond its limit."""

    exceeded_count: int = 0


class Pools:
    """A heap of BANDS, (largest size, limit) in increasing order, whose tables take CONTROL_BYTES.

    CONTROL_BYTES are a fact of the build, so the caller says them.
    """

    def __init__(
        self,
        bands: list[tuple[int, int]],
        control_bytes: int,
        word_bits: int = 32,
        alignment: int = 0,
        unit: int = 0,
    ) -> None:
        """Lay out the pools. Raises ValueError if the bands or the alignment are invalid."""
        self.unit = unit or 2 * word_bits // 8
        word = word_bits // 8
        self.bands = [Band(bucket_of(size, self.unit, word), count) for size, count in bands]
        sizes = [band.bucket_bytes for band in self.bands]
        if sorted(set(sizes)) != sizes or any(not each.count for each in self.bands) or 0 in sizes:
            raise ValueError("PLAN_INVALID")
        if alignment & (alignment - 1) or alignment > ALIGNMENT_MAX:
            raise ValueError("BAD_ARGUMENT")
        self.above_bands_count = 0
        alignment = max(alignment, self.unit)
        position = control_bytes
        for band in sorted(self.bands, key=lambda each: -each.bucket_bytes * each.count):
            own = min(alignment, band.bucket_bytes & -band.bucket_bytes)
            band.start = round_up(position, own)
            position = band.end
        self.size_bytes = position

    def band_of(self, size_bytes: int) -> Band | None:
        """The band of a request; None for 0 bytes and above the largest."""
        if size_bytes == 0:
            return None
        return next((each for each in self.bands if size_bytes <= each.bucket_bytes), None)

    def _take(self, band: Band | None) -> int | None:
        if band is None:
            self.above_bands_count += 1
            return None
        offset = band.take()
        band.exceeded_count += offset is None
        return offset

    def malloc(self, size_bytes: int) -> int | None:
        """As tau_pools_malloc."""
        return self._take(self.band_of(size_bytes)) if size_bytes else None

    def calloc(self, count: int, size_bytes: int) -> int | None:
        """As tau_pools_calloc; a product that overflows size_t is above all bands."""
        return self.malloc(count * size_bytes)

    def aligned_alloc(self, alignment: int, size_bytes: int) -> int | None:
        """As tau_pools_aligned_alloc."""
        if alignment <= 0 or alignment & (alignment - 1) or size_bytes == 0:
            return None
        if alignment <= self.unit:
            return self.malloc(size_bytes)
        band = self.band_of(round_up(size_bytes, alignment))
        serves = band is not None and not (band.start | band.bucket_bytes) % alignment
        return self._take(band if serves else None)

    def owner_of(self, offset: int) -> Band:
        """The band whose blocks lie around OFFSET. Raises KeyError if there is none."""
        for band in self.bands:
            if band.start <= offset < band.end:
                return band
        raise KeyError(offset)

    def free(self, offset: int | None) -> str:
        """As tau_pools_free, for a pointer that is an object or None."""
        if offset is not None:
            self.owner_of(offset).give_back(offset)
        return "OK"

    def realloc(self, offset: int | None, size_bytes: int) -> int | None:
        """As tau_pools_realloc, for a pointer that is an object or None."""
        if offset is None:
            return self.malloc(size_bytes)
        if size_bytes == 0:
            self.free(offset)
            return None
        if self.owner_of(offset) is self.band_of(size_bytes):
            return offset
        moved = self.malloc(size_bytes)
        if moved is not None:
            self.free(offset)
        return moved

    def usable_size(self, offset: int) -> int:
        """Payload bytes of the object at OFFSET that belong to its user."""
        return self.owner_of(offset).bucket_bytes
