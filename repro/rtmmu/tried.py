"""What else was tried for the synthetic workload: other seeds, sizes and distributions.

So that the seed shown is not mistaken for a typical one, and the choice of the size for one that
decides the result. Counted by page_model.py, which the replay agrees with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tautochrone.output import note

from repro.rtmmu import page_model, synthetic
from repro.rtmmu.figures import arcs
from repro.rtmmu.synthetic import Choice

SEEDS = tuple(range(1, 13))
CHOICES = {
    "uniform to 1 MiB": Choice(size_max_bytes=1 << 20),
    "uniform to 2 MiB": Choice(size_max_bytes=2 << 20),
    "every object as often": Choice(addresses="objects"),
    "every object as often, log-uniform to 16 MiB": Choice(16 << 20, "log-uniform", "objects"),
}


def counted(seed: int, actions: int, by: Choice = synthetic.PLAIN) -> dict[str, Any]:
    """Peaks of one workload; `no_room` where a request does not fit into 1 GiB of addresses."""
    try:
        pages = page_model.count(synthetic.events(seed, actions, by))
    except MemoryError:
        return {"seed": seed, "no_room": True}
    ours, theirs = np.array(pages.ours), np.array(pages.conventional)
    return {
        "seed": seed,
        "no_room": False,
        "conventional_pages": int(theirs.max()),
        "our_pages": int(ours.max()),
        "footprint": float(theirs.max() / ours.max()),
        "live_objects": max(pages.live),
        "arcs": arcs(theirs),
        "highest_drop_pages": int(-np.diff(theirs).min()),
        "returned_pages_max": max(pages.returned_pages, default=0),
    }


def measure(
    seeds: tuple[int, ...] = SEEDS, actions: int = synthetic.ACTIONS
) -> dict[str, Any]:
    """Other seeds with the same choices, and other choices with the first seed that fits."""
    rows = []
    for seed in seeds:
        note(f"tried: seed {seed}")
        rows.append(counted(seed, actions))
    others = {}
    for name, by in CHOICES.items():
        note(f"tried: {name}")
        for seed in (synthetic.SEED, *seeds):
            others[name] = counted(seed, actions, by)
            if not others[name]["no_room"]:
                break
    fitting = [row for row in rows if not row["no_room"]]
    spans = {
        key: [min(row[key] for row in fitting), max(row[key] for row in fitting)]
        for key in ("conventional_pages", "our_pages", "footprint", "live_objects")
    }
    return {
        "seeds": rows,
        "choices": others,
        "spans": spans,
        "no_room_count": len(rows) - len(fitting),
        "seeds_count": len(rows),
    }
