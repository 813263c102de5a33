"""This machine as an oracle: walks over pages of this process, timed (tool/native/tlb/walker.c)."""

import errno
import os
import platform
import resource

import numpy as np

from tautochrone import native
from tautochrone.declarations import Library
from tautochrone.errors import TauError
from tautochrone.tlb.discover.processors.cpuinfo import is_virtual_machine, processor_name
from tautochrone.tlb.discover.processors.oracle import Facts, Pages, Ticks, pages_of

PAGE_BYTES = 4096
START = 1 << 45  # The address of page 0. Programs and libraries are elsewhere.
PAGE_BITS = 33  # So that all pages lie below 2^46.
DIRECTORY_BITS = 9  # On x86-64, and on AArch64 with pages of 4 KiB.
MAPPED_PAGES_MAX = 1 << 14  # Then all are given back: at most 64 MiB, and their page tables.
LINE_BYTES, LINES = 64, 64
WALK_ACCESSES = 2048  # The shortest burst, so that the clock's step does not matter.
SETTLING_PASSES, BURSTS = 4, 3
CLOCK_TRIES = 1 << 16
# perf_event_open: PERF_TYPE_HW_CACHE, and DTLB, reads, misses.
WALKS = 3, 3 | 0 << 8 | 1 << 16
LAST_LEVEL = 1


class Host:
    """The processor that this thread runs on; the caller pins it to one. Pages are mapped when they
    are first walked over."""

    def __init__(self, seed: int = 1, library: Library | None = None) -> None:
        if resource.getpagesize() != PAGE_BYTES or platform.architecture()[0] != "64bit":
            raise TauError(
                f"discovery needs 64-bit addresses and pages of {PAGE_BYTES} bytes",
                "describe the TLB in a geometry file (docs/tutorials/tlb-sets.md)",
            )
        self._library = library or native.library()
        clock = self._library.tau_walker_clock().decode()
        started = self._library.tau_walker_now()
        if all(self._library.tau_walker_now() == started for _ in range(CLOCK_TRIES)):
            raise TauError(f"the clock ({clock}) stands still, so nothing can be timed")
        self._dice = np.random.default_rng(seed)
        self._mapped: set[int] = set()
        self._counter = self._library.tau_walker_counter_open(*WALKS)
        # The event belongs to the last level; a level in front has none of its own.
        self.counted_levels: tuple[int, ...] = (LAST_LEVEL,) if self._counter >= 0 else ()
        notes = ["bits of page numbers above 32 are not tested"]
        if is_virtual_machine():
            notes.append(
                "a virtual machine: costs of walks include the host's page tables, and other"
                " machines may share the TLB"
            )
        if self._counter < 0:
            cause = os.strerror(-self._counter)
            notes.append(f"misses cannot be counted ({cause}), so Algorithm 1 is left out")
        self.facts = Facts(
            name=processor_name(),
            page_bytes=PAGE_BYTES,
            page_bits=PAGE_BITS,
            directory_bits=DIRECTORY_BITS,
            unit=f"tick ({clock})",
            is_shared=True,
            notes=tuple(notes),
        )

    def walk(self, pages: Pages, shuffles: int) -> Ticks:
        addresses = self._map(pages)
        passes = -(-WALK_ACCESSES // addresses.size)
        ticks = np.zeros(shuffles * BURSTS, np.uint64)
        walk = self._library.struct("tau_walker_walk")(
            addresses,
            addresses.size,
            *(shuffles, SETTLING_PASSES, BURSTS, passes),
            int(self._dice.integers(1, 1 << 63)),
        )
        self._done(self._library.tau_walker_run(walk, ticks))
        return ticks / float(passes * addresses.size)

    def after(self, before: Pages, pages: Pages) -> float:
        self._map(np.concatenate([before, pages]))
        # A page of both lists has a cell of either: the first words of a line, and the next ones.
        first, then = self._cells(before, 0), self._cells(pages, 8)
        return float(self._library.tau_walker_after(first, first.size, then, then.size))

    def misses(self, pages: Pages, level: int) -> float:
        """Walks of a pass, counted by the processor."""
        assert level in self.counted_levels
        self.walk(pages, 1)
        before = self._library.tau_walker_counter_read(self._counter)
        self.walk(pages, 1)
        counted = self._library.tau_walker_counter_read(self._counter) - before
        passes = SETTLING_PASSES + BURSTS * -(-WALK_ACCESSES // pages.size)
        return float(counted) / passes

    def baseline(self, count: int, fitting: int) -> float:
        lines = min(LINES, -(-count // min(count, fitting)))
        start = int(self._map(pages_of(range(-(-count // lines))))[0])
        passes = -(-WALK_ACCESSES // count)
        ticks = [
            self._library.tau_walker_lines(
                *(start, count, lines, passes, int(self._dice.integers(1, 1 << 63)))
            )
            for _ in range(BURSTS * BURSTS)
        ]
        self._done(min(ticks) > 0)
        return float(min(ticks)) / (passes * count)

    def _cells(self, pages: Pages, offset: int) -> Pages:
        lines = self._dice.permutation(pages.size).astype(np.uint64) % np.uint64(LINES)
        return _address_of(pages) + lines * np.uint64(LINE_BYTES) + np.uint64(offset)

    def _map(self, pages: Pages) -> Pages:
        """Map new pages, after unmapping all if they are too many. The addresses."""
        missing = set(pages.tolist()) - self._mapped
        if len(self._mapped) + len(missing) > MAPPED_PAGES_MAX:
            self._unmap()
            missing = set(pages.tolist())
        for first, count in _runs(sorted(missing)):
            failed = self._library.tau_walker_map(START + first * PAGE_BYTES, count * PAGE_BYTES)
            if failed:
                raise TauError(
                    f"{count} pages at {START + first * PAGE_BYTES:#x} cannot be mapped:"
                    f" {os.strerror(failed)}",
                    "raise the limit of memory (ulimit -v)" if failed == errno.ENOMEM else None,
                )
            self._mapped.update(range(first, first + count))
        return _address_of(pages)

    def close(self) -> None:
        """Give all pages and the counter back."""
        if self._counter >= 0:
            os.close(self._counter)
        self._counter, self.counted_levels = -1, ()
        self._unmap()

    def _unmap(self) -> None:
        for first, count in _runs(sorted(self._mapped)):
            self._library.tau_walker_unmap(START + first * PAGE_BYTES, count * PAGE_BYTES)
        self._mapped.clear()

    @staticmethod
    def _done(is_done: bool) -> None:
        if not is_done:
            raise TauError("not enough memory for a walk")


def _address_of(pages: Pages) -> Pages:
    return np.uint64(START) + pages * np.uint64(PAGE_BYTES)


def _runs(pages: list[int]) -> list[tuple[int, int]]:
    """First page and length of each row of adjacent pages."""
    found: list[tuple[int, int]] = []
    for page in pages:
        if found and sum(found[-1]) == page:
            found[-1] = found[-1][0], found[-1][1] + 1
        else:
            found.append((page, 1))
    return found
