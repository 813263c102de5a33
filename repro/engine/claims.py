"""claims.md of a reproduction: a line for each item of a paper, then its sections.

reasons.toml has all of it. Our figures are filled in from results (sentences.py):

- `title`, `stages`, `conditions`, and `source` if the paper is named above them.
- `verdicts` that an item can have, and `columns`: the keys of an item by the titles of its cells.
- `[[item]]` with `id`, `title` and a sentence for each of the columns.
- `[[section]]` with `title`, and either `list`, the key of a list of sentences, or a table:
  `sentence` is the key of the text above it, `rows` the path of a list of rows in the results,
  and `[section.columns]` have a sentence each, whose places are paths in the row. A section that
  is `printed` is on the terminal, too.
- `[[limit]]`: what results must keep (test_engine.py).

A long text is a list of sentences. The first is in the cell, above the table or at the bullet. The
others are bullets below it; a cell's others are under "Notes".
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


def parts_of(text: str | list[str], results: dict[str, Any]) -> list[str]:
    """A text, or the sentences of a long one, filled in."""
    return [filled(each, results) for each in ([text] if isinstance(text, str) else text)]


def section(part: dict[str, Any], sentences: dict[str, Any], results: dict[str, Any]) -> list[str]:
    """The lines of a section."""
    lines = ["", f"## {part['title']}", ""]
    if "list" in part:
        for text in sentences[part["list"]]:
            first, *others = parts_of(text, results)
            lines += [f"- {first}", *(f"  - {each}" for each in others)]
        return lines
    cells, rows = part["columns"].values(), value_at(results, part["rows"])
    filled_rows = [[filled(cell, row) for cell in cells] for row in rows]
    first, *others = parts_of(sentences[part["sentence"]], results)
    bullets = ["", *(f"- {each}" for each in others)] if others else []
    return [*lines, first, *bullets, "", *table(part["columns"], filled_rows)]


def page(name: str, sentences: dict[str, Any], results: dict[str, Any]) -> str:
    """The whole of claims.md."""
    columns, items, notes = sentences["columns"], [], []
    for item in sentences["item"]:
        cells = []
        for title, key in columns.items():
            first, *others = parts_of(item[key], results)
            cells.append(f"{first} (more in the notes)" if others else first)
            notes += [f"- **{item['id']}, {title}.** {' '.join(others)}"] if others else []
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
        *(["", "## Notes", "", *notes] if notes else []),
    ]
    for part in sentences["section"]:
        lines += section(part, sentences, results)
    return document(lines)


def printed(sentences: dict[str, Any], results: dict[str, Any]) -> str:
    """The sections that are printed, too."""
    parts = [part for part in sentences["section"] if part.get("printed")]
    return document([line for part in parts for line in section(part, sentences, results)])


def verdict(sentences: dict[str, Any], results: dict[str, Any]) -> str:
    """The main result in a sentence, or how many items have which verdict."""
    if "verdict" in sentences:
        return filled(sentences["verdict"], results)
    counts = Counter(item["verdict"] for item in sentences["item"])
    return ", ".join(f"{counts[name]} {name}" for name in sentences["verdicts"])
