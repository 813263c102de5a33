"""Builds the programs of linux/*/tests and records them, as a user would, with the command.

The fixtures of linux/*/tests, whose conftest.py imports them.
"""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tautochrone.trace.file import EVENT, OPS, open_trace

from testing import command

PROGRAMS = "linux/*/tests/programs/**"
ROOT = Path(__file__).resolve().parent.parent
TIMEOUT_S = 300


@dataclass
class Recorded:
    """What one `tau record --json` printed, and its traces' events."""

    status: int
    stderr: str
    document: dict[str, Any]

    @property
    def traces(self) -> list[dict[str, Any]]:
        """All traces, the main one first."""
        return [self.document["trace"], *self.document["others"]]

    def events(self, index: int = 0) -> np.ndarray:
        """All events of one trace, as the rows of trace.EVENT."""
        return events_of(self.traces[index]["path"])

    def header(self, index: int = 0) -> dict[str, Any]:
        """The header of one trace."""
        with open_trace(self.traces[index]["path"]) as reader:
            return reader.header

    def assert_in_order(self) -> None:
        """No address was given out twice: every free was seen before its place's next use."""
        for trace in self.traces:
            wrong = ("implied_frees", "unknown_count", "double_free_count", "damaged_chunks")
            assert {name: trace[name] for name in wrong} == dict.fromkeys(wrong, 0), trace


def events_of(path: str | Path) -> np.ndarray:
    """All events of a trace, as the rows of trace.EVENT."""
    with open_trace(path) as reader:
        return np.concatenate([np.empty(0, EVENT), *(block.copy() for block in reader.blocks())])


def operations_of(path: str | Path) -> list[tuple[str, int, int]]:
    """Operation, size and slot of all events of a trace."""
    rows = events_of(path)[["op", "size_bytes", "slot"]].tolist()
    return [(OPS[op], size, slot) for op, size, slot in rows]


Build = Callable[..., Path]
Record = Callable[..., Recorded]
Tau = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compile one of the tests' programs, by name (C) or file name; then compiler flags."""
    folder = tmp_path_factory.mktemp("programs")

    def compile_one(name: str, *flags: str, compiler: str = "gcc", made: str = "") -> Path:
        out = folder / (made or name)
        if not out.exists():
            (source,) = ROOT.glob(f"{PROGRAMS}/{name if '.' in name else f'{name}.c'}")
            command = [compiler, "-O1", "-w", "-fno-builtin-malloc", "-fno-builtin-free"]
            command += ["-o", str(out), str(source), *flags, "-pthread"]
            subprocess.run(command, check=True, timeout=TIMEOUT_S)
        return out

    return compile_one


@pytest.fixture
def tau(tmp_path: Path) -> Tau:
    """Run the command in an empty folder; returns its result, whatever the exit status."""

    def run(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
        settings: dict[str, Any] = {"cwd": tmp_path, "timeout": TIMEOUT_S} | options
        return command.tau(*words, **settings)

    return run


@pytest.fixture
def record(tau: Tau, tmp_path: Path) -> Record:
    """Record a command line into out.tau; `options` go before it, `env` is added."""

    def run(
        *words: object, options: tuple[str, ...] = (), env: dict[str, str] | None = None
    ) -> Recorded:
        out = tmp_path / "out.tau"
        environment = dict(os.environ) | (env or {})
        done = tau("record", "--json", "-o", out, *options, "--", *words, env=environment)
        assert done.stdout, done.stderr
        recorded = Recorded(done.returncode, done.stderr, json.loads(done.stdout))
        for trace in recorded.traces:
            trace["path"] = str(tmp_path / trace["path"])
        return recorded

    return run
