"""Which recordings of 32-bit programs there are to verify: `python -m bench.verified.run`.

Makes them and writes out/bench/verified.json and a table. Exits 1 if there are fewer than wanted.
"""

from __future__ import annotations

import json
import sys

from bench.verified.recordings import FOLDER, recordings

RECORDINGS_MIN = 30
SMALL_MIN = 12  # with a peak of SMALL_BYTES
SMALL_BYTES = range(8 << 10, (264 << 10) + 1)


def main() -> int:
    """Make and list them."""
    made = []
    print(f"{'recording':<16} {'made on':<32} {'ABI':<6} {'events':>10} {'peak bytes':>12}")
    for one in recordings(is_fresh="--fresh" in sys.argv[1:]):
        made.append(one)
        print(f"{one.name:<16} {one.made_on:<32} {one.abi:<6} {one.events:>10,}"
              f" {one.peak_live_bytes:>12,}", flush=True)  # fmt: skip
    small = [one for one in made if one.peak_live_bytes in SMALL_BYTES]
    print(f"{len(made)} recordings, {len(small)} with a peak of 8 to 264 KiB")
    out = FOLDER.with_suffix(".json")
    out.write_text(json.dumps([one.document() for one in made], indent=2) + "\n")
    return 0 if len(made) >= RECORDINGS_MIN and len(small) >= SMALL_MIN else 1


if __name__ == "__main__":
    sys.exit(main())
