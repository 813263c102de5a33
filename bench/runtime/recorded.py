"""Whether a plan holds the run that follows it: seven programs on plans of their own recordings.

Each is recorded, planned for this machine without a margin, and run with the same input on the
plan. If objects spill, it is planned again with the margin that `tau run` advised, and run again.
`python -m bench runtime.recorded [--quick]` writes out/bench/runtime_recorded.json.
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from bench.commands import ROOT, TAU, gcc_program
from bench.runner import Bench, Given
from bench.runtime.programs import INPUTS

HELD_LEAST = 6  # of seven
QUICK = ("sqlite", "jq")


def programs(folder: Path) -> dict[str, list[str]]:
    """The command of each program; its input is written to `folder`."""
    for name, text in INPUTS["short"].items():
        (folder / name).write_text(text)
    quiet = ["-quiet", "-imultiarch", "x86_64-linux-gnu", "-O2", "-o", "/dev/null"]
    return {
        "cc1": [gcc_program("cc1"), *quiet, f"-I{ROOT}", str(ROOT / "core/tlsf.c")],
        "cc1plus": [gcc_program("cc1plus"), *quiet, "-D_GNU_SOURCE", str(folder / "x.cpp")],
        "python": ["/usr/bin/python3", "-S", str(folder / "x.py")],
        "sqlite": ["sqlite3", ":memory:", f".read {folder / 'x.sql'}"],
        "perl": ["perl", str(folder / "x.pl")],
        "jq": ["jq", "-n", INPUTS["other"]["jq"]],
        "php": ["php", str(folder / "x.php")],
    }


def tau(*words: object, folder: Path) -> str:
    """Run a command of ours and return its stderr."""
    command = [*TAU, *map(str, words)]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stderr


def planned_run(folder: Path, command: list[str], margin: str) -> tuple[dict[str, Any], str]:
    """Plan the recording with a margin and run the command on it: the JSON, and the stderr."""
    plan, out = folder / "plan.toml", folder / "run.json"
    layout = ("--layout", "host", "--margin", margin)
    tau("plan", "recorded.tau", *layout, "-o", plan, "--force", folder=folder)
    said = tau("run", "--plan", plan, "--json", out, "--force", "--", *command, folder=folder)
    return json.loads(out.read_text()), said


def measure(folder: Path, command: list[str]) -> dict[str, Any]:
    """Spilled objects of one program, without a margin and with the advised one."""
    tau("record", "-o", "recorded.tau", "--force", "--", *command, folder=folder)
    first, said = planned_run(folder, command, "0%")
    found = {"calls": first["calls"], "spilled_without": first["spilled_objects"], "margin": "0%"}
    last = first
    if first["spilled_objects"]:
        (margin,) = re.findall(r"--margin (\d+%) or more", said)
        last, _ = planned_run(folder, command, margin)
        found["margin"] = margin
    return found | {"spilled": last["spilled_objects"], "refusals": last["refusals"]}


def measure_all(given: Given) -> dict[str, Any]:
    """Each program."""
    found = {
        program: measure(given.folder, command)
        for program, command in programs(given.folder).items()
        if program in QUICK or not given.quick
    }
    held = sum(row["spilled"] == 0 for row in found.values())
    return {"programs": found, "held": held, "must": HELD_LEAST}


def told(result: dict[str, Any]) -> list[str]:
    """The sum."""
    count = len(result["programs"])
    return [f"{result['held']} of {count} programs spilled nothing with the advised margin"]


BENCH = Bench("runtime_recorded", measure_all, told)
