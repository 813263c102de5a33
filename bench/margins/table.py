"""The tables of the study: shares of fresh runs that plans refuse."""

from __future__ import annotations

import random
from typing import Any

from tautochrone.plan.margin import REFUSED, advised
from tautochrone.plan.spread import Needs, Spread

COLUMNS = ("0", "0.01", "0.02", "0.05", "0.08", "advised")
PLANS = ("1", "3", "5")
SAMPLES = 100  # choices of recordings, for each program and number
SEED = 1


def share(rows: list[dict[str, Any]], column: str) -> float:
    """The share of fresh runs that these plans refuse."""
    fresh = sum(row["fresh"] for row in rows)
    return sum(row["refused"][column] for row in rows) / fresh if fresh else 0.0


def shares(measured: dict[str, Any], recordings: str) -> dict[str, float]:
    """The mean over the programs of the share that is refused, by margin."""
    return {
        column: sum(share(found[recordings], column) for found in measured.values())
        / len(measured)
        for column in COLUMNS
    }


def resampled(measured: dict[str, Any], recordings: int) -> tuple[float, float]:
    """The same share for plans without pools, from many choices of recordings, and the margin.

    Whether a run fits is told from the smallest heap that it needs.
    """
    source = random.Random(SEED)
    refused = margins = 0.0
    for found in measured.values():
        needs = found["plain"]
        for _ in range(SAMPLES):
            chosen = source.sample(range(len(needs)), recordings)
            own = Needs(tuple(needs[index] for index in chosen))
            margin = advised(Spread(own, own, ()) if recordings > 1 else None, recordings)
            fresh = [needs[index] for index in range(len(needs)) if index not in chosen]
            refused += sum(need > own.most * (1 + margin) for need in fresh) / len(fresh)
            margins += margin
    count = SAMPLES * len(measured)
    return refused / count, margins / count


def print_table(measured: dict[str, Any]) -> None:
    """One row a program for plans of five recordings, then the means."""
    print("| program | differs in | events | spread | advised | most needed | refused |")
    print("|---|---|---|---|---|---|---|")
    for name, found in measured.items():
        (row,) = found["5"]
        print(
            f"| {name} | {found['differs']} | {found['events']:,} | {100 * row['spread']:.2f} %"
            f" | {100 * row['advised']:.1f} % | {100 * row['needs_most']:+.2f} %"
            f" | {row['refused']['0']}, {row['refused']['advised']} |"
        )
    print("\n| recordings | 0 % | 1 % | 2 % | 5 % | 8 % | advised | advised margin, mean |")
    print("|---|---|---|---|---|---|---|---|")
    for recordings in PLANS:
        found = shares(measured, recordings)
        rows = [row for program in measured.values() for row in program[recordings]]
        mean = sum(row["advised"] for row in rows) / len(rows)
        cells = " | ".join(f"{100 * found[column]:.1f} %" for column in COLUMNS)
        print(f"| {recordings} | {cells} | {100 * mean:.1f} % |")
    print("\n| recordings | refused, resampled | margin, mean | the plan says at most |")
    print("|---|---|---|---|")
    for count, said in REFUSED.items():
        refused, margin = resampled(measured, count)
        print(f"| {count} | {100 * refused:.2f} % | {100 * margin:.1f} % | {100 * said:.1f} % |")
