"""[bounds] of a plan of tasks: R of each task, as `tau tlb run` has it, and as `tau check` computes
it again."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tautochrone.errors import TauError
from tautochrone.plan import responses
from tautochrone.plan.file import load_any_plan
from tautochrone.plan.responses import Responses, TaskBound
from testing import command
from tool.tests.tlb.task_files import HEAD, ON_TILE

ROOT = Path(__file__).resolve().parents[3]
WALKER = ROOT / "kernel/systems/tasks/walker.c"
TASK = """\
[[task]]
name = "{name}"
period_cycles = {period}
cost_cycles = {cost}
program = "{program}"
arguments = [{pages}, 3000, {pages}, 0, {walks}]
heap_bytes = {heap}
stack_bytes = 4096
globals_bytes = 4096
code_bytes = 4096
"""
GEOMETRY = "tile-16x4"


def task(name: str, period: int, cost: int, pages: int, walks: int) -> str:
    """A task that walks its pages."""
    return TASK.format(
        name=name, period=period, cost=cost, pages=pages, walks=walks, heap=4096 * pages,
        program=WALKER,
    )  # fmt: skip


LOGGER, CONTROL = task("logger", 60_000, 12_000, 2, 400), task("con-trol", 20_000, 3_000, 4, 40)
LATE = task("late", 90_000, 50_000, 1, 1)


def tau(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run the command in FOLDER."""
    return command.tau(*words, cwd=folder)


def planned(folder: Path, text: str, *words: object) -> dict[str, Any]:
    """The document of a plan, which is plan.toml in FOLDER."""
    (folder / "tasks.toml").write_text(text, encoding="utf-8")
    done = tau(
        *(folder, "tlb", "plan", "tasks.toml", "--geometry", GEOMETRY, "-o", "plan.toml"),
        *("--header", "plan.h", "--json", *words),
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_the_plan_has_the_bounds_of_the_run(tmp_path: Path) -> None:
    """The same R as on the tile, which no response exceeds; none for the task that is late."""
    found = planned(tmp_path, ON_TILE + LOGGER + CONTROL + LATE)["bounds"]
    rows = {row["task"]: row.get("response_cycles") for row in found["responses"]}
    assert list(rows) == ["con-trol", "logger", "late"]
    assert rows["late"] is None
    done = tau(
        *(tmp_path, "tlb", "run", "tasks.toml", "--on", "16x4", "--plan", "plan.toml"),
        *("--cycles", 120_000, "--json"),
    )
    assert done.returncode == 0, done.stderr
    jobs = [job for job in json.loads(done.stdout)["jobs"] if job["number"] > 0]
    assert {job["task"] for job in jobs} == set(rows)
    for job in jobs:
        assert job["bound_cycles"] == rows[job["task"]]
        assert job["bound_cycles"] is None or job["response_cycles"] <= job["bound_cycles"]
    header = (tmp_path / "plan.h").read_text(encoding="utf-8")
    assert f"#define TAU_PLAN_RESPONSE_CON_TROL_CYCLES {rows['con-trol']}u\n" in header
    assert "TAU_PLAN_RESPONSE_LATE" not in header


def test_check_computes_them_again(tmp_path: Path) -> None:
    """What differs is said with both numbers."""
    found = planned(tmp_path, ON_TILE + LOGGER + CONTROL, "--latency", 4)["bounds"]
    assert found["miss_cycles"] == 5
    path = tmp_path / "plan.toml"
    done = tau(tmp_path, "check", path)
    assert (done.returncode, "no problems" in done.stdout) == (0, True), done.stdout
    text = path.read_text(encoding="utf-8")
    (cycles,) = (row["response_cycles"] for row in found["responses"] if row["task"] == "logger")
    path.write_text(
        text.replace(f"= {cycles} }}", "= 1 }").replace(
            f"call_cycles = {found['call_cycles']}", "call_cycles = 2"
        ),
        encoding="utf-8",
    )
    done = tau(tmp_path, "check", path)
    assert done.returncode == 1
    assert f"the response of logger: now {cycles} cycles, the plan says 1 cycles" in done.stdout
    assert f"call_cycles: now {found['call_cycles']}, the plan says 2" in done.stdout
    path.write_text(text.replace('task = "logger"', 'task = "other"'), encoding="utf-8")
    done = tau(tmp_path, "check", path)
    assert done.returncode == 1
    assert "the response of other, but [tlb] has no such principal" in done.stdout


def test_without_costs_or_the_tile_there_are_none(tmp_path: Path) -> None:
    """Silently without any cost; else with the reason."""
    no_cost = LOGGER.replace("cost_cycles = 12000\n", "")
    assert "bounds" not in planned(tmp_path, ON_TILE + no_cost)
    for text, geometry, cause in (
        (ON_TILE + no_cost + CONTROL, GEOMETRY, "logger has no cost"),
        (ON_TILE + LOGGER, "zen4", "the cost of a miss on zen4 is not known"),
        (HEAD + LOGGER, GEOMETRY, "the kernel has no pages in the plan"),
    ):
        (tmp_path / "tasks.toml").write_text(text, encoding="utf-8")
        done = tau(tmp_path, "tlb", "plan", "tasks.toml", "--geometry", geometry, "-o", "-")
        assert done.returncode == 0, done.stderr
        assert "[bounds]" not in done.stdout
        assert f"no bounds of responses: {cause}" in done.stderr


def test_rules(tmp_path: Path) -> None:
    """[PLAN-18]"""
    row = TaskBound("a", 100, 10, 20)
    good = Responses(1, 2, 3, 1, (row, row._replace(task="b")))
    assert responses.broken_rule(good) == ""
    for rows, cause in (
        ((), "bounds.responses is empty"),
        ((row, row), "bounds.responses names a twice"),
        ((row, TaskBound("b", 99, 1)), "bounds.responses is not in the order of periods"),
    ):
        assert responses.broken_rule(good._replace(responses=rows)) == cause
    table = responses.to_table(good)
    assert responses.from_table(table) == good
    assert responses.from_table({}) is None
    del table["call_cycles"]
    with pytest.raises(TauError, match="it has miss_cycles, but no call_cycles"):
        responses.from_table(table)
    planned(tmp_path, ON_TILE + LOGGER)
    assert load_any_plan(tmp_path / "plan.toml").sections["bounds"].operations == ()
