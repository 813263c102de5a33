"""claims.md of a reproduction: a line for each item of a paper, then its sections.

All of it is written in reasons.toml; figures of ours are filled in from results (sentences.py):

- `title`, `stages`, `conditions`, and `source` if the paper is named above them.
- `verdicts` that an item can have, and `columns`: the keys of an item by the titles of its cells.
- `[[item]]` with `id`, `title` and a sentence for each of the columns.
- `[[section]]` with `title`, and either `list`, the key of a list of sentences, or a table:
  `sentence` is the key of what is said above it, `rows` the path of a list of rows in the results,
  and `[section.columns]` have a sentence each, whose places are paths in the row.
- `[[limit]]`: what results must keep (test_engine.py).
"""

import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from repro.engine.sentences import document, filled, value_at


def sentences_of(folder: Path) -> dict[str, Any]:
    """The sentences of a reproduction."""
    return tomllib.loads((folder / "reasons.toml").read_text(encoding="utf-8"))


def table(heads: Iterable[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table. Two columns whose heads look alike differ by a space at the end."""
    names = [head.strip() for head in heads]
    first, *lines = ("| " + " | ".join(line) + " |" for line in (names, *rows))
    return [first, "|---" * len(names) + "|", *lines]


def section(part: dict[str, Any], sentences: dict[str, Any], results: dict[str, Any]) -> list[str]:
    """The lines of a section."""
    lines = ["", f"## {part['title']}", ""]
    if "list" in part:
        return lines + [f"- {filled(text, results)}" for text in sentences[part["list"]]]
    cells, rows = part["columns"].values(), value_at(results, part["rows"])
    filled_rows = [[filled(cell, row) for cell in cells] for row in rows]
    sentence = filled(sentences[part["sentence"]], results)
    return [*lines, sentence, "", *table(part["columns"], filled_rows)]


def page(name: str, sentences: dict[str, Any], results: dict[str, Any]) -> str:
    """The whole of claims.md."""
    columns, items = sentences["columns"], []
    for item in sentences["item"]:
        cells = [filled(str(item[key]), results) for key in columns.values()]
        items.append([f"{item['id']} {item['title']}", *cells])
    lines = [
        f"# {sentences['title']}: each item, theirs and ours",
        "",
        f"Made by `python -m repro {name}` from `results/` and `reasons.toml`; not edited.",
        *([sentences["source"]] if "source" in sentences else []),
        "",
        f"Conditions: {filled(sentences['conditions'], results)}",
        "",
        *table(["item", *columns], items),
    ]
    for part in sentences["section"]:
        lines += section(part, sentences, results)
    return document(lines)


def verdict(sentences: dict[str, Any], results: dict[str, Any]) -> str:
    """The main result in a sentence, or how many items have which verdict."""
    if "verdict" in sentences:
        return filled(sentences["verdict"], results)
    counts = Counter(item["verdict"] for item in sentences["item"])
    return ", ".join(f"{counts[name]} {name}" for name in sentences["verdicts"])
