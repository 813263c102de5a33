"""Figures as data, and the one function that draws them.

Panel("sizes", "Sizes", caption, Figure(x=Axis("size"), y=Axis("calls"), marks=[…]), columns)

A Mark is a glyph of Bokeh over columns; a Figure has two axes, marks, limits and a tooltip.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bokeh.layouts import column, gridplot
from bokeh.models import (
    AdaptiveTicker,
    ColumnDataSource,
    CustomJSTickFormatter,
    FactorRange,
    FixedTicker,
    HoverTool,
    Label,
    LabelSet,
    LogTicker,
    NumeralTickFormatter,
    Span,
    UIElement,
)
from bokeh.models import Axis as BokehAxis
from bokeh.plotting import figure as bokeh_figure

# Distinguishable for the color-blind (Okabe and Ito), readable on white and on black.
BLUE, ORANGE, GREEN, RED, GRAY = "#3a8fd0", "#e69f00", "#1fa187", "#d55e00", "#8a93a0"
HEIGHT_PIXELS, SMALL_HEIGHT_PIXELS = 300, 170
SMALL_IN_A_ROW = 3
LOG_ABOVE_RATIO = 40
ZERO = 0.5  # A count of 0 on a logarithmic axis.
BYTES_FORMAT = """
    const units = ["B", "KiB", "MiB", "GiB"];
    let value = tick, unit = 0;
    while (Math.abs(value) >= 1024 && unit < 3) { value /= 1024; unit += 1; }
    return value.toLocaleString("en", {maximumSignificantDigits: 4}) + " " + units[unit];
"""


@dataclass(frozen=True)
class Axis:
    """An axis. `names` are categories; pairs of names are categories in groups.

    `format` is a number's; None leaves it to Bokeh. `zero_to` makes a logarithmic axis of counts up
    to that number, on which 0 is drawn at ZERO.
    """

    label: str | None = None
    names: Sequence[Any] | None = None
    is_log: bool = False
    is_bytes: bool = False
    format: str | None = None
    start: float | None = None
    end: float | None = None
    zero_to: int | None = None
    turned: float = 0.0  # Angle of the names.


@dataclass(frozen=True)
class Mark:
    """A glyph: a method of Bokeh's figure, the columns it draws, and its options."""

    glyph: str
    columns: Mapping[str, Sequence[Any]]
    options: Mapping[str, Any]
    has_tip: bool = False


@dataclass(frozen=True)
class Limit:
    """A line across the figure at a value: `width` at a height, `height` at a place."""

    at: float
    color: str
    across: str = "width"
    text: str = ""
    dash: str = "dashed"
    line_width: float = 1


@dataclass(frozen=True)
class Peak:
    """A point with a text, which is to its left or right."""

    x: float
    y: float
    text: str
    is_left: bool


@dataclass(frozen=True)
class Figure:
    """A figure. `tips` are (label, text with @columns) of each mark with a tip; `labels` are the
    columns (x, y, text) of a text next to each mark; `small` are figures below it."""

    x: Axis
    y: Axis
    marks: Sequence[Mark]
    tips: Sequence[tuple[str, str]] = ()
    limits: Sequence[Limit] = ()
    labels: tuple[str, str, str] | None = None
    tip_mode: str = "mouse"
    legend_columns: int = 6
    height: int = HEIGHT_PIXELS
    has_tools: bool = True
    title: str = ""
    peak: Peak | None = None
    small: Sequence[Figure] = field(default=())


@dataclass(frozen=True)
class Panel:
    """A section of the report. `name` is its anchor and CSV file name, `columns` its numbers.

    The figure may be a model of Bokeh. Without a figure the columns are shown as a table.
    """

    name: str
    title: str
    caption: str
    figure: Figure | UIElement | None
    columns: Mapping[str, Sequence[Any]]

    def csv(self) -> str:
        """The figure's numbers as CSV with a header line."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(zip(*self.columns.values(), strict=True))
        return text.getvalue()


def mark(
    glyph: str, columns: Mapping[str, Sequence[Any]], has_tip: bool = False, **options: Any
) -> Mark:
    """A Mark, with Bokeh's options by name. A None in a column is not drawn."""
    return Mark(glyph, columns, options, has_tip)


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


# ---- Drawing


def draw(figure: Figure | UIElement) -> UIElement:
    """The figure as a Bokeh model, in the report's look."""
    if isinstance(figure, UIElement):
        return figure
    plot = _plot(figure)
    tipped = []
    sources: dict[int, ColumnDataSource] = {}
    for one in figure.marks:
        if id(one.columns) not in sources:
            sources[id(one.columns)] = _source(one.columns)
        source = sources[id(one.columns)]
        drawn = getattr(plot, one.glyph)(source=source, **one.options)
        tipped += [drawn] if one.has_tip else []
        if figure.labels is not None:
            _label(plot, source, *figure.labels)
    for limit in figure.limits:
        _limit(plot, limit)
    if figure.peak is not None:
        _mark_peak(plot, figure.peak)
    if figure.tips:
        tips = list(figure.tips)
        plot.add_tools(HoverTool(renderers=tipped, tooltips=tips, mode=figure.tip_mode))
    if plot.legend:
        _place_legend(plot, figure.legend_columns)
    if not figure.small:
        return plot
    small = list(map(draw, figure.small))
    grid = gridplot(small, ncols=SMALL_IN_A_ROW, sizing_mode="stretch_width", toolbar_location=None)
    return column(plot, grid, sizing_mode="stretch_width")


def _source(columns: Mapping[str, Sequence[Any]]) -> ColumnDataSource:
    """The columns for Bokeh, which draws None at 0, but not NaN."""
    return ColumnDataSource(
        {
            name: [float("nan") if value is None else value for value in values]
            for name, values in columns.items()
        }
    )


def plain_figure(**options: Any) -> bokeh_figure:
    """An empty Bokeh figure in the report's look; `options` are Bokeh's own."""
    defaults: dict[str, Any] = {
        "height": HEIGHT_PIXELS,
        "sizing_mode": "stretch_width",
        "tools": "box_zoom,pan,wheel_zoom,reset",
        "output_backend": "canvas",
    }
    plot = bokeh_figure(**{**defaults, **options})
    plot.toolbar.logo = None
    plot.toolbar.autohide = True
    plot.background_fill_color = None
    plot.border_fill_color = None
    plot.outline_line_color = None
    plot.grid.grid_line_alpha = 0.25
    plot.axis.minor_tick_line_color = None
    return plot


def label_bytes(axis: BokehAxis) -> None:
    """Make `axis` show bytes in the largest binary unit that fits."""
    axis.formatter = CustomJSTickFormatter(code=BYTES_FORMAT)
    axis.ticker = AdaptiveTicker(base=1024, mantissas=[2**power for power in range(10)])


def _plot(figure: Figure) -> bokeh_figure:
    options: dict[str, Any] = {"height": figure.height}
    for side, axis in (("x", figure.x), ("y", figure.y)):
        options[f"{side}_axis_label"] = axis.label
        if axis.names is not None:
            options[f"{side}_range"] = FactorRange(*axis.names)
        elif axis.is_log or axis.zero_to is not None:
            options[f"{side}_axis_type"] = "log"
    if not figure.has_tools:
        options["tools"] = ""
    plot = plain_figure(**options)
    if figure.title:
        plot.title.text = figure.title
        plot.title.text_font_size = "12px"
    _shape(plot.xaxis[0], plot.x_range, figure.x)
    _shape(plot.yaxis[0], plot.y_range, figure.y)
    return plot


def _shape(drawn: BokehAxis, shown: Any, axis: Axis) -> None:
    """Give an axis its ticks, their format, and its range."""
    if axis.is_bytes:
        label_bytes(drawn)
        drawn.ticker = LogTicker(base=4) if axis.is_log else drawn.ticker
    if axis.format is not None:
        drawn.formatter = NumeralTickFormatter(format=axis.format)
    if axis.turned:
        drawn.major_label_orientation = axis.turned
    if axis.names and isinstance(axis.names[0], tuple):
        drawn.group_text_font_size = "11px"
    if axis.start is not None:
        shown.start = axis.start
    if axis.end is not None:
        shown.end = axis.end
    if axis.zero_to is not None:
        powers = [10**power for power in range(len(str(axis.zero_to)) + 1)]
        drawn.ticker = FixedTicker(ticks=[ZERO, *powers])
        drawn.major_label_overrides = {ZERO: "0", **{power: f"{power:,}" for power in powers}}
        shown.start, shown.end = ZERO * 0.8, 2 * max(axis.zero_to, 1)


def _label(plot: bokeh_figure, source: ColumnDataSource, x: str, y: str, text: str) -> None:
    plot.add_layout(
        LabelSet(
            x=x,
            y=y,
            text=text,
            source=source,
            x_offset=6,
            text_baseline="middle",
            text_font_size="12px",
        )
    )


def _limit(plot: bokeh_figure, limit: Limit) -> None:
    plot.add_layout(
        Span(
            location=limit.at,
            dimension=limit.across,
            line_color=limit.color,
            line_dash=limit.dash,
            line_width=limit.line_width,
        )
    )
    if limit.text:
        plot.add_layout(
            Label(
                x=6,
                y=limit.at,
                x_units="screen",
                text=limit.text,
                text_color=limit.color,
                text_font_size="11px",
            )
        )


def _mark_peak(plot: bokeh_figure, peak: Peak) -> None:
    plot.scatter([peak.x], [peak.y], size=9, color=RED, marker="diamond")
    plot.add_layout(
        Label(
            x=peak.x,
            y=peak.y,
            text=peak.text,
            text_color=RED,
            text_font_size="13px",
            text_align="right" if peak.is_left else "left",
            x_offset=-10 if peak.is_left else 10,
            y_offset=-16,
        )
    )


def _place_legend(plot: bokeh_figure, columns: int) -> None:
    """Put the legend above the plot, so that it hides nothing. A click hides a mark."""
    legend = plot.legend[0]
    plot.add_layout(legend, "above")
    legend.ncols = columns
    legend.click_policy = "hide"
    legend.background_fill_alpha = 0
    legend.border_line_color = None
