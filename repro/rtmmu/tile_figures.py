"""Figures 5, 6 and 7 in cycles of the simulated tile, as figures.py has them in instructions.

Kinds of calls and the rule's pages are counted again, for the tile's heap: it is a page smaller.
"""

from typing import Any

from bench.tile import synthetic
from repro.rtmmu import figures, tile_run
from repro.rtmmu.table1 import QUICK_ACTIONS, synthetic_trace


def measure(seed: int = synthetic.SEED, actions: int = synthetic.ACTIONS) -> dict[str, Any]:
    """All three figures."""
    trace = synthetic_trace(seed, actions)
    runs = {system: tile_run.replayed(trace, system) for system in tile_run.SYSTEMS}
    return figures.all_three(runs, seed, actions, ("cycles",), tile_run.HEAP_PAGES)


def quick() -> dict[str, Any]:
    """With small inputs."""
    return measure(actions=QUICK_ACTIONS)
