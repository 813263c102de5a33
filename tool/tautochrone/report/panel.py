"""Shared by all figures of the report: a panel, its look and its numbers as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bokeh.models import AdaptiveTicker, Axis, CustomJSTickFormatter, UIElement
from bokeh.plotting import figure

# Distinguishable for the color-blind (Okabe and Ito), readable on white and on black.
BLUE, ORANGE, GREEN, RED, GRAY = "#3a8fd0", "#e69f00", "#1fa187", "#d55e00", "#8a93a0"
HEIGHT_PIXELS = 300


@dataclass(frozen=True)
class Panel:
    """One figure of the report. `name` is its anchor and CSV file name, `columns` its numbers.

    Without a `model` the columns are shown as a table.
    """

    name: str
    title: str
    caption: str
    model: UIElement | None
    columns: Mapping[str, Sequence[Any]]

    def csv(self) -> str:
        """Return the figure's numbers as CSV with a header line."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(zip(*self.columns.values(), strict=True))
        return text.getvalue()


def plain_figure(**options: Any) -> figure:
    """Return an empty Bokeh figure in the report's look; `options` are Bokeh's own."""
    defaults: dict[str, Any] = {
        "height": HEIGHT_PIXELS,
        "sizing_mode": "stretch_width",
        "tools": "box_zoom,pan,wheel_zoom,reset",
        "output_backend": "canvas",
    }
    plot = figure(**{**defaults, **options})
    plot.toolbar.logo = None
    plot.toolbar.autohide = True
    plot.background_fill_color = None
    plot.border_fill_color = None
    plot.outline_line_color = None
    plot.grid.grid_line_alpha = 0.25
    plot.axis.minor_tick_line_color = None
    return plot


def of_bytes(count: float) -> str:
    """Return a number of bytes as text, exact below 10 KiB: `640 B`, `12.5 KiB`, `3.20 MiB`."""
    if count < 10 * 1024:
        return f"{count:,.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        count /= 1024
        if count < 1024 or unit == "GiB":
            return f"{count:.4g} {unit}"
    raise AssertionError("unreachable: the last unit takes all")


_BYTES_AXIS_CODE = """
    const units = ["B", "KiB", "MiB", "GiB"];
    let value = tick, unit = 0;
    while (Math.abs(value) >= 1024 && unit < 3) { value /= 1024; unit += 1; }
    return value.toLocaleString("en", {maximumSignificantDigits: 4}) + " " + units[unit];
"""


def label_bytes(axis: Axis) -> None:
    """Make `axis` show bytes in the largest binary unit that fits."""
    axis.formatter = CustomJSTickFormatter(code=_BYTES_AXIS_CODE)
    axis.ticker = AdaptiveTicker(base=1024, mantissas=[2**power for power in range(10)])
