"""The bounds in cycles: the charge for each instruction is exactly its time on the tile.

Random functions have one path each: what a branch does is known, and its other side ends at once.
So their longest path must be the measured number of cycles, not only above it.
"""

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from tautochrone.machine.longest_path import Code
from tautochrone.errors import TauError
from tautochrone.tile.build import Options
from tautochrone.tile.cycle_bounds import CyclePaths, answer_cycles, tile_bounds
from tautochrone.tile.systems import tile_system
from testing.tile import compiled, run

FUNCTIONS = 60
READING_CYCLES, CALL_CYCLES = 1, 2
PLAIN = (
    *("c.addi a5, 1", ".option push\n .option norvc\n addi a5, a5, 1\n .option pop"),
    *("mul a5, a2, a3", "mulh a5, a2, a3", "divu a5, a2, a3", "rem a5, a2, a3"),
    *("lw a5, 4(sp)", "sw a5, 4(sp)", "lw a5, -4(gp)", "csrr a5, mepc"),
    *("csrw mstatus, zero", "csrs mie, zero", "csrw mscratch, a5"),
    *("lw a5, 0(a0)", "sw a5, 8(a0)", "lbu a5, 3(a0)", "c.lw a5, 4(a0)"),
)
MAIN = """
#include "targets/tile/window.h"
uint32_t cycles_of(uint32_t function, uint32_t address);
extern const uint32_t functions[];
int main(void) {
    tau_window_map(3, 9, TAU_WINDOW_ALL);
    for (uint32_t i = 0; functions[i] != 0; i++) {
        tau_tile_print_number(cycles_of(functions[i], tau_window_address(3)));
        tau_tile_print(" ");
    }
    return 0;
}
"""
MEASURE = """
    .text
    .balign 4
    .globl cycles_of
cycles_of:
    .option push
    .option norvc
    addi sp, sp, -16
    sw ra, 12(sp)
    mv t1, a0
    mv a0, a1
    li a2, 1000
    li a3, 7
    csrr t2, mcycle
    jalr ra, 0(t1)
    csrr t3, mcycle
    sub a0, t3, t2
    lw ra, 12(sp)
    addi sp, sp, 16
    ret
    .option pop
"""


def function(number: int, chosen: random.Random) -> str:
    """A function with one path; ebreak is where the other sides lead, a path of no length."""
    lines = [f"path{number}:", "mv t6, ra"]
    for place in range(chosen.randrange(1, 12)):
        kind = chosen.choice(("plain", "plain", "taken", "passed", "jump", "call"))
        gap = "c.nop\n" * chosen.randrange(3)
        if kind == "plain":
            lines.append(chosen.choice(PLAIN))
        elif kind == "taken":
            lines.append(f"beq zero, zero, 1f\n c.ebreak\n {gap}1:")
        elif kind == "passed":
            lines.append(f"bne zero, zero, out{number}")
        elif kind == "jump":
            lines.append(f"j 1f\n c.ebreak\n {gap}1:")
        else:
            lines.append(f"jal leaf{number}")
    # The path to `out` is at most 6 cycles: less than what the others have before them.
    lines += ["c.nop"] * 8 + ["mv ra, t6", "ret", f"out{number}: c.ebreak"]
    lines += ["c.nop"] * chosen.randrange(3)
    lines += [f"leaf{number}:", *chosen.choices(PLAIN, k=chosen.randrange(3)), "ret"]
    return "\n ".join(lines)


def program(folder: Path, seed: int) -> Path:
    """The functions, a table of them, and a main that measures each."""
    chosen = random.Random(seed)
    functions = "\n".join(function(number, chosen) for number in range(FUNCTIONS))
    table = ", ".join(f"path{number}" for number in range(FUNCTIONS))
    source = f"{MEASURE}\n{functions}\n .section .rodata\n .balign 4\n .globl functions\n"
    (folder / "paths.S").write_text(f"{source}functions: .word {table}, 0\n")
    (folder / "main.c").write_text(MAIN)
    return compiled(folder, str(folder / "main.c"), str(folder / "paths.S"))


@pytest.mark.parametrize("name", ["tile:rtmmu", "tile:pagetable"])
def test_weights_are_what_instructions_take(tmp_path: Path, name: str) -> None:
    """Every random function takes its longest path's cycles on the tile."""
    seed = int(os.environ.get("TAU_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"TAU_TEST_SEED={seed}")
    elf, system = program(tmp_path, seed), tile_system(name)
    done = run(Options(unit=system.unit, latencies=system.latencies), "--program", elf)
    assert done.code == 0, done.messages
    measured = [int(word) for word in done.console.split()]
    assert len(measured) == FUNCTIONS
    code = Code(elf)
    paths = CyclePaths(code, answer_cycles(system))
    for number, cycles in enumerate(measured):
        entry = code.symbols[f"path{number}"]
        charged = READING_CYCLES + CALL_CYCLES + paths.fetch(entry) + paths.from_address(entry)
        assert cycles == charged, number


def test_what_has_a_bound() -> None:
    """All of ours; the conventional free loops over its pages, and other processors are unknown."""
    ours, theirs = (tile_bounds(tile_system(name)) for name in ("tile:rtmmu", "tile:pagetable"))
    assert None not in ours.values()
    assert ours["load"] == theirs["load"] == 3
    with_tlb = tile_bounds(tile_system("tile:rtmmu-tlb"))
    assert with_tlb["load"] == 3 and with_tlb["malloc"] == ours["malloc"]
    assert theirs["free"] is None and theirs["malloc"] is not None
    assert set(tile_bounds(tile_system("tile:rtmmu:fast")).values()) == {None}
    slower = tile_bounds(replace(tile_system("tile:rtmmu"), latencies=(2, 2, 4)))
    assert slower["malloc"] > ours["malloc"] and slower["fault"] == ours["fault"] + 2
    # No access to the window in it: only the stores of the stopwatch are charged as one.
    assert slower["unmap"] - ours["unmap"] <= 2 * 2


def test_loops_and_unknown_times_have_none(tmp_path: Path) -> None:
    """Refused by name, not passed over."""
    (tmp_path / "bad.S").write_text(
        ".text\n.globl main\nmain: ret\nagain: addi a0, a0, -1\n bnez a0, again\n ret\n"
        "waits: wfi\n ret\nnever: j never\n"
    )
    code = Code(compiled(tmp_path, str(tmp_path / "bad.S")))
    paths = CyclePaths(code, 3)
    with pytest.raises(TauError, match="a loop at again"):
        paths.from_address(code.symbols["again"])
    with pytest.raises(TauError, match="`wfi` takes an unknown time"):
        paths.from_address(code.symbols["waits"])
    assert paths.from_address(code.symbols["never"]) < 0
    with pytest.raises(TauError, match="nothing calls waits"):
        paths.measured("waits")
