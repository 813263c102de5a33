"""core/budget.h and core/pools.h state the stack that a plan's first call needs, in which the heap
is made."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

from testing.command import tau_done as tau
from testing.random_trace import write_events
from tool.tests.plan.plan_traces import come_and_go

ROOT = Path(__file__).resolve().parents[3]
STATED = re.compile(r"Stack on 32-bit\n?(?:// )? ?targets: at most (\d+) bytes")
NEAR = 0.9
SYSTEMS = {"budget": ("--pools", "always"), "pools": ("--guarantee",)}


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_header_states_the_stack_of_the_first_call(tmp_path: Path, system: str) -> None:
    """No build takes more, and one takes nearly as much."""
    (stated,) = map(int, STATED.findall((ROOT / "core" / f"{system}.h").read_text()))
    trace = write_events(tmp_path / "p.tau", come_and_go(5, [16, 8, 100, 3], 20, 500), abi="arm")
    build, path = tmp_path / "build.toml", tmp_path / "plan.toml"
    found = {}
    for level, optimize in itertools.product((0, 1, 2), ("-O2", "-Os")):
        build.write_text(f'check_level = {level}\noptimize = "{optimize}"\n')
        tau("plan", trace, "-o", path, "--build", build, "--force", *SYSTEMS[system])
        document = json.loads(tau("verify", path, trace, "--json").stdout)
        assert document["held"]
        for run in document["runs"]:
            found[run["target"], level, optimize] = run["stack_bytes"]
    print(found)
    assert NEAR * stated <= max(found.values()) <= stated
