"""A call that the tests' server forks ends as one that is started for real.

Method: the command is replaced by a statement, which the server's `call` and Python itself run.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CALL = """
import os, sys, types
from testing.command_server import call
cli = types.ModuleType("tautochrone.cli")
cli.main = lambda: exec({statement!r})
sys.modules["tautochrone.cli"] = cli
descriptors = [os.dup(number) for number in range(3)]
call({{"cwd": ".", "env": {{}}, "words": []}}, descriptors)
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    ("statement", "status", "last"),
    [
        ("raise SystemExit('text')", 1, "text"),
        ("raise SystemExit(3)", 3, ""),
        ("raise SystemExit", 0, ""),
        ("1 / 0", 1, "ZeroDivisionError: division by zero"),
        ("pass", 0, ""),
    ],
)
def test_a_call_ends_as_a_real_start(statement: str, status: int, last: str) -> None:
    for done in (run(statement), run(CALL.format(statement=statement))):
        assert (done.returncode, done.stdout) == (status, ""), done.stderr
        assert (done.stderr.splitlines() or [""])[-1] == last
        assert ("Traceback" in done.stderr) == statement.startswith("1 /")
