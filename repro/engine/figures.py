"""The figures of a reproduction's report, drawn from series of results.

`[[panel]]` of reasons.toml has `name`, `title`, `caption` (sentences), `draw` and its settings:

- "lines": `series` is the path of {name: values}, or {name: [[x, y], …]}; x may be words.
- "bars": `series` is the path of {name: {group: value}}; each group has the bars of all series.

Options:

- `x` and `y`: labels.
- `log`: "x" or "y".
- `low`: where the y axis begins.
- `levels` and `places`: paths or numbers of horizontal and vertical dashed lines.
- `dashes`: a series "a, b" has the color of a and the dashes of b.
- `colors`: the path of names in the order of colors, so that two panels share them.
- `bytes`: the y axis shows bytes.
- `need`: a path without which the panel is left out.

A folder with its own drawing has a file for it: `draw` is "FILE.FUNCTION".
"""

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from bokeh.models import FactorRange, HoverTool, Span, UIElement
from bokeh.plotting import figure

from repro.engine.sentences import filled, value_at
from tautochrone.report.figure import (
    BLUE, GRAY, GREEN, ORANGE, RED, Panel, label_bytes, plain_figure
)

COLORS = [BLUE, ORANGE, GREEN, RED, GRAY, "#7fb8e6", "#7fcdb9", "#c9a227", "#b9d9f2", "#f0a07a"]
COLORS += ["#2f5f8f", "#0d5c4d", "#8d6cab"]
DASHES = ("solid", "dashed", "dotted")
BARS_WIDTH = 0.8
Columns = dict[str, list[Any]]
Drawing = Callable[[dict[str, Any], dict[str, Any]], tuple[UIElement, Columns]]


def series_of(panel: dict[str, Any], results: dict[str, Any]) -> Any:
    """The series of a panel."""
    return value_at(results, panel["series"])


def lines(panel: dict[str, Any], results: dict[str, Any]) -> tuple[figure, Columns]:
    """A line with points for each series."""
    series = {
        name: [*enumerate(values)] if not isinstance(values[0], list | tuple) else values
        for name, values in series_of(panel, results).items()
    }
    words = dict.fromkeys(x for points in series.values() for x, _ in points)
    options = {"x_range": FactorRange(*words)} if all(isinstance(x, str) for x in words) else {}
    plot = empty(panel, **options)
    columns: Columns = {"series": [], panel["x"]: [], panel["y"]: []}
    kinds = [name.rpartition(", ")[::2] if panel.get("dashes") else (name, "") for name in series]
    colors, dashes = ([*dict.fromkeys(part)] for part in zip(*kinds, strict=True))
    for (name, points), (color, dash) in zip(series.items(), kinds, strict=True):
        x, y = (list(part) for part in zip(*points, strict=True))
        look = {"color": COLORS[colors.index(color)], "legend_label": name}
        plot.line(x, y, line_width=2, line_dash=DASHES[dashes.index(dash)], **look)
        plot.scatter(x, y, size=5, **look)
        columns["series"] += [name] * len(x)
        columns[panel["x"]] += x
        columns[panel["y"]] += y
    return finished(plot, panel, results), columns


def bars(panel: dict[str, Any], results: dict[str, Any]) -> tuple[figure, Columns]:
    """The bars of all series side by side, for each group. A value of None is left out."""
    series = series_of(panel, results)
    groups = list(dict.fromkeys(group for row in series.values() for group in row))
    plot = empty(panel, x_range=FactorRange(*groups), tools="")
    plot.xaxis.major_label_orientation = 0.9 if len(groups) > 9 else "horizontal"
    width, low = BARS_WIDTH / len(series), panel.get("low", 0)
    columns: Columns = {panel["x"]: groups}
    most = 0.0
    order = value_at(results, panel["colors"]) if "colors" in panel else [*series]
    for place, (name, row) in enumerate(series.items()):
        columns[name] = [row.get(group) for group in groups]
        known = [group for group in groups if row.get(group) is not None]
        at = [(group, (place + 0.5) * width - BARS_WIDTH / 2) for group in known]
        drawn = plot.vbar(
            at, width, top=[row[group] for group in known], bottom=low,
            color=COLORS[order.index(name)], line_color=GRAY, legend_label=name,
        )  # fmt: skip
        plot.add_tools(HoverTool(renderers=[drawn], tooltips=[(name, "@top{0,0.000}")]))
        most = max(most, *(row[group] for group in known), low)
    plot.y_range.start, plot.y_range.end = low, most * (2 if panel.get("log") else 1.05)
    return finished(plot, panel, results), columns


def empty(panel: dict[str, Any], **options: Any) -> figure:
    """A figure without anything drawn."""
    if "log" in panel:
        options[f"{panel['log']}_axis_type"] = "log"
    return plain_figure(x_axis_label=panel["x"], y_axis_label=panel["y"], **options)


def finished(plot: figure, panel: dict[str, Any], results: dict[str, Any]) -> figure:
    """The figure with its legend and dashed lines."""
    for key, dimension in (("levels", "width"), ("places", "height")):
        for level in panel.get(key, ()):
            at = value_at(results, level) if isinstance(level, str) else level
            if at is not None:
                plot.add_layout(Span(location=at, dimension=dimension, line_dash="dashed"))
    if panel.get("bytes"):
        label_bytes(plot.yaxis[0])
    plot.add_layout(plot.legend[0], "right")
    plot.legend.background_fill_alpha = 0
    return plot


def drawing(name: str, module: Callable[[str], ModuleType]) -> Drawing:
    """The function that draws a panel; MODULE imports a file of the folder."""
    if "." not in name:
        return {"lines": lines, "bars": bars}[name]
    file, _, function = name.partition(".")
    return getattr(module(file), function)


def panels(
    sentences: dict[str, Any], results: dict[str, Any], module: Callable[[str], ModuleType]
) -> Iterable[Panel]:
    """Every figure whose results are stored."""
    for panel in sentences["panel"]:
        if value_at(results, panel.get("need") or panel["series"]):
            model, columns = drawing(panel["draw"], module)(panel, results)
            words = (filled(panel[key], results) for key in ("title", "caption"))
            yield Panel(panel["name"], *words, model, columns)
