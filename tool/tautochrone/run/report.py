"""Reads the allocator's report at the program's end, and advises on the next plan."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from tautochrone.console import output
from tautochrone.errors import TauError

if TYPE_CHECKING:
    from tautochrone.plan.file import Plan
    from tautochrone.who.places import Place

SITES_SHOWN_MAX = 5
BANDS_SHOWN_MAX = 8
THRESHOLD_PERCENT = 80
KILLED = "killed"  # what is left of a program that did not come to its end after a refusal
POOLS = "pools"  # the system of a plan with limits
NUMBER_END = 1 << 64
KNOWN_THREADS_MAX = 1024  # TAU_COLORS_THREADS_MAX of linux/runtime/colors/threads.h
REFUSED_STEP = "see `ulimit -v` and `ulimit -l`; `tau check PLAN` lists problems of a plan"
WINDOW_STEP = "give the tasks another [window], such as start = 0x100000000000, and plan again"
# A part of the reason, and the next step.
REFUSED_STEPS = {
    "above the spill heap": WINDOW_STEP,
    "are not free": WINDOW_STEP,
    "across the border": WINDOW_STEP,
    "the page at": "link the program with this plan's script (`tau tlb plan --program-script`)",
}


class Class(NamedTuple):
    """One pool of the plan, and the most of its buckets in use at once.

    `exceeded`: requests beyond the limit of a band; None if the plan has no limits.
    """

    size_bytes: int
    count: int
    peak: int
    exceeded: int | None = None

    @property
    def percent(self) -> float:
        """How near it came to its count."""
        return 100 * self.peak / max(self.count, 1)


class Site(NamedTuple):
    """Where spilled objects came from, and refused requests, the last of `refused_bytes`."""

    module: str
    offset: int
    objects: int
    size_bytes: int
    refusals: int
    refused_bytes: int


class Task(NamedTuple):
    """One task in TLB sets of its own, and what its threads did."""

    name: str
    heap_bytes: int
    heap_peak: int
    objects: int
    spilled_objects: int
    threads: int
    stacks: int


@dataclass
class Report:
    """The lines of a report; zeros where there is none."""

    program: str = ""
    calls: int = 0
    threads: int = 0
    classes: list[Class] = field(default_factory=list)
    above_bands: int = 0
    shared_bytes: int = 0
    shared_peak: int = 0
    spilled_objects: int = 0
    spilled_bytes: int = 0
    spill_peak: int = 0
    refusals: int = 0
    # When the first request was refused: free bytes of the shared region and its largest piece.
    first_free: tuple[int, int] | None = None
    first_thread: int | None = None  # its id; 0 while there was only one
    sites: list[Site] = field(default_factory=list)
    pages_checked: int = 0
    unknown_threads: int = 0
    tasks: list[Task] = field(default_factory=list)
    end: str = ""
    reason: str = ""

    @cached_property
    def places(self) -> dict[Site, Place]:
        """The function and line of each site."""
        if not self.sites:
            return {}
        from tautochrone.who.places import Places

        places = Places({"recorder": "preload"})
        found = places.named([(site.module, site.offset) for site in self.sites])
        return dict(zip(self.sites, found, strict=True))

    def document(self) -> dict[str, Any]:
        """Return its part of the JSON."""
        return {
            "calls": self.calls,
            "threads": self.threads,
            "classes": [item._asdict() for item in self.classes],
            "shared_bytes": self.shared_bytes,
            "shared_peak": self.shared_peak,
            "spilled_objects": self.spilled_objects,
            "spilled_bytes": self.spilled_bytes,
            "spill_peak": self.spill_peak,
            "refusals": self.refusals,
            "first_refusal": {
                "thread": self.first_thread,
                "free_bytes": None if self.first_free is None else self.first_free[0],
                "largest_free_bytes": None if self.first_free is None else self.first_free[1],
            }
            if self.refusals
            else None,
            "sites": [site._asdict() | self.places[site].document() for site in self.sites],
        }


def read_report(text: str) -> Report | None:
    """The report in these lines; None if the program left none, or wrote other lines into it."""
    report = Report()
    try:
        for line in text.split("\n"):
            _read_line(report, line)
    except (ValueError, TypeError, IndexError):
        return None
    report.sites.sort(key=lambda site: -site.size_bytes)
    return report if report.end else None


def _read_line(report: Report, line: str) -> None:
    key, _, rest = line.partition(" ")
    words = rest.split()
    match key:
        case "program":
            report.program = _path(rest)
        case "calls" | "threads" | "refusals":
            setattr(report, key, _number(rest))
        case "class":
            report.classes.append(Class(*map(_number, words)))
        case "above":
            report.above_bands = _number(rest)
        case "shared":
            report.shared_bytes, report.shared_peak = map(_number, words)
        case "spilled":
            report.spilled_objects, report.spilled_bytes = map(_number, words)
        case "spill":
            report.spill_peak = _number(words[1])
        case "site":
            report.sites.append(_site(rest))
        case "checked":
            report.pages_checked = _number(rest)
        case "unknown":
            report.unknown_threads = _number(rest)
        case "task":
            report.tasks.append(Task(words[0], *map(_number, words[1:])))
        case "free":
            free_bytes, largest_bytes = map(_number, words)
            report.first_free = (free_bytes, largest_bytes)
        case "thread":
            report.first_thread = _number(rest)
        case "ended" | "misuse" | "refused" | "killed":
            report.end, report.reason = key, rest.strip()


def _number(text: str, base: int = 10) -> int:
    """A number as the allocator writes it. Raises ValueError for any other text."""
    found = int(text, base)
    if not 0 <= found < NUMBER_END:
        raise ValueError(text)
    return found


def _site(text: str) -> Site:
    offset, *counts, module = text.split(" ", 5)
    module = _path(module)
    place = os.path.realpath(module) if module.startswith("/") else module
    return Site(place, _number(offset, 16), *map(_number, counts))


def _path(text: str) -> str:
    """The path that the allocator wrote in one line."""
    return re.sub(r"\\(\d{3})", lambda found: chr(int(found[1], 8)), text)


def refuse_unrun(report: Report | None, exit_status: int, exit_code: int) -> None:
    """Raise TauError with `exit_code` if that is how the allocator ended the program at its start.
    """
    if report is not None and report.end == "refused" and exit_status == exit_code:
        reason = report.reason
        step = next((REFUSED_STEPS[part] for part in REFUSED_STEPS if part in reason), REFUSED_STEP)
        raise TauError(f"the heap could not be made: {reason}", step, exit_code)


# ---- advice ----


def advised_percent(plan: Plan, report: Report) -> int:
    """The margin with which the next runs fit, too. It covers the spilled bytes and, since nothing
    more is known about other runs, the margin of one recording on top.
    """
    from tautochrone.heap.margin import DEFAULT

    measured_bytes = plan.heap_bytes / (1 + plan.margin)
    wanted = (plan.heap_bytes + report.spill_peak) * (1 + DEFAULT) / measured_bytes - 1
    return int(wanted * 100) + 1


def say(
    report: Report,
    plan: Plan | None,
    name: str,
    threshold: int | None,
    refused_step: str | None = None,
) -> None:
    """Print the heap's counts on stderr, and advice for the next plan.

    REFUSED_STEP is the next step for refused requests. Bands that came to THRESHOLD percent of
    their limits are named.
    """
    threads = output.count(report.threads, "thread")
    calls = output.count(report.calls, "call")
    if report.tasks:
        output.note(f"tau: {name}: {calls} of the allocator, {threads}")
        _say_tasks(report, name, refused_step)
        return
    if plan is None:
        output.note(
            f"tau: {name}: {calls} of the allocator, {threads}; one heap, "
            f"{report.spill_peak:,} bytes at its peak"
        )
        return
    from tautochrone.plan.remarks import other_program

    if other := other_program(plan, report.program):
        output.note(f"tau: {name}: {other}", "plan a recording of this program")
    has_limits = plan.system == POOLS
    if has_limits:
        output.note(f"tau: {name}: {calls} of the allocator, {threads}")
        _say_limits(report, plan, name, threshold)
    else:
        output.note(
            f"tau: {name}: {calls} of the allocator, {threads}; {_full_pools(report)}, "
            f"{report.shared_peak:,} of {report.shared_bytes:,} shared bytes used"
        )
    if report.refusals:
        _say_refusals(report, name, refused_step)
    if report.spilled_objects == 0:
        verdict = "the plan did not hold" if report.refusals else "the plan held: nothing spilled"
        if not has_limits:
            output.note(f"tau: {name}: {verdict}")
        return
    _say_rows(
        f"tau: {name}: {output.count(report.spilled_objects, 'object')} with "
        f"{report.spilled_bytes:,} bytes did not fit the plan; the spill heap had "
        f"{report.spill_peak:,} bytes at its peak",
        None if has_limits else _step_after_spills(plan, report),
        [
            f"{output.count(site.objects, 'object')}, {site.size_bytes:,} bytes from"
            f" {report.places[site].told()}"
            for site in report.sites if site.objects
        ],
        SITES_SHOWN_MAX,
    )  # fmt: skip


def _full_pools(report: Report) -> str:
    """How many pools were full."""
    if not report.classes:
        return "no pools"
    full = sum(item.peak == item.count for item in report.classes)
    pools = output.count(len(report.classes), "pool")
    return f"{full} of {pools} full at {'its' if len(report.classes) == 1 else 'their'} peak"


def _step_after_spills(plan: Plan, report: Report) -> str:
    from tautochrone.plan.file import MARGIN_MAX

    percent = advised_percent(plan, report)
    margin = f", or plan with --margin {percent}% or more" if percent <= 100 * MARGIN_MAX else ""
    return (
        f"plan from several runs (tau record --runs 5){margin}; or is it a plan for another "
        "program?"
    )


# ---- limits of bands ----


def _near(report: Report, plan: Plan, threshold: int | None) -> list[Class]:
    """Bands within their limits that came to the threshold, the fullest first.

    Without a threshold of the user's, only those that held more than was recorded: a margin of
    15 % leaves a recorded run at 87 % of its limits.
    """
    recorded = dict(zip(report.classes, plan.recorded_counts or ()))
    near = [
        item
        for item in report.classes
        if item.percent >= (threshold or THRESHOLD_PERCENT) and not item.exceeded
        if threshold is not None or item.peak > recorded.get(item, 0)
    ]
    return sorted(near, key=lambda item: (-item.percent, -item.size_bytes))


def limits_document(report: Report | None, plan: Plan, threshold: int | None) -> dict[str, Any]:
    """The guarantee's part of the JSON; None where the program left no counts of its bands."""
    classes = report.classes if report is not None else []
    recorded = plan.recorded_counts or ()
    exceeded = sum(item.exceeded or 0 for item in classes)
    above = report.above_bands if report is not None else 0
    return {
        "within_limits": exceeded + above == 0 if classes else None,
        "exceeded": exceeded,
        "above_bands": above,
        "threshold_percent": threshold or THRESHOLD_PERCENT,
        "near_limit": len(_near(report, plan, threshold)) if report is not None and classes else 0,
        "above_recorded": sum(item.peak > count for item, count in zip(classes, recorded)),
    }


def _say_limits(report: Report, plan: Plan, name: str, threshold: int | None) -> None:
    """Print whether the guarantee held, and which bands came near their limits or exceeded them."""
    from tautochrone.plan.contract import ranges

    found = limits_document(report, plan, threshold)
    if found["within_limits"] is None:
        output.warn(f"tau: {name}: its heap was overwritten, so it left no counts of its bands")
        return
    sizes = ranges(item.size_bytes for item in report.classes)
    beyond = [
        f"{output.count(item.exceeded, 'request')} of {sizes[item.size_bytes]} beyond the limit of"
        f" {item.count:,}"
        for item in sorted(report.classes, key=lambda item: -(item.exceeded or 0))
        if item.exceeded
    ]
    if report.above_bands:
        largest = report.classes[-1].size_bytes
        beyond.append(
            f"{output.count(report.above_bands, 'request')} in no band: above {largest:,} bytes, or"
            " more aligned than its blocks"
        )
    near = [
        f"{item.peak:,} of {item.count:,} objects of {sizes[item.size_bytes]}"
        for item in _near(report, plan, threshold)
    ]
    if beyond:
        _say_rows(
            f"tau: {name}: limits were exceeded, so the plan promises nothing for this run",
            "plan from a recording of this run too, or raise a limit with --limits",
            beyond,
        )
    else:
        fullest = max(item.percent for item in report.classes)
        output.note(
            f"tau: {name}: no limit of {output.count(len(report.classes), 'band')} was exceeded;"
            f" the fullest came to {fullest:.0f} %"
        )
    if near:
        also = "" if threshold is not None else " and held more than was recorded"
        _say_rows(
            f"tau: {name}: {output.count(len(near), 'band')} reached"
            f" {found['threshold_percent']} % of the limit{also}",
            "plan with a larger --margin, or raise a limit with --limits",
            near,
        )


def _say_rows(
    text: str, step: str | None, rows: list[str], shown_max: int = BANDS_SHOWN_MAX
) -> None:
    output.warn(text, step)
    for row in rows[:shown_max]:
        output.warn(f"  {row}")
    if len(rows) > shown_max:
        output.warn(f"  {len(rows) - shown_max} more in the result (--json)")


def say_death(report: Report, name: str, how: str, step: str) -> None:
    """Print the first refused request of a program that died or left after it, without counts."""
    (site,) = report.sites
    output.warn(
        f"tau: {name} {how} after a refused request of {site.refused_bytes:,} bytes from"
        f" {report.places[site].told()}; {_when_refused(report)}",
        step,
    )


def _when_refused(report: Report) -> str:
    """The state at the first refusal, in words."""
    thread = f"thread {report.first_thread}" if report.first_thread else "the only thread"
    if report.first_free is None:
        return thread
    free_bytes, largest_bytes = report.first_free
    return (
        f"{thread}, {free_bytes:,} shared bytes free, the largest piece at least"
        f" {largest_bytes:,}"
    )


def _say_refusals(report: Report, name: str, step: str | None) -> None:
    refused = sorted(report.sites, key=lambda site: -site.refusals)
    _say_rows(
        f"tau: {name}: {output.count(report.refusals, 'request')} refused",
        step,
        [
            f"{output.count(site.refusals, 'request')} from {report.places[site].told()},"
            f" the last of {site.refused_bytes:,} bytes"
            for site in refused if site.refusals
        ],
        SITES_SHOWN_MAX,
    )  # fmt: skip
    if report.first_thread is not None:
        output.warn(f"  at the first: {_when_refused(report)}")


def _say_tasks(report: Report, name: str, refused_step: str | None) -> None:
    """Print the memory that each task's threads used, and advice for the next plan."""
    pages = output.count(report.pages_checked, "page")
    output.note(f"tau: {name}: {pages} in the tasks' windows, each checked: in its task's sets")
    for task in report.tasks:
        output.note(
            f"  {task.name}: {output.count(task.threads, 'thread')}, {task.stacks:,} on its stack;"
            f" {output.count(task.objects, 'object')}, {task.heap_peak:,} of"
            f" {task.heap_bytes:,} bytes used at the peak"
        )
    spilled = [task for task in report.tasks if task.spilled_objects]
    if spilled:
        counts = ", ".join(f"{task.name} {task.spilled_objects:,}" for task in spilled)
        output.warn(
            f"tau: {name}: objects outside the sets of their tasks, as these had no room: {counts}",
            "give these tasks a larger heap_bytes or largest_object_bytes, and plan again",
        )
    elif report.refusals:
        _say_refusals(report, name, refused_step)
    if report.unknown_threads:
        output.warn(
            f"tau: {name}: {output.count(report.unknown_threads, 'thread')} ran no task, as"
            f" {KNOWN_THREADS_MAX:,} others were known at once",
            "let each of them call tau_task, or have fewer at once",
        )
    if not any(task.threads for task in report.tasks):
        output.warn(
            f"tau: {name}: no thread ran a task",
            "name threads as tasks, by pthread_setname_np, tau_task or --thread",
        )
