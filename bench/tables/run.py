"""Bytes of tables: direct, hierarchical and plain page tables, in one run.

Run `python -m bench tables`; it writes out/bench/tables.json. docs/spec/bounds.md has the costs of
their operations.

- `sizes`: bytes of each form's constant part for spaces of 2^10 ... 2^20 pages.
- `mappings`: bytes for mappings of a space of 2^20 pages, realistic and adversarial. Hierarchical
  tables are their constant part and 272 bytes per record; `per_five_words` is the records' share,
  divided by five words per mapped page.
"""

import random
from collections.abc import Iterable
from typing import Any

from bench.runner import Bench
from testing import table_cost

PAGES_LOG2 = 20
RECORD_BYTES = 272
FIVE_WORDS_BYTES = 20

# A mapping: regions as (start, pages, the pages of it that are mapped).
Region = tuple[int, int, Iterable[int]]


def dense(pages: int) -> list[Region]:
    """One region, all of it mapped."""
    return [(1024, pages, range(1024, 1024 + pages))]


def process() -> list[Region]:
    """A program of some 18,000 pages: code, data, libraries of four parts each, a heap nine tenths
    of which are in use, and nine stacks of which the first few pages are."""
    source = random.Random(7)
    regions: list[Region] = []
    start = 16
    for part in (700, 40, 25):
        regions.append((start, part, range(start, start + part)))
        start += part
    heap = start + 1
    mapped = [page for page in range(heap, heap + 16384) if source.random() < 0.9]
    regions.append((heap, 16384, mapped))
    start = 1 << 17
    for _ in range(24):
        for part in (source.randint(4, 60), source.randint(20, 300), source.randint(4, 90), 3):
            regions.append((start, part, range(start, start + part)))
            start += part
        start += source.randint(1, 500)
    for number in range(9):
        start = (1 << 19) + number * 2304
        regions.append((start, 2048, range(start + 2048 - 6, start + 2048)))
    return regions


def sparse(pages: int, distance: int) -> list[Region]:
    """One region of which one page every DISTANCE is mapped."""
    return [(1024, pages * distance, range(1024, 1024 + pages * distance, distance))]


def small_regions(pages: int, first: int, distance: int) -> list[Region]:
    """Regions of one page, DISTANCE apart."""
    starts = [first + number * distance for number in range(pages)]
    return [(start, 1, (start,)) for start in starts]


MAPPINGS = {
    "dense, 16,384 pages": dense(16384),
    "dense, 256 pages": dense(256),
    "a program": process(),
    "half of the pages, every second one": sparse(4096, 2),
    "a quarter of the pages": sparse(4096, 4),
    "one page of each 32": sparse(4096, 32),
    "regions of one page, every second one": small_regions(4096, 33, 2),
    "regions of one page, one a chunk": small_regions(2048, 33, 64),
    "regions of one page, each at the end of a chunk": small_regions(2048, 31, 64),
}


def sizes() -> list[dict[str, Any]]:
    """Bytes of the constant parts, next to a plain page table's."""
    rows = []
    for pages_log2 in range(10, PAGES_LOG2 + 1, 2):
        row: dict[str, Any] = {"pages_log2": pages_log2}
        for backend in table_cost.BACKENDS:
            with table_cost.Tables(backend, "rv32", pages_log2, 64, 1) as tables:
                row[backend] = tables.bytes
        rows.append(row)
    return rows


def mapping_bytes(regions: list[Region]) -> dict[str, Any]:
    """Bytes of a mapping in hierarchical tables."""
    mapped_pages = 0
    with table_cost.Tables("hierarchical", "rv32", PAGES_LOG2, 1 << 16, 1 << 13) as tables:
        for start, pages, mapped in regions:
            tables.map_region(start, pages)
            for page in mapped:
                tables.map_page(page)
                mapped_pages += 1
        records = tables.records_used()
        constant = tables.bytes
    return {
        "regions": len(regions),
        "mapped_pages": mapped_pages,
        "records": records,
        "constant_bytes": constant,
        "total_bytes": constant + records * RECORD_BYTES,
        "records_bytes": records * RECORD_BYTES,
        "five_words_bytes": mapped_pages * FIVE_WORDS_BYTES,
        "per_five_words": round(records * RECORD_BYTES / (mapped_pages * FIVE_WORDS_BYTES), 3),
    }


def measure(mappings: dict[str, list[Region]]) -> dict[str, Any]:
    """Both tables."""
    return {
        "sizes": sizes(),
        "mappings": {name: mapping_bytes(regions) for name, regions in mappings.items()},
    }


BENCH = Bench("tables", lambda _: measure(MAPPINGS))
