"""The table of the study: shares of fresh runs that plans refuse."""

from __future__ import annotations

from typing import Any

COLUMNS = ("0", "0.01", "0.02", "0.05", "0.08", "advised")


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


def print_table(measured: dict[str, Any]) -> None:
    """One row a program for plans of five recordings, and the means for one, three and five."""
    print("| program | spread | advised | most needed | refused of fresh runs, at 0 %, advised |")
    print("|---|---|---|---|---|")
    for name, found in measured.items():
        (row,) = found["5"]
        print(
            f"| {name} | {100 * row['spread']:.2f} % | {100 * row['advised']:.1f} %"
            f" | {100 * row['needs_most']:+.2f} % | {row['refused']['0']},"
            f" {row['refused']['advised']} of {row['fresh']} |"
        )
    print("\n| recordings | 0 % | 1 % | 2 % | 5 % | 8 % | advised | advised margin, mean |")
    print("|---|---|---|---|---|---|---|---|")
    for recordings in ("1", "3", "5"):
        found = shares(measured, recordings)
        rows = [row for program in measured.values() for row in program[recordings]]
        mean = sum(row["advised"] for row in rows) / len(rows)
        cells = " | ".join(f"{100 * found[column]:.1f} %" for column in COLUMNS)
        print(f"| {recordings} | {cells} | {100 * mean:.1f} % |")
