"""Writes claims.md: one line for each item of the checklist about the paper, P1-1 to P1-28.

Every figure of ours comes from results/*.json, filled into the sentences of reasons.toml; nothing
is typed. A figure that was not measured is written as "not measured".
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

from measure import HERE, stored

STAGES = (
    "rules",
    "table1",
    "figure3",
    "figure5",
    "figure5_host",
    "figure6",
    "figure7",
    "cross_input",
    "meta",
)
PLACE = re.compile(r"\{([a-z0-9_]+)((?:\.[^{}.|]+)*)(?:\|([^{}]+))?\}")


def value_at(results: dict[str, Any], stage: str, path: list[str]) -> Any:
    """The value at a path such as `columns.0.greedy_bytes`; None if there is none."""
    value: Any = results.get(stage)
    for key in path:
        if isinstance(value, list):
            value = value[int(key)] if key.isdigit() and int(key) < len(value) else None
        elif isinstance(value, dict):
            value = value.get(key)
        else:
            return None
    return value


def text_of(value: Any, form: str | None) -> str:
    """A value as it is printed: FORM is a Python format, or `list`, `yes`, `above` (percent above
    1).
    """
    if value is None:
        return "not measured"
    if form == "list":
        return ", ".join(str(item) for item in value)
    if form == "above":
        parts = value if isinstance(value, dict) else {"": value}
        return ", ".join(
            f"{name} {100 * (part - 1):+.1f} %".strip() for name, part in parts.items()
        )
    if form == "yes":
        return "yes" if value else "**no**"
    if form:
        return format(value, form)
    return str(value)


def filled(sentence: str, results: dict[str, Any]) -> str:
    """SENTENCE with each {stage.path|form} replaced by what was measured."""

    def replace(match: re.Match[str]) -> str:
        path = [key for key in match.group(2).split(".") if key]
        return text_of(value_at(results, match.group(1), path), match.group(3))

    return PLACE.sub(replace, sentence)


def claims_text(reasons: dict[str, Any], results: dict[str, Any]) -> str:
    """The whole of claims.md."""
    lines = [
        "# Budgeted memory allocator (P1): each item, theirs and ours",
        "",
        "Made by `python repro/budget/run.py` from `results/` and `reasons.toml`; not edited.",
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
    return "\n".join(lines) + "\n"


def write() -> None:
    """Write claims.md from what is stored."""
    reasons = tomllib.loads((HERE / "reasons.toml").read_text(encoding="utf-8"))
    results = {stage: stored(stage) for stage in STAGES}
    (HERE / "claims.md").write_text(claims_text(reasons, results), encoding="utf-8")
