"""Result files: JSON with one row of a table on each line, so that a diff shows the row."""

import json
from pathlib import Path
from typing import Any

SHORT_COLUMNS = 240


def write_result(path: Path, result: Any) -> None:
    """Write a result to PATH; its folder is made if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text_of(result) + "\n", encoding="utf-8")


def text_of(value: Any, depth: int = 0) -> str:
    """JSON in which what holds rows is broken into lines. The outermost always is."""
    text = json.dumps(value, sort_keys=True)
    if not isinstance(value, dict | list) or not value:
        return text
    if depth and (len(text) <= SHORT_COLUMNS or is_row(value)):
        return text
    if isinstance(value, dict):
        lines = [f"{json.dumps(key)}: {text_of(value[key], depth + 1)}" for key in sorted(value)]
    else:
        lines = [text_of(each, depth + 1) for each in value]
    margin = "\n" + " " * (depth + 1)
    left, right = "{}" if isinstance(value, dict) else "[]"
    return left + margin + f",{margin}".join(lines) + margin[:-1] + right


def is_row(value: dict[str, Any] | list[Any]) -> bool:
    """Whether a list has values alone, or an object has no other object in it."""
    if isinstance(value, list):
        return not any(isinstance(each, dict | list) for each in value)
    return not any(has_object(each) for each in value.values())


def has_object(value: Any) -> bool:
    """Whether it is an object, or has one in it."""
    if isinstance(value, list):
        return any(has_object(each) for each in value)
    return isinstance(value, dict)
