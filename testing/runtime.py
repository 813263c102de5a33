"""Runs programs on plans, as a user would, with the command.

The fixtures of linux/runtime/tests, whose conftest.py imports them.
"""

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tautochrone import native
from tautochrone.heap.planners.bands import Band, Build
from tautochrone.plan.file import Plan, PlanClass, save_plan
from tautochrone.record import session
from tautochrone.run import exchange
from testing.recorded import Tau

MADE_BY = "a test"


@dataclass
class Run:
    """What one `tau run` did: its exit status and output, and the JSON; empty if none was made."""

    status: int
    stdout: str
    stderr: str
    document: dict[str, Any]


@contextlib.contextmanager
def settings_variables(**lines: str) -> Iterator[dict[str, str]]:
    """The environment that gives a program and its children these lines of settings."""
    text = "".join(f"{name} {value}\n" for name, value in lines.items())
    library = session.library_path(native.DIRECTORY / native.RUN_LIBRARY)
    with exchange.opened(text + "children 1\n") as shared:
        yield {"LD_PRELOAD": library, session.VARIABLE: shared.value(0)}


MakePlan = Callable[..., Path]
RunProgram = Callable[..., Run]


@pytest.fixture
def plan(tmp_path: Path) -> MakePlan:
    """Write a plan with a heap of some bytes and some (size, count)."""

    def write(heap_bytes: int, *classes: tuple[int, int], layout: str = "host") -> Path:
        path = tmp_path / "plan.toml"
        made = Plan(
            tuple(PlanClass(*pair) for pair in classes), heap_bytes, "replayed", 0.0, layout=layout
        )
        save_plan(made, path, MADE_BY, force=True)
        return path

    return write


@pytest.fixture
def bands(tmp_path: Path) -> MakePlan:
    """Write a plan of bands with some (size, limit), aligned to 64 bytes."""

    def write(*limits: tuple[int, int], layout: str = "host") -> Path:
        path = tmp_path / "bands.toml"
        pairs = tuple(PlanClass(*pair) for pair in limits)
        build = Build(word_bytes=8 if layout == "host" else 4)
        heap_bytes = build.arena_bytes([Band(*pair) for pair in pairs], 64)
        made = Plan(pairs, heap_bytes, "bands", 0.0, layout=layout, alignment_bytes=64)
        counts = tuple(pair.count for pair in pairs)
        save_plan(replace(made, recorded_counts=counts), path, MADE_BY, force=True)
        return path

    return write


@pytest.fixture
def run(tau: Tau, tmp_path: Path) -> RunProgram:
    """Run a command line by `tau run --json`; `options` go before it, `env` is added."""

    def start(
        *words: object, options: tuple[object, ...] = (), env: dict[str, str] | None = None
    ) -> Run:
        out = tmp_path / "run.json"
        out.unlink(missing_ok=True)
        environment = dict(os.environ) | (env or {})
        done: subprocess.CompletedProcess[str] = tau(
            "run", "--json", out, *options, "--", *words, env=environment
        )
        document = json.loads(out.read_text()) if out.exists() else {}
        return Run(done.returncode, done.stdout, done.stderr, document)

    return start
