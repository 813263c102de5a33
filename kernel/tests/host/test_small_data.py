"""Small data of an application lie within reach of gp, whatever stacks its tasks have.

Method: 64 integers that one function uses are linked with a stack of 512 bytes or 8 KiB, whose file
is the first or the last. Each access to one of them takes one instruction, so that the four have
code of the same size. With the stack before the integers it was 25 % larger.
"""

from __future__ import annotations

import itertools
from pathlib import Path

from elftools.elf.elffile import ELFFile
from tautochrone.compose import code

ROOT = Path(__file__).resolve().parents[3]
TASK = """\
#include "kernel/base/application.h"
void run(void);
TAU_TASK(run, {stack_bytes});
TAU_APPLICATION(1, TAU_TASK_OF(run));
"""
NAMES = [f"value{number}" for number in range(64)]
WORK = "".join(f"int {name};\n" for name in NAMES)
WORK += "void run(void) {\n"
WORK += "".join(
    f"    if ({one} == {other}) {{ {one}++; }} else {{ {other} += {one}; }}\n"
    for one, other in itertools.pairwise(NAMES)
)
WORK += "}\n"
REACH_BYTES = 1 << 11  # what an offset of 12 bits reaches, on both sides


def test_a_large_stack_leaves_small_data_where_they_are(tmp_path: Path) -> None:
    base = code.base_code(ROOT, tmp_path)
    task, work = tmp_path / "task.c", tmp_path / "work.c"
    work.write_text(WORK, encoding="utf-8")
    code_bytes = set()
    for stack_bytes, is_first in itertools.product((512, 8192), (True, False)):
        task.write_text(TASK.format(stack_bytes=stack_bytes), encoding="utf-8")
        order = [task, work] if is_first else [work, task]
        with open(code.application(ROOT, "small", order, base, tmp_path), "rb") as file:
            elf = ELFFile(file)
            table = elf.get_section_by_name(".symtab").iter_symbols()
            at = {symbol.name: symbol["st_value"] for symbol in table}
            code_bytes.add(elf.get_section_by_name(".text").data_size)
        far = max(abs(at[name] - at["__global_pointer$"]) for name in NAMES)
        assert far <= REACH_BYTES, (stack_bytes, is_first)
        assert at["run_memory"] > max(at[name] for name in NAMES)
    assert len(code_bytes) == 1, code_bytes
