"""Replays a trace on a heap on pages in an emulated core; reports mapped pages and costs.

    result = page_replay("program.tau", "rtvm")     # or "conventional", "conventional-mapped"
    result.peak_mapped_pages, result.mean_mapped_pages, result.faults
    result.mapped_pages.event, .low, .high          # over time, every maximum kept
    frees = result.calls["free"]                    # one entry per call, in order: frees.event,
    frees.size_bytes, frees.instructions, frees.accesses frees.max_instructions,
    frees.p999_accesses, frees.bound_instructions   # None: linear, no bound

Systems: `rtvm` is core/page_heap.c over core/vspace.c. `conventional` is break_heap.c over
pagetable.c of peers/conventional; its unmap looks at every page of the range. `conventional-mapped`
looks at mapped pages only. All run as RV32IMC code ("rv32"), or with Zbb ("rv32zbb"), in a space of
2^20 pages of 4 KiB. The work is done in C (tool/native/replay/paging.h).

A page is mapped when something touches it. A recording made with --accesses says what the program
touched. In other recordings only the heap's own headers are touched, unless `touch_all` touches
every object as a whole.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tautochrone import native
from tautochrone.machine.longest_path import NEVER, bound_accesses, bound_instructions
from tautochrone.machine.calls import STOPS, native_image
from tautochrone.machine.images import Image, build_image
from tautochrone.declarations import Struct
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import fault_format as faults
from tautochrone.facts import trace_format
from tautochrone.replay import open_trace
from tautochrone.targets.heaps import heaps
from tautochrone.trace.file import heap_accesses

FOLDER = "targets/programs/paged"
PAGE_BYTES = 4096
HEAP_PAGES_MAX = 1 << 18
HEAP_PAGES_MIN = 2
INSTRUCTIONS_MAX = 1 << 34  # Per call. The longest legitimate call takes a few million.
ALIGNMENT_BYTES = 8
ISAS = ("rv32", "rv32zbb")
HEAPS = {name: heap for heap in heaps().values() for name in heap.emulated}
SYSTEMS = tuple(HEAPS)
NO_ZEROING = {"tau_frames_clean_one": NEVER}
KINDS = ("malloc", "aligned_alloc", "resize", "free", "fault")

@dataclass(frozen=True)
class MappedPages:
    """Mapped pages over time, in bins of equally many events.

    `event` is the first event of each bin, `low` and `high` the fewest and the most pages mapped in
    it. Bins without events are left out.
    """

    event: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class PageCalls:
    """The calls of one operation, in order. Bounds are None if the cost grows with size."""

    event: np.ndarray
    size_bytes: np.ndarray
    instructions: np.ndarray
    accesses: np.ndarray
    bound_instructions: int | None = None
    bound_accesses: int | None = None

    @property
    def count(self) -> int:
        """The number of calls."""
        return len(self.event)

    @property
    def max_instructions(self) -> int:
        """The most instructions of a call; 0 without calls."""
        return int(self.instructions.max(initial=0))

    @property
    def max_accesses(self) -> int:
        """The most loads and stores of a call; 0 without calls."""
        return int(self.accesses.max(initial=0))

    @property
    def p999_instructions(self) -> int:
        """The smallest number that 99.9 % of the calls do not exceed [COUNT-5]."""
        return p999(self.instructions)

    @property
    def p999_accesses(self) -> int:
        """As p999_instructions, in loads and stores."""
        return p999(self.accesses)


@dataclass(frozen=True)
class PageReplay:
    """The result of a replay on pages; `failed_at_event` counts from 0, None: it completed.

    `mean_mapped_pages` is the mean over the program's accesses to the heap, if the recording counts
    them. Else it is the mean over all events except touches, each with the pages mapped before it,
    and the end [PAGING-6]. `table_bytes` are the tables that an MMU or kernel needs for the space,
    without frames. `frames_count` is the number of frames.
    """

    system: str
    isa: str
    completed: bool
    failed_at_event: int | None
    cause: str | None
    peak_mapped_pages: int
    end_mapped_pages: int
    mean_mapped_pages: float
    faults: int
    touches: int
    events: int
    skipped: int
    peak_live_bytes: int
    table_bytes: int
    heap_pages: int
    frames_count: int
    mapped_pages: MappedPages = field(repr=False)
    calls: dict[str, PageCalls] = field(repr=False)
    operations: dict[str, int]
    placement_hash: int = 0

    @property
    def footprint_bytes(self) -> int:
        """The peak of frames in use, in bytes."""
        return self.peak_mapped_pages * PAGE_BYTES


def p999(numbers: np.ndarray) -> int:
    """The smallest number that 99.9 % of the numbers do not exceed; 0 without numbers."""
    if not len(numbers):
        return 0
    place = -(-len(numbers) * 999 // 1000) - 1
    return int(np.partition(numbers, place)[place])


# ---- images ----


@functools.lru_cache(maxsize=16)
def paging_image(system: str, isa: str = "rv32", check_level: int = 0) -> Image:
    """The image of a system on pages. Raises TauError (usage) for another system or target."""
    if system not in SYSTEMS:
        known = ", ".join(SYSTEMS)
        raise TauError(f"{system!r} is not a system on pages", f"use one of {known}", EXIT_USAGE)
    if isa not in ISAS:
        raise TauError(f"pages are replayed on {', '.join(ISAS)}, not on {isa!r}", None, EXIT_USAGE)
    names = _function_names(system)
    return build_image(
        f"{system}-check{check_level}",
        isa,
        [*HEAPS[system].files, f"{FOLDER}/paged.c"],
        _flags(system, check_level),
        (),
        names["malloc"].removesuffix("_malloc"),
        alignment=ALIGNMENT_BYTES,
        keep=(*names.values(), "tau_image_start", "tau_image_facts"),
    )


def _flags(system: str, check_level: int) -> list[str]:
    """The compiler's options for a system."""
    heap = HEAPS[system]
    return [
        f"-DTAU_CHECK_LEVEL={check_level}",
        f'-DTAU_IMAGE_HEAP="{FOLDER}/heap_{heap.name}.h"',
        *(f"-D{definition}" for definition in heap.emulated[system]),
    ]


def _function_names(system: str) -> dict[str, str]:
    """The linked names of the functions that are called, by kind."""
    return {kind: HEAPS[system].call(kind) for kind in KINDS}


def bounds_of(image: Image, system: str, kind: str) -> tuple[int | None, int | None]:
    """The bounds of an operation in instructions and accesses; None: linear, the code loops.

    The space has its own pool of frames, so no frame is ever zeroed. Paths that zero a frame are
    excluded.
    """
    name = _function_names(system)[kind]
    try:
        return (
            bound_instructions(image.elf, name, NO_ZEROING),
            bound_accesses(image.elf, name, NO_ZEROING),
        )
    except TauError:
        return None, None


def _native_paging_image(image: Image, system: str) -> Struct:
    names = _function_names(system)
    return native.struct("tau_paging_image")(
        code=native_image(image),
        start=image.symbols["tau_image_start"],
        facts=image.symbols["tau_image_facts"],
        alignment=ALIGNMENT_BYTES,
        is_plain=HEAPS[system].space == "pagetable",
        functions=tuple(image.symbols[names[kind]] for kind in KINDS),
    )


def space_pages_log2(heap_pages: int) -> int:
    """The size of the smallest space that holds a heap, page 0 being reserved."""
    return heap_pages.bit_length()


def table_bytes(system: str, heap_pages: int) -> int:
    """Bytes of the tables of the smallest space that holds a heap, as the core computes them."""
    core, pages_log2 = native.library("libtau_core32.so"), space_pages_log2(heap_pages)
    heap = HEAPS[system]
    if heap.space == "vspace":
        return int(core.tau_vspace_size_bytes(pages_log2))
    is_mapped_walk = any("TAU_PAGETABLE_MAPPED" in each for each in heap.emulated[system])
    return int(core.tau_pagetable_size_bytes(pages_log2, int(is_mapped_walk)))


# ---- running ----


def page_replay(
    trace_path: str | Path | open_trace.OpenTrace,
    system: str,
    isa: str = "rv32",
    frames: int | None = None,
    heap_bytes: int | None = None,
    check_level: int = 0,
    skip_misuse: bool = False,
    touch_all: bool = False,
) -> PageReplay:
    """Replay a trace on a system on pages, and count each call.

    `heap_bytes` is the heap's address range (default: 1 GiB, the most), rounded down to pages.
    `frames` is the number of physical frames (default: one per page). Raises TauError for a trace
    with misuse (unless `skip_misuse`), and for a system that fails.
    """
    image = paging_image(system, isa, check_level)
    trace = open_trace.open_trace_for_replay(trace_path)
    open_trace.refuse_misuse(trace, skip_misuse)
    pages = min((heap_bytes or HEAP_PAGES_MAX * PAGE_BYTES) // PAGE_BYTES, HEAP_PAGES_MAX)
    if pages < HEAP_PAGES_MIN:
        raise TauError(
            f"a heap on pages has at least {HEAP_PAGES_MIN} pages of {PAGE_BYTES} bytes",
            "give more with --heap",
            EXIT_USAGE,
        )
    settings = native.struct("tau_paging_settings")(
        heap_pages=pages,
        frames_count=min(frames or pages, HEAP_PAGES_MAX),
        granule_bytes=trace_format.GRANULE_BYTES,
        end_time=sum(heap_accesses(trace.header) or ()),
        touches_all=touch_all,
        instructions_max=INSTRUCTIONS_MAX,
    )
    work = functools.partial(_run, trace, image, system, settings)
    return open_trace.with_progress(work, f"replaying on {system}")


def _run(trace: open_trace.OpenTrace, image: Image, system: str, settings: Struct) -> PageReplay:
    library = native.library()
    raw_image = _native_paging_image(image, system)
    raw = native.struct("tau_paging_result")()
    cause = library.tau_paging_run(raw_image, trace.handle, settings, raw)
    try:
        if cause:
            raise TauError(f"replaying on {system}: {cause.decode()}")
        _refuse_errors(raw, system)
        return _result_of(raw, trace, image, system, settings)
    finally:
        library.tau_paging_free(raw)


def _refuse_errors(raw: Struct, system: str) -> None:
    """Raise TauError unless the trace completed or ran out of memory or frames."""
    fault = raw.replay.fault
    if fault in (faults.COMPLETED, faults.NO_MEMORY, faults.NO_FRAME):
        return
    if fault == faults.INIT_FAILED:
        raise TauError(
            f"{system} {faults.MEANING[fault]} (status {raw.replay.init_status})",
            "give more with --heap or --frames",
        )
    if raw.stop:
        raise TauError(
            f"{system} {STOPS[raw.stop]} at {raw.stop_pc:#x} (address {raw.stop_address:#x}),"
            f" in event {raw.replay.fault_event}",
            "report this allocator",
        )
    raise TauError(
        f"{system} {faults.MEANING[fault]}, at event {raw.replay.fault_event}",
        "report this allocator",
    )


def _result_of(
    raw: Struct, trace: open_trace.OpenTrace, image: Image, system: str, settings: Struct
) -> PageReplay:
    facts, bins = trace.facts, int(raw.bins)
    low, high = (np.ctypeslib.as_array(part, (bins,)).copy() for part in (raw.low, raw.high))
    first = -(-np.arange(bins, dtype=np.int64) * int(max(facts.events, 1)) // bins)
    seen = low <= high
    samples = np.empty(0, native.struct("tau_paging_sample"))
    if raw.samples_count:
        samples = np.ctypeslib.as_array(raw.samples, (raw.samples_count,)).copy()
    calls = {}
    for number, kind in enumerate(KINDS):
        chosen = samples[samples["kind"] == number]
        columns = (chosen[name] for name in ("event", "size_bytes", "instructions", "accesses"))
        calls[kind] = PageCalls(*columns, *bounds_of(image, system, kind))
    fault = raw.replay.fault
    completed = fault == faults.COMPLETED
    return PageReplay(
        system=system,
        isa=image.isa,
        completed=completed,
        failed_at_event=None if completed else int(raw.replay.fault_event),
        cause=None if completed else faults.MEANING[fault],
        peak_mapped_pages=int(raw.peak_mapped_pages),
        end_mapped_pages=int(raw.end_mapped_pages),
        mean_mapped_pages=raw.mapped_pages_total / max(raw.mapped_pages_weight, 1),
        faults=int(raw.faults),
        touches=trace.touches,
        events=int(facts.events),
        skipped=int(facts.skipped),
        peak_live_bytes=int(facts.peak_live_bytes),
        table_bytes=int(raw.table_bytes),
        heap_pages=int(settings.heap_pages),
        frames_count=int(settings.frames_count),
        mapped_pages=MappedPages(first[seen], low[seen], high[seen]),
        calls=calls,
        operations=trace.operations(),
        placement_hash=int(raw.replay.placement_hash),
    )
