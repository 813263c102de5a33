"""What `tau info` prints of a file of limits."""

from dataclasses import asdict
from pathlib import Path

from tautochrone.commands.described import LIMITS, read_limits
from tautochrone.console import output


def print_limits(path: Path, as_json: bool) -> None:
    """Each limit, and which of them exclude each other."""
    found = read_limits(path)
    groups = [[found.limits[place].name for place in group] for group in found.groups]
    exclusive = [names for names in groups if len(names) > 1]
    document = {
        "file": str(path),
        "kind": LIMITS,
        "limits": [
            asdict(limit) | ({"size_bytes": None} if limit.type_name else {})
            for limit in found.limits
        ],
        "exclusive": exclusive,
    }

    def show() -> None:
        print(f"limits       {len(found.limits):,}, for objects alive at once:")
        for limit in found.limits:
            what = f"at most {limit.count:,} of type {limit.type_name}"
            print(f"             {limit.name}: {what if limit.type_name else limit.told()}")
        for names in exclusive:
            print(f"exclusive    {', '.join(names)}: objects of only one are alive at any time")
        elf = " --elf PROGRAM" if any(limit.type_name for limit in found.limits) else ""
        print(f"next: tau plan RECORDING --guarantee --limits {path}{elf} -o plan.toml")

    output.emit(as_json, "info", document, show)
