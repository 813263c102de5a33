"""docs/spec/runtime.md and a plan state the bounds of the linked library.

Method: take the longest paths of malloc and free in the installed one.
"""

import json
import platform
import re
from pathlib import Path

import pytest

from tautochrone.machine import run_bounds
from testing.command import tau
from testing.random_trace import FREE, MALLOC, write_events
from testing.runtime import RunProgram

SPECIFICATION = Path(__file__).resolve().parents[3] / "docs" / "spec" / "runtime.md"
HOST = ("--layout", "host")
COLORS = SPECIFICATION.with_name("run_colors.md")
pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="bounds are stated for x86-64"
)


def test_stated_bounds() -> None:
    """Each row of the table, to the instruction."""
    row = r"^\| (alone.*|several threads.*|any.*|of a task) \| (\d+) / ([\d,]+) \|"
    rows = re.findall(row, SPECIFICATION.read_text() + COLORS.read_text(), re.M)
    found, limited = run_bounds.operations(), run_bounds.operations(has_limits=True)
    unplanned = run_bounds.unplanned()
    assert {name: (int(malloc), int(free.replace(",", ""))) for name, malloc, free in rows} == {
        "alone": (found["malloc_alone"], found["free_alone"]),
        "several threads": (found["malloc"], found["free"]),
        "alone, within limits": (limited["malloc_alone"], limited["free_alone"]),
        "several threads, within limits": (limited["malloc"], limited["free"]),
        "any, without a plan, in a magazine": unplanned["magazine"],
        "any, without a plan": unplanned["heap"],
        "of a task": run_bounds.bounds(()),
    }


def said_by(*words: object, folder: Path) -> str:
    """The stdout of a command that succeeds."""
    return tau(*words, cwd=folder, expect=0).stdout


def test_a_plan_of_this_machine_has_them(run: RunProgram, tmp_path: Path) -> None:
    """In the plan, its check, and the report of a run; a plan of a firmware has none."""
    write_events(tmp_path / "t.tau", [(MALLOC, 0, 100_000, 0), (FREE, 0, 0, 0)])
    said_by("plan", "t.tau", "-o", "firmware.toml", folder=tmp_path)
    assert '"run"' not in (tmp_path / "firmware.toml").read_text()
    said = said_by("plan", "t.tau", *HOST, "-o", "host.toml", folder=tmp_path)
    malloc = run_bounds.operations()["malloc"]
    assert f"instructions of a call under `tau run`, at most: malloc {malloc}, free " in said
    assert "no problems" in said_by("check", "host.toml", folder=tmp_path)
    done = run("true", options=("--plan", tmp_path / "host.toml"))
    assert done.document["bounds"] == run_bounds.operations()
    assert run("true").document["bounds"] == {}
    said = said_by("plan", "t.tau", "--guarantee", *HOST, "-o", "bands.toml", folder=tmp_path)
    limited = run_bounds.operations(has_limits=True)
    assert f"at most: malloc {limited['malloc']}, free {limited['free']} with several" in said
    assert "no problems" in said_by("check", "bands.toml", folder=tmp_path)
    done = run("true", options=("--plan", tmp_path / "bands.toml"))
    assert done.document["bounds"] == limited


def test_another_library_is_noticed(tmp_path: Path) -> None:
    """By the number; an old plan without these rows lacks them."""
    write_events(tmp_path / "t.tau", [(MALLOC, 0, 100, 0), (FREE, 0, 0, 0)])
    said_by("plan", "t.tau", "--layout", "host", "-o", "host.toml", folder=tmp_path)
    plan = tmp_path / "host.toml"
    (row,) = re.findall(r'.*"run", operation = "free_alone".*\n', plan.read_text())
    bound = run_bounds.operations()["free_alone"]
    changed = plan.read_text().replace(row, row.replace(f" {bound} ", f" {bound - 1} "))
    assert changed != plan.read_text()
    plan.write_text(changed)
    assert "made with another `tau run`: free_alone of run on x86-64" in problems(plan)
    rows = re.sub(r'.*system = "run".*\n', "", changed)
    plan.write_text(rows)
    assert "bounds.operations is empty" in problems(plan)


def problems(plan: Path) -> str:
    """What `tau check` says against a plan."""
    done = tau("check", plan, "--json")
    assert done.returncode != 0
    return json.dumps(json.loads(done.stdout), ensure_ascii=False)
