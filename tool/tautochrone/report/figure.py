"""Figures as data. svg.py draws them.

Panel("sizes", "Sizes", caption, Figure(x=Axis("size"), y=Axis("calls"), marks=[…]), columns)

A Mark is a glyph over columns; a Figure has two axes, marks and limits.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Distinguishable for the color-blind (Okabe and Ito), readable on white and on black.
BLUE, ORANGE, GREEN, RED, GRAY = "#3a8fd0", "#e69f00", "#1fa187", "#d55e00", "#8a93a0"
HEIGHT_PIXELS, SMALL_HEIGHT_PIXELS = 220, 90
ROW_PIXELS = 26
LOG_ABOVE_RATIO = 40
ZERO = 0.5  # A count of 0 on a logarithmic axis.


@dataclass(frozen=True)
class Axis:
    """An axis. `names` are categories, of which the first is at the left or at the top.

    `zero_to` makes a logarithmic axis of counts up to that number, on which 0 is drawn at ZERO.
    """

    label: str = ""
    names: Sequence[str] | None = None
    is_log: bool = False
    is_bytes: bool = False
    start: float | None = None
    end: float | None = None
    zero_to: int | None = None


@dataclass(frozen=True)
class Mark:
    """A glyph of svg.py, the columns it draws, and its options: names of columns, or constants.

    A column "tip" has the text that a pointer over the glyph shows. Marks with the same `label`
    are one series of the legend.
    """

    glyph: str
    columns: Mapping[str, Sequence[Any]]
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Limit:
    """A line across the figure at a value: `width` at a height, `height` at a place."""

    at: float
    color: str
    across: str = "width"
    text: str = ""
    dash: str = "dashed"


@dataclass(frozen=True)
class Figure:
    """A figure, whose plot has `height` pixels. `also` are figures below it: narrow
    ones, if they are not higher than SMALL_HEIGHT_PIXELS.
    """

    x: Axis
    y: Axis
    marks: Sequence[Mark]
    limits: Sequence[Limit] = ()
    height: int = HEIGHT_PIXELS
    title: str = ""
    also: Sequence[Figure] = ()


@dataclass(frozen=True)
class Panel:
    """A section of the report. `name` is its anchor and CSV file name, `columns` its numbers.

    Without a figure the columns are shown as a table. `lines` explain names of the figure.
    """

    name: str
    title: str
    caption: str
    figure: Figure | None
    columns: Mapping[str, Sequence[Any]]
    lines: Mapping[str, str] = field(default_factory=dict)

    def csv(self) -> str:
        """The figure's numbers as CSV with a header line."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(zip(*self.columns.values(), strict=True))
        return text.getvalue()


def mark(glyph: str, columns: Mapping[str, Sequence[Any]], **options: Any) -> Mark:
    """A Mark. A None in a column is not drawn."""
    return Mark(glyph, columns, options)


def drawn_faults(faults: Sequence[int]) -> list[float]:
    """Counts for an axis with `zero_to`."""
    return [max(count, ZERO) for count in faults]


def of_bytes(count: float) -> str:
    """A number of bytes as text, exact below 10 KiB: `640 B`, `12.5 KiB`, `3.20 MiB`."""
    if count < 10 * 1024:
        return f"{count:,.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        count /= 1024
        if count < 1024 or unit == "GiB":
            return f"{count:.4g} {unit}"
    raise AssertionError("unreachable: the last unit takes all")
