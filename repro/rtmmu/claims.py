"""Writes claims.md: one line for each item of the checklist about the paper, P0-1 to P0-45, and
Table I with the paper's microseconds beside our instructions and accesses.

Every figure of ours comes from results/*.json, filled into the sentences of reasons.toml; nothing
is typed.
"""

from __future__ import annotations

import tomllib
from typing import Any

from repro.rtmmu.measure import HERE, stored
from repro.sentences import MISSING, filled

STAGES = ("table1", "figures", "tried", "mechanisms", "shown", "meta")
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


def claims_text(reasons: dict[str, Any], results: dict[str, Any]) -> str:
    """The whole of claims.md."""
    lines = [
        "# Real-time virtual memory (P0): each item, theirs and ours",
        "",
        "Made by `python repro/rtmmu/run.py` from `results/` and `reasons.toml`; not edited.",
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
    lines += ["", "## Table I", "", filled(reasons["table"], results), ""]
    lines += table_lines(results["table1"])
    for title, key in (("What did not hold or differs", "did_not_hold"), ("Limits", "limits")):
        lines += ["", f"## {title}", ""]
        lines += [f"- {filled(text, results)}" for text in reasons[key]]
    return "\n".join(lines) + "\n"


def text_now() -> str:
    """claims.md from what is stored."""
    reasons = tomllib.loads((HERE / "reasons.toml").read_text(encoding="utf-8"))
    return claims_text(reasons, {stage: stored(stage) for stage in STAGES})


def write() -> None:
    """Write claims.md from what is stored."""
    (HERE / "claims.md").write_text(text_now(), encoding="utf-8")
