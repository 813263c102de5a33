"""Replays a trace on the simulated tile: exact cycles of every call, equal in every run.

    result = tile_replay("program.tau", "tile:rtmmu")       # or "tile:pagetable"
    result.cycles, result.peak_mapped_pages, result.faults
    frees = result.calls["free"]                            # one entry per call, in order:
    frees.event, frees.size_bytes, frees.cycles, frees.max_cycles, frees.p999_cycles
    result.calls["fault"].cycles            # from the access that faults to its repetition
    result.accesses["load"].cycles, .counts # a histogram: they are too many to list
    result.mapped_pages.event, .low, .high  # over time

The program is targets/programs/replay: the core's heaps on a tile with a unit that translates
(hw/README.md). `tile:rtmmu` is core/page_heap.c, `tile:pagetable` is
peers/conventional/break_heap.c. A suffix selects the processor's configuration and the tables, as
in `tile:rtmmu:fast-b:pipelined`. By default the processor is small, and the RTMMU's tables are
twice as fast as the page table (parallel).

Real faults map pages. A touch loads or stores each of its granules, alternating from event to
event. The cycles of a call exclude the stores that start and stop the clock.

Simulator and program are built on demand (tile/systems.py).
"""

import signal
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tautochrone import native
from tautochrone.errors import EXIT_LIMIT_EXCEEDED, EXIT_USAGE, TauError
from tautochrone.facts import fault_format as faults
from tautochrone.facts import replay_format as form
from tautochrone.facts import tile_format as tile
from tautochrone.facts import trace_format
from tautochrone.replay import open_trace
from tautochrone.replay.paging import PAGE_BYTES, MappedPages, p999
from tautochrone.tile.build import CYCLES_WORTH_TRAINING
from tautochrone.tile.simulation import Simulation, damaged
from tautochrone.tile.simulation import simulate as run_simulator
from tautochrone.tile.systems import (
    PAGE_BITS,
    WINDOW_ADDRESS,
    TileSystem,
    program,
    simulator,
    tile_system,
)
from tautochrone.trace.file import heap_accesses

HEAP_PAGES_MAX = (1 << PAGE_BITS) - 1  # Page 0 is reserved.
SLOTS_MAX = 250_000  # Pointers of live objects, in the tile's plain memory.
CYCLES_MAX = 20_000_000_000
COMMAND_CYCLES = 250  # a command's mean at the least: the million random actions on the page table
BINS_MAX = 2048
SAID_CHARACTERS_MAX = 4096
HEAP_ADDRESS = WINDOW_ADDRESS + PAGE_BYTES
HASH_FACTOR = 0x9E3779B97F4A7C15  # tool/native/replay/content.c
WORD_MAX = (1 << 32) - 1
_decoding = threading.Lock()  # An open trace has a single read position.

OP_SKIP = 255  # tool/native/replay/replay.h
# In the order of their channels.
CHANNELS = ("malloc", "aligned_alloc", "resize", "free")
ACCESSES = {
    "load": tile.CHANNEL_HISTOGRAM | tile.CHANNEL_LOAD,
    "store": tile.CHANNEL_HISTOGRAM | tile.CHANNEL_STORE,
}
KINDS = (*CHANNELS, "fault")

# struct tau_replay_op
OPERATION = np.dtype(
    [
        ("size_bytes", np.uint64),
        ("slot", np.uint32),
        ("op", np.uint8),
        ("align", np.uint8),
        ("unused", np.uint16),
    ]
)


@dataclass(frozen=True)
class TileCalls:
    """The calls of one operation, or the faults, in order, with the `cycles` of each."""

    event: np.ndarray
    size_bytes: np.ndarray
    cycles: np.ndarray

    @property
    def count(self) -> int:
        """How many there were."""
        return len(self.event)

    @property
    def max_cycles(self) -> int:
        """The longest; 0 without any."""
        return int(self.cycles.max(initial=0))

    @property
    def p999_cycles(self) -> int:
        """The smallest number that 99.9 % do not exceed."""
        return p999(self.cycles)

    @property
    def mean_cycles(self) -> float | None:
        """The mean; None without any."""
        return float(self.cycles.mean()) if self.count else None

    def by_size(self) -> tuple[list[int], list[int], list[int]] | None:
        """Every call: sizes, cycles, and how many there were of each pair; None without any."""
        if not self.count:
            return None
        points = np.stack([self.size_bytes.astype(np.int64), self.cycles.astype(np.int64)])
        (sizes, cycles), calls = np.unique(points, axis=1, return_counts=True)
        return sizes.tolist(), cycles.tolist(), calls.tolist()

    def histogram(self) -> None:
        """None, because by_size has every call."""
        return


@dataclass(frozen=True)
class TileAccesses:
    """Loads or stores of the window that did not fault: `counts` of them took `cycles`.

    Cycles count from the request on the bus to its answer. The allocator's accesses are included.
    """

    cycles: np.ndarray
    counts: np.ndarray

    @property
    def count(self) -> int:
        """How many there were."""
        return int(self.counts.sum())

    @property
    def max_cycles(self) -> int:
        """The longest; 0 without any."""
        return int(self.cycles.max(initial=0))

    @property
    def p999_cycles(self) -> int:
        """The smallest number that 99.9 % do not exceed."""
        if not len(self.cycles):
            return 0
        place = -(-self.count * 999 // 1000)
        return int(self.cycles[np.searchsorted(np.cumsum(self.counts), place)])

    @property
    def mean_cycles(self) -> float | None:
        """The mean; None without any."""
        return float((self.cycles * self.counts).sum()) / self.count if self.count else None

    def by_size(self) -> None:
        """None, because an access has no size."""
        return

    def histogram(self) -> list[list[int]]:
        """Pairs of cycles and the number of accesses that took them."""
        pairs = zip(self.cycles.tolist(), self.counts.tolist(), strict=True)
        return [[cycles, count] for cycles, count in pairs]


@dataclass(frozen=True)
class TileReplay:
    """The result of a replay on the tile; `failed_at_event` counts from 0, None: it completed.

    `cycles` count the whole simulation, `start_cycles` the part before the trace begins.
    `counters` are the tile's, by name.
    """

    system: str
    completed: bool
    failed_at_event: int | None
    cause: str | None
    cycles: int
    start_cycles: int
    cycles_per_cpu_second: float
    peak_mapped_pages: int
    end_mapped_pages: int
    mean_mapped_pages: float
    faults: int
    touches: int
    events: int
    peak_live_bytes: int
    heap_pages: int
    frames_count: int
    mapped_pages: MappedPages = field(repr=False)
    calls: dict[str, TileCalls] = field(repr=False)
    accesses: dict[str, TileAccesses] = field(repr=False)
    counters: dict[str, int] = field(repr=False)
    placement_hash: int = 0

    @property
    def footprint_bytes(self) -> int:
        """The peak of frames in use, in bytes."""
        return self.peak_mapped_pages * PAGE_BYTES


# ---- commands ----


def operations_of(trace: open_trace.OpenTrace) -> np.ndarray:
    """The events of a trace as operations (OPERATION); misuse has op OP_SKIP."""
    library = native.library()
    with tempfile.TemporaryFile() as file, _decoding:
        error = library.tau_replay_dump(trace.handle, file.fileno())
        if error:
            raise TauError(f"{trace.path} cannot be read a second time: error {error}")
        file.seek(0)
        return np.frombuffer(file.read(), dtype=OPERATION)


def sizes_before(operations: np.ndarray) -> np.ndarray:
    """The size of each event's object before the event; 0 if there is none."""
    count = len(operations)
    order = np.argsort(operations["slot"], kind="stable")
    slots, ops = operations["slot"][order], operations["op"][order]
    places = np.arange(count)
    sized = np.where(ops < trace_format.OP_FREE, places, -1)
    sized = np.maximum.accumulate(sized) if count else places
    last = np.concatenate([[-1], sized[:-1]])[:count]
    begins = np.concatenate([[True], slots[1:] != slots[:-1]])[:count]
    first = np.maximum.accumulate(np.where(begins, places, 0)) if count else places
    known = last >= first
    found = np.zeros(count, np.uint64)
    found[order] = np.where(known, operations["size_bytes"][order][np.maximum(last, 0)], 0)
    return found


def commands_of(
    operations: np.ndarray, before: np.ndarray, touch_all: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The commands (rows of four words) and the event of each. See facts/replay.toml."""
    op, offset = operations["op"].astype(np.uint64), operations["size_bytes"]
    is_touch, granule_bytes = op == trace_format.OP_TOUCH, trace_format.GRANULE_BYTES
    end = np.minimum(before, offset + operations["align"].astype(np.uint64) * granule_bytes)
    is_kept = (op != OP_SKIP) & ~(is_touch & (offset >= end))
    granules = np.where(
        is_touch & is_kept, (end - np.minimum(offset, end) + granule_bytes - 1) // granule_bytes, 0
    )
    align = np.where(op == trace_format.OP_REALLOC, 0, operations["align"])
    is_odd = np.arange(len(op), dtype=np.uint64) & 1
    word = op | np.where(is_touch, granules, align).astype(np.uint64) << 8
    all_pages = form.FLAG_ALL_PAGES if touch_all else 0
    word |= np.where(is_touch, is_odd * form.FLAG_STORES, all_pages).astype(np.uint64)
    rows = np.empty((len(op), 4), np.uint32)
    rows[:, 0] = word
    rows[:, 1] = operations["slot"]
    rows[:, 2] = np.minimum(offset, WORD_MAX)
    rows[:, 3] = np.minimum(np.where(is_touch, np.maximum(end, 1) - 1, before), WORD_MAX)
    return rows[is_kept], np.flatnonzero(is_kept)


# ---- running ----


def simulate(
    system: TileSystem,
    commands: np.ndarray,
    cycles_max: int = CYCLES_MAX,
    assert_level: int = 0,
    check_level: int = 0,
) -> Simulation:
    """Run the replay program on a system with `commands`; the first one starts it.

    Raises TauError if a limit is reached, an assertion fails, or the program reports an error.
    """
    image = program(system, assert_level, check_level)
    words = np.ascontiguousarray(commands, dtype="<u4").tobytes()
    simulated = _simulator_for(system, image, words, len(commands) * COMMAND_CYCLES)
    label = f"replaying on {system.name}"
    done = run_simulator(simulated, ["--program", image], cycles_max, words, label=label)
    if done.code not in (tile.END_PASSED, tile.END_CYCLE_LIMIT) or not done.summary:
        _refuse(system, done, simulated)
    if done.code == tile.END_CYCLE_LIMIT:
        reached = max(int(done.tile["commands"]) - 1, 0)
        raise TauError(
            f"{system.name} reached the limit of {cycles_max} cycles"
            f" in event {reached} of {len(commands) - 1}",
            "give more with --cycles-max",
            EXIT_LIMIT_EXCEEDED,
        )
    return done


def _simulator_for(system: TileSystem, image: Path, commands: bytes, cycles: int) -> Path:
    """The simulator for about so many CYCLES: trained by the replay itself if it is long."""
    with tempfile.TemporaryDirectory() as folder:
        training = None
        if cycles >= CYCLES_WORTH_TRAINING:
            given = Path(folder) / "commands.bin"
            given.write_bytes(commands)
            training = ["--program", str(image), "--commands", str(given)]
        simulated = simulator(system, training=training)
    assert simulated is not None
    return simulated


def _refuse(system: TileSystem, done: Simulation, simulated: Path) -> None:
    code, said = done.code, f"{done.console} {done.messages}"[-SAID_CHARACTERS_MAX:]
    text = " ".join(said.split()) or f"exit status {code}"
    if code < 0:
        name = signal.Signals(-code).name
        cause = f"was ended by signal {-code} ({name})"
        raise TauError(f"the simulator of {system.name} {cause}", damaged(simulated))
    why = {
        tile.END_DOUBLE_FAULT: "a fault inside the fault handler",
        tile.END_ASSERTION: "a failed assertion in the hardware",
    }
    raise TauError(
        f"{system.name} stopped: {why.get(code, 'the program on the tile')}: {text}",
        "report this system",
    )


def tile_replay(
    trace_path: str | Path | open_trace.OpenTrace,
    name: str,
    frames: int | None = None,
    heap_bytes: int | None = None,
    check_level: int = 0,
    skip_misuse: bool = False,
    touch_all: bool = False,
    cycles_max: int = CYCLES_MAX,
    assert_level: int = 0,
) -> TileReplay:
    """Replay a trace on a system on the tile. Arguments as page_replay, and a limit of cycles.

    Raises TauError for a trace with misuse (unless `skip_misuse`), for one that cannot fit the
    tile, and for whatever stops the simulation.
    """
    system = tile_system(name)
    trace = open_trace.open_trace_for_replay(trace_path)
    open_trace.refuse_misuse(trace, skip_misuse)
    pages = min((heap_bytes or HEAP_PAGES_MAX * PAGE_BYTES) // PAGE_BYTES, HEAP_PAGES_MAX)
    if pages < 2:
        raise TauError("a heap on the tile has at least 2 pages", "raise --heap", EXIT_USAGE)
    _refuse_too_big(trace, pages)
    operations = operations_of(trace)
    before = sizes_before(operations)
    commands, events = commands_of(operations, before, touch_all)
    frames_count = min(frames or pages, 1 << PAGE_BITS)
    slots = int(trace.facts.slots_count)
    start = np.array([[form.OP_START, slots, pages, frames_count]], np.uint32)
    done = simulate(
        system, np.concatenate([start, commands]), cycles_max, assert_level, check_level
    )
    is_old = np.isin(operations["op"], (trace_format.OP_FREE, trace_format.OP_TOUCH))
    sizes = np.where(is_old, before, 0)
    sizes = np.where(operations["op"] < trace_format.OP_FREE, operations["size_bytes"], sizes)
    return _result_of(
        done, trace, name, operations["op"], (sizes, before), events, pages, frames_count
    )


def _refuse_too_big(trace: open_trace.OpenTrace, pages: int) -> None:
    """Raise TauError for a trace that no heap of PAGES pages can hold."""
    facts = trace.facts
    needed = -(-int(facts.peak_live_bytes) // PAGE_BYTES) + 1
    if needed > pages:
        raise TauError(
            f"{trace.path} needs at least {needed} pages of {PAGE_BYTES} bytes;"
            f" the heap on the tile has {pages}",
            None if pages == HEAP_PAGES_MAX else "give more with --heap",
            EXIT_LIMIT_EXCEEDED,
        )
    if int(facts.slots_count) > SLOTS_MAX:
        raise TauError(
            f"{trace.path} has {int(facts.slots_count)} objects live at once;"
            f" the tile's memory holds pointers to {SLOTS_MAX}",
            None,
            EXIT_LIMIT_EXCEEDED,
        )


# ---- results ----


def _result_of(
    done: Simulation,
    trace: open_trace.OpenTrace,
    name: str,
    ops: np.ndarray,
    sizes: tuple[np.ndarray, np.ndarray],
    events: np.ndarray,
    pages: int,
    frames_count: int,
) -> TileReplay:
    records = done.columns()
    plain = records[records["channel"] <= tile.CHANNEL_FAULT]
    is_end = plain["channel"] == form.CHANNEL_END
    empty = plain[is_end & (plain["value"] == form.END_EMPTY)]
    end = plain[is_end & (plain["value"] != form.END_EMPTY)][-1]
    reason = int(end["value"]) & 0xFFFF
    if not len(empty) or reason == faults.INIT_FAILED:
        raise TauError(
            f"{name} {faults.MEANING[faults.INIT_FAILED]} (status {int(end['value']) >> 16})",
            "give more with --heap or --frames",
        )
    begun = empty[0]
    plain = plain[np.flatnonzero(is_end)[0] + 1 :]
    event, mapped = _places(plain, events, len(ops))
    calls = _calls_of(plain, event, ops, sizes, int(begun["cycles"]))
    is_called = (plain["channel"] != tile.CHANNEL_FAULT) & (plain["channel"] != form.CHANNEL_END)
    change = (event[is_called], mapped[is_called])
    completed = reason == faults.COMPLETED
    counters = {key: int(value) for key, value in done.tile.items()}
    first = int(begun["sent"])
    accesses = {}
    for kind, channel in ACCESSES.items():
        chosen = records[records["channel"] == channel]
        counts = chosen["value"].astype(np.int64) + (chosen["at_cycle"].astype(np.int64) << 32)
        accesses[kind] = TileAccesses(chosen["cycles"], counts)
    return TileReplay(
        system=name,
        completed=completed,
        failed_at_event=None if completed else int(events[int(end["tag"])]),
        cause=None if completed else faults.MEANING[reason],
        cycles=int(done.summary["cycles"]),
        start_cycles=int(begun["at_cycle"]),
        cycles_per_cpu_second=float(done.summary["host"]["cycles_per_cpu_second"]),
        peak_mapped_pages=int(mapped[is_called].max(initial=first)),
        end_mapped_pages=int(end["sent"]),
        mean_mapped_pages=_mean(trace, ops, change, first),
        faults=calls["fault"].count,
        touches=trace.touches,
        events=len(ops),
        peak_live_bytes=int(trace.facts.peak_live_bytes),
        heap_pages=pages,
        frames_count=frames_count,
        mapped_pages=_curve(change, first, len(ops)),
        calls=calls,
        accesses=accesses,
        counters=counters,
        placement_hash=_placement_hash(plain, event),
    )


def _places(
    plain: np.ndarray, events: np.ndarray, events_count: int
) -> tuple[np.ndarray, np.ndarray]:
    """The event of each record, and the pages mapped after it; a fault has the next record's."""
    is_called = plain["channel"] != tile.CHANNEL_FAULT
    next_call = np.flatnonzero(is_called)[np.cumsum(is_called) - is_called]
    place = plain["tag"][next_call].astype(np.int64)
    known = np.append(events, events_count)  # The end has the number after the last command.
    return known[np.minimum(place, len(events))], plain["sent"][next_call].astype(np.int64)


def _calls_of(
    plain: np.ndarray,
    event: np.ndarray,
    ops: np.ndarray,
    sizes: tuple[np.ndarray, np.ndarray],
    empty_cycles: int,
) -> dict[str, TileCalls]:
    of_object, before = sizes
    calls = {}
    for kind in KINDS:
        is_fault = kind == "fault"
        chosen = plain["channel"] == (tile.CHANNEL_FAULT if is_fault else CHANNELS.index(kind))
        at = np.minimum(event[chosen], len(ops) - 1)
        cycles = plain["cycles"][chosen].astype(np.int64) - (0 if is_fault else empty_cycles)
        calls[kind] = TileCalls(at, (before if kind == "free" else of_object)[at], cycles)
    return calls


def _placement_hash(plain: np.ndarray, event: np.ndarray) -> int:
    """The place of every object, as in PageReplay: addresses count from the heap's start."""
    chosen = (plain["channel"] <= CHANNELS.index("aligned_alloc")) & (plain["value"] != 0)
    found = 0
    for number, address in zip(
        event[chosen].tolist(), plain["value"][chosen].tolist(), strict=True
    ):
        found = ((found ^ number) * HASH_FACTOR + address - HEAP_ADDRESS) % 2**64
    return found


def _curve(change: tuple[np.ndarray, np.ndarray], first: int, events: int) -> MappedPages:
    """The fewest and most pages in bins of equally many events; both ends of a change count."""
    event, mapped = change
    bins = min(max(events, 1), BINS_MAX)
    before = np.concatenate([[first], mapped[:-1]])[: len(mapped)]
    place = np.minimum(event, max(events - 1, 0)) * bins // max(events, 1)
    low, high = np.full(bins, WORD_MAX, np.int64), np.zeros(bins, np.int64)
    np.minimum.at(low, place, np.minimum(before, mapped))
    np.maximum.at(high, place, np.maximum(before, mapped))
    seen = low <= high
    starts = -(-np.arange(bins, dtype=np.int64) * max(events, 1) // bins)
    return MappedPages(starts[seen], low[seen], high[seen])


def _mean(
    trace: open_trace.OpenTrace,
    ops: np.ndarray,
    change: tuple[np.ndarray, np.ndarray],
    first: int,
) -> float:
    """The mean of mapped pages, as in PageReplay [PAGING-6]."""
    event, mapped = change
    after = np.full(len(ops) + 1, -1, np.int64)
    after[event] = mapped  # The last of several stays.
    places = np.maximum.accumulate(np.where(after >= 0, np.arange(len(after)), -1))
    filled = np.where(places >= 0, after[np.maximum(places, 0)], first)
    before = np.concatenate([[first], filled[:-1]])
    times = _access_times(trace)
    if times is None:
        weights = np.append(ops != trace_format.OP_TOUCH, True).astype(np.int64)
    else:
        weights = np.diff(np.concatenate([[0], times])).clip(0)
    total = int(weights.sum())
    return float((before * weights).sum()) / max(total, 1)


def _access_times(trace: open_trace.OpenTrace) -> np.ndarray | None:
    """The time of each event and of the end, if it counts accesses to the heap; else None."""
    counted = heap_accesses(trace.header)
    if counted is None:
        return None
    with _decoding:
        times = [columns.time_ns.copy() for columns in trace.reader.columns(("time_ns",))]
    end = sum(counted)
    return np.concatenate([*times, [end]]).astype(np.int64) if end else None


# ---- regions ----


def region_cycles(
    name: str, regions: np.ndarray, frames: int, cycles_max: int = CYCLES_MAX
) -> dict[str, np.ndarray]:
    """Measure cycles to map and unmap regions one after the other, in an otherwise empty space.

    Each row of `regions` is (first page, pages, pages that are mapped before the unmap, neighbors).
    The field neighbors is the sum of FLAG_BEFORE and FLAG_BEHIND, for regions of one page. Returns
    the columns "map" and "unmap". Raises TauError for an impossible region.
    """
    rows = np.empty((len(regions) + 1, 4), np.uint32)
    rows[0] = (form.OP_SPACE, 0, 0, frames)
    rows[1:, 0] = form.OP_REGION + regions[:, 3]
    rows[1:, 1:] = regions[:, :3]
    records = simulate(tile_system(name), rows, cycles_max).columns()
    is_end = records["channel"] == form.CHANNEL_END
    empty = records[is_end & (records["value"] == form.END_EMPTY)]
    if not len(empty):
        raise TauError(f"{name} cannot start with {frames} frames", None, EXIT_USAGE)
    channels = {"map": form.CHANNEL_MAP_REGION, "unmap": form.CHANNEL_UNMAP_REGION}
    return {
        key: records["cycles"][records["channel"] == channel].astype(np.int64)
        - int(empty["cycles"][0])
        for key, channel in channels.items()
    }
