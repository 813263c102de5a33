"""The sizes that a recording asks for, and its copy with other sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tautochrone.facts import trace_format
from tautochrone.trace.file import TraceReader
from tautochrone.trace.prefix import copy_events

Site = tuple[str, int]  # Module and offset.
# Where a call comes from: a site of the program that asks for one size only, one that asks for
# several or is not known, a site in a library.
SINGLE, SEVERAL, LIBRARY = 0, 1, 2
SOURCES = ("single", "several", "library")


class Call(NamedTuple):
    """The calls of one decision: a size, and its call sites."""

    size_bytes: int
    source: int


@dataclass
class Asked:
    """How often a recording has such calls, and their known sites."""

    allocations: int = 0
    sites: Counter[Site] = field(default_factory=Counter)


@dataclass(frozen=True)
class Calls:
    """The calls of a recording. `sources` has the source of each site by its number."""

    asked: Mapping[Call, Asked]
    sources: np.ndarray


def calls_of(reader: TraceReader, is_own: Callable[[Site], bool]) -> Calls:
    """Return the requests of a recording. A size of 0 is left out, as it stays.

    `is_own` is true for sites in the program.
    """
    names = [("", 0), *reader.sites()]
    counts: Counter[tuple[int, int]] = Counter()
    for block in reader.columns(("op", "size_bytes", "site")):
        asks = (block.op <= trace_format.OP_ALIGNED_ALLOC) & (block.size_bytes > 0)
        pairs = np.stack([block.size_bytes[asks], block.site[asks].astype(np.uint64)])
        found, numbers = np.unique(pairs, axis=1, return_counts=True)
        for size, site, number in zip(*found.tolist(), numbers.tolist(), strict=True):
            counts[(size, site)] += number
    pairs_of_site = {(size, names[number]) for size, number in counts}  # of all its stacks
    sizes_of_site = Counter(site for _, site in pairs_of_site)
    sources = np.full(len(names), SEVERAL, np.uint8)
    for number, site in enumerate(names[1:], 1):
        single = SINGLE if sizes_of_site[site] == 1 else SEVERAL
        sources[number] = single if is_own(site) else LIBRARY
    asked: dict[Call, Asked] = {}
    for (size, site), number in counts.items():
        one = asked.setdefault(Call(size, int(sources[site])), Asked())
        one.allocations += number
        if site:
            one.sites[names[site]] += number
    return Calls(asked, sources)


def write_translated(
    reader: TraceReader,
    out: Path,
    header: Mapping[str, Any],
    calls: Calls,
    sizes: Mapping[Call, int],
) -> None:
    """Write the recording with the size of each call replaced by `sizes`."""
    copy_events(reader, out, header, _replaced(reader, calls, sizes))


def _replaced(
    reader: TraceReader, calls: Calls, sizes: Mapping[Call, int]
) -> Iterator[dict[str, np.ndarray]]:
    """Yield the columns of each block with other sizes."""
    tables = []
    for source in range(len(SOURCES)):
        known = sorted(call for call in sizes if call.source == source)
        ours = np.array([call.size_bytes for call in known], np.uint64)
        tables.append((ours, np.array([sizes[call] for call in known], np.uint64)))
    for columns in reader.columns():
        size_bytes = columns.size_bytes.copy()
        source_of = calls.sources[columns.site]
        for source, (ours, theirs) in enumerate(tables):
            asks = (columns.size_bytes > 0) & (source_of == source)
            size_bytes[asks] = theirs[np.searchsorted(ours, columns.size_bytes[asks])]
        yield columns._asdict() | {"size_bytes": size_bytes}
