"""What colors cost and what they buy: a partition beside the same tasks without sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tautochrone.tlb.partition import Partition


def crowded_entries(partition: Partition) -> int:
    """How many entries lie in sets that all principals together fill beyond the safe ways."""
    entries: Counter[tuple[int, int]] = Counter()
    for each in partition.principals:
        entries.update(partition.entries(each.runs))
    safe_ways = [array.safe_ways for array in partition.geometry.arrays]
    return sum(count for place, count in entries.items() if count > safe_ways[place[0]])


def price(colored: Partition, uncolored: Partition) -> dict[str, dict[str, int]]:
    """For both: bytes of windows and page tables, and entries in crowded sets."""
    return {
        name: {
            "address_space_bytes": each.address_space_bytes,
            "page_table_bytes": each.page_table_bytes,
            "crowded_entries": crowded_entries(each),
        }
        for name, each in (("colored", colored), ("uncolored", uncolored))
    }


def told(found: Mapping[str, Mapping[str, int]]) -> list[str]:
    """For people: the price, and the promise beside it."""
    ours, theirs = found["colored"], found["uncolored"]
    windows, tables = (
        f"{ours[key]:,} bytes, not {theirs[key]:,}"
        for key in ("address_space_bytes", "page_table_bytes")
    )
    lines = [f"price of the colors: windows of {windows}; page tables of {tables}"]
    before, after = theirs["crowded_entries"], ours["crowded_entries"]
    if not before:
        lines.append(
            "colors buy nothing while all keep to these pages: without them no set has more entries"
            " than safe ways either"
        )
    if after > before:
        lines.append(
            f"colors cost misses here: {after:,} entries share sets that do not hold them, and"
            f" {before:,} without colors"
        )
    elif after == before != 0:
        lines.append(
            f"colors neither cost nor save misses here: {after:,} entries share sets that do not"
            " hold them, with colors and without"
        )
    elif before:
        lines.append(
            f"promise: {after:,} entries share sets that do not hold them; {before:,} without"
            " colors"
        )
    return lines
