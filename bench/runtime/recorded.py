"""Whether a plan holds the run that follows it: seven programs on plans of their own recordings.

Each is recorded, planned for this machine without a margin, and run with the same input on the
plan. If objects spill, it is planned again with the margin that `tau run` advised, and run again.
`python -m bench.runtime.recorded [--quick]` writes out/bench/runtime_recorded.json.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.runtime.programs import ROOT

OUT = ROOT / "out" / "bench"
TAU = (sys.executable, "-m", "tautochrone")
HELD_LEAST = 6  # of seven
QUICK = ("sqlite", "jq")
CXX = """
#include <map>
#include <string>
std::string twice(const std::map<int, std::string> &found) {
    std::string text;
    for (const auto &[number, name] : found) {
        text += name + std::to_string(2 * number);
    }
    return text;
}
"""
PYTHON = """
import json
rows = [{"name": str(n), "values": [n, n * 2, str(n * 3)]} for n in range(6000)]
print(len(json.loads(json.dumps(rows))))
"""
SQL = """
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into t select i, 'name ' || (i * 7919 % 20011), i / 3.0 from n;
create index u on t(b);
select count(distinct substr(b, 1, 8)), sum(length(b)) from t;
"""
PERL = """
my %found;
for my $n (1 .. 20000) { push @{$found{"key " . ($n * 7919 % 997)}}, {n => $n, s => "v$n"}; }
print scalar(keys %found), "\\n";
"""
JQ = "[range(20000)] | map({key: tostring, value: (. * 3)}) | from_entries | length"
PHP = """<?php
$found = [];
for ($n = 1; $n <= 20000; $n++) { $found["key " . ($n * 7919 % 997)][] = [$n, "v$n"]; }
echo count($found), "\\n";
"""


def programs(folder: Path) -> dict[str, list[str]]:
    """The command of each program; its input is written to `folder`."""
    names = {"x.cpp": CXX, "x.py": PYTHON, "x.sql": SQL, "x.pl": PERL, "x.php": PHP}
    for name, text in names.items():
        (folder / name).write_text(text)
    quiet = ["-quiet", "-imultiarch", "x86_64-linux-gnu", "-O2", "-o", "/dev/null"]
    return {
        "cc1": [compiler("cc1"), *quiet, f"-I{ROOT}", str(ROOT / "core/tlsf.c")],
        "cc1plus": [compiler("cc1plus"), *quiet, "-D_GNU_SOURCE", str(folder / "x.cpp")],
        "python": ["/usr/bin/python3", "-S", str(folder / "x.py")],
        "sqlite": ["sqlite3", ":memory:", f".read {folder / 'x.sql'}"],
        "perl": ["perl", str(folder / "x.pl")],
        "jq": ["jq", "-n", JQ],
        "php": ["php", str(folder / "x.php")],
    }


def compiler(name: str) -> str:
    """The path of gcc's own program."""
    command = ["gcc", f"-print-prog-name={name}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def tau(*words: object, folder: Path) -> str:
    """Run a command of ours; what it said on stderr."""
    command = [*TAU, *map(str, words)]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stderr


def planned_run(folder: Path, command: list[str], margin: str) -> tuple[dict[str, Any], str]:
    """Plan the recording with a margin and run the command on it: the JSON, and what was said."""
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


def main(arguments: list[str]) -> int:
    """Measure each program, print a row, write the JSON."""
    quick = "--quick" in arguments
    OUT.mkdir(parents=True, exist_ok=True)
    found = {}
    print("program         calls  spilled without  margin  spilled with")
    with tempfile.TemporaryDirectory(prefix="recorded-") as name:
        folder = Path(name)
        for program, command in programs(folder).items():
            if quick and program not in QUICK:
                continue
            row = found[program] = measure(folder, command)
            print(
                f"{program:8}{row['calls']:>13,}{row['spilled_without']:>17,}{row['margin']:>8}"
                f"{row['spilled']:>14,}",
                flush=True,
            )
    held = sum(row["spilled"] == 0 for row in found.values())
    result = {"version": 1, "programs": found, "held": held, "must": HELD_LEAST}
    (OUT / "runtime_recorded.json").write_text(json.dumps(result, indent=2) + "\n")
    print(f"{held} of {len(found)} programs spilled nothing with the advised margin")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
