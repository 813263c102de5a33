"""claims.md of a reproduction: a line for each item of a paper, sections, and limits.

The sentences are a TOML document: `conditions`, `limits`, and `[[item]]` with `id`, `title` and a
sentence for each of COLUMNS. Their places are filled in from results (sentences.py).
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from repro.sentences import document, filled

VERDICTS = ("shown", "differs", "not claimed")
COLUMNS = ("theirs", "ours", "verdict", "where", "why")
Section = tuple[str, str, list[str]]  # title, sentence, lines of a table


def sentences_of(folder: Path) -> dict[str, Any]:
    """The sentences of a reproduction."""
    return tomllib.loads((folder / "reasons.toml").read_text(encoding="utf-8"))


def page(
    title: str,
    command: str,
    sentences: dict[str, Any],
    results: dict[str, Any],
    sections: Iterable[Section] = (),
) -> str:
    """The whole of claims.md, made by COMMAND."""
    lines = [
        f"# {title}: each item, theirs and ours",
        "",
        f"Made by `{command}` from `results/` and `reasons.toml`; not edited.",
        "",
        f"Conditions: {filled(sentences['conditions'], results)}",
        "",
        "| item | theirs | ours | verdict | shown by | why |",
        "|---|---|---|---|---|---|",
    ]
    for item in sentences["item"]:
        row = [filled(str(item[key]), results) for key in COLUMNS]
        lines.append(f"| {item['id']} {item['title']} | " + " | ".join(row) + " |")
    for heading, sentence, rows in sections:
        lines += ["", f"## {heading}", "", filled(sentence, results), "", *rows]
    lines += ["", "## What differs, and limits", ""]
    lines += [f"- {filled(text, results)}" for text in sentences["limits"]]
    return document(lines)


def verdict(sentences: dict[str, Any]) -> str:
    """How many items have which verdict."""
    counts = Counter(item["verdict"] for item in sentences["item"])
    return ", ".join(f"{counts[name]} {name}" for name in VERDICTS)
