"""What `tau info` prints of a file of limits."""

from dataclasses import asdict
from pathlib import Path

from tautochrone.commands.described import LIMITS
from tautochrone.console import output
from tautochrone.heap.limits import load


def print_limits(path: Path, as_json: bool) -> None:
    """Each limit, and which of them exclude each other."""
    found = load(path)
    groups = [[found.limits[place].name for place in group] for group in found.groups]
    exclusive = [names for names in groups if len(names) > 1]
    document = {
        "file": str(path),
        "kind": LIMITS,
        "limits": [asdict(limit) for limit in found.limits],
        "exclusive": exclusive,
    }

    def show() -> None:
        print(f"limits       {len(found.limits):,}, for objects alive at once:")
        for limit in found.limits:
            print(f"             {limit.name}: {limit.told()}")
        for names in exclusive:
            print(f"exclusive    {', '.join(names)}: objects of only one are alive at any time")
        print(f"next: tau plan RECORDING --guarantee --limits {path} -o plan.toml")

    output.emit(as_json, "info", document, show)
