"""Which items the repository's tests show: the tests are run, and counted.

For items that are no number. claims.md names the group's command, which can be run by hand.
"""

from __future__ import annotations

import shlex
from typing import Any

from repro.rtmmu.shown import run
from tautochrone.console.output import note

GROUPS: dict[str, tuple[str, ...]] = {
    "composability": ("kernel/tests/tile/test_composability.py",),
    "neighbors": ("tool/tests/compose/test_neighbors.py", "-m", "not slow"),
    "best_effort": ("kernel/tests/tile/test_besteffort.py", "-m", "not slow"),
    "os_slot": ("kernel/tests/tile/test_os_slot.py",),
    "executables": ("kernel/tests/host/test_executable.py",),
    "link": ("kernel/tests/tile/test_applications_link.py",),
    "unit": ("hw/composable/tb/test_composable.py", "-m", "slow", "-k", "4-bits"),
    "buddy": ("core/tests/buddy",),
    "fifo": ("kernel/tests/host/test_fifo.py",),
    "special": ("hw/tile/tb/test_special.py",),
}


def measure(groups: tuple[str, ...] = tuple(GROUPS)) -> dict[str, Any]:
    """Every group."""
    result: dict[str, Any] = {}
    for group in groups:
        note(f"tests: {group}")
        result[group] = {"command": "pytest " + shlex.join(GROUPS[group]), **run(GROUPS[group])}
    return result
