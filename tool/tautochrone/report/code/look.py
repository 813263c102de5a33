"""Shared by the figures of cold code: a color per planner, a line per number of frames."""

from __future__ import annotations

from collections.abc import Sequence

from bokeh.models import FixedTicker, Legend
from bokeh.plotting import figure

from tautochrone.report.panel import BLUE, GRAY, GREEN, ORANGE, RED

COLORS = {
    "replayed": BLUE,
    "profile-based": ORANGE,
    "entry-points": GREEN,
    "link-order": GRAY,
}
POLICY_COLORS = {"round-robin": BLUE, "random": ORANGE, "nru": GREEN, "aging": RED}
DASHES = {16: "solid", 32: "dashed", 64: "dotted"}
NAMES = {"replayed": "replayed (ours)"}
ZERO = 0.5  # where a logarithmic axis of faults has none
NO_FAULT = "Where the axis is logarithmic, no fault is drawn at the lower edge."


def name_of(planner: str) -> str:
    """A planner's name in a legend."""
    return NAMES.get(planner, planner)


def share(part: float) -> str:
    """A threshold, as `99.95 %`."""
    return f"{100 * part:.6g} %"


def drawn_faults(faults: Sequence[int]) -> list[float]:
    """Faults on a logarithmic axis, on which 0 has no place."""
    return [max(count, ZERO) for count in faults]


def label_faults(plot: figure, faults: Sequence[int]) -> None:
    """Make the vertical axis, logarithmic, start at no fault and show powers of ten."""
    most = max(faults, default=1)
    powers = [10**power for power in range(len(str(most)) + 1)]
    plot.yaxis[0].ticker = FixedTicker(ticks=[ZERO, *powers])
    plot.yaxis[0].major_label_overrides = {ZERO: "0", **{power: f"{power:,}" for power in powers}}
    plot.y_range.start, plot.y_range.end = ZERO * 0.8, 2 * max(most, 1)


def place_legend(plot: figure, columns: int) -> None:
    """Put the legend above the plot, so that it hides nothing."""
    legend: Legend = plot.legend[0]
    plot.add_layout(legend, "above")
    legend.ncols = columns
    legend.click_policy = "hide"
    legend.background_fill_alpha = 0
    legend.border_line_color = None
