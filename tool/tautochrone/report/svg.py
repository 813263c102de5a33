"""Draws figures as static SVG files: shapes and text, without script, font or network.

draw(figure, WIDE_PIXELS) returns "<svg …>"

The layout needs no browser: the width of a text is estimated, never too small for the usual fonts.
Labels that would overlap move to another row. A curve has a point per pixel: the smallest and the
largest value of a pixel's column stay, so no peak disappears. Points at the same pixel are one.
"""

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tautochrone.report.figure import ZERO, Axis, Figure, Limit, Mark

# A narrow page is touched: its figures have no texts for a pointer.
WIDE_PIXELS, NARROW_PIXELS, SMALL_PIXELS = 760, 380, 250
GAP, LINE, SWATCH = 8, 16, 14  # Pixels: around texts, of a line of text, of a legend's sample.
INSIDE_PIXELS_MIN = 32  # A narrower bar has no text inside.
NAMES_PART_MAX = 0.5  # Of the width, for the names of rows.
ROWS_OF_NAMES_MAX = 4
FEW_POINTS = 500  # More are drawn to two pixels.
# Of characters that are not as wide as most.
TEXT_PIXELS = {c: 4.2 for c in "il.,:;'|!()[]/ "} | {c: 9.4 for c in "ABCDEFGHKNOPQRSUVXYZ"}
TEXT_PIXELS |= {c: 10.5 for c in "mwMW%@×"}
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
# Paths of points, from their middle.
SHAPES = {
    **{"circle": "h0", "square": "h0", "dash": "m-6 0h12", "bar": "m0-9v18"},
    "triangle": "m0-3.5l3.5 6h-7z",
    "diamond": "m0-5l5 5l-5 5l-5-5z",
    "star": "m0-8l2 6h6l-5 4l2 6l-5-4l-5 4l2-6l-5-4h6z",
}
# Width and ends of strokes; other shapes are filled.
STROKED = {"circle": (5, "round"), "square": (4, "square"), "dash": (3, "butt"), "bar": (3, "butt")}
# Options that a mark may lack.
ABSENT = {"tip": "", "size": 0, "text": "", "inside": "", "low": 0, "bottom": 0, "left": 0}
DASHES = {"dashed": "6 4", "dotted": "2 3"}


def text_pixels(text: str) -> float:
    """The width of a text of 12 pixels' height, at least as wide as most fonts draw it."""
    return sum(12.2 if c > "\u1fff" else TEXT_PIXELS.get(c, 7.7) for c in text)


def number_text(value: float) -> str:
    """A number at an axis."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"


def bytes_text(value: float) -> str:
    """Bytes at an axis, in the largest unit that they fill."""
    unit = min(int(math.log2(max(abs(value), 1))) // 10, len(UNITS) - 1)
    return f"{value / 1024**unit:.4g} {UNITS[unit]}"


# ---- Axes


@dataclass(frozen=True)
class Scale:
    """Maps the values from `low` to `high` to the pixels from `start` to `end`."""

    axis: Axis
    low: float
    high: float
    start: float
    end: float
    tick_pixels: int  # The least distance of two ticks.

    def __call__(self, value: Any) -> float:
        """The pixel of a number, of a name, or of a name and an offset in parts of its room."""
        if self.axis.names is not None:
            name, offset = value if isinstance(value, tuple) else (value, 0.0)
            value = self.axis.names.index(name) + 0.5 + offset if isinstance(name, str) else name
        if self.axis.is_log:
            value = max(value, self.low)
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """The places and texts of the ticks; of all names, which have rows."""
        if self.axis.names is not None:
            return [(self(name), name) for name in self.axis.names]
        text = bytes_text if self.axis.is_bytes else number_text
        count = int(abs(self.end - self.start) / self.tick_pixels)
        values = self._powers(count) if self.axis.is_log else self._steps(count)
        told = [(self(v), text(v)) for v in values if self.low <= v * 1.0001 and v <= self.high]
        if self.axis.zero_to is not None:
            told = [(self(ZERO), "0"), *(tick for tick in told if tick[1] != "0.5")]
        return told

    def _steps(self, count: int) -> list[float]:
        """Multiples of 1, 2 or 5 times a power of 10; of a power of 2 for bytes."""
        least = (self.high - self.low) / max(count, 1)
        power = 10.0 ** math.floor(math.log10(least))
        step = next(power * m for m in (1, 2, 5, 10, 20) if power * m >= least * 0.999)
        if self.axis.is_bytes:
            step = max(2.0 ** math.ceil(math.log2(least)), 1.0)
        first, last = math.ceil(self.low / step), math.floor(self.high / step * 1.0001)
        return [round(step * number, 9) for number in range(first, last + 1)]

    def _powers(self, count: int) -> list[float]:
        """Powers of 10, with numbers between them if they fit; powers of 2 for bytes."""
        base = 2.0 if self.axis.is_bytes else 10.0
        first = math.floor(math.log(self.low, base) + 1e-9)
        last = math.ceil(math.log(self.high, base))
        stride = math.ceil((last - first) / max(count, 1))
        powers = [base**power for power in range(first, last + 1) if power % stride == 0]
        inside = ((1, 2, 5), (1, 3)) if base == 10.0 and stride == 1 else ()
        fitting = (digits for digits in inside if (last - first) * len(digits) <= count)
        digits = next(fitting, (1,))
        return [power * digit for power in powers for digit in digits]


def _scale(figure: Figure, side: str, start: float, end: float) -> Scale:
    """The scale of the x or the y axis, as wide as all marks and limits unless the axis says so."""
    axis, ends = (figure.x, (start, end, 70)) if side == "x" else (figure.y, (start, end, 32))
    if axis.names is not None:
        return Scale(axis, 0, max(len(axis.names), 1), *ends)
    if axis.zero_to is not None:
        high = 2 * max(axis.zero_to, 1)
        return Scale(replace(axis, is_log=True), ZERO * 0.8, high, *ends)
    keys = ("x", "left", "right") if side == "x" else ("y", "low", "top", "bottom")
    given = [(m, k) for m in figure.marks for k in keys if k in m.options or k in m.columns]
    values = [value for mark, key in given for (value,) in rows(mark, key)]
    across = "height" if side == "x" else "width"
    values += [limit.at for limit in figure.limits if limit.across == across]
    values = [v for v in values if not isinstance(v, tuple | str) and (v > 0 or not axis.is_log)]
    low, high = (min(values), max(values)) if values else (1, 2)
    if axis.is_log:
        low, high = low / 1.3, high * 1.3
    elif side == "y":
        high += 0.08 * (high - low)
    low = low if axis.start is None else axis.start
    high = high if axis.end is None else axis.end
    return Scale(axis, float(low), float(high) if high > low else float(low + 1), *ends)


# ---- Marks


def rows(mark: Mark, *keys: str) -> list[tuple[Any, ...]]:
    """The values of these options in each row; a row with None is left out. A tip may be absent."""
    count = len(next(iter(mark.columns.values())))
    columns = []
    for key in keys:
        value = mark.options.get(key, key)
        is_column = isinstance(value, str) and value in mark.columns
        columns.append(mark.columns[value] if is_column else [ABSENT.get(value, value)] * count)
    return [row for row in zip(*columns, strict=True) if not any(v is None for v in row)]


def _number(value: float) -> str:
    """A coordinate, to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def _fill(color: str, shade: float = 1, **_: Any) -> str:
    return f'fill="{color}" fill-opacity="{shade}"'


def _stroke(color: str, line_width: float = 1.5, dash: str = "", **_: Any) -> str:
    dashed = f' stroke-dasharray="{DASHES[dash]}"' if dash in DASHES else ""
    return f'fill="none" stroke="{color}" stroke-width="{line_width}"{dashed}'


def _shape(tag: str, tip: str) -> str:
    """An element, with the text that a pointer shows."""
    title = f"><title>{html.escape(tip)}</title></{tag.split()[0]}>" if tip else "/>"
    return f"<{tag}{title}"


def _path(points: Sequence[tuple[int, int]]) -> str:
    """The path of steps: each value holds to the next point."""
    (x, y), last = points[0], points[-1]
    path = f"{x} {y}"
    for at, value in points[1:]:
        if value != y or (at, value) == last:
            path += f"h{at - x}" + (f"v{value - y}" if value != y else "")
            x, y = at, value
    return path


def _steps(mark: Mark, x: Scale, y: Scale) -> str:
    """A curve of steps through the largest `y` of each column of pixels.

    With `low`, the area down to its smallest value is filled, `shade` opaque.
    """
    bins: dict[int, tuple[float, float]] = {}
    for at, value, low in rows(mark, "x", "y", "low"):
        pixel = round(x(at))
        before = bins.get(pixel, (value, low))
        bins[pixel] = (max(value, before[0]), min(low, before[1]))
    if not bins:
        return ""
    ends = [*sorted(bins.items()), (round(x.end), bins[max(bins)])]
    high, low = ([(at, round(y(pair[i]))) for at, pair in ends] for i in (0, 1))
    curve = f'<path d="M{_path(high)}" {_stroke(**mark.options)}/>'
    if "low" not in mark.options:
        return curve
    # Mirrored, the lower curve is one of steps, too: it is drawn from the right.
    mirrored = [(at, low[place - 1][1]) for place, (at, _) in enumerate(low)][:0:-1]
    area = f"M{_path(high)}L{_path(mirrored)}"
    return f'<path d="{area}H{ends[0][0]}Z" {_fill(**mark.options)}/>{curve}'


def _line(mark: Mark, x: Scale, y: Scale) -> str:
    points = "L".join(f"{_number(x(a))} {_number(y(b))}" for a, b in rows(mark, "x", "y"))
    return f'<path d="M{points}" {_stroke(**mark.options)}/>' if points else ""


def _scatter(mark: Mark, x: Scale, y: Scale) -> str:
    """Points of one shape, or circles with the diameters of `size`; a `text` is next to a point."""
    points = rows(mark, "x", "y", "size", "tip")
    grid = 2 if len(points) > FEW_POINTS else 1
    drawn = {
        (round(x(a) / grid) * grid, round(y(b) / grid) * grid, round(size)): tip
        for a, b, size, tip in points
    }
    name, look = mark.options.get("marker", "circle"), _fill(**mark.options)
    if name in STROKED and "size" not in mark.options:
        wide, ends = STROKED[name]
        look = f'{_stroke(mark.options["color"], wide)} stroke-linecap="{ends}"'
        look += f' stroke-opacity="{mark.options.get("shade", 1)}"'
    made, plain = "", ""
    for (a, b, size), tip in sorted(drawn.items()):
        if size:
            made += _shape(f'circle cx="{a}" cy="{b}" r="{size / 2:g}"', tip)
        elif tip:
            made += _shape(f'path d="M{a} {b}{SHAPES[name]}"', tip)
        else:
            plain += f"M{a} {b}{SHAPES[name]}"
    made = f'<g {look}>{made}<path d="{plain}"/></g>' if plain else f"<g {look}>{made}</g>"
    for a, b, text in rows(mark, "x", "y", "text") if "text" in mark.columns else ():
        side, anchor = (-10, "end") if x(a) > (x.start + x.end) / 2 else (10, "start")
        made += _text(x(a) + side, y(b) + 4, text, anchor)
    return made


def _bars(mark: Mark, x: Scale, y: Scale) -> str:
    """Bars in rows of names from `left` to `right`, or in columns from `bottom` to `top`.

    They are `width` wide in their axis' measure, or `pixels`. A `text` is behind a row, and
    a text `inside` a row is shown as far as it fits.
    """
    made, is_row = "", y.axis.names is not None
    along, across = (x, y) if is_row else (y, x)
    keys = ("y", "left", "right") if is_row else ("x", "bottom", "top")
    unit = abs(across.end - across.start) / (across.high - across.low)
    wide = mark.options.get("pixels") or mark.options.get("width", 0.64) * unit
    texts = ("tip", "text", "inside")
    for at, first, last, color, tip, text, inside in rows(mark, *keys, "color", *texts):
        low, high = sorted((along(first), along(last)))
        corner = (low, across(at) - wide / 2) if is_row else (across(at) - wide / 2, low)
        sizes = (high - low, wide) if is_row else (wide, high - low)
        place = 'x="{}" y="{}" width="{}" height="{}"'.format(*map(_number, (*corner, *sizes)))
        made += _shape(f"rect {place} {_fill(**{**mark.options, 'color': color})}", tip)
        made += _text(high + 6, across(at) + 4, text) if text else ""
        if inside and high - low > INSIDE_PIXELS_MIN:
            made += _text(low + 4, across(at) + 4, _fitted(inside, high - low - GAP))
    return made


def _image(mark: Mark, x: Scale, y: Scale) -> str:
    """The picture at `address`, as large as the plot."""
    width, height = x.end - x.start, y.start - y.end
    place = f'x="{x.start:.0f}" y="{y.end}" width="{width:.0f}" height="{height}"'
    look = 'preserveAspectRatio="none" style="image-rendering: pixelated"'
    return f'<image {place} {look} href="{mark.options["address"]}"/>'


GLYPHS = {"image": _image, "steps": _steps, "line": _line, "scatter": _scatter, "bars": _bars}


# ---- Texts


def _text(x: float, y: float, text: str, anchor: str = "start", kind: str = "") -> str:
    """A text, whose baseline is at y."""
    look = f' class="{kind}"' if kind else ""
    look += f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{_number(x)}" y="{_number(y)}"{look}>{html.escape(text)}</text>'


def _fitted(text: str, pixels: float) -> str:
    """The text, without its end if it is wider."""
    if text_pixels(text) <= pixels + 1:
        return text
    while text and text_pixels(text + "…") > pixels:
        text = text[:-1]
    return text + "…"


def _in_rows(ticks: Sequence[tuple[float, str]], width: float) -> list[tuple[float, int, str]]:
    """Texts below an axis, in as few rows as keep them apart: middle, row, text."""
    placed, ends = [], [-GAP] * ROWS_OF_NAMES_MAX
    for at, text in ticks:
        half = text_pixels(text) / 2
        middle = min(max(at, half), width - half)
        row = next((r for r, end in enumerate(ends) if middle - half >= end + GAP), None)
        if row is not None:
            ends[row] = middle + half
            placed.append((middle, row, text))
    return placed


def _sample(one: Mark | Limit) -> str:
    """How a series looks, left of its name in the legend."""
    line = f'<path d="M0 -4h{SWATCH}" '
    if isinstance(one, Limit):
        return f"{line}{_stroke(one.color, 2, one.dash)}/>"
    if one.glyph == "scatter":
        look = {key: one.options[key] for key in ("marker", "color") if key in one.options}
        columns = {"x": [SWATCH / 2], "y": [-4]}
        same = Scale(Axis(), 0, 1, 0, 1, 1)
        return _scatter(Mark("", columns, look), same, same)
    if one.glyph in ("steps", "line"):
        return f"{line}{_stroke(**one.options)}/>"
    return f'<rect y="-9" width="{SWATCH}" height="10" {_fill(**one.options)}/>'


def _legend(figure: Figure, width: int, top: int) -> tuple[str, int, list[str]]:
    """The legend from pixel `top` on, its lower edge, and the names of the series."""
    series: dict[str, Mark | Limit] = {
        one.options["label"]: one for one in figure.marks if "label" in one.options
    }
    series |= {limit.text: limit for limit in figure.limits if limit.text}
    if not series:
        return "", top, []
    made, left, y = "", 0.0, top + LINE - 4
    for number, (name, one) in enumerate(series.items()):
        text = _fitted(name, width - SWATCH - GAP)
        wide = SWATCH + 5 + text_pixels(text) + 2 * GAP
        if left and left + wide - 2 * GAP > width:
            left, y = 0.0, y + LINE + 2
        made += (
            f'<g class="key" data-series="{number}" transform="translate({_number(left)} {y})">'
            f"{_sample(one)}{_text(SWATCH + 5, 0, text)}</g>"
        )
        left += wide
    return made, y + GAP, list(series)


# ---- Figures


def _frame(figure: Figure, x: Scale, y: Scale, width: int) -> tuple[str, float]:
    """Grid and texts around the plot, and the pixel below them. The y axis is named on top."""
    made, left, bottom = "", x.start - GAP, max(y.start, y.end)
    grid = f"M{x.start:.0f} {bottom}H{x.end:.0f}"
    for at, text in y.ticks():
        grid += f"M{x.start:.0f} {at:.0f}H{x.end:.0f}" if figure.y.names is None else ""
        made += _text(left, at + 4, _fitted(text, left), "end")
    below = bottom
    ticks = x.ticks()
    for middle, row, text in _in_rows(ticks, width):
        below = max(below, bottom + LINE * (row + 1))
        made += _text(middle, bottom + LINE * (row + 1), text, "middle", "faint")
    if figure.x.names is None:
        grid += "".join(f"M{at:.0f} {min(y.start, y.end)}V{bottom}" for at, _ in ticks)
    if figure.x.label:
        below += LINE + 3
        made += _text(x.end, below, figure.x.label, "end", "faint")
    made += _text(0, 11, figure.y.label, kind="faint") if figure.y.label else ""
    return f'<path class="grid" d="{grid}"/>{made}', below + 5


def _limit(limit: Limit, x: Scale, y: Scale) -> str:
    path = f"M{x.start:.0f} {_number(y(limit.at))}H{x.end:.0f}"
    if limit.across == "height":
        path = f"M{_number(x(limit.at))} {y.start}V{y.end}"
    return f'<path d="{path}" {_stroke(limit.color, 1.5, limit.dash)}/>'


def draw(figure: Figure, width: int) -> str:
    """The figure as an SVG element of this width, without the figures below it."""
    if width <= NARROW_PIXELS:
        bare = [replace(one, options={**one.options, "tip": ""}) for one in figure.marks]
        figure = replace(figure, marks=bare)
    legend, top, series = _legend(figure, width, LINE if figure.y.label else 4)
    ends = [top + GAP + figure.height, top + GAP]
    y = _scale(figure, "y", *(ends if figure.y.names is None else ends[::-1]))
    names = max((text_pixels(text) for _, text in y.ticks()), default=0)
    texts = [text for m in figure.marks if m.glyph == "bars" for (text,) in rows(m, "text")]
    right = width - max(map(text_pixels, texts), default=6) - GAP
    x = _scale(figure, "x", min(names, NAMES_PART_MAX * width) + GAP, right)
    frame, height = _frame(figure, x, y, width)
    drawn = [(GLYPHS[m.glyph](m, x, y), m.options.get("label", "")) for m in figure.marks]
    drawn += [(_limit(limit, x, y), limit.text) for limit in figure.limits]
    marks = "".join(
        # page.js hides and shows the series of the legend.
        f'<g class="series" data-series="{series.index(name)}">{each}</g>' if name else each
        for each, name in drawn
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="figure" viewBox="0 0 {width} {height}"'
        f' role="img" aria-label="{html.escape(figure.title)}">{legend}{frame}{marks}</svg>'
    )
