"""Plans on recordings of 32-bit programs, verified: `python -m bench.verified.run`.

Makes the recordings, plans and verifies each, and writes out/bench/verified.json and a table. Exits
1 if there are fewer recordings than wanted, or if a plan does not hold.
"""

from __future__ import annotations

import json
import sys

from bench.verified.held import held
from bench.verified.recordings import FOLDER, recordings

RECORDINGS_MIN = 30
SMALL_MIN = 12  # with a peak of SMALL_BYTES
SMALL_BYTES = range(8 << 10, (264 << 10) + 1)


def main() -> int:
    """Make and list them, then plan and verify each."""
    made, rows = [], []
    print(f"{'recording':<16} {'made on':<32} {'ABI':<6} {'events':>10} {'peak bytes':>12}  plans")
    for one in recordings(is_fresh="--fresh" in sys.argv[1:]):
        made.append(one)
        plans = list(held(one.name, one.path))
        rows += plans
        failed = [row for row in plans if row.refused or row.over_bound]
        print(f"{one.name:<16} {one.made_on:<32} {one.abi:<6} {one.events:>10,}"
              f" {one.peak_live_bytes:>12,}  {len(plans) - len(failed)} of {len(plans)} hold",
              flush=True)  # fmt: skip
    small = [one for one in made if one.peak_live_bytes in SMALL_BYTES]
    wrong = [row for row in rows if row.refused or row.over_bound]
    print(f"{len(made)} recordings, {len(small)} with a peak of 8 to 264 KiB")
    print(f"{len(rows) - len(wrong)} of {len(rows)} plans hold in exactly the header's bytes;"
          f" {sum(row.calls for row in rows):,} calls, {sum(row.refused for row in rows)} refused,"
          f" {sum(row.over_bound for row in rows)} operations over the header's bound")  # fmt: skip
    out = FOLDER.with_suffix(".json")
    documents = {"recordings": made, "plans": rows}
    listed = {name: [one.document() for one in ones] for name, ones in documents.items()}
    out.write_text(json.dumps(listed, indent=1) + "\n")
    is_enough = len(made) >= RECORDINGS_MIN and len(small) >= SMALL_MIN
    return 0 if is_enough and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
