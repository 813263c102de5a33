"""Tasks link libgcc, string functions and picolibc, and compute the right results with them.

Method: the programs that applications link too, each as a task of one system per library.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tautochrone.tlb.planning.planner import plan_partition
from tautochrone.tlb.run import Choice, run
from tautochrone.tlb.tasks import read_tasks
from tautochrone.tlb.tile.shape import parsed
from tautochrone.tlb.tile.simulation import builder

from kernel.tests.library_programs import PROGRAMS, LibraryProgram

HEAD = 'format = "tautochrone tasks"\nversion = 1\n'
TASK = """\
[[task]]
name = "{name}"
period_cycles = 50_000
phase_cycles = {phase}
program = "{name}.c"
libraries = {libraries}
heap_bytes = 0
stack_bytes = 4096
globals_bytes = 8192
code_bytes = 20480
"""
MAIN = """
#include "kernel/tasks/task.h"
void tau_task_main(struct tau_task *task) {
    (void)task;
    for (;;) {
        tau_task_wait(result());
    }
}
"""
SHAPE = parsed("16x4")
FEW = 8  # tasks in a system: the window has room for so many


def groups() -> list[dict[str, LibraryProgram]]:
    names = list(PROGRAMS)
    return [
        {name: PROGRAMS[name] for name in names[at : at + FEW]} for at in range(0, len(names), FEW)
    ]


@pytest.mark.parametrize("programs", groups(), ids=lambda programs: "+".join(programs))
def test_tasks_compute_with_libraries(
    programs: dict[str, LibraryProgram], tmp_path: Path
) -> None:
    text = HEAD
    for number, (name, program) in enumerate(programs.items()):
        (tmp_path / f"{name}.c").write_text(program.source + MAIN, encoding="utf-8")
        libraries = str(list(program.libraries)).replace("'", '"')
        text += TASK.format(name=name, phase=1000 * number, libraries=libraries)
    path = tmp_path / "tasks.toml"
    path.write_text(text, encoding="utf-8")
    tasks = read_tasks(path)
    planned = plan_partition(tasks, SHAPE.geometry(), is_uncolored=True)
    assert not planned.misfits
    folder = tmp_path / "made"
    folder.mkdir()
    found = run(tasks, planned.partition, SHAPE, Choice(60_000), builder(folder))
    assert found["stopped"] == []
    values = {job["task"]: job["value"] for job in found["jobs"]}
    assert values == {name: program.result for name, program in programs.items()}
