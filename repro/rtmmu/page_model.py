"""How many pages each system keeps mapped, by the rule and not by the code: slow and obvious.

Only the placement of objects is the library's (the same TLSF in both systems). From the addresses
alone follow, with the edge of a block boundary being the page of its header:

- ours: the edges, and the pages that a live object touched [P0-33, P0-43];
- the conventional system: all pages that ever were an edge or touched, below the break, which is
  the page behind the header of the last free block [P0-34].

The replay must find the same numbers (test_rtmmu_repro.py); and this is fast enough to try seeds.
For malloc, free and touches, which is all that the synthetic workload does.
"""

import bisect
import ctypes
import mmap
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.tile.synthetic import GRANULE_BYTES, Event
from tautochrone import native
from tautochrone.facts import trace_format

PAGE_BYTES = 4096
PAGES_LOG2 = 19  # the space; the heap has half of it
HEAP_PAGES = 1 << 18
FIRST_PAGE = 1
HEADER_BYTES = 8  # from a payload back to the footer before it
WORD_BYTES = 4
NO_RESERVE = 0x4000  # Linux: pages that are never touched cost nothing

# What a call did, as the bands of Fig. 5 and the parts of Fig. 6 tell calls apart.
SPLIT_MAPPED, SPLIT, WHOLE = range(3)
INSIDE, LAST, LAST_AFTER_FREE = range(3)


class Placement:
    """Where the library puts objects: addresses in bytes from the start of the space."""

    def __init__(self, heap_pages: int) -> None:
        self.library = native.library("libtau_core32.so")
        self.memory = mmap.mmap(
            -1, PAGE_BYTES << PAGES_LOG2, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
        )
        self.origin = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        count = 1 << PAGES_LOG2
        self.links = (ctypes.c_uint32 * count)()
        self.entries = (ctypes.c_uint32 * count)()
        names = ("tau_frames", "tau_pagetable", "tau_break_heap")
        self.frames, self.table, self.heap = (self.library.struct(name)() for name in names)
        page, frame = self.library.struct("tau_page"), self.library.struct("tau_frame")
        call = self._call
        call("tau_frames_init", self.frames, self.links, count, None)
        call("tau_frames_add", self.frames, frame(0), count - 1)
        size = ctypes.sizeof(self.entries)
        call("tau_pagetable_init", self.table, self.entries, size, PAGES_LOG2, self.frames, 0)
        first = page(FIRST_PAGE)
        call("tau_break_heap_init", self.heap, self.table, self.origin, first, heap_pages)

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self.library, name)(*arguments)
        if status:
            raise RuntimeError(f"{name} returned {status}")

    def malloc(self, size_bytes: int) -> tuple[int, int]:
        """The block of a new object: where its payload starts and where the next one's does."""
        pointer = self.library.tau_break_heap_malloc(self.heap, size_bytes)
        if not pointer:
            raise MemoryError(f"no room for {size_bytes} bytes")
        usable = self.library.tau_break_heap_usable_size(self.heap, pointer)
        start = pointer - self.origin
        return start, start + usable + WORD_BYTES

    def free(self, start: int) -> None:
        """Give an object back."""
        self._call("tau_break_heap_free", self.heap, self.origin + start)


@dataclass
class Pages:
    """The counts: numbers of pages after each event, and the kind of each call."""

    ours: list[int] = field(default_factory=list)
    conventional: list[int] = field(default_factory=list)
    live: list[int] = field(default_factory=list)  # objects
    malloc_kinds: list[int] = field(default_factory=list)  # ours
    conventional_malloc_kinds: list[int] = field(default_factory=list)
    free_kinds: list[int] = field(default_factory=list)  # in the conventional system
    returned_pages: list[int] = field(default_factory=list)  # by each free of it, mapped or not


def edge(payload: int) -> int:
    """The page that holds the boundary in front of a payload."""
    return (payload - HEADER_BYTES) // PAGE_BYTES


class Counting:
    """The two counts while events pass."""

    def __init__(self, heap_pages: int) -> None:
        self.placement = Placement(heap_pages)
        self.lowest, _ = self.placement.malloc(1)
        self.placement.free(self.lowest)
        self.highest = (FIRST_PAGE + heap_pages) * PAGE_BYTES
        # Control block and both ends are mapped for good, in both systems.
        fixed = [*range(FIRST_PAGE, edge(self.lowest) + 1), edge(self.highest)]
        self.references = Counter(fixed)  # edges and touches that keep a page, ours
        self.kept = bytearray(1 << PAGES_LOG2)  # conventional: 1 if mapped
        for page in fixed:
            self.kept[page] = 1
        self.kept_count = len(fixed)
        self.break_page = edge(self.lowest) + 1
        self.starts: list[int] = []
        self.ends: dict[int, int] = {}
        self.objects: dict[int, tuple[int, int, set[int]]] = {}  # slot: start, size, touched pages
        self.pages = Pages()

    def keep(self, page: int) -> bool:
        """Map PAGE in the conventional system; whether it was not mapped."""
        is_new = not self.kept[page]
        self.kept[page] = 1
        self.kept_count += is_new
        return is_new

    def move_break(self) -> int:
        """Put the break behind the last used block; the pages that this gives back."""
        last_end = self.ends[self.starts[-1]] if self.starts else self.lowest
        old, self.break_page = self.break_page, min(edge(last_end) + 1, edge(self.highest))
        returned = max(old - self.break_page, 0)
        if returned:
            self.kept_count -= self.kept.count(1, self.break_page, old)
            self.kept[self.break_page : old] = bytes(returned)
        return returned

    def malloc(self, slot: int, size_bytes: int) -> None:
        """An object is placed: its end may be a new edge."""
        start, end = self.placement.malloc(size_bytes)
        place = bisect.bisect(self.starts, start)
        behind = self.starts[place] if place < len(self.starts) else self.highest
        self.starts.insert(place, start)
        self.ends[start] = end
        is_new = edge(end) not in self.references
        for page in (edge(start), edge(end)):
            self.references[page] += 1
        is_new_kept = self.keep(edge(end))
        self.move_break()
        self.objects[slot] = (start, size_bytes, set())
        split = end != behind
        for mapped, calls in (
            (is_new, self.pages.malloc_kinds), (is_new_kept, self.pages.conventional_malloc_kinds)
        ):
            calls.append((SPLIT_MAPPED if mapped else SPLIT) if split else WHOLE)

    def free(self, slot: int) -> None:
        """An object goes: what kept its pages does too, and the break may move."""
        start, _size, touched = self.objects.pop(slot)
        place = bisect.bisect_left(self.starts, start)
        end = self.ends.pop(start)
        before = self.ends[self.starts[place - 1]] if place else self.lowest
        is_last = place == len(self.starts) - 1
        del self.starts[place]
        for page in (edge(start), edge(end), *touched):
            self.references[page] -= 1
            if not self.references[page]:
                del self.references[page]
        self.placement.free(start)
        kind = (LAST if before == start else LAST_AFTER_FREE) if is_last else INSIDE
        self.pages.free_kinds.append(kind)
        self.pages.returned_pages.append(self.move_break())

    def touch(self, slot: int, offset: int) -> None:
        """A granule of an object is used. Payloads are multiples of 8: it may lie in two pages."""
        start, size, touched = self.objects[slot]
        last = min(offset + GRANULE_BYTES, size) - 1
        for page in {(start + offset) // PAGE_BYTES, (start + last) // PAGE_BYTES} - touched:
            touched.add(page)
            self.references[page] += 1
            self.keep(page)


def count(stream: Iterable[Event], heap_pages: int = HEAP_PAGES) -> Pages:
    """Both counts over all events. Raises MemoryError if an object finds no room."""
    counting = Counting(heap_pages)
    pages = counting.pages
    for event in stream:
        if event.op == trace_format.OP_MALLOC:
            counting.malloc(event.slot, event.bytes)
        elif event.op == trace_format.OP_FREE:
            counting.free(event.slot)
        else:
            counting.touch(event.slot, event.bytes)
        pages.ours.append(len(counting.references))
        pages.conventional.append(counting.kept_count)
        pages.live.append(len(counting.starts))
    return pages
