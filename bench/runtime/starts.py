"""Processor time of `tau` until the program starts, as a ratio to `tau --version`.

`python -m bench runtime.starts` takes each in turn, several times, and writes
out/bench/runtime_starts.json. It complains of a start of `tau run` above RATIO_MAX.
"""

import shutil
import statistics
import subprocess
import sys
from typing import Any

from bench.runner import Bench, Given
from tautochrone.errors import TauError

ROUNDS, ROUNDS_QUICK = 9, 3
RATIO_MAX = 2.5
VERSION = ("--version",)
# The process tells its own time when it forks the program, or at its end.
CODE = """
import sys, time
from tautochrone import cli
def tell(event="os.fork", _=()):
    if event == "os.fork":
        print(time.process_time(), flush=True)
if sys.argv[1] != "--version":
    sys.addaudithook(tell)
try:
    cli.main()
finally:
    tell()
"""


def seconds(words: tuple[str, ...]) -> float:
    """Processor time of one start."""
    command = [sys.executable, "-c", CODE, *words]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise TauError(f"{' '.join(words)}: {done.stderr.strip()}")
    told = [line for line in done.stdout.splitlines() if not line.startswith("tau,")]
    return float(told[0])


def measure(given: Given) -> dict[str, Any]:
    """The median and the range of each start's ratios, in rounds that take every start."""
    trace = str(given.folder / "start.tau")
    starts = {
        "run -- true": ("run", "--", "true"),
        "run -- node -e 0": ("run", "--", "node", "-e", "0"),
        "record -- true": ("record", "-o", trace, "--force", "--", "true"),
        "record -- node -e 0": ("record", "-o", trace, "--force", "--", "node", "-e", "0"),
    }
    here = {name: words for name, words in starts.items() if shutil.which(name.split()[2])}
    ratios: dict[str, list[float]] = {name: [] for name in here}
    for _ in range(ROUNDS_QUICK if given.quick else ROUNDS):
        version = seconds(VERSION)
        for name, words in here.items():
            ratios[name].append(seconds(words) / version)
    rows = [
        {"start": name, "ratio": statistics.median(row), "range": [min(row), max(row)]}
        for name, row in ratios.items()
    ]
    return {"version": 1, "rows": rows}


def lines(result: dict[str, Any]) -> list[str]:
    """Each start's ratio."""
    return [
        "tau {start}: {ratio:.1f} ({range[0]:.1f} to {range[1]:.1f}) times tau --version".format(
            **row
        )
        for row in result["rows"]
    ]


def complaints(result: dict[str, Any]) -> list[str]:
    """Starts that take too long."""
    runs = [row for row in result["rows"] if row["start"].startswith("run")]
    slow = [row for row in runs if row["ratio"] > RATIO_MAX]
    return [f"{row['start']}: {row['ratio']:.2f}, most {RATIO_MAX}" for row in slow]


BENCH = Bench("runtime_starts", measure, lines, complaints)
