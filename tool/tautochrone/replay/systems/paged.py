"""Heaps on pages, emulated as 32-bit code. An entry combines two replays.

The first replay runs RV32IMC code. The second runs the same core built with Zbb; its numbers are
the measures of the build "zbb".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from tautochrone.machine.core_build import Build
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.replay.entry import (
    ACCESSES,
    CONVENTIONAL,
    INSTRUCTIONS,
    LINEAR,
    OURS,
    Entry,
    Measure,
    Operation,
    Pages,
    Scatter,
    curve_of,
    thinned,
)
from tautochrone.replay.open_trace import OpenTrace
from tautochrone.replay.system import Options, System
from tautochrone.targets.heaps import heaps

if TYPE_CHECKING:
    from tautochrone.replay.paging import PageCalls, PageReplay
    from tautochrone.replay.tile import TileReplay

ALWAYS_SHOWN = ("malloc", "free", "fault")
FOLLOWS = frozenset(
    {"heap_bytes", "layout", "check_level", "skip_misuse", "frames", "touch_all"}
)


@dataclass(frozen=True)
class Paged(System):
    """A heap on pages in the emulator (replay/paging.py)."""

    name: str
    role: str
    about: str
    follows: ClassVar[frozenset[str]] = FOLLOWS
    targets: ClassVar[tuple[str, ...]] = ("rv32",)

    def accept(self, options: Options, trace: Path) -> None:
        """Raise TauError (usage) for a layout of other than 32-bit code."""
        refuse_layout(self.name, options)

    def run(self, trace: OpenTrace, options: Options) -> Entry:
        """Replay twice, and put both counts into one entry."""
        from tautochrone.replay.paging import page_replay

        settings = (*space_of(options, self.role), options.paged_check_level, options.skip_misuse)
        done = page_replay(trace, self.name, "rv32", *settings, options.touch_all)
        with_zbb = page_replay(trace, self.name, "rv32zbb", *settings, options.touch_all)
        operations = {
            kind: _operation(kind, calls, with_zbb.calls[kind])
            for kind, calls in done.calls.items()
            if calls.count or kind in ALWAYS_SHOWN
        }
        pages = pages_of(done, options.touch_all, self._table_bytes(options, done.table_bytes))
        return entry_of(done, self.role, pages, operations)

    def _table_bytes(self, options: Options, replayed_bytes: int) -> int:
        """The tables' bytes of the planned space; without a plan, of the replayed space."""
        from tautochrone.replay.paging import table_bytes

        if options.pages is None or options.heap_bytes is not None:
            return replayed_bytes
        return table_bytes(self.name, options.pages.heap_pages)

    def bounds(self, target: str, build: Build) -> Iterable[tuple[str, str, int | None]]:
        """The longest paths on "rv32" or "rv32zbb", in instructions and accesses."""
        from tautochrone.replay.paging import KINDS, bounds_of, paging_image

        image = paging_image(self.name, target)
        for operation in KINDS:
            instructions, accesses = bounds_of(image, self.name, operation)
            yield operation, INSTRUCTIONS, instructions
            yield operation, ACCESSES, accesses


def space_of(options: Options, role: str) -> tuple[int | None, int | None]:
    """Frames and bytes of a heap: those that were given, else those that were planned.

    A conventional heap takes the planned pages, too, so that both heaps have the same room. The
    planned frames were tried for ours in the planned heap only.
    """
    from tautochrone.replay.paging import PAGE_BYTES

    pages = options.pages
    if pages is None or options.heap_bytes is not None:
        return options.frames, options.heap_bytes
    frames = pages.frames if role == OURS else None
    return options.frames or frames, pages.heap_pages * PAGE_BYTES


def refuse_layout(name: str, options: Options) -> None:
    """Raise TauError (usage) unless the layout is a 32-bit target's."""
    if options.layout not in (None, "32"):
        raise TauError(
            f"{name} runs as 32-bit code", "leave out --layout, or this system", EXIT_USAGE
        )


def pages_of(
    done: PageReplay | TileReplay, touch_all: bool, table_bytes: int | None = None
) -> Pages:
    """The pages of a replay, in software or on the tile."""
    curve = done.mapped_pages
    return Pages(
        peak=done.peak_mapped_pages,
        mean=done.mean_mapped_pages,
        end=done.end_mapped_pages,
        faults=done.faults,
        touches=done.touches,
        touch="all" if touch_all else "recorded",
        frames=done.frames_count,
        curve=curve_of(curve.event, curve.low, curve.high),
        heap_pages=done.heap_pages,
        table_bytes=table_bytes,
    )


def entry_of(
    done: PageReplay | TileReplay, role: str, pages: Pages, operations: dict[str, Operation]
) -> Entry:
    """The entry of a replay on pages, in software or on the tile."""
    ratio = done.footprint_bytes / done.peak_live_bytes if done.peak_live_bytes else None
    return Entry(
        name=done.system,
        role=role,
        held=done.completed,
        footprint_bytes=done.footprint_bytes,
        footprint_ratio=ratio,
        failed_at_event=done.failed_at_event,
        cause=done.cause,
        operations=operations,
        events=done.events,
        pages=pages,
    )


def _operation(kind: str, calls: PageCalls, with_zbb: PageCalls) -> Operation:
    """The calls of one operation: costs, bounds, and a scatter plot of cost over size."""
    measures = []
    for unit in (INSTRUCTIONS, ACCESSES):
        for build, counted in (("", calls), ("zbb", with_zbb)):
            costs = getattr(counted, unit)
            mean = round(float(costs.mean()), 2) if counted.count else None
            told = (getattr(counted, f"{name}_{unit}") for name in ("p999", "max", "bound"))
            measures.append(Measure(unit, mean, *told, build=build))
    by_size = None
    if calls.count:
        sizes, costs = thinned(calls.size_bytes, calls.instructions)
        by_size = Scatter(sizes.tolist(), costs.tolist())
    grows = LINEAR if calls.bound_instructions is None else None
    return Operation(kind, calls.count, tuple(measures), grows=grows, by_size=by_size)


SYSTEMS = tuple(
    Paged(name, CONVENTIONAL if heap.is_conventional else OURS, heap.about_of(name))
    for heap in heaps().values()
    for name in heap.emulated
)
