"""The planners of the paper, written straight from its text: slow, obvious models."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations

from repro.coldcode.planners.edges import LinkedPieces
from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.coldcode.placement import Pages

Nodes = list[list[int]]  # each in rising order; in the order of their lowest pieces


# ---- Profile-based [P3-15]


class Naive:
    """The graph, which recomputes everything each time."""

    def __init__(self, cold: LinkedPieces) -> None:
        self.cold = cold
        self.weights: dict[frozenset[int], int] = defaultdict(int)
        for source, target, count in cold.edges():
            if source != target:
                self.weights[frozenset((source, target))] += 1 + count
        pieces = {piece for pair in self.weights for piece in pair} | set(cold.numbers)
        self.nodes = [[piece] for piece in sorted(pieces)]

    def size(self, *nodes: list[int]) -> int:
        """Bytes of cold pieces."""
        cold, pieces = self.cold, [piece for node in nodes for piece in node]
        return sum(cold.sizes_bytes[piece] for piece in pieces if cold.is_cold[piece])

    def weight(self, one: list[int], other: list[int]) -> int:
        """The weight of the edge between two nodes; 0 without an edge."""
        return sum(self.weights.get(frozenset((a, b)), 0) for a in one for b in other)

    def common_weight(self, one: list[int], other: list[int]) -> int:
        """Over the nodes connected to both that would fit as well."""
        total = 0
        for node in self.nodes:
            if node in (one, other) or self.size(one, other, node) > PAGE_BYTES:
                continue
            both = self.weight(one, node), self.weight(other, node)
            total += sum(both) if all(both) else 0
        return total

    def distance(self, one: list[int], other: list[int]) -> int:
        """Between their closest pieces."""
        addresses = self.cold.addresses
        return min(abs(addresses[a] - addresses[b]) for a in one for b in other)

    def fitting(self) -> Iterator[tuple[list[int], list[int]]]:
        """Pairs of nodes that fit a page together."""
        for one, other in combinations(self.nodes, 2):
            if self.size(one, other) <= PAGE_BYTES:
                yield one, other

    def merge(self, one: list[int], other: list[int]) -> None:
        """Make one node of two."""
        rest = [node for node in self.nodes if node not in (one, other)]
        self.nodes = sorted([*rest, sorted(one + other)])

    def cluster(self) -> None:
        """Step 1."""
        while True:
            ranks = [
                (
                    -self.weight(one, other),
                    -self.common_weight(one, other),
                    self.distance(one, other),
                    one,
                    other,
                )
                for one, other in self.fitting()
                if self.weight(one, other)
            ]
            if not ranks:
                return
            self.merge(*min(ranks)[-2:])

    def merge_siblings(self) -> None:
        """Step 2."""
        while True:
            ranks = []
            for one, other in self.fitting():
                if self.weight(one, other):
                    continue
                for parent in self.nodes:
                    rows = sorted(
                        (-self.weight(child, parent), child[0], child) for child in (one, other)
                    )
                    if parent not in (one, other) and rows[1][0]:
                        sum_of_both = rows[0][0] + rows[1][0]
                        ranks.append((sum_of_both, *rows[0], *rows[1], parent))
            if not ranks:
                return
            best = min(ranks)
            self.merge(best[3], best[6])

    def fit_subgraphs(self) -> Pages:
        """Step 3."""
        pages: Pages = []
        left = list(self.nodes)
        while left:
            subgraph = [left.pop(0)]
            for node in subgraph:
                near = [other for other in left if self.weight(node, other)]
                left = [other for other in left if other not in near]
                subgraph += near
            groups = [[piece for piece in node if self.cold.is_cold[piece]] for node in subgraph]
            pages += naive_best_fit(self.cold, [group for group in groups if group])
        return pages


def profile_based(cold: LinkedPieces) -> Pages:
    """The three steps and the pass."""
    graph = Naive(cold)
    graph.cluster()
    graph.merge_siblings()
    return defragmented(cold, graph.fit_subgraphs())


def naive_best_fit(cold: LinkedPieces, groups: Nodes) -> Pages:
    """The largest group first, into the fullest page that has room."""
    pages: Pages = []
    for group in sorted(groups, key=lambda group: (-cold.bytes_of(group), min(group))):
        rooms = [PAGE_BYTES - cold.bytes_of(page) - cold.bytes_of(group) for page in pages]
        fitting = [(room, place) for place, room in enumerate(rooms) if room >= 0]
        if fitting:
            pages[min(fitting)[1]] += group
        else:
            pages.append(list(group))
    return pages


# ---- Fragmentation [P3-17]


def defragmented(cold: LinkedPieces, pages: Pages) -> Pages:
    """Small pages by proximity, then best fit."""
    pages = [list(page) for page in pages]
    while True:
        ranks = []
        for one, other in combinations(pages, 2):
            if max(cold.bytes_of(one), cold.bytes_of(other)) > PAGE_BYTES // 2:
                continue
            for a in one:
                for b in other:
                    low, high = sorted((a, b))
                    distance = cold.addresses[high] - cold.addresses[low]
                    if distance < PAGE_BYTES:
                        ranks.append((distance, low, high, one, other))
        if not ranks:
            return naive_best_fit(cold, pages)
        one, other = min(ranks)[-2:]
        pages = [page for page in pages if page not in (one, other)] + [one + other]


# ---- Per entry point [P3-16]


def entry_points(cold: LinkedPieces) -> Pages:
    """The iteration and the pass."""
    callees = defaultdict(set)
    entry = set()
    for source, target, _ in cold.edges():
        if cold.is_cold[target] and cold.is_cold[source]:
            callees[source].add(target)
        elif cold.is_cold[target]:
            entry.add(target)
    reached = {}
    for start in entry:
        found = {start}
        while more := {target for piece in found for target in callees[piece]} - found:
            found |= more
        reached[start] = found
    pages = [[piece] for piece in cold.numbers]

    def entries(page: list[int]) -> set[int]:
        return {start for start in entry if reached[start] & set(page)}

    while True:
        pcount = {start: sum(start in entries(page) for page in pages) for start in entry}
        most = {start for start in entry if pcount[start] == max(pcount.values())}
        ranks = []
        for one, other in combinations(pages, 2):
            both = cold.bytes_of(one) + cold.bytes_of(other)
            common = entries(one) & entries(other)
            if both <= PAGE_BYTES and common:
                names = sorted((min(one), min(other)))
                ranks.append((-len(most & common), -len(common), both, *names, one, other))
        if not ranks:
            return defragmented(cold, pages)
        one, other = min(ranks)[-2:]
        pages = [page for page in pages if page not in (one, other)] + [one + other]
