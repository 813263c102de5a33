"""What follows from the results: cycles times the clock's period, growth, rows and series."""

from typing import Any

from repro.composable.table1 import PAPER
from repro.engine.sentences import MISSING, text_of

OVER_SMALL = 1.001  # a cost of translation that hardly counts
KINDS = {"ff": "flip-flops", "lut": "LUTs", "block_rams": "block RAMs"}
BESIDE = {
    "with the synthetic application": "synthetic",
    "with random neighbors, one page table for all": "one_table",
    "with random neighbors": "neighbors",
}
Rows = list[dict[str, Any]]


def derived(results: dict[str, Any]) -> dict[str, Any]:
    """All of it."""
    table, figure9, figure10 = (results[name] for name in ("table1", "figure9", "figure10"))
    entries, clock = str(table["entries_default"]), table["clock"]["ratio"]
    default = str(figure10["entries_default"])
    pages = {
        (image, size): row["by_entries"]
        for image, sizes in figure10["images"].items()
        for size, row in sizes["pages"].items()
    }
    whole = table["by_entries"][entries]["core_with_unit"]
    time_over: dict[str, dict[str, float]] = {}
    for (image, size), runs in pages.items():
        time_over.setdefault(image, {})[size] = runs[default]["over"] / clock
    return {
        "time_over": time_over,
        "core_more": {kind: whole[kind] - table["core"][kind] for kind in ("lut", "ff")},
        "within": within(results["spread"]),
        "works": list(results["spread"]["works"]),
        "table_rows": table_rows(table, whole),
        "entries_rows": [
            {"entries": count, **row}
            | {"over": {f"{image}-{size}": runs.get(count, {}).get("over")
                        for (image, size), runs in pages.items()}}
            for count, row in table["by_entries"].items()
        ],
        "figure9": {
            label: figure9[name]["tasks"]["vld"]["start_difference_cycles"]
            for label, name in BESIDE.items()
        },
        "figure10": {
            f"{entries} entries": {
                f"{image}, {int(size) // 1024} KiB": 100 * (runs[entries]["over"] - 1)
                for (image, size), runs in pages.items()
            }
            for entries in next(iter(pages.values()))
        },
    }  # fmt: skip


def within(spread: dict[str, Any]) -> dict[str, int]:
    """How many programs translation costs hardly anything, by the unit."""
    rows = [row for kind in ("images", "works") for row in spread[kind].values()]
    return {
        unit: sum(over <= OVER_SMALL for row in rows for over in row[unit])
        for unit in spread["units"]
    }


def cells(before: Any, after: Any) -> str:
    """A number without and with virtual memory."""
    if before is None or after is None:
        return MISSING
    grown = f" ({text_of(after / before, 'above')})" if before else ""
    return f"{before:,} → {after:,}{grown}"


def table_rows(table: dict[str, Any], core_with_unit: dict[str, int]) -> Rows:
    """Table I: theirs and ours, without → with virtual memory."""
    found = []
    for name, row, before, after in (
        ("core", "core", table["core"], core_with_unit),
        ("theirs: whole system; ours: one tile", "tile", table["tile"], table["tile_with_unit"]),
    ):
        for kind, title in KINDS.items():
            theirs = cells(*PAPER[row][kind])
            ours = cells(before[kind], after[kind])
            found.append({"name": f"{name}, {title}", "theirs": theirs, "ours": ours})
    clocks = (table["clock"][name]["median_mhz"] for name in ("tile", "tile_with_unit"))
    clock = {"name": "clock of the tile in MHz, median of five seeds", "theirs": "50, fixed"}
    return [*found, clock | {"ours": " → ".join(f"{mhz:.1f}" for mhz in clocks)}]
