"""The flame graph of a recording's peak: functions below their callers, as wide as their bytes."""

from __future__ import annotations

from typing import NamedTuple

from tautochrone.errors import TauError
from tautochrone.report.figure import BLUE, GREEN, ORANGE, Axis, Figure, Panel, mark, of_bytes
from tautochrone.trace.file import TraceReader
from tautochrone.who.holders import holders_of
from tautochrone.who.places import Places
from tautochrone.who.stacks import Stacks, Tree, tree_of

ROW_PIXELS, DEPTH_MAX = 20, 40
SHARE_MIN = 0.002  # Narrower functions would be a pixel or two wide.
COLORS = (BLUE, GREEN, ORANGE)


def flame_graph(reader: TraceReader) -> Panel | None:
    """Draw the stacks that hold the bytes at the peak; None if no stacks were recorded."""
    try:
        stacks = Stacks(reader.calls(), Places(reader.header))
        if not stacks.has_callers:
            return None
        tree = tree_of(stacks.held(holders_of(reader).counts, "peak"))
    except TauError:
        return None
    return panel_of(tree)


class Bar(NamedTuple):
    """A function in the graph, below its callers."""

    function: str
    depth: int
    from_bytes: int
    to_bytes: int
    objects: int


def panel_of(tree: Tree) -> Panel:
    """The panel of functions by their callers; those below SHARE_MIN of all are left out."""
    bars = []
    left = [(tree, 0, 0)]
    while left:
        node, depth, start = left.pop()
        bars.append(Bar(node.function, depth, start, start + node.size_bytes, node.objects))
        for child in sorted(node.children.values(), key=lambda each: -each.size_bytes):
            if depth + 1 < DEPTH_MAX and child.size_bytes >= SHARE_MIN * tree.size_bytes:
                left.append((child, depth + 1, start))
            start += child.size_bytes
    rows = max(bar.depth for bar in bars) + 1
    columns = dict(zip(Bar._fields, zip(*bars, strict=True), strict=True))
    drawn = columns | {
        "row": [bar.depth + 0.5 for bar in bars],
        "color": [color_of(bar.function) for bar in bars],
        "tip": [
            f"{bar.function}: {of_bytes(bar.to_bytes - bar.from_bytes)} in {bar.objects:,} objects"
            for bar in bars
        ],
    }
    look = {"y": "row", "left": "from_bytes", "right": "to_bytes", "inside": "function"}
    figure = Figure(
        Axis("bytes at the peak", is_bytes=True, start=0, end=max(tree.size_bytes, 1)),
        Axis(names=[""] * rows),
        [mark("bars", drawn, **look, color="color", shade=0.45, width=0.9)],
        height=ROW_PIXELS * rows,
    )
    caption = (
        "A function is below its callers, and as wide as the bytes that it and what it calls hold"
        f" at the peak. Those below {SHARE_MIN:.1%} are left out."
        " `tau who TRACE --export peak.json` writes all of them for speedscope."
    )
    return Panel("flame-graph", "Who holds the bytes at the peak", caption, figure, columns)


def color_of(function: str) -> str:
    """The same color in each report."""
    return COLORS[sum(function.encode()) % len(COLORS)]
