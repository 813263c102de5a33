"""`tau compose check` on its examples: no cycle moves with neighbors, and each leak is found.

`make check` has the decoder in kernel/tests/tile/test_composability.py, and leaks of small systems
in test_leaks.py, test_compose_commands.py and kernel/tests/tile.
"""

import json
from typing import Any

import pytest

from testing.command import tau

pytestmark = pytest.mark.slow
SECONDS_MAX = 3600
LEAKS = {
    "tlb": "TLB",
    "gate": "gate",
    "load-time": "table load",
    "page-mix": "page mix",
    "kernel-path": "kernel path",
    "dma": "DMA",
    "one-table": "TLB",
    "rights": "rights",
    "alias": "alias",
    "uncleared": "memory",
    "stale-token": "token",
    "kernel-state": "kernel state",
    "late-load": "availability",
}


def check(*words: str) -> tuple[int, dict[str, Any]]:
    """The exit status, and the document."""
    done = tau("compose", "check", *words, "--json", timeout=SECONDS_MAX)
    assert "Traceback" not in done.stderr, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, result


@pytest.mark.parametrize("neighbors", [6, 1000])
def test_neighbors_do_not_move_the_decoder(neighbors: int) -> None:
    """[P2-1, P2-18]: two tiles; they come before the decoder, and while it works."""
    code, found = check("--neighbors", str(neighbors))
    assert code == 0 and found["first_difference"] is None
    assert not found["broken_promises"]
    assert found["largest_difference_cycles"] == 0
    assert len(found["neighbors"]) >= neighbors
    assert found["events_compared"] > 900 * found["runs_compared"]
    seeds = {(each["seed"], each["name"]) for each in found["neighbors"]}
    assert len(seeds) > neighbors / 5


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_is_found_and_named(leak: str) -> None:
    code, found = check("--leak", leak, "--neighbors", "3")
    first = [found["first_difference"]] if found["first_difference"] else []
    assert code == 3
    assert LEAKS[leak] in {each["resource"] for each in first + found["broken_promises"]}, found
