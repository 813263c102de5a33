"""The tables of the study: shares of fresh runs that plans refuse."""

import random
from collections.abc import Iterator
from typing import Any

from tautochrone.heap.margin import REFUSED, advised
from tautochrone.heap.spread import Needs, Spread

COLUMNS = ("0", "0.01", "0.02", "0.05", "0.08", "advised")
PLANS = ("1", "3", "5")
SAMPLES = 100  # choices of recordings, for each program and number
SEED = 1


def margin_of(row: dict[str, Any]) -> float:
    """The margin that the plan of a row advises by today's rule."""
    count = len(row["from"])
    heaps = Needs((1_000_000 - round(row.get("spread", 0.0) * 1_000_000), 1_000_000))
    return advised(Spread(heaps, heaps, ()) if count > 1 else None, count)


def refused(row: dict[str, Any], column: str) -> int:
    """How many fresh runs a plan refuses: tried at a margin, or with the advised one as told from
    the heap that each needs with the plan's pools.
    """
    if column != "advised":
        return int(row["refused"][column])
    return sum(need > margin_of(row) for need in row["needs"])


def share(rows: list[dict[str, Any]], column: str) -> float:
    """The share of fresh runs that these plans refuse."""
    fresh = sum(row["fresh"] for row in rows)
    return sum(refused(row, column) for row in rows) / fresh if fresh else 0.0


def shares(measured: dict[str, Any], recordings: str) -> dict[str, float]:
    """The mean over the programs of the share that is refused, by margin."""
    return {
        column: sum(share(found[recordings], column) for found in measured.values())
        / len(measured)
        for column in COLUMNS
    }


def resampled(measured: dict[str, Any], recordings: int) -> tuple[float, float]:
    """The same share for plans without pools, from many choices of recordings, and the margin.

    A run fits if the heap that it needs fits.
    """
    source = random.Random(SEED)
    missed = margins = 0.0
    for found in measured.values():
        needs = found["plain"]
        for _ in range(SAMPLES):
            chosen = source.sample(range(len(needs)), recordings)
            own = Needs(tuple(needs[index] for index in chosen))
            margin = advised(Spread(own, own, ()) if recordings > 1 else None, recordings)
            fresh = [needs[index] for index in range(len(needs)) if index not in chosen]
            missed += sum(need > own.most * (1 + margin) for need in fresh) / len(fresh)
            margins += margin
    count = SAMPLES * len(measured)
    return missed / count, margins / count


def lines(measured: dict[str, Any]) -> Iterator[str]:
    """One row a program for plans of five recordings, then the means."""
    yield "| program | differs in | events | spread | advised | most needed | refused |"
    yield "|---|---|---|---|---|---|---|"
    for name, found in measured.items():
        (row,) = found["5"]
        yield (
            f"| {name} | {found['differs']} | {found['events']:,} | {100 * row['spread']:.2f} %"
            f" | {100 * margin_of(row):.1f} % | {100 * row['needs_most']:+.2f} %"
            f" | {refused(row, '0')}, {refused(row, 'advised')} |"
        )
    yield "\n| recordings | 0 % | 1 % | 2 % | 5 % | 8 % | advised | advised margin, mean |"
    yield "|---|---|---|---|---|---|---|---|"
    for recordings in PLANS:
        found = shares(measured, recordings)
        rows = [row for program in measured.values() for row in program[recordings]]
        mean = sum(map(margin_of, rows)) / len(rows)
        cells = " | ".join(f"{100 * found[column]:.1f} %" for column in COLUMNS)
        yield f"| {recordings} | {cells} | {100 * mean:.1f} % |"
    yield "\n| recordings | refused, resampled | margin, mean | the plan says at most |"
    yield "|---|---|---|---|"
    for count, said in REFUSED.items():
        missed, margin = resampled(measured, count)
        yield f"| {count} | {100 * missed:.2f} % | {100 * margin:.1f} % | {100 * said:.1f} % |"
