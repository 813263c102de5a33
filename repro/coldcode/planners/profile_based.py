"""The paper's profile-based placement [P3-15]: pieces that call each other often share a page.

A graph has a node for each piece; hot ones have size 0. The weight of an edge is the sum of
1 + executions over all instructions that jump or call from one of both to the other.

1. Merge the nodes of the heaviest edge that fit a page together. Ties: the largest common weight;
   then the nodes whose code was closest in the kernel; then the lowest addresses.
2. Merge siblings, which are not connected but have a common neighbor: those with the largest sum of
   weights to it. Ties, which the paper leaves open: the heavier edge, the lowest addresses.
3. Merge the nodes of each connected subgraph by best fit.
"""

import heapq
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from repro.coldcode.planners import fragmentation
from repro.coldcode.planners.edges import LinkedPieces
from tautochrone.coldcode.fragment import PAGE_BYTES
from tautochrone.coldcode.placement import Pages, best_fit

TIES_MANY = 32  # of more edges of one weight, the common weights are kept
Pair = tuple[int, int]
Rank = tuple[int, int, int, int]  # falling common weight, distance, the two nodes


def place(cold: LinkedPieces) -> Pages:
    """The three steps, then the pass against fragmentation."""
    return fragmentation.merged(cold, clustered(cold))


def clustered(cold: LinkedPieces) -> Pages:
    """The three steps."""
    graph = Graph(cold)
    merge_heaviest(graph)
    merge_siblings(graph)
    return fit_subgraphs(graph)


class Graph:
    """Nodes are known by their lowest piece."""

    def __init__(self, cold: LinkedPieces) -> None:
        self.cold = cold
        self.near: dict[int, dict[int, int]] = defaultdict(dict)
        self.members: dict[int, list[int]] = {number: [number] for number in cold.numbers}
        for source, target, count in cold.edges():
            if source != target:
                for one, other in ((source, target), (target, source)):
                    weights = self.near[one]
                    weights[other] = weights.get(other, 0) + 1 + count
        for node in self.near:
            self.members.setdefault(node, [node])
        self.sizes = {
            node: cold.sizes_bytes[node] if cold.is_cold[node] else 0 for node in self.members
        }

    def fits(self, *nodes: int) -> bool:
        """Whether these fit a page together."""
        return sum(self.sizes[node] for node in nodes) <= PAGE_BYTES

    def common_weight(self, one: int, other: int) -> int:
        """The paper's commonweight of an edge."""
        few, many = sorted((self.near[one], self.near[other]), key=len)
        room = PAGE_BYTES - self.sizes[one] - self.sizes[other]
        sizes = self.sizes
        return sum(
            weight + many[node]
            for node, weight in few.items()
            if node in many and sizes[node] <= room
        )

    def distance(self, one: int, other: int) -> int:
        """From the start of a piece of one node to the nearest one of the other node."""
        addresses = self.cold.addresses
        few, many = sorted((self.members[one], self.members[other]), key=len)
        least = 1 << 64
        for number in few:
            place = bisect_left(many, number)
            for neighbor in many[max(place - 1, 0) : place + 1]:
                least = min(least, abs(addresses[number] - addresses[neighbor]))
        return least

    def merge(self, one: int, other: int) -> int:
        """Make one node of two; the lower number is its name."""
        node, gone = min(one, other), max(one, other)
        self.members[node] = sorted(self.members[node] + self.members.pop(gone))
        self.sizes[node] += self.sizes.pop(gone)
        weights = self.near[node]
        for neighbor, weight in self.near.pop(gone, {}).items():
            del self.near[neighbor][gone]
            if neighbor != node:
                weights[neighbor] = weights.get(neighbor, 0) + weight
                self.near[neighbor][node] = weights[neighbor]
        return node


# ---- Step 1


def merge_heaviest(graph: Graph) -> None:
    """Merge along the heaviest edge as long as one fits."""
    levels = _Levels(graph)
    while (pair := levels.best()) is not None:
        levels.merge(*pair)


class _Levels:
    """Edges by weight. Of a weight with many edges, their ranks are kept in a heap."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.edges: dict[int, set[Pair]] = {}
        self.weights: list[int] = []
        self.heaps: dict[int, list[Rank]] = {}
        self.ranks: dict[Pair, Rank] = {}
        for one, weights in graph.near.items():
            for other, weight in weights.items():
                if one < other:
                    self._add((one, other), weight)

    def best(self) -> Pair | None:
        """The edge to merge next."""
        while self.weights:
            weight = -self.weights[0]
            pair = self._best_of(weight)
            if pair is not None:
                return pair
            heapq.heappop(self.weights)
            del self.edges[weight]
            self.heaps.pop(weight, None)
        return None

    def merge(self, one: int, other: int) -> None:
        """Merge two nodes, and rank again what that changes."""
        graph = self.graph
        for node in (one, other):
            for neighbor, weight in graph.near[node].items():
                pair = (min(node, neighbor), max(node, neighbor))
                self.edges.get(weight, set()).discard(pair)
                self.ranks.pop(pair, None)
        node = graph.merge(one, other)
        for neighbor, weight in graph.near[node].items():
            self._add((min(node, neighbor), max(node, neighbor)), weight)
        if self.heaps:
            self._rank_triangles(node)

    def _add(self, pair: Pair, weight: int) -> None:
        if not self.graph.fits(*pair):
            return  # nodes only grow
        if weight not in self.edges:
            heapq.heappush(self.weights, -weight)
            self.edges[weight] = set()
        self.edges[weight].add(pair)
        if weight in self.heaps:
            self._rank(pair, weight)

    def _rank_triangles(self, node: int) -> None:
        """The common weight of two neighbors of NODE depends on it."""
        near = self.graph.near
        around = near[node]
        for one in around:
            few, many = (near[one], around) if len(near[one]) < len(around) else (around, near[one])
            for other in few:
                if one < other and other in many and (one, other) in self.ranks:
                    self._rank((one, other), near[one][other])

    def _rank(self, pair: Pair, weight: int) -> Rank:
        rank = self._rank_of(pair)
        if self.ranks.get(pair) != rank:
            self.ranks[pair] = rank
            heapq.heappush(self.heaps[weight], rank)
        return rank

    def _rank_of(self, pair: Pair) -> Rank:
        return -self.graph.common_weight(*pair), self.graph.distance(*pair), *pair

    def _best_of(self, weight: int) -> Pair | None:
        """The best edge of a weight that fits; None if there is none."""
        edges = self.edges[weight]
        if weight not in self.heaps:
            for pair in [pair for pair in edges if not self.graph.fits(*pair)]:
                edges.discard(pair)
            if len(edges) <= TIES_MANY:
                return self._best_of_few(edges)
            self.heaps[weight] = []
            for pair in edges:
                self._rank(pair, weight)
        heap = self.heaps[weight]
        while heap:
            rank = heap[0]
            pair = rank[2], rank[3]
            if pair in edges and self.ranks.get(pair) == rank and self.graph.fits(*pair):
                return pair
            heapq.heappop(heap)
        return None

    def _best_of_few(self, edges: set[Pair]) -> Pair | None:
        if len(edges) <= 1:
            return next(iter(edges), None)
        rank = min(map(self._rank_of, edges))
        return rank[2], rank[3]


# ---- Step 2


def merge_siblings(graph: Graph) -> None:
    """Merge the siblings with the heaviest edges to their parent, as long as two fit."""
    heap = [found for parent in sorted(graph.near) if (found := _siblings(graph, parent))]
    latest = {found[-1]: found for found in heap}
    heapq.heapify(heap)
    while heap:
        found = heapq.heappop(heap)
        parent = found[-1]
        if latest.get(parent) != found:
            continue
        one, other = found[2], found[4]
        node = graph.merge(one, other)
        latest.pop(max(one, other), None)
        for changed in (node, *graph.near[node]):
            again = _siblings(graph, changed)
            latest.pop(changed, None)
            if again:
                latest[changed] = again
                heapq.heappush(heap, again)


def _siblings(graph: Graph, parent: int) -> tuple[int, int, int, int, int, int] | None:
    """The best two children as a rank: (−sum, −weight, node, −weight, node, parent)."""
    children = sorted((-weight, node) for node, weight in graph.near[parent].items())
    if len(children) < 2:
        return None
    sizes = np.array([graph.sizes[node] for _, node in children])
    best = None
    for place, (weight, node) in enumerate(children[:-1]):
        if best is not None and weight + children[place + 1][0] >= best[0]:
            break
        second = _sibling_of(graph, children, sizes, place)
        if second is not None:
            total = weight + children[second][0]
            if best is None or total < best[0]:
                best = (total, weight, node, *children[second], parent)
    return best


def _sibling_of(
    graph: Graph, children: list[tuple[int, int]], sizes: np.ndarray, place: int
) -> int | None:
    """The first child behind this one that fits with it and is not connected to it."""
    node = children[place][1]
    room = PAGE_BYTES - graph.sizes[node]
    for step in _places(np.flatnonzero(sizes[place + 1 :] <= room)):
        if children[place + 1 + step][1] not in graph.near[node]:
            return place + 1 + step
    return None


def _places(found: np.ndarray) -> Iterator[int]:
    yield from map(int, found)


# ---- Step 3


def fit_subgraphs(graph: Graph) -> Pages:
    """Best fit within each connected subgraph. Hot nodes connect, but take no place."""
    pages: Pages = []
    seen: set[int] = set()
    for start in sorted(graph.members):
        if start in seen:
            continue
        seen.add(start)
        subgraph, waiting = [], [start]
        while waiting:
            node = waiting.pop()
            subgraph.append(node)
            fresh = [one for one in graph.near.get(node, {}) if one not in seen]
            seen.update(fresh)
            waiting += fresh
        groups = [
            [number for number in graph.members[node] if graph.cold.is_cold[number]]
            for node in sorted(subgraph)
        ]
        pages += best_fit([group for group in groups if group], graph.cold.sizes_bytes)
    return pages
