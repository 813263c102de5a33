"""`tau tlb run`: tasks of a file on the tile, in the places that the planner finds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = ROOT / "kernel/systems/tasks"
TIMEOUT_SECONDS = 300
HEAD = """\
format = "tautochrone tasks"
version = 1
[kernel]
colored = true
stack_bytes = 4096
data_bytes = 4096
code_bytes = 0
"""
TASK = """\
[[task]]
name = "t{number}"
period_cycles = {period}
phase_cycles = {phase}
program = "{program}"
arguments = {arguments}
heap_bytes = {heap}
stack_bytes = 4096
globals_bytes = 4096
code_bytes = 4096
mode = "{mode}"
cost_cycles = {cost}
"""
FIFTEEN = 15


def task(number: int, **more: object) -> str:
    """A walker of two pages."""
    values: dict[str, object] = {
        "period": 70_000 + 9_000 * number,
        "phase": 1000 * number,
        "program": PROGRAMS / "walker.c",
        "arguments": [2, 3000, 2, 0, 20],
        "heap": 8192,
        "mode": "no-miss",
        "cost": 800,
    }
    return TASK.format(number=number, **(values | more))


def tau(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run the command in FOLDER."""
    return subprocess.run(
        [sys.executable, "-m", "tautochrone", "tlb", *map(str, words)],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=TIMEOUT_SECONDS,
    )


def run(folder: Path, text: str, *words: object) -> dict[str, Any]:
    """The document of a run."""
    (folder / "tasks.toml").write_text(text)
    done = tau(folder, "run", "tasks.toml", *words, "--json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def later(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The jobs behind the warm-ups."""
    return [job for job in found["jobs"] if job["number"] > 0]


def test_fifteen_tasks_and_the_kernel(tmp_path: Path) -> None:
    """The planner gives each a set of 16 x 4, and no job misses; with the plan it is the same."""
    text = HEAD + "".join(task(number) for number in range(FIFTEEN))
    words = "--on", "16x4", "--cycles", 700_000
    found = run(tmp_path, text, *words)
    assert {job["task"] for job in later(found)} == {f"t{number}" for number in range(FIFTEEN)}
    assert sum(job["misses"] for job in later(found)) == 0
    assert found["evictions"] == {"own": 0, "cross": 0}
    assert all(0 < job["response_cycles"] <= job["bound_cycles"] for job in later(found))
    assert set(found["jobs"][0]) >= {
        "task", "number", "misses", "cycles", "response_cycles", "bound_cycles",
    }  # fmt: skip
    planned = tau(tmp_path, "plan", "tasks.toml", "--geometry", "tile-16x4", "-o", "plan.toml")
    assert planned.returncode == 0, planned.stderr
    again = run(tmp_path, text, *words, "--plan", "plan.toml")
    assert again == found
    uncolored = run(tmp_path, text, *words, "--uncolored")
    assert sum(job["misses"] for job in later(uncolored)) > 0
    assert uncolored["evictions"]["cross"] > 0


def test_random_replacement_and_seeds(tmp_path: Path) -> None:
    """Random replacement: what a seed chose comes again; sets of their own keep all apart."""
    more = {"arguments": [8, 3000, 8, 1, 20], "heap": 8 * 4096, "mode": "isolated"}
    text = HEAD + "".join(task(number, **more) for number in range(3))
    words = "--on", "16x4", "--cycles", 300_000, "--policy", "random"
    first, second = (run(tmp_path, text, *words, "--seed", seed) for seed in (1, 1))
    assert first == second
    assert first["evictions"]["cross"] == 0
    uncolored = [run(tmp_path, text, *words, "--uncolored", "--seed", seed) for seed in (1, 2)]
    assert all(each["evictions"]["cross"] > 0 for each in uncolored)
    assert later(uncolored[0]) != later(uncolored[1])


def test_two_levels(tmp_path: Path) -> None:
    """Each TLB is counted."""
    found = run(tmp_path, HEAD + task(1) + task(2), "--on", "16x4+128x4", "--cycles", 100_000)
    for job in found["jobs"]:
        assert list(job["misses_by_tlb"]) == ["instructions", "data", "second level"]
    assert sum(job["misses"] for job in later(found)) == 0


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        (HEAD + task(1), ["--on", "16by4"], "'16by4' is no level"),
        (HEAD + task(1), ["--on", "12x4"], "sets and ways are powers of two"),
        (HEAD + task(1), ["--on", "16x4+16x4+16x4"], "3 levels are more"),
        (HEAD + task(1).replace("program", "# "), ["--on", "16x4"], "has no program"),
        (HEAD + task(1, program="missing.c"), ["--on", "16x4"], "there is no file"),
        (HEAD + "".join(map(task, range(16))), ["--on", "64x4"], "more than the tile's 15"),
        (HEAD + task(1, arguments=[2, 9000, 2, 0, 1]), ["--on", "16x4"], ""),
        (HEAD + task(1), ["--on", "16x4", "--plan", "none.toml"], "none.toml"),
    ],
)
def test_bad_input(tmp_path: Path, text: str, words: list[str], message: str) -> None:
    """The cause is said, and no traceback."""
    (tmp_path / "tasks.toml").write_text(text)
    done = tau(tmp_path, "run", "tasks.toml", "--cycles", "100", *words)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_plan_for_other_sets(tmp_path: Path) -> None:
    """It is refused: its sets would mean nothing."""
    (tmp_path / "tasks.toml").write_text(HEAD + task(1))
    words = "plan", "tasks.toml", "--geometry", "tile-16x4-128x4", "-o", "plan.toml"
    assert tau(tmp_path, *words).returncode == 0
    done = tau(tmp_path, "run", "tasks.toml", "--on", "16x4", "--plan", "plan.toml")
    assert done.returncode == 2
    assert "whose sets are not those of 16x4" in done.stderr
