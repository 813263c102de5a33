"""Writes claims.md: one line for each item of the checklist about the paper, P2-1 to P2-27, and
Table I.

Every figure of ours comes from results/*.json, filled into the sentences of reasons.toml; nothing
is typed.
"""

from __future__ import annotations

from typing import Any

from repro import claims_page
from repro.composable.measure import HERE, stored
from repro.sentences import MISSING, text_of

STAGES = ("memory", "unit", "figure9", "figure10", "spread", "set_up", "shown", "table1", "meta")
# What translation may cost, by the unit: bytes of the largest page, entries.
OVERS_MAX = {"16384-4": 1.02, "4096-4": 1.05, "4096-8": 1.05}
KINDS = {"ff": "flip-flops", "lut": "LUTs", "block_rams": "block RAMs"}


def reasons() -> dict[str, Any]:
    """The sentences."""
    return claims_page.sentences_of(HERE)


def derived(results: dict[str, Any]) -> dict[str, Any]:
    """What follows: cycles times the clock's period over the same without, cells added, and what
    holds for how many programs."""
    clock = results["table1"].get("clock", {}).get("ratio")
    images = results["figure10"].get("images", {})
    default = str(results["figure10"].get("entries_default"))
    times = {
        image: {
            size: pages["by_entries"][default]["over"] / clock
            for size, pages in row["pages"].items()
        }
        for image, row in images.items()
        if clock
    }
    table, entries = results["table1"], str(results["table1"].get("entries_default"))
    more = {
        kind: table["by_entries"][entries]["core_with_unit"][kind] - table["core"][kind]
        for kind in ("lut", "ff")
        if table
    }
    return {"time_over": times, "core_more": more, "within": within(results["spread"])}


def within(spread: dict[str, Any]) -> dict[str, int]:
    """How many programs translation costs no more than it may, by the unit."""
    return {
        unit: sum(over <= limit for row in spread["images"].values() for over in row[unit])
        for unit, limit in OVERS_MAX.items()
        if spread
    }


def all_results() -> dict[str, Any]:
    """What is stored, and what follows."""
    results = {stage: stored(stage) for stage in STAGES}
    return results | {"derived": derived(results)}


def cells(before: Any, after: Any) -> str:
    """A number without and with virtual memory."""
    if before is None or after is None:
        return MISSING
    grown = f" ({text_of(after / before, 'above')})" if before else ""
    return f"{before:,} → {after:,}{grown}"


def table_lines(table: dict[str, Any], paper: dict[str, Any]) -> list[str]:
    """Table I: theirs and ours, without → with virtual memory."""
    lines = ["| | theirs, Virtex-6 | ours, ECP5 |", "|---|---|---|"]
    default = str(table.get("entries_default"))
    rows = {
        "core": (table.get("core", {}), table.get("by_entries", {}).get(default, {})),
        "tile": (table.get("tile", {}), {"core_with_unit": table.get("tile_with_unit", {})}),
    }
    names = {"core": "core", "tile": "theirs: whole system; ours: one tile"}
    for row, (before, after) in rows.items():
        for kind, name in KINDS.items():
            with_unit = after.get("core_with_unit", {})
            ours = cells(before.get(kind), with_unit.get(kind))
            lines.append(f"| {names[row]}, {name} | {cells(*paper[row][kind])} | {ours} |")
    clock = table.get("clock", {})
    pair = [clock.get(name, {}).get("median_mhz") for name in ("tile", "tile_with_unit")]
    mhz = MISSING if None in pair else f"{pair[0]:.1f} → {pair[1]:.1f}"
    lines.append(f"| clock of the tile in MHz, median of five seeds | 50, fixed | {mhz} |")
    return lines


def entries_lines(table: dict[str, Any], figure: dict[str, Any]) -> list[str]:
    """Silicon and cycles by the number of entries in each TLB."""
    images = figure.get("images", {})
    sizes = [(image, size) for image, row in images.items() for size in row["pages"]]
    titles = [f"{image}, {int(size) // 1024} KiB" for image, size in sizes]
    lines = [
        "| entries | unit LUTs, flip-flops | core LUTs | core flip-flops | "
        + " | ".join(titles)
        + " |",
        "|---" * (4 + len(sizes)) + "|",
    ]
    for count, row in table.get("by_entries", {}).items():
        grown = [text_of(row["growth"][kind], "above") for kind in ("lut", "ff")]
        line = [count, f"{row['unit']['lut']:,}, {row['unit']['ff']:,}", *grown]
        for image, size in sizes:
            run = images[image]["pages"][size]["by_entries"].get(count)
            line.append(text_of(run["over"], "above") if run else "–")
        lines.append("| " + " | ".join(line) + " |")
    return lines


def claims_text(sentences: dict[str, Any], results: dict[str, Any]) -> str:
    """The whole of claims.md."""
    from repro.composable.table1 import PAPER

    table, figure = results["table1"], results["figure10"]
    sections = (
        ("Table I", sentences["table"], table_lines(table, PAPER)),
        ("By entries", sentences["entries"], entries_lines(table, figure)),
    )
    return claims_page.page(
        "Composable virtual memory (P2)",
        "python -m repro.composable.run",
        sentences,
        results,
        sections,
    )


def text_now() -> str:
    """claims.md from what is stored."""
    return claims_text(reasons(), all_results())


def write() -> None:
    """Write claims.md from what is stored."""
    (HERE / "claims.md").write_text(text_now(), encoding="utf-8")


def verdict() -> str:
    """How many items have which verdict."""
    return claims_page.verdict(reasons())
