"""Bounds of jobs from code: fetching ahead in the window is followed exactly, loops are bounded.

Method: random functions of one path run as jobs on the tile. Each must take its longest path, less
what all have in common. Programs with loops have a bound that their jobs reach, or a refusal.
"""

import functools
import itertools
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest
from tautochrone.errors import TauError

from tautochrone.tile.fetching import ANY, BRANCH, JUMP, Fetches, after
from tautochrone.tlb.compared import CODE_CYCLES, refuse
from tautochrone.tlb.planning.planner import plan_partition
from tautochrone.tlb.run import Choice, run
from tautochrone.tlb.tasks import read_tasks
from tautochrone.tlb.tile.entry_bound import AHEAD_CYCLES, STRETCH_CYCLES
from tautochrone.tlb.tile.job_bound import JobPaths, Node
from tautochrone.tlb.tile.shape import parsed
from tautochrone.tlb.tile.simulation import builder
from tool.tests.tlb.task_files import ON_TILE
from tool.tests.tlb.test_run_checks import ran, task

SEED = int(os.environ.get("TAU_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
FUNCTIONS = 40
CALL_SLACK_CYCLES = 3  # A callee begins with the worst that may be in flight.
SHAPE = parsed("16x4")
WIDE = ".option push\n .option norvc\n {}\n .option pop"
PLAIN = (
    *("c.addi a5, 1", "c.nop", WIDE.format("addi a5, a5, 1"), WIDE.format("xor a5, a5, a6")),
    *("mul a5, a2, a3", "mulh a5, a2, a3", "divu a5, a2, a3", "lw a5, 4(sp)", "sw a5, 4(sp)"),
    *("lw a5, 0(gp)", "lbu a5, 3(sp)", WIDE.format("lw a5, 4(sp)")),
)
STRAIGHT = tuple(WIDE.format("addi a5, a5, 1") for _ in range(4))
TASK = """\
[[task]]
name = "t"
period_cycles = 4000
program = "t.c"
sources = ["paths.S"]
heap_bytes = 0
stack_bytes = 4096
globals_bytes = 4096
code_bytes = 16384
"""
MAIN = """\
#include "kernel/tasks/task.h"
extern void (*const functions[])(void);
void tau_task_main(struct tau_task *task) {
    (void)task;
    for (uint32_t i = 0; functions[i] != 0; i++) {
        tau_task_wait(i);
        functions[i]();
    }
    for (;;) { tau_task_wait(0); }
}
"""


def function(number: int, chosen: random.Random) -> str:
    """A function with one path; ebreak is where other sides lead. Around it all words are fetched
    ahead."""
    lines = [".balign 4", *["c.nop"] * chosen.randrange(2), f"path{number}:", "mv t6, ra"]
    lines += ["li a2, 1000", "li a3, 7", *["c.nop"] * 12]
    for _ in range(chosen.randrange(1, 16)):
        kind = chosen.choice(("plain", "plain", "run", "taken", "passed", "jump", "call"))
        gap = "c.nop\n" * chosen.randrange(3)
        if kind == "plain":
            lines.append(chosen.choice(PLAIN))
        elif kind == "run":
            lines += chosen.choices(STRAIGHT, k=chosen.randrange(9))
        elif kind == "taken":
            lines.append(f"beq zero, zero, 1f\n c.ebreak\n {gap}1:")
        elif kind == "passed":
            lines.append(f"bne zero, zero, out{number}")
        elif kind == "jump":
            lines.append(f"j 1f\n c.ebreak\n {gap}1:")
        else:
            lines.append(f"jal leaf{number}")
    lines += ["c.nop"] * 12 + ["mv ra, t6", "ret", f"out{number}: c.ebreak"]
    lines += ["c.nop"] * chosen.randrange(3)
    lines += [f"leaf{number}:", *chosen.choices(PLAIN, k=chosen.randrange(3)), "ret"]
    return "\n ".join(lines)


def test_each_path_takes_what_is_computed(tmp_path: Path) -> None:
    """Its own cycles, up to a constant."""
    print(f"TAU_TEST_SEED={SEED}")
    chosen = random.Random(SEED)
    functions = "\n".join(function(number, chosen) for number in range(FUNCTIONS))
    table = ", ".join(f"path{number}" for number in range(FUNCTIONS))
    data = f".section .rodata\n.balign 4\n.globl functions\nfunctions: .word {table}, 0\n"
    (tmp_path / "paths.S").write_text(f".text\n{functions}\n{data}")
    (tmp_path / "t.c").write_text(MAIN)
    (tmp_path / "tasks.toml").write_text(ON_TILE + TASK)
    tasks = read_tasks(tmp_path / "tasks.toml")
    planned = plan_partition(tasks, SHAPE.geometry())
    cycles = 4000 * (FUNCTIONS + 2)
    found = run(tasks, planned.partition, SHAPE, Choice(cycles), builder(tmp_path))
    jobs = [job for job in found["jobs"] if 0 < job["number"] < FUNCTIONS]  # the last one ends
    assert len(jobs) == FUNCTIONS - 1
    paths = JobPaths(tmp_path / "t-0.elf", ())
    rows = []
    for job in jobs:
        number = job["number"] - 1
        address = paths.code.symbols[f"path{number}"]
        rest = job["own_cycles"] - paths.function(address, Node(address, ANY[0]))
        calls = functions.split(f"path{number}:")[1].count(f"jal leaf{number}")
        rows.append((rest, calls, job["misses"]))
    most = max(rest for rest, calls, misses in rows if not calls and not misses)
    for rest, calls, misses in rows:
        least = most - 1 - CALL_SLACK_CYCLES * calls  # The job's call of the path counts, too.
        assert least <= rest <= most + SHAPE.miss_cycles * misses


def test_an_interruption_loses_no_more_than_is_charged() -> None:
    """All pairs of states at one place, one of which has just jumped there, on every way on."""
    steps = [functools.partial(after, busy_cycles=cycles) for cycles in (1, 3, 4, 37)]
    steps += [JUMP.after, BRANCH.after]
    places = [(upper, size) for upper in (0, 2) for size in (2, 4)]
    jumped: dict[int, set[Fetches]] = {}
    for place, state in itertools.product(places, ANY):
        jumped.setdefault(sum(place) % 4, set()).add(JUMP.after(state, *place)[1])
    reached = {(state, upper) for upper, states in jumped.items() for state in states}
    pairs = {(*each, other): 0 for each in reached for other in jumped[each[1]]}
    waiting = [*pairs]
    while waiting:
        state, upper, behind = pair = waiting.pop()
        for step, (target, size) in itertools.product(steps, places):
            is_jump = not isinstance(step, functools.partial)
            if not is_jump and target != upper:
                continue
            words = (target, size) if is_jump else ()
            more = {} if is_jump else {"following": target, "size": size}
            (one, first), (other, second) = (
                step(each, *words, **more) for each in (state, behind)
            )
            following = first, (target + size) % 4, second
            lag = pairs[pair] + other - one
            assert lag <= AHEAD_CYCLES
            for new, known in ((following, lag), ((first, following[1], first), 0)):
                if pairs.get(new, -1) < known:
                    pairs[new] = known
                    waiting.append(new)
            for other_state in jumped[following[1]]:  # it may be interrupted here, too
                if (first, following[1], other_state) not in pairs:
                    pairs[first, following[1], other_state] = 0
                    waiting.append((first, following[1], other_state))
    assert max(pairs.values()) == AHEAD_CYCLES


LOOPS = '#include "kernel/tasks/loops.h"\nstatic volatile uint32_t room[16];\n'
ROWS = """\
TAU_LOOP(rows, {rows});
TAU_LOOP(cells, {cells});
for (uint32_t row = 0; row < 8; row++) {{
    TAU_ROUND(rows);
    for (uint32_t cell = 0; cell < row; cell++) {{
        TAU_ROUND(cells);
        room[cell] += row;
    }}
}}
"""
BEFORE = LOOPS + "__attribute__((noinline)) static uint32_t sum(uint32_t n) {{ {} }}\n"
ADD = "uint32_t found = 0; for (uint32_t i = 0; i < n; i++) { found += room[i]; } return found;"
AGAIN = "return n < 2 ? n : sum(room[n] + n - 1) ^ sum(n - 2);"
SUM = "room[0] = sum(room[1] + 5);"
BY_FUNCTION = 'loops = [{ function = "sum", rounds_max = 4 }]'


def cost(folder: Path, more: str = "", **source: str) -> dict[str, Any]:
    """The row of a task's cost, the most cycles of its jobs, and what they exceed."""
    found = ran(folder, task(folder, "one", more=more, **source))
    assert found["stopped"] == []
    own = max(job["own_cycles"] for job in found["jobs"] if job["number"] > 0)
    return {**found["costs"][0], "own_cycles": own, "exceeded": found["exceeded"]}


@pytest.mark.parametrize(
    ("more", "source"),
    [
        ("", {"before": LOOPS, "job": ROWS.format(rows=8, cells=28)}),
        (
            'loops = [{ name = "cells", rounds_max = 28 }]',
            {"before": LOOPS, "job": ROWS.format(rows=8, cells=0)},
        ),
        (BY_FUNCTION, {"before": BEFORE.format(ADD), "job": SUM}),
        ("", {"job": "for (uint32_t i = 0; i < 4; i++) { task->seed += i; }"}),
        ("", {"before": LOOPS, "job": ROWS.format(rows=8, cells=28) + "tau_task_wait(0);"}),
        ("", {"before": LOOPS, "job": "tau_task_wait(0);" + ROWS.format(rows=8, cells=28)}),
    ],
)
def test_loops_take_what_their_rounds_take(
    tmp_path: Path, more: str, source: dict[str, str]
) -> None:
    """Nested ones, whose inner rounds are counted from the outside, and one of a function. Jobs may
    begin at any call of the kernel."""
    found = cost(tmp_path, more, **source)
    assert found["exceeded"] == [] and found["cause"] is None
    assert found["own_cycles"] - STRETCH_CYCLES <= found["code_cycles"]
    assert found["code_cycles"] <= 1.1 * found["own_cycles"] + STRETCH_CYCLES


@pytest.mark.parametrize(
    ("more", "source", "cause"),
    [
        ("", {"before": BEFORE.format(ADD), "job": SUM}, r"a loop at sum\+0x.* \(one\.c:\d+\)"),
        ("", {"before": LOOPS, "job": ROWS.format(rows=8, cells=0)}, "the loop cells has no bound"),
        (
            "",
            {"before": LOOPS, "warm_up": "TAU_LOOP(all, 9);", "job": "TAU_ROUND(all);"},
            "the loop all goes on when a job begins",
        ),
        (
            "",
            {"before": BEFORE.format(AGAIN), "job": SUM},
            r"(recursion|a loop) at sum",
        ),
        (
            "",
            {"before": "static void (*volatile called)(void);", "job": "if (called) { called(); }"},
            "jumps to an unknown address",
        ),
        (BY_FUNCTION.replace("]", ", { function = \"sum\", rounds_max = 4 }]"),
         {"before": BEFORE.format(ADD), "job": SUM}, "loops has 2 of sum, which has 1: sum"),
        ('loops = [{ name = "none", rounds_max = 1 }]', {}, "loops names none, which no TAU_ROUND"),
        (BY_FUNCTION, {}, "loops names the function sum"),
        ("", {"job": 'if (task->seed == 1234) { __asm__ volatile(".word 0xFFFFFFFF"); }'},
         r"no instruction can be decoded at tau_task_main\+0x"),
    ],
)  # fmt: skip
def test_what_has_no_bound_is_named(
    tmp_path: Path, more: str, source: dict[str, str], cause: str
) -> None:
    """With function, file and line. The jobs run, but their response has no bound."""
    found = cost(tmp_path, more, **source)
    assert found["code_cycles"] is None and re.search(cause, found["cause"]), found["cause"]


def test_a_job_that_begins_again_is_bounded(tmp_path: Path) -> None:
    """A stopped job is followed by one that takes the way from the task's start."""
    source = {
        "before": LOOPS,
        "warm_up": ROWS.format(rows=8, cells=28),
        "job": 'if (room[15]++ % 3 == 2) { __asm__ volatile("ebreak"); }',
    }
    found = ran(tmp_path, task(tmp_path, "one", more="restarts = true", **source))
    assert found["stopped"] and found["exceeded"] == []
    own = max(job["own_cycles"] for job in found["jobs"] if job["number"] > 0)
    assert own > 200 and own - STRETCH_CYCLES <= found["costs"][0]["code_cycles"] <= 1.2 * own


def test_too_few_rounds_are_found(tmp_path: Path) -> None:
    """A job that takes longer than its code seems to is a finding."""
    source = {"before": BEFORE.format(ADD), "job": SUM}
    (row,) = cost(tmp_path, BY_FUNCTION.replace("4", "1"), **source)["exceeded"]
    assert row["figure"] == CODE_CYCLES
    with pytest.raises(TauError, match="by its code and its loops it takes"):
        refuse([row])
