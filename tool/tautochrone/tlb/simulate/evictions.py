"""What `tau tlb simulate` does: tasks on simulated TLBs, and who evicts whom."""

from __future__ import annotations

from typing import Any

import numpy as np

from tautochrone import unseen
from tautochrone.tlb.geometry import Geometry
from tautochrone.tlb.simulate.simulator import SEED_MAX, Simulator
from tautochrone.tlb.simulate.workload import HOSTILE, accesses_of, page_bytes_of, pages_of_tasks


def simulate(
    geometry: Geometry, policy: str, tasks: int, accesses: int, seed: int, is_colored: bool
) -> dict[str, Any]:
    """Run the accesses; return the document of the command. Raises TauError."""
    pages = pages_of_tasks(geometry, tasks, is_colored)
    done = accesses_of(pages, accesses, seed)
    with Simulator(geometry, policy, 1 + seed % SEED_MAX, tasks) as simulator:
        simulator.run(done.owners, done.addresses, page_bytes_of(geometry))
        misses, evictions = simulator.misses(), simulator.evictions()
    own = int(np.trace(evictions))
    counts = np.bincount(done.owners, minlength=tasks)
    return {
        "geometry": geometry.name,
        "geometry_sha256": geometry.digest(),
        "policy": policy,
        "seed": seed,
        "is_colored": is_colored,
        "accesses": accesses,
        "uncolorable_arrays": [each.name for each in geometry.arrays if not each.is_colorable],
        "tasks": [
            {
                "task": task,
                "is_hostile": task == HOSTILE,
                "pages": int(pages[task].size),
                "accesses": int(counts[task]),
                "misses": int(misses[task]),
                "evicted_by_others": int(evictions[:, task].sum() - evictions[task, task]),
            }
            for task in range(tasks)
        ],
        "evictions": {"own": own, "cross": int(evictions.sum()) - own},
        unseen.KEY: list(unseen.TLB_SIMULATION),
    }


def show(found: dict[str, Any]) -> None:
    """Print for people."""
    print(f"{'task':<12} {'pages':>7} {'accesses':>12} {'misses':>12} {'evicted by others':>18}")
    for each in found["tasks"]:
        name = f"{each['task']} (hostile)" if each["is_hostile"] else str(each["task"])
        print(
            f"{name:<12} {each['pages']:>7,} {each['accesses']:>12,} {each['misses']:>12,}"
            f" {each['evicted_by_others']:>18,}"
        )
    evictions = found["evictions"]
    print(f"evictions: {evictions['own']:,} own, {evictions['cross']:,} cross")
    print(unseen.told(unseen.TLB_SIMULATION))
