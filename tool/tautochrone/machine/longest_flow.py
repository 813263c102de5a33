"""The most that a way through a graph costs, where limits say how often loops go on.

    most(edges, limits)   # from START to END

Without a loop that is the longest path. With loops it is the optimum of a linear program (IPET): a
way takes each edge so often, enters each node as often as it leaves it, and keeps every limit.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tautochrone import solver

START, END = "start", "end"
ROUNDING = 1e-4  # HiGHS computes in floating point.


class Edge(NamedTuple):
    """A way takes it at a cost."""

    begin: Hashable
    end: Hashable
    cost: int


class Limit(NamedTuple):
    """The edges `limited` are taken together at most so often for each time that an edge of
    `allowing` is taken. Both by their places in the list of edges."""

    name: str
    limited: frozenset[int]
    allowing: Mapping[int, int]


class EndlessError(Exception):
    """A loop through `node` that no limit ends."""

    def __init__(self, node: Hashable) -> None:
        super().__init__(node)
        self.node = node


class BegunBeforeError(Exception):
    """The edges of a limit are reached without one that allows them, or allow each other."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def most(edges: Sequence[Edge], limits: Sequence[Limit]) -> int:
    """The most that a way costs. All nodes are reached. Raises EndlessError, BegunBeforeError."""
    for limit in limits:
        _check_begun(edges, limit)
    limited = {each for limit in limits for each in limit.limited}
    order = _in_order([edge for place, edge in enumerate(edges) if place not in limited])
    if not limits:
        return _longest_path(edges, order)
    found = _optimum(*_contracted(edges, limits))
    if found is None:
        raise BegunBeforeError(", ".join(limit.name for limit in limits))
    return found


def _check_begun(edges: Sequence[Edge], limit: Limit) -> None:
    leaving = _leaving(
        (edge.begin, (place, edge.end))
        for place, edge in enumerate(edges)
        if place not in limit.allowing
    )
    seen, waiting = {START}, [START]
    while waiting:
        for place, end in leaving.get(waiting.pop(), ()):
            if place in limit.limited:
                raise BegunBeforeError(limit.name)
            if end not in seen:
                seen.add(end)
                waiting.append(end)


def _leaving(pairs: Iterable[tuple[Hashable, tuple]]) -> dict[Hashable, list[tuple]]:
    found: dict[Hashable, list[tuple]] = {}
    for begin, other in pairs:
        found.setdefault(begin, []).append(other)
    return found


def _in_order(edges: Sequence[Edge]) -> list[Hashable]:
    """The nodes, each after all that it leads to. Raises EndlessError if there is a loop."""
    leaving = _leaving((edge.begin, (edge.end,)) for edge in edges)
    found: dict[Hashable, None] = {}
    for root in leaving:
        stack, path = [root], set()
        while stack:
            node = stack[-1]
            path.add(node)
            ends = [end for (end,) in leaving.get(node, ()) if end not in found]
            if node in found or not ends:
                path.discard(stack.pop())
                found.setdefault(node)
                continue
            for end in ends:
                if end in path:
                    raise EndlessError(end)
            stack.extend(ends)
    return list(found)


def _longest_path(edges: Sequence[Edge], order: Sequence[Hashable]) -> int:
    leaving = _leaving((edge.begin, (edge.end, edge.cost)) for edge in edges)
    known: dict[Hashable, int] = {}
    for node in order:
        ways = [cost + known[end] for end, cost in leaving.get(node, ())]
        known[node] = max(ways, default=0)
    return known[START]


def _contracted(
    edges: Sequence[Edge], limits: Sequence[Limit]
) -> tuple[dict[int, Edge], Sequence[Limit]]:
    """The same with fewer edges: a node between two edges of no limit disappears."""
    kept = dict(enumerate(edges))
    named = {each for limit in limits for each in (*limit.limited, *limit.allowing)}
    before: dict[Hashable, set[int]] = {}
    behind: dict[Hashable, set[int]] = {}
    for place, edge in kept.items():
        behind.setdefault(edge.begin, set()).add(place)
        before.setdefault(edge.end, set()).add(place)
    for node in [*before]:
        if len(before[node]) != 1 or len(behind.get(node, ())) != 1:
            continue
        (first,), (second,) = before[node], behind[node]
        if first in named or second in named or first == second:
            continue
        one, other = kept[first], kept.pop(second)
        kept[first] = Edge(one.begin, other.end, one.cost + other.cost)
        before[other.end].remove(second)
        before[other.end].add(first)
    return kept, limits


def _optimum(edges: Mapping[int, Edge], limits: Sequence[Limit]) -> int | None:
    columns = {place: column for column, place in enumerate(edges)}
    balance: dict[Hashable, list[tuple[int, int]]] = {}
    for place, edge in edges.items():
        balance.setdefault(edge.begin, []).append((columns[place], 1))
        balance.setdefault(edge.end, []).append((columns[place], -1))
    balance.pop(END, None)
    rows = []
    for node, cells in balance.items():
        total = int(node == START)
        rows.append(_row(cells, total, total))
    for limit in limits:
        cells = [(columns[each], 1) for each in limit.limited]
        rows.append(_row([*cells, *((columns[each], -n) for each, n in limit.allowing.items())], 0))
    costs = np.array([edge.cost for edge in edges.values()])
    solved = solver.maximum(costs, np.full(len(costs), np.inf), rows, is_whole=False)
    if solved is None or not solved.is_optimal:
        return None
    nearest = round(solved.bound)
    return nearest if abs(solved.bound - nearest) < ROUNDING else math.ceil(solved.bound)


def _row(cells: Sequence[tuple[int, int]], right: float, left: float = -np.inf) -> solver.Row:
    total: dict[int, int] = {}
    for column, value in cells:
        total[column] = total.get(column, 0) + value
    return solver.Row(np.array([*total]), np.array([*total.values()], float), right, left)
