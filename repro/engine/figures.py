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

from repro.engine.sentences import filled, value_at
from tautochrone.report.figure import (
    BLUE, GRAY, GREEN, ORANGE, RED, Axis, Figure, Limit, Mark, Panel, mark
)

COLORS = [BLUE, ORANGE, GREEN, RED, GRAY, "#7fb8e6", "#7fcdb9", "#c9a227", "#b9d9f2", "#f0a07a"]
COLORS += ["#2f5f8f", "#0d5c4d", "#8d6cab"]
DASHES = ("solid", "dashed", "dotted")
BARS_WIDTH = 0.8
Columns = dict[str, list[Any]]
Drawing = Callable[[dict[str, Any], dict[str, Any]], tuple[Figure, Columns]]


def series_of(panel: dict[str, Any], results: dict[str, Any]) -> Any:
    """The series of a panel."""
    return value_at(results, panel["series"])


def lines(panel: dict[str, Any], results: dict[str, Any]) -> tuple[Figure, Columns]:
    """A line with points for each series."""
    series = {
        name: [*enumerate(values)] if not isinstance(values[0], list | tuple) else values
        for name, values in series_of(panel, results).items()
    }
    words = [*dict.fromkeys(x for points in series.values() for x, _ in points)]
    names = words if all(isinstance(x, str) for x in words) else None
    columns: Columns = {"series": [], panel["x"]: [], panel["y"]: []}
    kinds = [name.rpartition(", ")[::2] if panel.get("dashes") else (name, "") for name in series]
    colors, dashes = ([*dict.fromkeys(part)] for part in zip(*kinds, strict=True))
    marks = []
    for (name, points), (color, dash) in zip(series.items(), kinds, strict=True):
        x, y = (list(part) for part in zip(*points, strict=True))
        look = {"color": COLORS[colors.index(color)], "label": name}
        drawn = {"x": x, "y": y, "tip": [f"{name}: {a}, {b}" for a, b in points]}
        marks.append(mark("scatter", drawn, x="x", y="y", **look))
        dashed = DASHES[dashes.index(dash)]
        marks.append(mark("line", drawn, x="x", y="y", line_width=2, dash=dashed, **look))
        columns["series"] += [name] * len(x)
        columns[panel["x"]] += x
        columns[panel["y"]] += y
    x_axis = Axis(panel["x"], names, is_log=panel.get("log") == "x")
    return drawn_figure(panel, results, x_axis, None, marks), columns


def bars(panel: dict[str, Any], results: dict[str, Any]) -> tuple[Figure, Columns]:
    """The bars of all series side by side, for each group. A value of None is left out."""
    series = series_of(panel, results)
    groups = list(dict.fromkeys(group for row in series.values() for group in row))
    width, low = BARS_WIDTH / len(series), panel.get("low", 0)
    columns: Columns = {panel["x"]: groups}
    most, marks = 0.0, []
    order = value_at(results, panel["colors"]) if "colors" in panel else [*series]
    for place, (name, row) in enumerate(series.items()):
        columns[name] = [row.get(group) for group in groups]
        known = [group for group in groups if row.get(group) is not None]
        drawn = {
            "x": [(group, (place + 0.5) * width - BARS_WIDTH / 2) for group in known],
            "top": [row[group] for group in known],
            "tip": [f"{name}, {group}: {row[group]:,.6g}" for group in known],
        }
        look = {"color": COLORS[order.index(name)], "label": name}
        marks.append(mark("bars", drawn, bottom=low, width=width, **look))
        most = max(most, *(row[group] for group in known), low)
    end = most * (2 if panel.get("log") else 1.05)
    return drawn_figure(panel, results, Axis(panel["x"], groups), (low, end), marks), columns


def drawn_figure(
    panel: dict[str, Any],
    results: dict[str, Any],
    x: Axis,
    limits: tuple[float, float] | None,
    marks: list[Mark],
) -> Figure:
    """The figure with its dashed lines; LIMITS are of the y axis."""
    found = []
    for key, across in (("levels", "width"), ("places", "height")):
        for level in panel.get(key, ()):
            at = value_at(results, level) if isinstance(level, str) else level
            if at is not None:
                found.append(Limit(at, GRAY, across))
    low, high = limits or (None, None)
    is_log, is_bytes = panel.get("log") == "y", bool(panel.get("bytes"))
    y = Axis(panel["y"], is_log=is_log, is_bytes=is_bytes, start=low, end=high)
    return Figure(x, y, marks, found)


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
