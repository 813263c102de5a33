"""`tau tlb run`: tasks of a file on the tile, in the places that the planner finds."""

import json
import random
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model import tlb
from tautochrone.errors import EXIT_FAILED, EXIT_LIMIT_EXCEEDED, EXIT_USAGE
from tautochrone.facts import trace_format as form
from tautochrone.plan.file import load_any_plan
from tautochrone.tlb.geometry import known_geometry
from tautochrone.tlb.planning.demand import Call, demands_of, unfulfilled
from tautochrone.tlb.tasks import read_tasks
from tautochrone.tlb.tile.shape import PAGE_BITS, parsed, shape_of
from tautochrone.tlb.tile.system import PAGE_BYTES
from testing import command
from tool.tests.tlb.task_files import ON_TILE

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = ROOT / "kernel/systems/tasks"
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
ONE_SET = 'isolated"\nsets = [{ array = "data", count = 1 }]  # "'
SHORT = "--cycles", 100_000
ELSEWHERE = """\
format = "tautochrone tasks"
version = 1
window = { start = 0x1000000000, size_bytes = 0x1000000 }
"""
PROGRAM = """\
#include "kernel/tasks/task.h"
void tau_task_main(struct tau_task *task) {{
    (void)task;
    {0}
}}
"""


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
    return command.tau("tlb", *words, cwd=folder)


def run(folder: Path, text: str, *words: object) -> dict[str, Any]:
    """The document of a run."""
    (folder / "tasks.toml").write_text(text)
    done = tau(folder, "run", "tasks.toml", *words, "--json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def later(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The jobs after the warm-ups."""
    return [job for job in found["jobs"] if job["number"] > 0]


def test_fifteen_tasks_and_the_kernel(tmp_path: Path) -> None:
    """The planner gives each a set of 16 x 4, and no job misses; with the plan it is the same."""
    text = ON_TILE + "".join(task(number) for number in range(FIFTEEN))
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
    assert found["unbounded"] == []
    uncolored = run(tmp_path, text, *words, "--uncolored")
    assert sum(job["misses"] for job in later(uncolored)) > 0
    assert uncolored["evictions"]["cross"] > 0


def test_tasks_without_heaps(tmp_path: Path) -> None:
    """A system in which nobody has one."""
    more = {"heap": 0, "arguments": [0, 0, 0, 0, 0]}
    found = run(tmp_path, ON_TILE + task(1, **more) + task(2, **more), "--on", "16x4", *SHORT)
    assert len(later(found)) == 4


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (ON_TILE + task(1).replace("cost_cycles = 800\n", ""), "a loop at tau_task_main+"),
        (ON_TILE.split("[kernel]")[0] + task(1), "the file has no [kernel]"),
        (ON_TILE + task(1, cost=79_000), "the fixed point exceeds the period"),
    ],
)
def test_why_there_is_no_bound(tmp_path: Path, text: str, cause: str) -> None:
    """It is said in the document, and below the table."""
    (tmp_path / "tasks.toml").write_text(text)
    line = ["run", "tasks.toml", "--on", "16x4", "--cycles", 50_000]
    (each,) = json.loads(tau(tmp_path, *line, "--json").stdout)["unbounded"]
    assert each["task"] == "t1" and cause in each["cause"]
    assert f"no bound of t1: {each['cause']}\n" in tau(tmp_path, *line).stdout


def test_random_replacement_and_seeds(tmp_path: Path) -> None:
    """Random replacement: what a seed chose comes again; sets of their own keep all apart."""
    more = {"arguments": [8, 3000, 8, 1, 20], "heap": 8 * 4096, "mode": "isolated", "cost": 4000}
    text = ON_TILE + "".join(task(number, **more) for number in range(3))
    words = "--on", "16x4", "--cycles", 300_000, "--policy", "random"
    first, second = (run(tmp_path, text, *words, "--seed", seed) for seed in (1, 1))
    assert first == second
    assert first["evictions"]["cross"] == 0
    uncolored = [run(tmp_path, text, *words, "--uncolored", "--seed", seed) for seed in (1, 2)]
    assert all(each["evictions"]["cross"] > 0 for each in uncolored)
    assert later(uncolored[0]) != later(uncolored[1])


@pytest.mark.slow  # its simulator; the hashed shape below has two levels too
def test_two_levels(tmp_path: Path) -> None:
    """Nobody misses."""
    found = run(tmp_path, ON_TILE + task(1) + task(2), "--on", "16x4+128x4", "--cycles", 100_000)
    assert sum(job["misses"] for job in later(found)) == 0


def test_a_hashed_index(tmp_path: Path) -> None:
    """Sets of their own keep tasks apart there too, and without them some meet."""
    more = {"arguments": [8, 3000, 8, 0, 2], "heap": 8 * 4096, "mode": "isolated", "cost": 4000}
    text = ON_TILE + "".join(task(number, **more) for number in range(8))
    words = "--on", "16x4+128x4:xor", "--cycles", 300_000
    uncolored = run(tmp_path, text, *words, "--uncolored")
    assert uncolored["evictions"]["cross"] > 0
    planned = tau(
        tmp_path, "plan", "tasks.toml", "--geometry", "tile-16x4-128x4-xor", "-o", "plan.toml"
    )
    assert planned.returncode == 0, planned.stderr
    found = run(tmp_path, text, *words, "--plan", "plan.toml")
    assert found["shape"]["name"] == "16x4+128x4:xor" and found["shape"]["is_hashed"]
    assert found["evictions"]["cross"] == 0


def test_a_plan_for_a_hashed_index_has_bounds(tmp_path: Path) -> None:
    """Those of the run, and no response is longer. Each TLB is counted."""
    text = ON_TILE + task(1) + task(2)
    words = "--on", "16x4+128x4:xor", "--cycles", 300_000
    (tmp_path / "tasks.toml").write_text(text)
    plan = tmp_path / "plan.toml"
    planned = tau(tmp_path, "plan", "tasks.toml", "--geometry", "tile-16x4-128x4-xor", "-o", plan)
    assert planned.returncode == 0, planned.stderr
    found = run(tmp_path, text, *words, "--plan", plan)
    bounds = load_any_plan(plan).sections["bounds"]
    of_plan = {row.task: row.response_cycles for row in bounds.tasks.responses}
    of_run = {job["task"]: job["bound_cycles"] for job in later(found)}
    assert of_run == of_plan and None not in of_run.values()
    for job in found["jobs"]:
        assert list(job["misses_by_tlb"]) == ["instructions", "data", "second level"]
    assert sum(job["misses"] for job in later(found)) == 0
    assert all(job["response_cycles"] <= job["bound_cycles"] for job in later(found))


@pytest.mark.parametrize("latency", [1, 3])
@pytest.mark.parametrize("name", ["16x4", "16x4+128x4", "16x4:xor", "16x4+128x4:xor", "4x2:xor"])
def test_a_geometry_tells_its_shape(name: str, latency: int) -> None:
    """Hashed or not; none if a row differs in a bit, or the unit has no such sets."""
    shape = parsed(name, latency=latency)
    geometry = shape.geometry()
    assert shape_of(geometry, latency) == shape
    first, *others = geometry.structures
    wrong = replace(first, rows=(first.rows[0] ^ 1 << 17, *first.rows[1:]))
    assert shape_of(replace(geometry, structures=(wrong, *others)), latency) is None
    assert shape_of(known_geometry("zen4"), latency) is None


@pytest.mark.parametrize("name", ["1x4", "16x4", "128x2", "16x4:xor", "1024x2:xor"])
def test_the_index_is_that_of_the_unit(name: str) -> None:
    """The geometry of a shape has each page in the set that the unit's model has it in."""
    shape = parsed(name)
    (sets, ways), chance = shape.levels[0], random.Random(name)
    kind = tlb.XOR if shape.is_hashed else tlb.MODULO
    level = tlb.Level(sets, ways, kind, tlb.LRU)
    structure = shape.geometry().structures[0]
    for page in (0, (1 << PAGE_BITS) - 1, *(chance.randrange(1 << PAGE_BITS) for _ in range(500))):
        assert structure.index(page) == level.set_of(page)


def test_a_period_within_an_entry_is_refused(tmp_path: Path) -> None:
    """With the least one, which runs, if too late. Below it an entry into the kernel could end
    after the next release, and no task would ever run. A plan says the same."""
    (tmp_path / "tasks.toml").write_text(ON_TILE + task(1) + task(2, period=100, cost=1))
    words = "run", "tasks.toml", "--on", "16x4", "--cycles", 20_000
    plan = "plan", "tasks.toml", "--geometry", "tile-16x4", "-o", "plan.toml"
    causes = []
    for done in (tau(tmp_path, *words), tau(tmp_path, *plan)):
        assert done.returncode == EXIT_FAILED, done.stdout
        assert "tasks.toml:22: task[1].period_cycles: 100 cycles are within an entry" in done.stderr
        causes.append(done.stderr)
    assert causes[0] == causes[1] and not (tmp_path / "plan.toml").exists()
    (least,) = map(int, re.findall(r"give it at least (\d+)", causes[0]))
    assert f"takes up to {least - 1} cycles" in causes[0]
    for period, is_fine in ((least - 1, False), (least, True)):
        (tmp_path / "tasks.toml").write_text(ON_TILE + task(1) + task(2, period=period, cost=1))
        done = tau(tmp_path, *words, "--json")
        assert done.returncode == (EXIT_LIMIT_EXCEEDED if is_fine else EXIT_FAILED), done.stderr
    assert len([job for job in json.loads(done.stdout)["jobs"] if job["task"] == "t2"]) > 1


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        (ON_TILE + task(1), ["--on", "16by4"], "'16by4' is not a level"),
        (ON_TILE + task(1), ["--on", "16x4:hash"], "'16x4:hash' is not a level"),
        (ON_TILE + task(1), ["--on", "16x4:xor+128x4"], "'16x4:xor' is not a level"),
        (ON_TILE + task(1), ["--on", "12x4"], "sets and ways are powers of two"),
        (ON_TILE + task(1), ["--on", "16x4+16x4+16x4"], "3 levels are more"),
        (ON_TILE + task(1).replace("program", "# "), ["--on", "16x4"], "has no program"),
        (ON_TILE + task(1, program="missing.c"), ["--on", "16x4"], "missing.c does not exist"),
        (ON_TILE + "".join(map(task, range(16))), ["--on", "64x4"], "more than the tile's 15"),
        (ON_TILE + task(1, arguments=[2, 9000, 2, 0, 1]), ["--on", "16x4"], ""),
        (ON_TILE + task(1), ["--on", "16x4", "--plan", "none.toml"], "none.toml"),
        (ELSEWHERE + task(1), ["--on", "16x4"], "the tile has addresses 0x80000000"),
        (ON_TILE + task(1, heap=1 << 20, mode=ONE_SET), ["--on", "16x4"], "at most 2,048"),
        (ON_TILE + task(1, program="endless.c"), ["--on", "16x4"], "tau_task_wait"),
        (ON_TILE + task(1, program="large.c"), ["--on", "16x4"], "raise globals_bytes"),
        (ON_TILE + task(1, program="large.txt"), ["--on", "16x4"], "raise globals_bytes"),
    ],
)
def test_bad_input(tmp_path: Path, text: str, words: list[str], message: str) -> None:
    """The cause is said, and no traceback."""
    (tmp_path / "tasks.toml").write_text(text)
    (tmp_path / "endless.c").write_text(PROGRAM.format("for (;;) { }"))
    for name in ("large.c", "large.txt"):
        (tmp_path / name).write_text(
            PROGRAM.format("static volatile int a[9000]; while (a[1] == 0) { }")
        )
    done = tau(tmp_path, "run", "tasks.toml", "--cycles", "100", *words)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tasks.toml of two tasks and their plan.toml."""
    folder = tmp_path_factory.mktemp("planned")
    (folder / "tasks.toml").write_text(ON_TILE + task(1) + task(2))
    done = tau(folder, "plan", "tasks.toml", "--geometry", "tile-16x4", "-o", "plan.toml")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(
    ("words", "next_step"),
    [
        (["--on", "16x4+128x4"], "plan with --geometry 16x4+128x4 --policy lru"),
        (["--on", "8x4"], "plan with --geometry 8x4 --policy lru"),
        (["--on", "16x2"], "plan with --geometry 16x2 --policy lru"),
        (
            ["--on", "16x4", "--policy", "random"],
            "plan with --geometry 16x4 --policy random",
        ),
    ],
)
def test_a_plan_for_other_tlbs(planned: Path, words: list[str], next_step: str) -> None:
    """It is refused: its sets would mean nothing, or its ways would not be safe."""
    done = tau(planned, "run", "tasks.toml", "--plan", "plan.toml", *words)
    assert done.returncode == EXIT_USAGE
    assert "the plan is for tile-16x4, whose sets, ways or safe ways differ" in done.stderr
    assert f"next: {next_step}" in done.stderr


CHANGED = [  # tasks.toml after the plan was made, and the message
    (ON_TILE + task(1), "it also has t2"),
    (ON_TILE + task(1) + task(2) + task(3), "it has no t3"),
    (ON_TILE + task(1) + task(3), "it has no t3"),
    (ON_TILE.partition("[kernel]")[0] + task(1) + task(2), "it also has kernel"),
    (ON_TILE + task(1, heap=16384) + task(2), "t1 has 8,192 bytes of heap, not 16,384"),
    (ON_TILE + task(1, heap=4096) + task(2), "t1 has 8,192 bytes of heap, not 4,096"),
    (ON_TILE + task(1) + task(2, mode="isolated"), "t2 is no-miss, not isolated"),
    (
        ON_TILE + task(1) + task(2) + 'sets = [{ array = "data", count = 2 }]\n',
        "t2 does not have its sets of data",
    ),
    (
        ON_TILE + task(1) + task(2).replace("stack_bytes = 4096", "stack_bytes = 8192"),
        "t2 has 4,096 bytes of stack, not 8,192",
    ),
    (
        ON_TILE + task(1, heap="8192\nlargest_object_bytes = 5000") + task(2),
        "t1 has objects up to 4,076 bytes, not 5,000",
    ),
    (
        ON_TILE + task(1) + task(2) + "[window]\nstart = 0x8100_0000\nsize_bytes = 0x100_0000\n",
        "t1 is at 0x80080000, outside the window of addresses",
    ),
]


@pytest.mark.parametrize(("text", "message"), CHANGED, ids=[each[1] for each in CHANGED])
def test_a_plan_for_other_tasks(tmp_path: Path, planned: Path, text: str, message: str) -> None:
    """Or for these tasks before they were changed."""
    (tmp_path / "tasks.toml").write_text(text)
    words = "--on", "16x4", "--plan", planned / "plan.toml"
    done = tau(tmp_path, "run", "tasks.toml", *words)
    assert done.returncode == EXIT_USAGE
    assert f"the plan is not for tasks.toml as it is now: {message}" in done.stderr
    assert "next: make the plan again with `tau tlb plan`" in done.stderr


EDITED = [  # old text in the plan, new text, and the message
    ("safe_ways = 4", "safe_ways = 3", "geometry_sha256 does not match its arrays"),
    ('sets = ["1", ', 'sets = ["0", ', "set 0 of data belongs to t1"),
    ('mode = "no-miss"', 'mode = "isolated"', "t1 is isolated, not no-miss"),
    ('"stack 0x8', '"stack 0x18', "[tlb]: page_table_bytes is 4096, but its"),
]


@pytest.mark.parametrize(("old", "new", "message"), EDITED, ids=[each[2] for each in EDITED])
def test_an_edited_plan(tmp_path: Path, planned: Path, old: str, new: str, message: str) -> None:
    """It is refused where it breaks a rule, or does not give what the tasks ask for."""
    text = (planned / "plan.toml").read_text()
    assert old in text
    (tmp_path / "plan.toml").write_text(text.replace(old, new, 1))
    words = "--on", "16x4", "--plan", tmp_path / "plan.toml"
    done = tau(planned, "run", "tasks.toml", *words)
    assert done.returncode != 0
    assert message in done.stderr
    assert "next: make the plan again with `tau" in done.stderr


def test_a_recording_that_changed(tmp_path: Path, planned: Path) -> None:
    """A heap for other recordings is refused, but may be larger than their peak."""
    tasks = read_tasks(planned / "tasks.toml")
    partition = load_any_plan(planned / "plan.toml").sections["tlb"]
    (first, *others) = demands_of(tasks, PAGE_BYTES)
    for sizes, message in (((3000,), ""), ((3000, 3000, 3000), "t1 has a heap in which its rec")):
        calls = tuple(Call(form.OP_MALLOC, slot, size, 1) for slot, size in enumerate(sizes))
        recorded = replace(first, heap_pages=1, calls=(calls,))
        assert unfulfilled(partition, [recorded, *others]).startswith(message)
        assert bool(unfulfilled(partition, [recorded, *others])) == bool(message)


def test_tasks_for_other_addresses(tmp_path: Path) -> None:
    """The tile has one window."""
    window = "[window]\nstart = 0x1_0000_0000\nsize_bytes = 0x100_0000\n"
    (tmp_path / "tasks.toml").write_text(ON_TILE + task(1) + window)
    done = tau(tmp_path, "run", "tasks.toml", "--on", "16x4")
    assert done.returncode != 0
    assert "window: the tile has addresses 0x80000000 to" in done.stderr
    assert "next: leave out [window]" in done.stderr


def test_a_program_without_its_main(tmp_path: Path) -> None:
    """The linker's message is followed by the next step."""
    (tmp_path / "empty.c").write_text("int other;\n")
    (tmp_path / "tasks.toml").write_text(ON_TILE + task(1, program="empty.c"))
    done = tau(tmp_path, "run", "tasks.toml", "--on", "16x4")
    assert done.returncode == 1
    assert "the program of t1 has no tau_task_main" in done.stderr
    assert "next: define tau_task_main as kernel/tasks/task.h says" in done.stderr
