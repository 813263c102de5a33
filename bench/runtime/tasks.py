"""Plans of tasks that have nothing but a heap, for benches of the TLB."""

import subprocess
from pathlib import Path

from bench.commands import TAU
from bench.runtime.programs import INPUTS


def plan_of(
    folder: Path, geometry: Path, array: str, tasks: dict[str, tuple[int, int]], prefix: str = ""
) -> Path:
    """A plan of tasks NAME: (pages of the heap, sets of an array); `prefix` is of its files."""
    parts = [
        INPUTS["other"]["task"].format(name=name, heap_bytes=pages * 4096, array=array, count=count)
        for name, (pages, count) in tasks.items()
    ]
    source, plan = folder / f"{prefix}tasks.toml", folder / f"{prefix}plan.toml"
    source.write_text("".join([INPUTS["other"]["tasks"], *parts]))
    command = [*TAU, "tlb", "plan", str(source), "-o", str(plan)]
    subprocess.run([*command, "--geometry", str(geometry)], check=True, capture_output=True)
    return plan
