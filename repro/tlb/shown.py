"""Which items the repository's tests show: the tests are run, and counted.

For items that are no number. claims.md names the group's command, which can be run by hand.
"""

from __future__ import annotations

import shlex
from typing import Any

from repro.rtmmu.shown import run
from tautochrone.console.output import note

GROUPS: dict[str, tuple[str, ...]] = {
    "core": ("core/tests/tlb_color", "-m", "not slow"),
    "fifteen": ("kernel/tests/tasks/test_fifteen.py",),
    "misuse": ("kernel/tests/tasks/test_misuse.py",),
    "programs": ("repro/tlb/test_programs.py",),
    "simulator": ("tool/tests/tlb/test_native_simulator.py",),
}


def measure(groups: tuple[str, ...] = tuple(GROUPS)) -> dict[str, Any]:
    """Every group."""
    result: dict[str, Any] = {}
    for group in groups:
        note(f"tests: {group}")
        result[group] = {"command": "pytest " + shlex.join(GROUPS[group]), **run(GROUPS[group])}
    return result
