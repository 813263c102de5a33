"""No file and no word makes the command crash, hang, show a traceback or steer the terminal.

Method: mutants of every kind of file are given to every command (command_fuzzer.py).
That the fuzzer bites is shown by faults that are planted into the command.
"""

import faulthandler
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tautochrone import cli
from tautochrone.console import terminal
from tautochrone.convert import importing
from tautochrone.files import json_text
from tautochrone.record import accesses as access
from tool.tests.commands import command_fuzzer
from tool.tests.commands.command_fuzzer import Fuzzer

SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("mutants", [60, pytest.param(4000, marks=pytest.mark.slow)])
def test_no_mutant_finds_a_fault(tmp_path: Path, mutants: int) -> None:
    words = [str(tmp_path), str(SEED), str(mutants)]
    done = subprocess.run(
        [sys.executable, "-m", "tool.tests.commands.command_fuzzer", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory: pytest.TempPathFactory) -> Fuzzer:
    """A fuzzer with its samples."""
    return Fuzzer(tmp_path_factory.mktemp("fuzzer"), SEED)


def refuse(*_: Any) -> Any:
    """A fault of ours."""
    raise KeyError("planted")


def crash(*_: Any) -> Any:
    """A fault of a native library."""
    faulthandler.disable()  # pytest's, which would tell of it at length
    os.kill(os.getpid(), signal.SIGSEGV)


def hang(*_: Any) -> Any:
    """Work without an end."""
    while True:
        pass


PLANTED: dict[str, tuple[Any, str, Callable[..., Any], tuple[str, ...], str]] = {
    "unforeseen": (json_text, "parse", json.loads, ("trace", "replay"), "has a bug: "),
    "traceback": (cli, "_explain", refuse, ("csv",), "Traceback"),
    "steering": (terminal, "escaped", lambda text: text, ("trace",), "raw b'\\x1b'"),
    "crash": (access, "read_header", crash, ("accesses",), "killed by SIGSEGV"),
    "hang": (importing, "form_of", hang, ("target",), "took too long"),
    "silence": (cli, "_fail", lambda *_: 1, ("plan",), "without a word"),
    "status": (cli, "_fail", lambda *_: 120, ("plan",), "exit status 120"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_the_fuzzer_bites(name: str, fuzzer: Fuzzer, monkeypatch: pytest.MonkeyPatch) -> None:
    place, attribute, fault, kinds, expected = PLANTED[name]
    count = 60
    if name == "hang":
        count = 2
        monkeypatch.setattr(command_fuzzer, "CPU_SECONDS_MAX", 1)
    assert fuzzer.findings(count, kinds) == []
    monkeypatch.setattr(place, attribute, fault)
    found = fuzzer.findings(count, kinds)
    assert any(expected in line for line in found), found
