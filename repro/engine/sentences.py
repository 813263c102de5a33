"""Sentences whose figures come from results: `{stage.path|form}` is replaced by the measured value.

FORM is a Python format, or `list` (joined), `count` (how many), `yes` (yes or **no**), or `above`
(percent above 1, to a tenth; `above3`: to a thousandth; of a dictionary each with its name). A
missing figure becomes "not measured", or
WORDS in `{stage.path|form?WORDS}`.
"""

import re
import textwrap
from typing import Any

COLUMNS_MAX = 100
PLACE = re.compile(r"\{([a-z0-9_]+)((?:\.[^{}.|]+)*)(?:\|([^{}?]*)(?:\?([^{}]+))?)?\}")
MISSING = "not measured"


def value_at(results: Any, path: str) -> Any:
    """The value at a path such as `table1.rows.mc.rv32.ratios.footprint`; None if there is none."""
    value = results
    for key in path.split("."):
        if isinstance(value, list | tuple):
            value = value[int(key)] if key.isdigit() and int(key) < len(value) else None
        elif isinstance(value, dict):
            value = value.get(key)
        else:
            return None
    return value


def text_of(value: Any, form: str | None = None, missing: str | None = None) -> str:
    """The printed form of a value."""
    if value is None or (missing and value in ("", {}, [])):
        return missing or MISSING
    if form == "list":
        return ", ".join(f"{item:,}" if isinstance(item, int) else str(item) for item in value)
    if form == "count":
        return f"{len(value):,}"
    if form in ("above", "above3"):
        digits = 1 if form == "above" else 3
        parts = value if isinstance(value, dict) else {"": value}
        return ", ".join(
            f"{name} {100 * (part - 1):+.{digits}f} %".strip() for name, part in parts.items()
        )
    if form == "yes":
        return "yes" if value else "**no**"
    return format(value, form) if form else str(value)


def filled(sentence: str, results: dict[str, Any]) -> str:
    """SENTENCE with measured values in its places."""

    def replace(match: re.Match[str]) -> str:
        stage, path, form, missing = match.groups()
        return text_of(value_at(results, stage + path), form, missing)

    return PLACE.sub(replace, sentence)


def document(lines: list[str]) -> str:
    """The text of a document: paragraphs and list items in lines of COLUMNS_MAX, tables as is."""
    wrapped: list[str] = []
    for line in lines:
        parts = [line]
        if line and not line.startswith(("|", "#")):
            margin = line[: len(line) - len(line.lstrip())]
            indent = margin + "  " if line.lstrip().startswith("- ") else ""
            parts = textwrap.wrap(
                line,
                COLUMNS_MAX,
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            )
        wrapped += parts
    return "\n".join(wrapped) + "\n"
