"""The sizes that a recording asks for, and its copy with other sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tautochrone.facts import trace_format
from tautochrone.trace.file import TraceReader
from tautochrone.trace.prefix import copy_events

Site = tuple[str, int]  # module and offset


@dataclass
class Asked:
    """How often a size is asked for, and where from.

    `is_certain`: each call has a known site, which asks for this size alone.
    """

    allocations: int = 0
    sites: Counter[Site] = field(default_factory=Counter)
    is_certain: bool = True


def sizes_of(reader: TraceReader) -> dict[int, Asked]:
    """Return what a recording asks for, by size; a size of 0 is left out, as it stays."""
    names = [("", 0), *reader.sites()]
    counts: Counter[tuple[int, int]] = Counter()
    for block in reader.columns(("op", "size_bytes", "site")):
        asks = (block.op <= trace_format.OP_ALIGNED_ALLOC) & (block.size_bytes > 0)
        pairs = np.stack([block.size_bytes[asks], block.site[asks].astype(np.uint64)])
        found, numbers = np.unique(pairs, axis=1, return_counts=True)
        for size, site, number in zip(*found.tolist(), numbers.tolist(), strict=True):
            counts[(size, site)] += number
    sizes_of_site = Counter(site for _, site in counts)
    sizes: dict[int, Asked] = {}
    for (size, site), number in counts.items():
        asked = sizes.setdefault(size, Asked())
        asked.allocations += number
        is_known = 0 < site < len(names)
        asked.is_certain &= is_known and sizes_of_site[site] == 1
        if is_known:
            asked.sites[names[site]] += number
    return sizes


def write_translated(
    reader: TraceReader, out: Path, header: Mapping[str, Any], sizes: Mapping[int, int]
) -> None:
    """Write the recording with each size replaced by that of `sizes`, which has every one but 0."""
    copy_events(reader, out, header, _replaced(reader, sizes))


def _replaced(reader: TraceReader, sizes: Mapping[int, int]) -> Iterator[dict[str, np.ndarray]]:
    """Yield the columns of each block with other sizes."""
    ours = np.array(sorted(sizes), np.uint64)
    theirs = np.array([sizes[size] for size in sorted(sizes)], np.uint64)
    for columns in reader.columns():
        size_bytes = columns.size_bytes.copy()
        asks = size_bytes > 0
        size_bytes[asks] = theirs[np.searchsorted(ours, size_bytes[asks])]
        yield columns._asdict() | {"size_bytes": size_bytes}
