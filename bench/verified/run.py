"""Plans on recordings of 32-bit programs, verified: `python -m bench verified [--fresh]`.

Makes the recordings, plans and verifies each, and writes out/bench/verified.json and a table.
Complains if there are fewer recordings than wanted, or if a plan does not hold.
"""

from typing import Any

from bench.commands import ROOT
from bench.runner import Bench, Given
from bench.verified.held import held
from bench.verified.recordings import recordings
from tautochrone.console.output import note

RECORDINGS_MIN = 30
SMALL_MIN = 12  # with a peak of SMALL_BYTES
SMALL_BYTES = range(8 << 10, (264 << 10) + 1)


def measure(given: Given) -> dict[str, Any]:
    """Make and list them, then plan and verify each."""
    made, plans = [], []
    for one in recordings(is_fresh=given.fresh):
        note(f"verifying {one['name']}")
        own = [*held(one["name"], ROOT / one["path"])]
        made.append({**one, "plans": len(own), "plans_held": len(own) - len(failed(own))})
        plans += own
    return {"recordings": made, "plans": plans}


def failed(plans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Plans that do not hold."""
    return [row for row in plans if row["refused"] or row["over_bound"]]


def small(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Recordings of small heaps."""
    return [one for one in result["recordings"] if one["peak_live_bytes"] in SMALL_BYTES]


def lines(result: dict[str, Any]) -> list[str]:
    """The sums."""
    plans = result["plans"]
    calls, refused, over = (
        sum(row[key] for row in plans) for key in ("calls", "refused", "over_bound")
    )
    return [
        f"{len(result['recordings'])} recordings, {len(small(result))} with a peak of 8 to 264 KiB",
        f"{len(plans) - len(failed(plans))} of {len(plans)} plans hold in exactly the header's"
        f" bytes; {calls:,} calls, {refused} refused, {over} operations over the header's bound",
    ]


def complaints(result: dict[str, Any]) -> list[str]:
    """Limits that are broken."""
    failures = failed(result["plans"])
    found = [f"{row['recording']}, {row['build']}: does not hold" for row in failures]
    counts = {"recordings": len(result["recordings"]), "small recordings": len(small(result))}
    for (name, count), least in zip(counts.items(), (RECORDINGS_MIN, SMALL_MIN), strict=True):
        found += [f"{count} {name}, at least {least}"] if count < least else []
    return found


FRESH = {"--fresh": {"action": "store_true", "help": "make new recordings"}}
BENCH = Bench("verified", measure, lines, complaints, FRESH)
