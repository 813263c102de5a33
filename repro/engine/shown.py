"""Which items the repository's tests show: groups of tests are run, and counted.

For items without a number: a mechanism that is right, an argument with cases. `[tests]` of
reasons.toml has the arguments of each group; claims.md names its command, to be run by hand.
"""

import os
import re
import shlex
import subprocess
import sys
from typing import Any

from bench.commands import PACKAGE_FOLDER
from repro.engine.results import REPOSITORY
from tautochrone.console.output import note

SECONDS_MAX = 600
COUNTED = re.compile(r"(\d+) (passed|failed|error|skipped)")


def run_group(arguments: list[str]) -> dict[str, Any]:
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


def run_groups(groups: dict[str, str]) -> dict[str, Any]:
    """Every group of NAME: arguments."""
    result: dict[str, Any] = {}
    for group, words in groups.items():
        note(f"tests: {group}")
        result[group] = {"command": f"pytest {words}", **run_group(shlex.split(words))}
    return result
