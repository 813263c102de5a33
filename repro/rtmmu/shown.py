"""Which claims of the paper the repository's tests show: the tests are run, and counted.

For items that are no number: a mechanism that is right, an argument with cases. claims.md names the
group; the group's command here can be run by hand.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from typing import Any

from repro.rtmmu.workloads import PACKAGE_FOLDER, REPOSITORY
from tautochrone.console.output import note

SECONDS_MAX = 600
GROUPS: dict[str, tuple[str, ...]] = {
    "validity": ("core/tests/pages/test_vspace_programs.py", "-k", "test_validity"),
    "frames": ("core/tests/pages/test_vspace_programs.py", "-k", "test_frames"),
    "space": ("core/tests/pages/test_vspace_programs.py", "-k", "not validity and not frames"),
    "model": ("model/test_vspace_model.py",),
    "tree": ("core/tests/tables/test_region_tree.py",),
    "proofs": ("core/tests/proofs", "-m", "slow", "-k", "is_proved"),
    "hierarchy": ("core/tests/tables/test_hierarchy.py",),
    "conventional": ("core/tests/tables/test_pagetable.py",),
    "heaps": ("core/tests/page_heap/test_page_heap_programs.py",),
    "recorder": ("linux/accesses/tests/test_lossless.py",),
    "units": ("hw/rtmmu/tb", "hw/pagetable/tb"),
    "agreement": ("tests/test_agreement_units.py",),
    "tile": ("hw/tile/tb/test_tile.py", "-k", "six_cycles or identical or restartable"),
    "sv39": ("core/tests/ports/test_sv39.py", "model/test_shootdown_model.py"),
}
COUNTED = re.compile(r"(\d+) (passed|failed|error|skipped)")


def run(arguments: tuple[str, ...]) -> dict[str, Any]:
    """How many tests of a group passed, failed and were skipped; none is a failure too."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", "not slow"]
    done = subprocess.run(
        [*command, *arguments],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": PACKAGE_FOLDER},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
    )
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
    counts = {kind: int(count) for count, kind in COUNTED.findall(last)}
    return {
        "passed": counts.get("passed", 0),
        "failed": counts.get("failed", 0) + counts.get("error", 0),
        "skipped": counts.get("skipped", 0),
        "holds": done.returncode == 0 and counts.get("passed", 0) > 0,
    }


def measure(groups: tuple[str, ...] = tuple(GROUPS)) -> dict[str, Any]:
    """Every group."""
    result: dict[str, Any] = {}
    for group in groups:
        note(f"tests: {group}")
        result[group] = {"command": "pytest " + shlex.join(GROUPS[group]), **run(GROUPS[group])}
    return result
