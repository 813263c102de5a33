"""Which items the repository's tests show: the tests are run, and counted.

For items that are no number. claims.md names the group's command, which can be run by hand.
"""

from __future__ import annotations

import shlex
from typing import Any

from repro.rtmmu.shown import run
from tautochrone.console.output import note

GROUPS: dict[str, tuple[str, ...]] = {
    "cache": ("core/tests/code_cache", "-m", "not slow"),
    "model": ("model/test_code_cache_model.py",),
    "firmware": ("core/tests/sv39_code", "-m", "not slow"),
    "planners": ("tool/tests/plan/code",),
    "recording": ("linux/coldcode/tests/test_code_profile.py",),
    "anchors": ("linux/coldcode/tests/test_kernel_anchors.py",),
    "resident": ("tool/tests/coldcode/test_resident.py", "-m", "not slow"),
    "fragment": ("tool/tests/coldcode/test_fragment.py",),
}


def measure() -> dict[str, Any]:
    """Every group."""
    result: dict[str, Any] = {}
    for group, arguments in GROUPS.items():
        note(f"tests: {group}")
        result[group] = {"command": "pytest " + shlex.join(arguments), **run(arguments)}
    return result
