"""Plans of tasks that have nothing but a heap, for benches of the TLB."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAD = """
format = "tautochrone tasks"
version = 1
[window]
start = 0x100000000000
size_bytes = 0x100000000
word_bytes = 8
"""
TASK = """
[[task]]
name = "{name}"
period_cycles = 50_000
heap_bytes = {heap_bytes}
stack_bytes = 256
globals_bytes = 0
code_bytes = 0
mode = "isolated"
sets = [{{ array = "{array}", count = {count} }}]
"""


def plan_of(
    folder: Path, geometry: Path, array: str, tasks: dict[str, tuple[int, int]], prefix: str = ""
) -> Path:
    """A plan of tasks NAME: (pages of the heap, sets of an array); `prefix` is of its files."""
    parts = [
        TASK.format(name=name, heap_bytes=pages * 4096, array=array, count=count)
        for name, (pages, count) in tasks.items()
    ]
    source, plan = folder / f"{prefix}tasks.toml", folder / f"{prefix}plan.toml"
    source.write_text("".join([HEAD, *parts]))
    command = [sys.executable, "-m", "tautochrone", "tlb", "plan", str(source), "-o", str(plan)]
    subprocess.run([*command, "--geometry", str(geometry)], check=True, capture_output=True)
    return plan
