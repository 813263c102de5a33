"""What `tau tlb run` finds out about figures that a user typed, and about foreign programs.

Method: small programs on the simulated tile, in this process; the command's own part is its status.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tautochrone.errors import EXIT_LIMIT_EXCEEDED, TauError
from tautochrone.tlb.compared import BOUND, COST, DEADLINE, Exceeded, exceeded, refuse
from tautochrone.tlb.partition import CODE
from tautochrone.tlb.planning.planner import plan_partition
from tautochrone.tlb.run import Choice, run, show
from tautochrone.tlb.tasks import read_tasks
from tautochrone.tlb.tile.entry_bound import STRETCH_CYCLES
from tautochrone.tlb.tile.shape import parsed
from tautochrone.tlb.tile.simulation import Job, builder
from tool.tests.tlb.task_files import ON_TILE

TASK = """\
[[task]]
name = "{name}"
period_cycles = {period}
program = "{name}.c"
heap_bytes = 0
stack_bytes = 4096
globals_bytes = 4096
code_bytes = {code_bytes}
{more}
"""
MAIN = """\
#include "kernel/tasks/task.h"
{before}
void tau_task_main(struct tau_task *task) {{
    (void)task;
    {warm_up}
    for (;;) {{
        {job}
        tau_task_wait(0);
    }}
}}
"""
LOOP = "for (volatile uint32_t i = 0; i < {turns}; i++) {{}}"
DEEP = """\
__attribute__((noinline)) static uint32_t deep(uint32_t n, volatile uint32_t *before) {
    volatile uint32_t room[%d];
    room[0] = n + before[0];
    const uint32_t below = n == 0 ? 0 : deep(n - 1, room);
    return room[0] ^ below;
}
"""
SHAPE = parsed("16x4")
Given = dict[str, int | None]


def task(folder: Path, name: str, period: int = 50_000, more: str = "", **source: str) -> str:
    """A table of a task, whose program is written to FOLDER."""
    parts = {"before": "", "warm_up": "", "job": ""} | source
    code_bytes = int(parts.pop("code_bytes", "4096"))
    (folder / f"{name}.c").write_text(MAIN.format(**parts), encoding="utf-8")
    return TASK.format(name=name, period=period, code_bytes=code_bytes, more=more)


def ran(
    folder: Path, *tables: str, is_uncolored: bool = False, **choice: Any
) -> dict[str, Any]:
    """The document of a run."""
    path = folder / "tasks.toml"
    path.write_text(ON_TILE + "".join(tables), encoding="utf-8")
    tasks = read_tasks(path)
    planned = plan_partition(tasks, SHAPE.geometry(), is_uncolored)
    assert not planned.misfits, planned.misfits
    made = folder / "made"
    made.mkdir(exist_ok=True)
    return run(tasks, planned.partition, SHAPE, Choice(**({"run_cycles": 120_000} | choice)),
               builder(made))  # fmt: skip


def test_a_cost_below_a_measured_job_is_refused(tmp_path: Path) -> None:
    """Also for the interrupted task: the time of others is not its own."""
    often = task(tmp_path, "often", 10_000, "cost_cycles = 3_000", job=LOOP.format(turns=100))
    loop = LOOP.format(turns=1900)
    measured = ran(tmp_path, often, task(tmp_path, "seldom", job=loop))
    assert measured["exceeded"] == []
    own = max(job["own_cycles"] for job in measured["jobs"] if job["task"] == "seldom")
    job = next(job for job in measured["jobs"] if job["task"] == "seldom" and job["number"] == 1)
    assert job["own_cycles"] < job["cycles"] < job["response_cycles"]
    enough = task(tmp_path, "seldom", more=f"cost_cycles = {own}", job=loop)
    found = ran(tmp_path, often, enough)
    assert found["exceeded"] == [] and found["unbounded"] == []
    little = task(tmp_path, "seldom", more=f"cost_cycles = {own * 9 // 10}", job=loop)
    (row,) = ran(tmp_path, often, little)["exceeded"]
    assert (row["task"], row["figure"], row["given"]) == ("seldom", COST, own * 9 // 10)
    assert row["given"] < row["measured"] <= own
    with pytest.raises(TauError, match="of seldom took .* without misses; cost_cycles is") as error:
        refuse([row])
    assert error.value.exit_code == EXIT_LIMIT_EXCEEDED


def job(number: int, own: int, response: int, misses: int = 0) -> Job:
    return Job(0, number, own, response, (0, misses, 0), 0, own, 2)


def figures(cost: Given, bound: Given, deadline: Given) -> dict[str, Given]:
    return {COST: cost, BOUND: bound, DEADLINE: deadline}


def test_the_worst_job_is_named_and_misses_are_not_the_tasks() -> None:
    jobs = [job(0, 9000, 0), job(1, 1020, 2000), job(2, 1040, 3000), job(3, 1010 + 80, 10, 10)]
    found = exceeded(jobs, [], ["a"], figures({"a": 1000}, {"a": 1900}, {"a": 2999}), 8)
    assert found == [
        Exceeded("a", COST, 1000, 2, 1040 - 2 * STRETCH_CYCLES),
        Exceeded("a", BOUND, 1900, 2, 3000),
        Exceeded("a", DEADLINE, 2999, 2, 3000),
    ]
    with pytest.raises(TauError) as error:
        refuse([each._asdict() for each in found])
    assert error.value.message == "; ".join(each.told() for each in found)
    unknown = {"a": None}
    assert exceeded(jobs, [], ["a"], figures(unknown, unknown, {}), 8) == []
    within = figures({"a": 1040}, {"a": 3000}, {"a": 3000})
    assert exceeded(jobs, [], ["a"], within, 8) == []


def test_an_unfinished_job_counts_with_what_it_has_taken() -> None:
    """Next to one that ended and took as long, which is reported. Costs come before all bounds."""
    late, endless = job(3, 10, 5000), replace(job(4, 9000, 9500), task=1)
    given = figures({"a": 20, "b": 1000}, {"a": 4999, "b": 9500}, {})
    found = exceeded([replace(late, number=2)], [late, endless], "ab", given, 8)
    assert found == [
        Exceeded("b", COST, 1000, 4, 9000 - 2 * STRETCH_CYCLES, is_finished=False),
        Exceeded("a", BOUND, 4999, 2, 5000),
    ]
    (only,) = exceeded([], [late], "ab", figures({"a": 20}, {"a": 4999}, {}), 8)
    assert "not finished at the end of the run, was released 5,000 cycles before" in only.told()


def test_a_missed_deadline_is_refused(tmp_path: Path) -> None:
    """Without any cost: of the task that takes too long, and not of the one before it."""
    quick = task(tmp_path, "quick", 10_000)
    once = "static uint32_t done; if (done++ == 1) {" + LOOP.format(turns=2000) + "}"
    found = ran(tmp_path, quick, task(tmp_path, "slow", 15_000, job=once))
    (row,) = found["exceeded"]
    assert (row["task"], row["figure"], row["given"]) == ("slow", DEADLINE, 15_000)
    said = (
        f"job 1 of slow responded in {row['measured']:,} cycles and missed its deadline, the period"
        " of 15,000"
    )
    with pytest.raises(TauError, match=said) as error:
        refuse(found["exceeded"])
    assert error.value.exit_code == EXIT_LIMIT_EXCEEDED and error.value.next_step


@pytest.mark.parametrize("number", [1, 3])
def test_a_job_that_does_not_end_is_refused(
    tmp_path: Path, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """It loops in its first job, or in a later one. The other task has no time from then on."""
    cost, period = "cost_cycles = 3_000", 20_000
    turns = f"static uint32_t done; if (done++ == {number}) {{ for (;;) {{}} }}"
    endless = task(tmp_path, "endless", period, cost, job=turns)
    found = ran(tmp_path, endless, task(tmp_path, "other", more=cost))
    row, other = found["unfinished"]
    assert (row["task"], row["number"]) == ("endless", number)
    since = 120_000 - (number - 1) * period
    assert row["since_release_cycles"] == since and row["count"] == since // period
    assert since * 9 // 10 < row["own_cycles"] < since
    assert (other["task"], other["own_cycles"]) == ("other", 0)
    refusal = f"job {number} of endless, which was not finished .* took"
    with pytest.raises(TauError, match=refusal) as error:
        refuse(found["exceeded"])
    assert error.value.exit_code == EXIT_LIMIT_EXCEEDED
    assert "tau_task_wait" in (error.value.next_step or "")
    assert {(each["task"], each["figure"]) for each in found["exceeded"]} == {
        ("endless", COST), ("endless", BOUND), ("other", BOUND),
        ("endless", DEADLINE), ("other", DEADLINE),
    }  # fmt: skip
    show(found)
    shown = capsys.readouterr().out
    assert f"endless: {row['count']} released and not finished at the end of the run" in shown
    (line,) = (each for each in shown.splitlines() if each.startswith("endless  "))
    assert line.endswith(f" {row['bound_cycles']:,}") and ("(warm-up)" in line) == (number == 1)


def test_a_job_that_is_released_near_the_end_is_not_a_finding(tmp_path: Path) -> None:
    """It is counted, with its time so far. One released at the very end is not."""
    table = task(tmp_path, "one", more="cost_cycles = 20_000", job=LOOP.format(turns=1000))
    found = ran(tmp_path, table, run_cycles=52_000)
    (row,) = found["unfinished"]
    assert (row["number"], row["count"], row["since_release_cycles"]) == (2, 1, 2000)
    assert 0 < row["own_cycles"] < 2000 < row["bound_cycles"]
    assert [each["number"] for each in found["jobs"]] == [0, 1] and found["exceeded"] == []
    assert ran(tmp_path, table, run_cycles=50_000)["unfinished"] == []


@pytest.mark.parametrize("is_uncolored", [False, True])
def test_an_access_below_a_stack_is_called_so(
    tmp_path: Path, is_uncolored: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seven frames of 1 KiB on 4 KiB. The page below a stack is nobody's.

    The jobs of a task that was stopped do not count as unfinished.
    """
    call = "volatile uint32_t start = 1; deep(6, &start);"
    table = task(tmp_path, "deep", before=DEEP % 256, job=call)
    found = ran(tmp_path, table, is_uncolored=is_uncolored)
    (stopped,) = found["stopped"]
    assert found["unfinished"] == []
    assert "bytes below its stack of 4,096 bytes: raise stack_bytes" in stopped["why"]
    show(found)
    assert f"deep was stopped at {stopped['pc']:#x}: {stopped['why']}" in capsys.readouterr().out


def test_a_frame_that_is_larger_than_the_stack_is_refused(tmp_path: Path) -> None:
    """It would step over the page below: 8,224 bytes on 4,096."""
    call = "volatile uint32_t start = 1; deep(0, &start);"
    table = task(tmp_path, "deep", before=DEEP % 2048, job=call)
    refusal = r"deep[.a-z]* has a frame of 8,2.. bytes, and the stack of deep has 4,096"
    with pytest.raises(TauError, match=refusal):
        ran(tmp_path, table)


def test_a_warm_up_that_takes_too_long_is_named(tmp_path: Path) -> None:
    quick = task(tmp_path, "quick", 40_000)
    slow = task(tmp_path, "slow", warm_up=LOOP.format(turns=2000))
    endless = task(tmp_path, "endless", warm_up="for (;;) {}")
    refusal = "the warm-up of {} takes too long: .* 10,000 cycles, quick took [0-9,]+$"
    for table, name in ((slow, "slow"), (endless, "endless")):
        with pytest.raises(TauError, match=refusal.format(name)) as error:
            ran(tmp_path, quick, table, warm_up_cycles=10_000)
        assert error.value.exit_code == EXIT_LIMIT_EXCEEDED
    assert ran(tmp_path, quick, slow, warm_up_cycles=100_000)["stopped"] == []


def test_several_sources_flags_and_warnings(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths in flags start from the file's folder; a warning is printed, and no error."""
    (tmp_path / "own").mkdir()
    monkeypatch.chdir(tmp_path / "own")
    (tmp_path / "own" / "scale.h").write_text("#define SCALE 7\n")
    (tmp_path / "more.c").write_text(
        '#include "scale.h"\nint scaled(int x) { int unused; return x * SCALE * TWICE; }\n'
    )
    more = 'sources = ["more.c"]\nflags = ["-Iown", "-DTWICE=2"]'
    before, used = "int scaled(int x);", "tau_task_wait((uint32_t)scaled(3));"
    found = ran(tmp_path, task(tmp_path, "one", more=more, before=before, job=used))
    assert 42 in {job["value"] for job in found["jobs"]}
    assert "warning: unused variable" in capfd.readouterr().err


def test_a_missing_symbol_is_one_sentence(tmp_path: Path) -> None:
    """With the library that has it, if picolibc does."""
    job = "(void)(int)sin(1.0 * task->seed);"
    text = task(tmp_path, "one", before="double sin(double x);", job=job)
    with pytest.raises(TauError, match="picolibc has sin, and is not linked") as error:
        ran(tmp_path, text)
    assert error.value.next_step == 'give the task libraries = ["picolibc"]'
    text = task(tmp_path, "two", before="void elsewhere(void);", job="elsewhere();")
    with pytest.raises(TauError, match="no source and no library that is linked defines elsewhere"):
        ran(tmp_path, text)


@pytest.mark.parametrize(
    ("header", "step"),
    [("math.h", 'give the task libraries = ["picolibc"]'), ("no/such_header.h", None)],
)
def test_a_missing_header_of_picolibc_names_picolibc(
    tmp_path: Path, header: str, step: str | None
) -> None:
    """A header of nobody's is not said to be picolibc's."""
    text = task(tmp_path, "one", before=f"#include <{header}>")
    with pytest.raises(TauError, match=r"one\.c cannot be compiled") as error:
        ran(tmp_path, text)
    assert header in error.value.said and error.value.next_step == step


def test_code_of_several_pages_is_one_run(tmp_path: Path) -> None:
    """What the linker script takes. The planner gives as many sets as adjacent pages need."""
    text = task(tmp_path, "large", code_bytes="16384")
    path = tmp_path / "tasks.toml"
    path.write_text(ON_TILE + text, encoding="utf-8")
    planned = plan_partition(read_tasks(path), SHAPE.geometry())
    assert len(planned.partition.principals[0].runs_of(CODE)) == 1
    assert ran(tmp_path, text)["stopped"] == []
    one_set = 'sets = [{ array = "data", count = 1 }]\n'
    path.write_text(ON_TILE + text + one_set, encoding="utf-8")
    (misfit,) = plan_partition(read_tasks(path), SHAPE.geometry()).misfits
    assert misfit.name == "large" and "4 adjacent pages of its code are needed" in misfit.cause


def test_a_stopped_task_begins_again_with_its_next_release(tmp_path: Path) -> None:
    """With its whole stack, once in each period."""
    room = "volatile uint32_t room[256]; room[lives++ % 256] = 1;"
    source = {
        "before": "static volatile uint32_t lives;",
        "job": room + 'if (lives > 1) { __asm__ volatile("ebreak"); }',
    }
    table = task(tmp_path, "one", 5_000, "restarts = true", **source)
    stopped = ran(tmp_path, table, run_cycles=52_000)["stopped"]
    assert [each["why"] for each in stopped] == 11 * ["a breakpoint"]
