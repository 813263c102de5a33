"""Writes claims.md: one line for each item of the checklist about the paper, P0-1 to P0-45, and
Table I: our cycles on the tile beside the paper's microseconds, and our instructions and accesses.

Every figure of ours comes from results/*.json, filled into the sentences of reasons.toml; nothing
is typed.
"""

from __future__ import annotations

import tomllib
from typing import Any

from repro.rtmmu.measure import HERE, stored
from repro.sentences import MISSING, document, filled

STAGES = (
    *("table1", "figures", "tried", "mechanisms", "shown"),
    *("tile_table1", "tile_figures", "tile_access", "meta"),
)
VERDICTS = ("holds", "holds, with a limit", "differs", "not yet")
SYSTEM_NAMES = {"rtvm": "ours", "conventional": "conventional"}


def number(value: float | None, form: str = ",") -> str:
    """A number of the table."""
    return MISSING if value is None else format(value, form)


def paper_cells(row: dict[str, Any]) -> list[str]:
    """The paper's three ratios, empty for a row that it does not have."""
    theirs = row.get("paper_ratios")
    if theirs is None:
        return ["–", "–", "–"]
    forms = (("malloc_penalty", ".2f"), ("free_gain", ",.1f"), ("footprint", ".2f"))
    return [format(theirs[name], form) for name, form in forms]


def table_lines(table1: dict[str, Any]) -> list[str]:
    """Table I: instructions / accesses, and the ratios beside the paper's."""
    lines = [
        "| trace | stands for | malloc, ours | malloc, conv. | free, ours | free, conv. |"
        " pages, ours | pages, conv. | malloc ÷ (paper) | free × (paper) | pages × (paper) |",
        "|---" * 11 + "|",
    ]
    order = sorted(table1.get("rows", {}).values(), key=lambda row: row["program"] != "synthetic")
    for row in order:
        systems, ratios = row["rv32"]["systems"], row["rv32"]["ratios"]
        cells = [row["program"], row["paper"] or "–"]
        for call in ("malloc", "free"):
            for system in SYSTEM_NAMES:
                worst = systems[system][call]
                cells.append(f"{worst['max_instructions']:,} / {worst['max_accesses']:,}")
        cells += [number(systems[system]["peak_mapped_pages"]) for system in SYSTEM_NAMES]
        measured = (
            number(ratios["malloc_penalty_instructions"], ".2f"),
            number(ratios["free_gain_instructions"], ",.1f"),
            number(ratios["footprint"], ".2f"),
        )
        cells += [f"{our} ({their})" for our, their in zip(measured, paper_cells(row), strict=True)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def with_theirs(ours: int, theirs: int | None) -> str:
    """A number of ours, the paper's in brackets."""
    return f"{ours:,} ({'–' if theirs is None else f'{theirs:,}'})"


def cycle_lines(tile: dict[str, Any]) -> list[str]:
    """Table I on the tile: cycles, the paper's microseconds and pages in brackets."""
    lines = [
        "| trace | stands for | malloc, ours | malloc, conv. | free, ours | free, conv. |"
        " pages, ours | pages, conv. | malloc ÷ | free × | pages × | fault, ours | fault, conv. |",
        "|---" * 13 + "|",
    ]
    order = sorted(tile.get("rows", {}).values(), key=lambda row: row["program"] != "synthetic")
    for row in order:
        ours, theirs = (row["systems"][system] for system in SYSTEM_NAMES)
        paper = row.get("paper_values", [None] * 6)
        numbers = (
            (ours["malloc"]["max_cycles"], paper[0]),
            (theirs["malloc"]["max_cycles"], paper[3]),
            (ours["free"]["max_cycles"], paper[1]),
            (theirs["free"]["max_cycles"], paper[4]),
            (ours["peak_mapped_pages"], paper[2]),
            (theirs["peak_mapped_pages"], paper[5]),
        )
        ratios = (
            number(row["ratios"]["malloc_penalty"], ".2f"),
            number(row["ratios"]["free_gain"], ",.1f"),
            number(row["ratios"]["footprint"], ".2f"),
        )
        cells = [row["program"], row["paper"] or "–"]
        cells += [with_theirs(*pair) for pair in numbers]
        cells += [f"{our} ({their})" for our, their in zip(ratios, paper_cells(row), strict=True)]
        cells += [number(each["fault"]["max_cycles"]) for each in (ours, theirs)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def bound_lines(bounds: dict[str, Any]) -> list[str]:
    """Bounds in cycles beside what was seen."""
    lines = [
        "| cycles | ours: bound | most seen | bound ÷ seen | conventional: bound | most seen |",
        "|---" * 6 + "|",
    ]
    ours, theirs = (bounds.get(system, {}) for system in SYSTEM_NAMES)
    for kind in ("malloc", "aligned_alloc", "resize", "free", "fault", "load", "store"):
        if kind not in ours:
            continue
        mine, other = ours[kind], theirs.get(kind, {})
        cells = [
            kind,
            *(number(mine[name]) for name in ("bound_cycles", "max_cycles")),
            f"{mine['over']:.2f}",
            number(other["bound_cycles"]) if other.get("bound_cycles") else "none: it loops",
            number(other.get("max_cycles")),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def claims_text(reasons: dict[str, Any], results: dict[str, Any]) -> str:
    """The whole of claims.md."""
    lines = [
        "# Real-time virtual memory (P0): each item, theirs and ours",
        "",
        "Made by `python -m repro.rtmmu.run` from `results/` and `reasons.toml`; not edited.",
        'Paper: M. Böhnert and C. Scholl, "A Dynamic Virtual Memory Management under Real-Time'
        ' Constraints", 2014.',
        "",
        f"Conditions: {filled(reasons['conditions'], results)}",
        "",
        "| item | command | theirs | ours | verdict | why |",
        "|---|---|---|---|---|---|",
    ]
    for item in reasons["item"]:
        keys = ("command", "theirs", "ours", "verdict", "why")
        cells = [filled(str(item[key]), results) for key in keys]
        lines.append(f"| {item['id']} {item['title']} | " + " | ".join(cells) + " |")
    tile = results["tile_table1"]
    for title, key, table in (
        ("Table I in cycles of the simulated tile", "cycles", cycle_lines(tile)),
        ("Bounds in cycles", "bounds", bound_lines(tile.get("bounds", {}))),
        ("Table I in instructions", "table", table_lines(results["table1"])),
    ):
        lines += ["", f"## {title}", "", filled(reasons[key], results), "", *table]
    for title, key in (("What did not hold or differs", "did_not_hold"), ("Limits", "limits")):
        lines += ["", f"## {title}", ""]
        lines += [f"- {filled(text, results)}" for text in reasons[key]]
    return document(lines)


def text_now() -> str:
    """claims.md from what is stored."""
    reasons = tomllib.loads((HERE / "reasons.toml").read_text(encoding="utf-8"))
    return claims_text(reasons, {stage: stored(stage) for stage in STAGES})


def write() -> None:
    """Write claims.md from what is stored."""
    (HERE / "claims.md").write_text(text_now(), encoding="utf-8")
