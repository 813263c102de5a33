"""A replay on pages in plain Python over the golden models, to compare the emulated one with."""

import functools
import random
from dataclasses import dataclass, field

from model.frames import Frames, Machine
from model.page_heap import BreakHeap, PageHeap
from tautochrone.machine import calls
from tautochrone.replay.paging import HEAPS
from testing.random_trace import ALIGNED_ALLOC, CALLOC, FREE, REALLOC, Event, random_events

MODELS = {"break_heap": BreakHeap}  # Any other heap keeps what ours keeps.
TOUCH = 5
PAGE, GRANULE = 4096, 16
FIRST = 0x40000  # The heap's first page: it lies at 1 GiB.
MIX = 0x9E3779B97F4A7C15


def events_with_touches(seed: int, events: int, live_max: int = 40) -> list[Event]:
    """Random events of objects up to 64 KiB, about half of them touches inside live objects."""
    source = random.Random(seed)
    sizes = [int(2 ** source.uniform(0, 16)) for _ in range(200)]
    made: list[Event] = []
    live: dict[int, int] = {}
    for op, slot, size, align in random_events(seed, events // 2, live_max, sizes):
        made.append((op, slot, size, align))
        if op == FREE:
            live.pop(slot)
        else:
            live[slot] = size
        while live and source.random() < 0.5:
            slot = source.choice(list(live))
            granules = -(-live[slot] // GRANULE)
            if granules:
                first = source.randrange(granules)
                count = min(source.choice((1, 1, 2, 255)), granules - first)
                made.append((TOUCH, slot, first * GRANULE, count))
    return made


@functools.cache
def control_bytes(heap_pages: int) -> int:
    """Bytes of TLSF's control block in a heap of this size, as the target's code says."""
    keep = ["tau_tlsf_init", "tau_tlsf_statistics"]
    image = calls.core_code("tlsf", "rv32", ["core/tlsf.c"], keep)
    with calls.Machine(image, 2 * heap_pages * PAGE) as machine:
        size = heap_pages * PAGE
        heap = machine.call("tau_tlsf_init", machine.reserve(size), size, 0).result
        out = machine.reserve(64)
        machine.call("tau_tlsf_statistics", out, heap)
        return int(machine.words(out, 7)[6])


@dataclass
class Seen:
    """What a replay shows, named as in tautochrone.paging.PageReplay."""

    peak_mapped_pages: int = 0
    end_mapped_pages: int = 0
    faults: int = 0
    placement_hash: int = 0
    before: list[int] = field(default_factory=list)  # Mapped before each event that is not a touch.
    after: list[int] = field(default_factory=list)  # Mapped after each event.
    calls: dict[str, int] = field(default_factory=dict)

    @property
    def mean_mapped_pages(self) -> float:
        """As PageReplay's."""
        return sum(self.before) / len(self.before)


class Reference:
    """Carries events out on a model; touches are looked up in the set of mapped pages."""

    def __init__(self, system: str, heap_pages: int) -> None:
        pool = Frames(Machine(heap_pages), is_reserved=True, ready=list(range(heap_pages)))
        made = MODELS.get(HEAPS[system].name, PageHeap)
        self.heap = made(pool, FIRST, heap_pages, control_bytes(heap_pages), 32, 0)
        self.objects: dict[int, tuple[int, int]] = {}
        self.seen = Seen(calls=dict.fromkeys(("malloc", "aligned_alloc", "resize", "free"), 0))

    def note(self) -> None:
        """Notes the peak."""
        self.seen.peak_mapped_pages = max(self.seen.peak_mapped_pages, len(self.heap.mapped))

    def call(self, kind: str, *arguments: int) -> object:
        """Calls the heap."""
        self.seen.calls[kind] += 1
        answer = getattr(self.heap, kind)(*arguments)
        self.note()
        return answer

    def touch(self, pointer: int, start: int, end: int) -> None:
        """The bytes from START to END of the object are accessed."""
        for page in range((pointer + start) // PAGE, (pointer + end - 1) // PAGE + 1):
            if page not in self.heap.mapped:
                assert self.heap.map_page(page) == "OK"
                self.seen.faults += 1
                self.note()

    def place(self, event: int, op: int, size: int, align: int) -> int | None:
        """Allocates; SPEC's REPLAY-7 defines the hash."""
        if align and op != REALLOC:
            pointer = self.call("aligned_alloc", 1 << align, size)
        else:
            pointer = self.call("malloc", size)
        if pointer is None:
            assert size == 0
            return None
        seen = self.seen
        offset = pointer - FIRST * PAGE
        seen.placement_hash = ((seen.placement_hash ^ event) * MIX + offset) % 2**64
        if op == CALLOC:
            self.touch(pointer, 0, size)
        return pointer

    def resize(self, event: int, slot: int, size: int) -> int | None:
        """A realloc: in place, or to another place with what of the old one is mapped."""
        pointer, old = self.objects[slot]
        if pointer is None:
            return self.place(event, REALLOC, size, 0)
        if self.call("resize", pointer, size):
            return pointer
        moved = self.place(event, REALLOC, size, 0)
        kept = min(old, size)
        for page in range(pointer // PAGE, (pointer + kept - 1) // PAGE + 1):
            if page in self.heap.mapped:
                start = max(page * PAGE - pointer, 0)
                self.touch(moved, start, min((page + 1) * PAGE - pointer, kept))
        self.call("free", pointer)
        return moved

    def run(self, events: list[Event]) -> Seen:
        """Carries all events out."""
        for event, (op, slot, size, align) in enumerate(events):
            if op == TOUCH:
                pointer, known = self.objects[slot]
                self.touch(pointer, size, min(size + align * GRANULE, known))
            else:
                self.seen.before.append(len(self.heap.mapped))
                self.note()
                self.change(event, op, slot, size, align)
            self.seen.after.append(len(self.heap.mapped))
        self.seen.before.append(len(self.heap.mapped))
        self.seen.end_mapped_pages = len(self.heap.mapped)
        return self.seen

    def change(self, event: int, op: int, slot: int, size: int, align: int) -> None:
        """One event that is not a touch."""
        if op == FREE:
            pointer, _ = self.objects.pop(slot)
            if pointer is not None:
                self.call("free", pointer)
        elif op == REALLOC:
            self.objects[slot] = (self.resize(event, slot, size), size)
        else:
            assert op == ALIGNED_ALLOC or align == 0
            self.objects[slot] = (self.place(event, op, size, align), size)
