"""What else was tried for the synthetic workload: other seeds, sizes and distributions.

So that the seed shown is not mistaken for a typical one, and the choice of the size for one that
decides the result. Pages are counted by page_model.py, which the replay agrees with; the largest
calls come from a replay.
"""

from statistics import median
from typing import Any

import numpy as np

from bench.tile import synthetic
from bench.tile.synthetic import Choice
from repro.rtmmu import page_model
from repro.rtmmu.figures import arcs
from repro.rtmmu.page_costs import CONVENTIONAL, OURS, cost, ratio, replayed
from repro.rtmmu.table1 import QUICK_ACTIONS, synthetic_trace
from tautochrone.console.output import note

SEEDS = tuple(range(1, 41))
SPANNED = (
    *("conventional_pages", "our_pages", "footprint"),
    *("free_gain_instructions", "malloc_penalty_instructions"),
)
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
        "arcs": arcs(theirs),
    }


def gains(seed: int, actions: int) -> dict[str, float | None]:
    """The largest free, conventional over ours, and the largest malloc, ours over conventional."""
    trace = synthetic_trace(seed, actions)
    ours, theirs = (cost(replayed(trace, system)) for system in (OURS, CONVENTIONAL))
    worst = "max_instructions"
    return {
        "free_gain_instructions": ratio(theirs["free"][worst], ours["free"][worst]),
        "malloc_penalty_instructions": ratio(ours["malloc"][worst], theirs["malloc"][worst]),
    }


def spans(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Least, median and most of each figure that the rows have."""
    found = {key: [row[key] for row in rows if row[key] is not None] for key in SPANNED}
    return {
        key: {"min": min(values), "median": median(values), "max": max(values)}
        for key, values in found.items()
        if values
    }


def measure(seeds: tuple[int, ...] = SEEDS, actions: int = synthetic.ACTIONS) -> dict[str, Any]:
    """Other seeds with the same choices, and other choices with the first seed that fits."""
    rows = []
    for seed in seeds:
        note(f"tried: seed {seed}")
        row = counted(seed, actions)
        rows.append(row if row["no_room"] else {**row, **gains(seed, actions)})
    others = {}
    for name, by in CHOICES.items():
        note(f"tried: {name}")
        for seed in (synthetic.SEED, *seeds):
            others[name] = counted(seed, actions, by)
            if not others[name]["no_room"]:
                break
    fitting = [row for row in rows if not row["no_room"]]
    return {
        "seeds": rows,
        "choices": others,
        "spans": spans(fitting),
        "fitting_count": len(fitting),
        "no_room_count": len(rows) - len(fitting),
        "seeds_count": len(rows),
    }


def quick() -> dict[str, Any]:
    """With small inputs."""
    return measure(seeds=(1, 2), actions=QUICK_ACTIONS)
