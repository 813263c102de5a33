"""What `tau run --colors` refuses before the program starts: cause, next step, exit status.

Method: plans and geometry files that are wrong in one way each; the program must not run.
"""

import re
from pathlib import Path

import pytest

from tautochrone.plan.file import plan_text, without_heap
from tautochrone.tlb.discover.document import toml_of
from tautochrone.tlb.discover.processors.cpuinfo import processor_name
from tautochrone.tlb.geometry import known_geometry
from tautochrone.tlb.planning.planner import plan_partition
from tautochrone.tlb.tasks import read_tasks
from testing.recorded import Tau
from testing.runtime import MakePlan

TASKS = """
format = "tautochrone tasks"
version = 1
{window}
[[task]]
name = "control"
period_cycles = 50_000
heap_bytes = 16384
stack_bytes = 16384
globals_bytes = {globals}
code_bytes = 0
"""
WINDOW = "[window]\nstart = 0x100000000000\nsize_bytes = 0x80000000\nword_bytes = {}\n"


@pytest.fixture
def plan_tlb(tau: Tau, tmp_path: Path) -> MakePlan:
    """Plan one task for a geometry; `window` is its table in the file."""

    def write(
        geometry: object = "zen4", window: str = WINDOW.format(8), name: str = "control"
    ) -> Path:
        text = TASKS.format(window=window, globals=0).replace("control", name)
        (tmp_path / "tasks.toml").write_text(text)
        words = ("tasks.toml", "--geometry", geometry, "-o", "plan.toml", "--force")
        done = tau("tlb", "plan", *words)
        assert done.returncode == 0, done.stderr
        return tmp_path / "plan.toml"

    return write


def geometry_file(path: Path, sets: int = 256, **facts: str) -> Path:
    """A geometry as `tau tlb discover` writes it on this machine, but for the facts."""
    rows = [f"{1 << bit:#x}" for bit in range(sets.bit_length() - 1)]
    table = {
        "format": "tautochrone geometry",
        "version": 1,
        "page_bytes": 4096,
        "source": "measured",
        "reference": f"tau tlb discover: timing on {processor_name()}",
        "array": [{"name": "second level", "sets": sets, "ways": 8, "safe_ways": 4}],
        "structure": [
            {"role": "data", "page_bytes": 4096, "array": "second level", "rows": rows},
        ],
    }
    path.write_text(toml_of({**table, **facts}))
    return path


def refused(tau: Tau, cause: str, *options: object) -> None:
    """The command fails with status 125, the cause and a next step, and runs nothing."""
    done = tau("run", *options, "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (125, ""), done.stderr
    assert re.search(cause, done.stderr), done.stderr
    assert "next:" in done.stderr


def test_a_measured_geometry(tau: Tau, plan_tlb: MakePlan, tmp_path: Path) -> None:
    """What this machine was measured to have; not what somebody says, or another processor has."""
    known = geometry_file(tmp_path / "known.toml")
    plan = plan_tlb(geometry=known)
    done = tau("run", "--colors", plan, "--geometry", known, "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr
    said = geometry_file(tmp_path / "said.toml", source="user")
    refused(tau, "was not measured", "--colors", plan, "--geometry", said)
    foreign = geometry_file(tmp_path / "foreign.toml", reference="timing on a 6502")
    refused(tau, "for another processor", "--colors", plan, "--geometry", foreign)
    other = geometry_file(tmp_path / "other.toml", sets=128)
    refused(tau, "is for known, whose sets differ", "--colors", plan, "--geometry", other)
    missing = tmp_path / "missing.toml"
    refused(tau, r"missing.toml(.|\n)*tau tlb discover", "--colors", plan, "--geometry", missing)


def test_plans_without_pages_for_tasks(
    tau: Tau, plan_tlb: MakePlan, plan: MakePlan, tmp_path: Path
) -> None:
    """No [tlb], no task, no sets, other words, a damaged file."""
    refused(tau, r"has no \[tlb\]", "--colors", plan(1 << 20), "--unverified")
    path = plan_tlb(window="", geometry="tile-16x4")
    refused(tau, "words of 4 bytes", "--colors", path, "--unverified")
    path = plan_tlb()
    text = path.read_text()
    path.write_text(text.replace('"control"', '"kernel"'))
    refused(tau, "has no tasks: only the kernel", "--colors", path, "--unverified")
    path.write_text(text.replace(' 16384"', ' 20480"'))
    refused(tau, "plan.toml", "--colors", path, "--unverified")
    refused(tau, "none.toml", "--colors", tmp_path / "none.toml", "--unverified")
    path.write_text(text)
    refused(tau, "no task logger", "--colors", path, "--unverified", "--thread", "1=logger")
    tasks, geometry = read_tasks(tmp_path / "tasks.toml"), known_geometry("zen4")
    without = plan_partition(tasks, geometry, is_uncolored=True).partition
    path.write_text(plan_text(without_heap({"tlb": without}), ""))
    refused(tau, "gives control no TLB sets", "--colors", path, "--unverified")


def test_threads_by_number(tau: Tau, plan_tlb: MakePlan) -> None:
    """A number or a task that is given twice; more threads than there can be."""
    colors = ("--colors", plan_tlb(), "--unverified", "--thread", "1=control")
    refused(tau, "thread 1 is given twice", *colors, "--thread", "1=control")
    refused(tau, "control is given twice", *colors, "--thread", "2=control")
    refused(tau, "no program creates", *colors, "--thread", f"{1 << 32}=control")


def test_a_name_that_no_thread_can_have(tau: Tau, plan_tlb: MakePlan) -> None:
    """Linux has 15 characters for it: said before the program starts."""
    for name, is_noted in (("a" * 15, False), ("a" * 16, True)):
        path = plan_tlb(name=name)
        done = tau("run", "--colors", path, "--unverified", "--", "echo", "ran")
        assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr
        assert (f"no thread can have the name {name}" in done.stderr) == is_noted


def test_the_result_does_not_replace_what_was_read(
    tau: Tau, plan_tlb: MakePlan, plan: MakePlan, tmp_path: Path
) -> None:
    """--json --force with the plan or the geometry as FILE: refused, nothing runs."""
    known = geometry_file(tmp_path / "known.toml")
    colors = plan_tlb(geometry=known)
    text = colors.read_bytes(), known.read_bytes()
    given = ("--colors", colors, "--geometry", known, "--force", "--json")
    refused(tau, "plan.toml", *given, colors)
    refused(tau, "known.toml", *given, known)
    assert text == (colors.read_bytes(), known.read_bytes())
    heap = plan(1 << 20)
    refused(tau, "plan.toml", "--plan", heap, "--force", "--json", heap)


def test_options_that_do_not_go_together(tau: Tau, plan_tlb: MakePlan, plan: MakePlan) -> None:
    """Status 2, and nothing runs."""
    colors = ("--colors", plan_tlb())
    for options in (
        colors,
        (*colors, "--unverified", "--geometry", "x.toml"),
        (*colors, "--unverified", "--plan", plan(1 << 20)),
        (*colors, "--unverified", "--lock"),
        (*colors, "--unverified", "--thread", "control"),
        ("--geometry", "x.toml"),
        ("--unverified",),
        ("--thread", "1=control"),
    ):
        done = tau("run", *options, "--", "echo", "ran")
        assert (done.returncode, done.stdout) == (2, ""), (options, done.stderr)


def test_a_window_that_is_taken(tau: Tau, plan_tlb: MakePlan) -> None:
    """Where something is mapped already, the program does not start."""
    window = "[window]\nstart = 0x7ff000000000\nsize_bytes = 0x1000000000\nword_bytes = 8\n"
    window = window.replace("0x1000000000", "0x80000000")
    path = plan_tlb(window=window)
    done = tau("run", "--colors", path, "--unverified", "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (125, "")
    assert "lies above the spill heap" in done.stderr
    assert "next: give the tasks another [window]" in done.stderr


def test_a_program_script_out_of_reach(tau: Tau, tmp_path: Path) -> None:
    """Globals at addresses that code does not reach: nothing is written."""
    (tmp_path / "tasks.toml").write_text(TASKS.format(window=WINDOW.format(8), globals=64))
    words = ("tasks.toml", "--geometry", "zen4", "-o", "p.toml", "--program-script", "g.ld")
    done = tau("tlb", "plan", *words)
    assert done.returncode == 2 and "below 0x80000000" in done.stderr and "next:" in done.stderr
    assert not (tmp_path / "p.toml").exists() and not (tmp_path / "g.ld").exists()
