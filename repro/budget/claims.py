"""Writes claims.md: one line for each item of the checklist about the paper, P1-1 to P1-28.

Every figure of ours comes from results/*.json, filled into the sentences of reasons.toml; nothing
is typed.
"""

from __future__ import annotations

import tomllib
from typing import Any

from repro.budget.measure import HERE, stored
from repro.sentences import document, filled

STAGES = (
    "rules",
    "table1",
    "figure3",
    "figure5",
    "figure5_host",
    "figure6",
    "figure7",
    "cross_input",
    "recordings",
    "meta",
)


def claims_text(reasons: dict[str, Any], results: dict[str, Any]) -> str:
    """The whole of claims.md."""
    lines = [
        "# Budgeted memory allocator (P1): each item, theirs and ours",
        "",
        "Made by `python -m repro.budget.run` from `results/` and `reasons.toml`; not edited.",
        'Paper: J. Lee and J. Yi, "Budgeted Memory Allocator for Embedded Systems", 2008. Bytes.',
        "",
        f"Conditions: {filled(reasons['conditions'], results)}",
        "",
        "| item | command | theirs | ours | why they differ |",
        "|---|---|---|---|---|",
    ]
    for item in reasons["item"]:
        cells = [filled(str(item[key]), results) for key in ("command", "theirs", "ours", "why")]
        lines.append(f"| {item['id']} {item['title']} | " + " | ".join(cells) + " |")
    lines += ["", "## Claims that did not hold", ""]
    lines += [f"- {filled(text, results)}" for text in reasons["did_not_hold"]]
    return document(lines)


def write() -> None:
    """Write claims.md from what is stored."""
    reasons = tomllib.loads((HERE / "reasons.toml").read_text(encoding="utf-8"))
    results = {stage: stored(stage) for stage in STAGES}
    (HERE / "claims.md").write_text(claims_text(reasons, results), encoding="utf-8")
