"""[pages]: the frames and tables of a heap on pages, from recordings of accesses.

Replays of system rtvm find each number. `heap_pages` starts at plain TLSF's need and grows
until every recording completes. `frames` is the largest number of pages mapped at once. It is
tried: with exactly this many frames no call and no fault fails. A recording that completes with
some frames behaves the same with more, because frames only answer whether one is left. So each
recording is tried until one number holds all of them. `commit_pages` is the number of pages mapped
when the program touches every byte that it allocates.

Replay is imported late, so that reading a plan does not load it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import plan_format
from tautochrone.facts import trace_format as form
from tautochrone.plan.sections import Basis, record_type

if TYPE_CHECKING:
    from tautochrone.plan.file import Plan
    from tautochrone.replay.open_trace import OpenTrace

PAGE_BYTES = 4096
SYSTEM = "rtvm"
HEAP_PAGES = plan_format.SECTIONS["pages"]["heap_pages"]
GROWTH = 64  # a heap that is too small grows by this part of itself
AS_32 = "give --layout 32; for a header from a 64-bit recording, --sizes-as-recorded too"


Pages = record_type("pages")


def make(basis: Basis) -> Pages | None:
    """The pages that hold every recording; None unless all have accesses and can be replayed."""
    without = [
        trace.path.name for trace in basis.traces if not trace.totals.events_of_op[form.OP_TOUCH]
    ]
    if len(without) == len(basis.traces):
        return None
    if without:
        basis.note(f"no [pages]: {without[0]} has no accesses", "record all with --accesses")
        return None
    if basis.layout != "32":
        basis.note("no [pages]: pages are planned for a 32-bit target", AS_32)
        return None
    try:
        _build()
    except TauError as error:
        basis.note(f"no [pages]: {error.message}", error.next_step)
        return None
    found = _heap(basis)
    if found is None:
        basis.note(f"no [pages]: {HEAP_PAGES['most']} pages do not hold the recordings", None)
        return None
    heap_pages, mapped, committed = found
    frames = max(mapped)
    for trace in basis.traces:
        while not _replay(trace, heap_pages, basis.skip_misuse, frames=frames).completed:
            frames += 1
    return Pages(heap_pages, frames, max(committed), table_bytes(heap_pages))


def _build() -> None:
    """Build the replayed code. Raises TauError if that fails, for example without a compiler."""
    from tautochrone.replay.paging import paging_image

    paging_image(SYSTEM)


def _replay(trace: OpenTrace, heap_pages: int, skip_misuse: bool, **settings: Any) -> Any:
    from tautochrone.replay.paging import page_replay

    settings |= {"heap_bytes": heap_pages * PAGE_BYTES, "skip_misuse": skip_misuse}
    return page_replay(trace, SYSTEM, **settings)


def _heap(basis: Basis) -> tuple[int, list[int], list[int]] | None:
    """Pages of a heap in which every recording completes, even if it touches each byte.

    Then the most pages that each recording maps, and could map. None: the largest heap is too
    small.
    """
    pages = max(-(-basis.heap_bytes // PAGE_BYTES), HEAP_PAGES["least"])
    while pages <= HEAP_PAGES["most"]:
        mapped = _peaks(basis, pages, touch_all=False)
        committed = mapped and _peaks(basis, pages, touch_all=True)
        if mapped and committed:
            return pages, mapped, committed
        pages += max(pages // GROWTH, 1)
    return None


def _peaks(basis: Basis, heap_pages: int, touch_all: bool) -> list[int]:
    """The most pages that each recording maps; empty if one does not complete."""
    peaks = []
    for trace in basis.traces:
        done = _replay(trace, heap_pages, basis.skip_misuse, touch_all=touch_all)
        if not done.completed:
            return []
        peaks.append(done.peak_mapped_pages)
    return peaks


def table_bytes(heap_pages: int) -> int:
    """Bytes of the tables of the smallest space that holds a heap."""
    from tautochrone.replay import paging

    return paging.table_bytes(SYSTEM, heap_pages)


def refuse_fewer_frames(value: Pages, frames: int) -> None:
    """Raise TauError (usage) if there are fewer frames than were planned."""
    if frames < value.frames:
        raise TauError(
            f"the plan reserves {value.frames:,} frames; {frames:,} is"
            f" {value.frames - frames:,} fewer",
            f"give at least {value.frames:,}, or make a plan of shorter recordings",
            EXIT_USAGE,
        )


def rule_broken(value: Pages) -> str:
    """As Section: [PLAN-14]."""
    rising = ("frames", "commit_pages", "heap_pages")
    for less, more in zip(rising, rising[1:], strict=False):
        if getattr(value, less) > getattr(value, more):
            return (
                f"pages.{less} is {getattr(value, less)}, more than pages.{more},"
                f" {getattr(value, more)}"
            )
    return ""


def told(value: Pages) -> list[str]:
    """As Section."""
    return [
        f"on pages: {value.frames:,} frames, the peak of mapped pages, in a heap of"
        f" {value.heap_pages:,} pages; tables of {value.table_bytes:,} bytes"
    ]


def header(value: Pages) -> list[str]:
    """As Section."""
    from tautochrone.replay.paging import space_pages_log2

    return [
        "// A heap on pages: tau_vspace_init with TAU_PLAN_SPACE_PAGES_LOG2 and a pool of",
        "// TAU_PLAN_FRAMES frames (tau_frames_reserve), then tau_page_heap_init from page 1 on",
        "// with TAU_PLAN_HEAP_PAGES and TAU_PLAN_COMMIT_PAGES.",
        f"#define TAU_PLAN_HEAP_PAGES {value.heap_pages}u",
        f"#define TAU_PLAN_FRAMES {value.frames}u",
        f"#define TAU_PLAN_COMMIT_PAGES {value.commit_pages}u",
        f"#define TAU_PLAN_TABLE_BYTES {value.table_bytes}u",
        f"#define TAU_PLAN_SPACE_PAGES_LOG2 {space_pages_log2(value.heap_pages)}u",
    ]


def problems(value: Pages, _plan: Plan) -> list[str]:
    """As Section: [PLAN-14]."""
    needed = table_bytes(value.heap_pages)
    if needed == value.table_bytes:
        return []
    return [
        f"tables of {value.heap_pages} pages take {needed} bytes in this core; the plan says"
        f" {value.table_bytes}"
    ]
