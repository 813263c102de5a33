"""Figures of a kernel's cold code: RAM against faults, footprint, faults and time, policies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tautochrone.coldcode.design_space import (
    FRAMES_OF_POLICIES,
    LINK_ORDER,
    REPLAYED,
    Point,
    Space,
)
from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.report.figure import (
    BLUE,
    GRAY,
    GREEN,
    ORANGE,
    RED,
    Axis,
    Figure,
    Limit,
    Mark,
    Panel,
    drawn_faults,
    mark,
    of_bytes,
)

COLORS = {REPLAYED: BLUE, LINK_ORDER: GRAY}
NAMES = {REPLAYED: "replayed (planned)", LINK_ORDER: "link order (no planner)"}
POLICY_COLORS = {"round-robin": BLUE, "random": ORANGE, "nru": GREEN, "aging": RED}
DASHES = {16: "solid", 32: "dashed", 64: "dotted"}
LARGE_HEIGHT_PIXELS, SHORT_ROW_PIXELS = 300, 18
NANOSECONDS_PER_INSTRUCTION = 8
BOUND = "lower bound"
NO_FAULT = "Where the axis is logarithmic, no fault is drawn at the lower edge."
ESTIMATED = "The effect of placement on the instruction cache is not included."
POINT_COLUMNS = ("placement", "threshold", "frames", "policy", "ram_bytes", "faults")


@dataclass(frozen=True)
class Clock:
    """The kernel's time: its `instructions` in steady state, and `page_us` to load a page."""

    instructions: int
    page_us: float

    def seconds(self, faults: int) -> float:
        """System time with so many loads."""
        return self.instructions * NANOSECONDS_PER_INSTRUCTION / 1e9 + self.page_seconds(faults)

    def page_seconds(self, faults: int) -> float:
        """The part of it for loads."""
        return faults * self.page_us / 1e6

    def told(self) -> str:
        """How it is estimated."""
        return (
            f"Estimated: {self.instructions:,} recorded instructions of the kernel at"
            f" {NANOSECONDS_PER_INSTRUCTION} ns, and {self.page_us:g} µs per load."
        )


def share(part: float) -> str:
    """A threshold, as `99.95 %`."""
    return f"{100 * part:.6g} %"


def _columns(points: Sequence[Point], **more: Callable[[Point], Any]) -> dict[str, list[Any]]:
    """The columns of POINT_COLUMNS, and more."""
    columns = {
        "placement": [point.planner for point in points],
        "threshold": [point.threshold for point in points],
        "frames": [point.frames for point in points],
        "policy": [point.policy for point in points],
        "ram_bytes": [point.ram_bytes for point in points],
        "faults": [point.faults for point in points],
    }
    return columns | {name: [of(point) for point in points] for name, of in more.items()}


# ---- RAM against faults


def ram(space: Space, plan: Point | None) -> Panel:
    """All points, the lower bound, and the plan's point, if any."""
    marks: list[Mark] = []
    for planner in dict.fromkeys(point.planner for point in space.points):
        points = [point for point in space.points if point.planner == planner]
        best = _best(points)
        look = {"color": COLORS[planner], "label": NAMES[planner]}
        line = {
            "ram_bytes": [point.ram_bytes for point in best],
            "drawn": drawn_faults([point.faults for point in best]),
        }
        at = {"x": "ram_bytes", "y": "drawn"}
        marks.append(mark("steps", line, **at, **look))
        marks.append(mark("scatter", _drawn(points), shade=0.6, **at, **look))
    floor = {
        "ram_bytes": [ram_bytes for ram_bytes, _ in space.floor],
        "drawn": drawn_faults([faults for _, faults in space.floor]),
    }
    look = {"color": RED, "dash": "dashed", "label": BOUND}
    marks.append(mark("steps", floor, **at, **look))
    columns = _columns(space.points)
    if plan is not None:
        look = {"marker": "star", "color": RED, "label": "the plan"}
        marks.append(mark("scatter", _drawn([plan]), **at, **look))
        for name, values in _columns([plan]).items():
            columns[name] += values
        columns["placement"][-1] = f"plan: {plan.planner}"
    for ram_bytes, faults in space.floor:
        row = (BOUND, None, None, None, ram_bytes, faults)
        for name, value in zip(POINT_COLUMNS, row, strict=True):
            columns[name].append(value)
    figure = Figure(
        Axis("code and frames in RAM", is_bytes=True),
        Axis("faults", zero_to=max((point.faults for point in space.points), default=1)),
        marks,
        height=LARGE_HEIGHT_PIXELS,
    )
    caption = (
        "Each point is a placement for one threshold T and one number of frames, replayed on the"
        " recording. A line connects the best points of a planner. No placement with any threshold,"
        f" number of frames and policy is below the {BOUND}. {NO_FAULT}"
    )
    return Panel("code-ram", "RAM against faults", caption, figure, columns)


def _drawn(points: Sequence[Point]) -> dict[str, list[Any]]:
    tips = [
        f"{one.planner}, T = {share(one.threshold)}, {one.frames} frames, {one.policy}:"
        f" {one.ram_bytes:,} B, {one.faults:,} faults"
        for one in points
    ]
    columns = _columns(points)
    return columns | {"drawn": drawn_faults(columns["faults"]), "tip": tips}


def _best(points: Sequence[Point]) -> list[Point]:
    """The points that no other one beats in both RAM and faults, by RAM."""
    best: list[Point] = []
    for point in sorted(points, key=lambda one: (one.ram_bytes, one.faults)):
        if not best or point.faults < best[-1].faults:
            best.append(point)
    return best


# ---- By threshold


def footprint(space: Space, frames: int) -> Panel:
    """The code that stays in RAM by threshold, without frames and with so many."""
    parts = [part for part, _ in space.footprints]
    resident = [size for _, size in space.footprints]
    columns = {
        "threshold": parts,
        "resident_bytes": resident,
        "with_frames_bytes": [size + frames * PAGE_BYTES for size in resident],
        "all_code_bytes": [space.code_bytes] * len(parts),
    }
    drawn = {**columns, "name": list(map(share, parts))}
    marks: list[Mark] = []
    for name, color, label in (
        ("with_frames_bytes", BLUE, f"with {frames} frames"),
        ("resident_bytes", ORANGE, "without frames"),
    ):
        look = {"x": "name", "y": name, "color": color, "label": label}
        marks.append(mark("line", drawn, line_width=2, **look))
        sizes = zip(drawn["name"], columns[name], strict=True)
        tips = [f"T = {part}: {size:,} B" for part, size in sizes]
        marks.append(mark("scatter", {**drawn, "tip": tips}, **look))
    figure = Figure(
        Axis("threshold T", names=drawn["name"]),
        Axis("code in RAM after boot", is_bytes=True, start=0, end=1.08 * max(space.code_bytes, 1)),
        marks,
        limits=[Limit(space.code_bytes, GRAY, text="all code that stays")],
    )
    caption = (
        f"All code that stays after boot is {of_bytes(space.code_bytes)} (dashed). Code that is"
        " colder than T leaves. The pager's own data and page tables are not counted."
    )
    return Panel("code-footprint", "Code in RAM by threshold", caption, figure, columns)


def thresholds(space: Space, clock: Clock) -> list[Panel]:
    """Faults and system time by threshold, for each planner and number of frames."""
    points = [one for one in space.points if one.frames in FRAMES_OF_POLICIES]
    columns = {
        "placement": [one.planner for one in points],
        "frames": [one.frames for one in points],
        "threshold": [one.threshold for one in points],
        "faults": [one.faults for one in points],
        "system_seconds": [clock.seconds(one.faults) for one in points],
    }
    faults = Axis("faults", zero_to=max(columns["faults"], default=1))
    seconds = Axis("system time (s)", start=0)
    caption = f"Replayed with {space.wanted.cache.policy} replacement. {NO_FAULT}"
    return [
        Panel(
            "code-faults",
            "Faults by threshold",
            caption,
            _lines(points, faults, drawn_faults(columns["faults"])),
            columns,
        ),
        Panel(
            "code-time",
            "System time by threshold",
            f"{clock.told()} {ESTIMATED}",
            _lines(points, seconds, columns["system_seconds"]),
            columns,
        ),
    ]


def _lines(points: Sequence[Point], y: Axis, values: Sequence[float]) -> Figure:
    """A line for each planner and number of frames."""
    marks: list[Mark] = []
    for planner, frames in dict.fromkeys((one.planner, one.frames) for one in points):
        rows = [
            (share(one.threshold), value, f"T = {share(one.threshold)}: {one.faults:,} faults")
            for one, value in zip(points, values, strict=True)
            if (one.planner, one.frames) == (planner, frames)
        ]
        names = ("name", "value", "tip")
        drawn = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        label = f"{NAMES[planner]}, {frames} frames"
        look = {"x": "name", "y": "value", "color": COLORS[planner], "label": label}
        marks.append(mark("scatter", drawn, **look))
        marks.append(mark("line", drawn, dash=DASHES[frames], **look))
    names = [share(part) for part in dict.fromkeys(one.threshold for one in points)]
    return Figure(
        Axis("threshold T", names=names),
        y,
        marks,
        height=LARGE_HEIGHT_PIXELS,
    )


# ---- By policy


def policies(points: Sequence[Point], clock: Clock) -> list[Panel]:
    """Faults and system time by frames and policy. All POINTS have the same threshold."""
    if not points:
        return []
    columns = {
        "placement": [one.planner for one in points],
        "frames": [one.frames for one in points],
        "policy": [one.policy for one in points],
        "faults": [one.faults for one in points],
        "system_seconds": [clock.seconds(one.faults) for one in points],
    }
    said = f"T = {share(points[0].threshold)}."
    return [
        Panel(
            "code-policies",
            "Faults by policy and frames",
            f"{said} The placement is the same for all policies of a group.",
            _bars(points, Axis("faults", start=0), columns["faults"]),
            columns,
        ),
        Panel(
            "code-policies-time",
            "System time by policy and frames",
            f"{said} {clock.told()} {ESTIMATED}",
            _bars(
                points,
                Axis("system time (s)", start=0),
                columns["system_seconds"],
            ),
            columns,
        ),
    ]


def _bars(points: Sequence[Point], x: Axis, values: Sequence[float]) -> Figure:
    """A bar for each policy, in groups of a placement and a number of frames."""
    names = [f"{one.planner}, {one.frames} frames, {one.policy}" for one in points]
    drawn = {
        "name": names,
        "value": list(values),
        "color": [POLICY_COLORS.get(one.policy, BLUE) for one in points],
        "tip": [f"{name}: {one.faults:,} faults" for name, one in zip(names, points, strict=True)],
    }
    bars = {"y": "name", "right": "value", "color": "color", "shade": 0.8}
    height = len(points) * SHORT_ROW_PIXELS
    return Figure(x, Axis(names=names), [mark("bars", drawn, **bars)], height=height)
