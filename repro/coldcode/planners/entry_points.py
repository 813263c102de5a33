"""The paper's placement per entry point [P3-16]: few pages for all that one entry can reach.

A cold piece is an entry point if code that stays in RAM jumps to it or calls it. entries(p) are the
entry points from which a page is reached through cold code alone; pcount(e) is how many pages e
reaches. Repeat: M are the entry points of the largest pcount. Merge the two pages that fit together
and have most entry points of M in common. If several pairs do, merge the pair with most entry
points in common. The paper leaves further ties open: here the smallest pages win, then the lowest
pieces. Pages with nothing in common are not merged.

Pages with equal entries stay alike, so they are one *kind*: only kinds are compared, and of each
only its smallest pages. Sets of entry points are the bits of a number.
"""

import heapq
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from repro.coldcode.planners import fragmentation
from repro.coldcode.planners.edges import LinkedPieces
from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.coldcode.placement import Pages

Page = tuple[int, int]  # bytes, the lowest piece
WORD_BITS = 64


def place(cold: LinkedPieces) -> Pages:
    """The iteration, then the pass against fragmentation."""
    return fragmentation.merged(cold, clustered(cold))


def clustered(cold: LinkedPieces) -> Pages:
    """The pages of the iteration."""
    entries = entries_of(cold)
    kinds = _Kinds(cold, entries)
    while (pair := kinds.best()) is not None:
        kinds.merge(*pair)
    return [sorted(page) for page in kinds.members.values()]


def entries_of(cold: LinkedPieces) -> dict[int, int]:
    """For each piece, the entry points that reach it, as bits."""
    callees: dict[int, list[int]] = defaultdict(list)
    entry_points = set()
    for source, target, _ in cold.edges():
        if not cold.is_cold[target]:
            continue
        if cold.is_cold[source]:
            callees[source].append(target)
        else:
            entry_points.add(target)
    entries = dict.fromkeys(cold.numbers, 0)
    for bit, entry_point in enumerate(sorted(entry_points)):
        entries[entry_point] = 1 << bit
    waiting = sorted(entry_points)
    while waiting:
        piece = waiting.pop()
        for callee in callees[piece]:
            together = entries[callee] | entries[piece]
            if together != entries[callee]:
                entries[callee] = together
                waiting.append(callee)
    return entries


class _Kinds:
    """Pages by their set of entry points. Row r of `bits` is the set of kind r."""

    def __init__(self, cold: LinkedPieces, entries: dict[int, int]) -> None:
        self.members = {number: [number] for number in cold.numbers}
        self.words = -(-max(map(int.bit_length, entries.values()), default=0) // WORD_BITS) or 1
        self.rows: dict[int, int] = {}
        self.bits = np.zeros((64, self.words), np.uint64)
        self.sizes = np.zeros(64, np.int64)  # entry points in each set
        self.smallest = np.full(64, PAGE_BYTES + 1)  # page of the kind
        self.pages: list[list[Page]] = []
        self.pcount = np.zeros(self.words * WORD_BITS, np.int64)
        for number in cold.numbers:
            if entries[number]:
                self._add(self._row_of(entries[number]), (cold.sizes_bytes[number], number))
                self.pcount += self._unpacked(entries[number])

    def best(self) -> tuple[int, Page, int, Page] | None:
        """The two pages to merge, each with its kind."""
        most = self.pcount.max(initial=0)
        in_most = np.packbits(self.pcount == most, bitorder="little").view(np.uint64)
        count = len(self.pages)
        bits, smallest = self.bits[:count], self.smallest[:count]
        with_most = np.bitwise_count(bits & in_most).sum(axis=1, dtype=np.int64)
        ranks = with_most * (self.pcount.size + 1) + self.sizes[:count]
        least = smallest.min(initial=PAGE_BYTES + 1)
        candidates = np.flatnonzero(smallest + least <= PAGE_BYTES)
        candidates = candidates[np.argsort(-ranks[candidates], kind="stable")]
        return self._search(candidates, ranks[candidates], in_most)

    def _search(
        self, candidates: np.ndarray, ranks: np.ndarray, in_most: np.ndarray
    ) -> tuple[int, Page, int, Page] | None:
        """Compare kinds in falling rank. No pair is better than the lower rank of both."""
        best_rank, best = 0, None
        smallest = self.smallest[candidates]
        for place, (row, rank) in enumerate(zip(candidates.tolist(), ranks.tolist(), strict=True)):
            if rank < max(best_rank, 1):
                break
            pages = self.pages[row]
            if len(pages) > 1:
                two = heapq.nsmallest(2, pages)
                if two[0][0] + two[1][0] <= PAGE_BYTES:
                    found = _pair(row, two[0], row, two[1])
                    if rank > best_rank or (best is not None and _rank(found) < _rank(best)):
                        best_rank, best = rank, found
            last = int(np.searchsorted(-ranks, -max(best_rank, 1), side="right"))
            others = np.arange(place + 1, last)
            others = others[smallest[others] + pages[0][0] <= PAGE_BYTES]
            if not len(others):
                continue
            common = self.bits[candidates[others]] & self.bits[row]
            with_most = np.bitwise_count(common & in_most).sum(axis=1, dtype=np.int64)
            sizes = np.bitwise_count(common).sum(axis=1, dtype=np.int64)
            both = with_most * (self.pcount.size + 1) + sizes
            top = int(both.max())
            if top < max(best_rank, 1):
                continue
            for other in candidates[others[both == top]].tolist():
                found = _pair(row, pages[0], other, self.pages[other][0])
                if top > best_rank or best is None or _rank(found) < _rank(best):
                    best_rank, best = top, found
        return best

    def merge(self, row: int, page: Page, other_row: int, other: Page) -> None:
        """Make one page of two."""
        common = self.bits[row] & self.bits[other_row]
        self.pcount -= np.unpackbits(common.view(np.uint8), bitorder="little")
        together = int.from_bytes((self.bits[row] | self.bits[other_row]).tobytes(), "little")
        self._remove(row, page)
        self._remove(other_row, other)
        name, gone = sorted((page[1], other[1]))
        self.members[name] += self.members.pop(gone)
        self._add(self._row_of(together), (page[0] + other[0], name))

    def _add(self, row: int, page: Page) -> None:
        heapq.heappush(self.pages[row], page)
        self.smallest[row] = self.pages[row][0][0]

    def _remove(self, row: int, page: Page) -> None:
        pages = self.pages[row]
        if pages[0] == page:
            heapq.heappop(pages)
        else:
            pages.remove(page)
            heapq.heapify(pages)
        self.smallest[row] = pages[0][0] if pages else PAGE_BYTES + 1

    def _row_of(self, entries: int) -> int:
        row = self.rows.get(entries)
        if row is None:
            row = self.rows[entries] = len(self.pages)
            self.pages.append([])
            if row == len(self.bits):
                self.bits = np.concatenate((self.bits, np.zeros_like(self.bits)))
                self.sizes = np.concatenate((self.sizes, np.zeros_like(self.sizes)))
                fresh = np.full(len(self.smallest), PAGE_BYTES + 1)
                self.smallest = np.concatenate((self.smallest, fresh))
            self.bits[row] = np.frombuffer(self._bytes_of(entries), np.uint64)
            self.sizes[row] = entries.bit_count()
        return row

    def _bytes_of(self, entries: int) -> bytes:
        return entries.to_bytes(self.words * WORD_BITS // 8, "little")

    def _unpacked(self, entries: int) -> np.ndarray:
        return np.unpackbits(np.frombuffer(self._bytes_of(entries), np.uint8), bitorder="little")


def _pair(row: int, page: Page, other_row: int, other: Page) -> tuple[int, Page, int, Page]:
    return (row, page, other_row, other) if page[1] < other[1] else (other_row, other, row, page)


def _rank(pair: Sequence) -> tuple[int, int, int]:
    """The order of pairs with equally many common entry points: bytes, then pieces."""
    _, page, _, other = pair
    return page[0] + other[0], page[1], other[1]
