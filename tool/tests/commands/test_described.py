"""`tau check` and `tau info` of the files that users write for `tau tlb` and `tau compose`, and of
plans of TLB sets: what each is, and what its command would refuse, with the line."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tautochrone.commands import check, info
from tautochrone.commands.check import check_file
from tautochrone.errors import EXIT_FAILED, TauError
from tautochrone.plan.file import Plan, plan_text, without_heap
from tautochrone.tlb.geometry import known_geometry, read_geometry
from tautochrone.tlb.planning.planner import plan_partition
from tool.tests.tlb.task_files import HEAD, KERNEL, task, task_set
from tool.tests.tlb.test_geometry import GOOD as GEOMETRY

ROOT = Path(__file__).resolve().parents[3]
SYSTEM = ROOT / "kernel/systems/jpeg/system.toml"
TASKS = HEAD + KERNEL + task("control") + task("logger", "heap_bytes = 40000")

LIMITS = """format = "tautochrone limits"
version = 1
[[limit]]
name = "messages"
size_bytes = 96
count = 32
[[limit]]
site = "+0x45f"
count = 2
[[limit]]
name = "log"
size_bytes = 2000
count = 1
[[exclusive]]
limits = ["messages", "log"]
"""


def written(folder: Path, text: str, name: str = "a.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def run(command: Any, *words: str | Path) -> Result:
    return CliRunner().invoke(command, [*map(str, words)], standalone_mode=False)


def info_of(path: Path) -> tuple[str, dict[str, Any]]:
    """What `tau info` prints for people, and its document."""
    text = run(info.command, path)
    assert text.exception is None, text.exception
    document: dict[str, Any] = json.loads(run(info.command, path, "--json").stdout)
    assert (document["command"], document["file"]) == ("info", str(path))
    return text.stdout, document


@pytest.mark.parametrize("comments", [0, 200])
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("tasks", TASKS),
        ("geometry", GEOMETRY),
        ("system", SYSTEM.read_text(encoding="utf-8")),
        ("limits", LIMITS),
    ],
)
def test_good_descriptions_are_sound(
    tmp_path: Path, kind: str, text: str, comments: int
) -> None:
    """Whatever the name, and however long the comment before."""
    path = written(tmp_path, "# Of a user, with much to say.\n" * comments + text, "a.txt")
    assert check_file(path) == (kind, check_file(path)[1])
    done = run(check.command, path)
    assert done.return_value == 0 and done.stdout.startswith(f"{path}: {kind}, no problems\n")


@pytest.mark.parametrize(
    ("kind", "text", "place", "cause"),
    [
        ("tasks", TASKS.replace("4096", "12", 1), "line 5", "stack_bytes"),
        ("tasks", TASKS + "more = 1\n", "line 24", "more is unknown"),
        ("tasks", TASKS.replace("= 1\n", "= 9\n", 1), "line 2", "version"),
        ("tasks", TASKS + "= 1\n", "tasks", "not TOML"),
        (
            "tasks",
            HEAD + task("a", 'recordings = ["missing.tau"]'),
            "tasks",
            "missing.tau: no such file",
        ),
        ("limits", LIMITS.replace("count = 2", "count = 0"), "line 9", "count"),
        ("limits", LIMITS.replace("2000", "96"), "line 10", "contradicts messages"),
        ("geometry", GEOMETRY.replace("0x5", "0x2", 1), "line 17", "exclusive or"),
        ("system", 'format = "tautochrone system"\n', "system", "is missing"),
    ],
)
def test_a_mistake_is_the_one_of_its_command(
    tmp_path: Path, kind: str, text: str, place: str, cause: str
) -> None:
    path = written(tmp_path, text)
    found, checked = check_file(path)
    (problem,) = checked.problems
    assert found == kind and cause in problem.cause, problem
    assert problem.place.startswith(place), problem
    done = run(check.command, path)
    assert done.return_value == EXIT_FAILED
    assert f"{path}: {kind}, 1 problem\n" in done.stdout and "\nnext: " in done.stdout


def test_a_plan_says_of_what_it_is(tmp_path: Path) -> None:
    """TLB sets, a heap, or both; and it names the commands that replay these parts."""
    geometry = known_geometry("tile-16x4")
    partition = plan_partition(task_set(tmp_path, task("a")), geometry).partition
    sets = without_heap({"tlb": partition})
    both = Plan((), 64, "greedy", 0.0, sections={"tlb": partition})
    heap = Plan((), 64, "greedy", 0.0)
    for plan, kind, named in (
        (sets, "plan of TLB sets", {"tlb run"}),
        (both, "plan of a heap and of TLB sets", {"verify", "tlb run"}),
        (heap, "plan", {"verify"}),
    ):
        path = written(tmp_path, plan_text(plan, "a test"), "plan.toml")
        assert check_file(path)[0] == kind
        (line,) = [
            each
            for each in run(check.command, path).stdout.splitlines()
            if each.startswith("not looked at: ")
        ]
        commands = ("verify", "tlb run", "coldcode replay")
        assert {each for each in commands if f"`tau {each}`" in line} == named
        if plan is heap:
            assert run(info.command, path).output.startswith("[heap]\n64 bytes, layout 32")
            continue
        text, document = info_of(path)
        assert text.startswith("plan         of TLB sets for 1 principal on tile-16x4\n")
        assert "a: no-miss, 5 pages in " in text and f"next: tau check {path}" in text
        assert document["kind"] == "plan of TLB sets"
        assert [each["name"] for each in document["tlb"]["principals"]] == ["a"]


def test_info_of_tasks(tmp_path: Path) -> None:
    """In the order of priorities, with all that the file says."""
    text = TASKS.replace("period_cycles = 1000", "period_cycles = 2000", 1)
    path = written(tmp_path, text)
    shown, document = info_of(path)
    assert shown.startswith("tasks        2, highest priority first:\n")
    assert shown.splitlines()[1].startswith("             logger: every 1,000 cycles, no-miss,")
    assert "heap 40,000 bytes, stack 4,096, globals 4,096, code 4,096\n" in shown
    assert "kernel       colored, stack 4,096 bytes, data 8,192, code 0\n" in shown
    assert f"next: tau tlb plan {path} --geometry NAME -o plan.toml" in shown
    assert document["kind"] == "tasks"
    assert [each["name"] for each in document["tasks"]] == ["logger", "control"]
    assert document["kernel"]["data_bytes"] == 8192
    path = written(tmp_path, HEAD + task("a", 'recordings = ["x.tau"]', 'program = "a.c"'))
    shown, document = info_of(path)
    assert "heap from 1 recording," in shown and "kernel       no pages, no sets\n" in shown
    (row,) = document["tasks"]
    assert row["recordings"] == [str(tmp_path / "x.tau")]
    assert row["program"] == str(tmp_path / "a.c")


def test_info_of_a_geometry(tmp_path: Path) -> None:
    path = written(tmp_path, GEOMETRY)
    shown, document = info_of(path)
    geometry = read_geometry(path)
    assert shown.startswith(f"geometry     a, base pages of {geometry.page_bytes:,} bytes\n")
    for array in geometry.arrays:
        assert f"array        {array.name}: " in shown
    assert document["kind"] == "geometry"
    assert document["geometry_sha256"] == geometry.digest()
    assert len(document["structures"]) == len(geometry.structures)


def test_info_of_a_system_names_its_command() -> None:
    error = run(info.command, SYSTEM).exception
    assert isinstance(error, TauError) and "describes a system" in error.message
    assert error.next_step == f"tau compose plan {SYSTEM}"


def test_limits_are_told(tmp_path: Path) -> None:
    path = written(tmp_path, LIMITS)
    text, document = info_of(path)
    assert "messages: at most 32 of 96 bytes\n" in text and "at most 2 from +0x45f\n" in text
    assert "exclusive    messages, log: " in text and f"--guarantee --limits {path}" in text
    assert [each["count"] for each in document["limits"]] == [32, 2, 1]
    assert document["exclusive"] == [["messages", "log"]]
    of_types = "".join(f'[[limit]]\ntype_name = "{name}"\ncount = 3\n' for name in ("a", "b"))
    path = written(tmp_path, "\n".join(LIMITS.splitlines()[:2]) + "\n" + of_types)
    text, document = info_of(path)
    assert "at most 3 of type b\n" in text and f"--limits {path} --elf PROGRAM" in text
    assert [each["size_bytes"] for each in document["limits"]] == [None, None]
    assert run(check.command, path).return_value == 0
