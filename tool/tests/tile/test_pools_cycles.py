"""malloc and free of pools on the tile: no call takes more cycles than its bound, malloc takes it.

A program on the simulated tile fills bands of every shape, in its own memory, and measures each
call. The bound is computed from the same program, as in docs/spec/bounds.md.
"""

from pathlib import Path

from tautochrone.machine.longest_path import NEVER, UNUSED_FUNCTIONS, Code
from tautochrone.targets.build import link
from tautochrone.targets.sources import CORE_FILES
from tautochrone.tile.build import Options
from tautochrone.tile.cycle_bounds import BANK_ANSWER_CYCLES, CyclePaths
from testing.tile import ROOT, run

READING_CYCLES, CALL_CYCLES = 1, 2
MEASURE = """
    .text
    .balign 4
    .globl cycles_of
cycles_of:
    .option push
    .option norvc
    addi sp, sp, -16
    sw ra, 12(sp)
    sw a3, 8(sp)
    mv t1, a0
    mv a0, a1
    mv a1, a2
    csrr t2, mcycle
    jalr ra, 0(t1)
    csrr t3, mcycle
    lw t4, 8(sp)
    sw a0, 0(t4)
    sub a0, t3, t2
    lw ra, 12(sp)
    addi sp, sp, 16
    ret
    .option pop
"""
# Bands whose sizes and pools take every way through both lookups, with one block left in between.
MAIN = """
#include "core/pools.h"
#include "targets/tile/tile.h"
uint32_t cycles_of(uint32_t function, void *heap, uint32_t argument, uint32_t *result);
static _Alignas(8) unsigned char memory[100000];
int main(void) {
    static const struct tau_budget_class bands[] = {
        {8, 3}, {24, 2}, {40, 3}, {600, 2}, {900, 3}, {2100, 2}, {3000, 2}, {5000, 2}, {20000, 2}};
    enum { BANDS = sizeof bands / sizeof *bands };
    struct tau_pools *heap;
    uint32_t most[2] = {0, 0};
    if (tau_pools_init(&heap, memory, sizeof memory, bands, BANDS, 0) != TAU_OK)
        return 1;
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t band = 0; band < BANDS; band++)
            for (uint32_t low = 0; low < 2; low++) {
                uint32_t objects[3], status;
                const uint32_t size =
                    low && band > 0 ? bands[band - 1].size_bytes + 8 : bands[band].size_bytes;
                for (uint32_t i = 0; i < bands[band].count; i++) {
                    const uint32_t cycles =
                        cycles_of((uint32_t)tau_pools_malloc, heap, size, &objects[i]);
                    most[0] = cycles > most[0] ? cycles : most[0];
                    if (objects[i] == 0)
                        return 2;
                }
                for (uint32_t i = 0; i < bands[band].count; i++) {
                    const uint32_t cycles =
                        cycles_of((uint32_t)tau_pools_free, heap, objects[i], &status);
                    most[1] = cycles > most[1] ? cycles : most[1];
                    if (status != TAU_OK)
                        return 3;
                }
            }
    tau_tile_print_number(most[0]);
    tau_tile_print(" ");
    tau_tile_print_number(most[1]);
    return 0;
}
"""


def test_no_call_takes_more_than_its_bound(tmp_path: Path) -> None:
    """At check levels 0 and 1; the most that is seen is printed."""
    (tmp_path / "measure.S").write_text(MEASURE)
    (tmp_path / "main.c").write_text(MAIN)
    for level in (0, 1):
        sources = [*CORE_FILES["pools"], "targets/strings.c"]
        sources += [tmp_path / "main.c", tmp_path / "measure.S"]
        flags = [f"-DTAU_CHECK_LEVEL={level}"]
        elf = link("tile", ROOT, sources, tmp_path / f"pools{level}.elf", flags)
        done = run(Options(), "--program", elf)
        assert done.code == 0, (done.code, done.messages)
        code = Code(elf)
        charges = dict.fromkeys(UNUSED_FUNCTIONS["pools"], NEVER)
        paths = CyclePaths(code, BANK_ANSWER_CYCLES, charges)
        for verb, most in zip(("malloc", "free"), map(int, done.console.split()), strict=True):
            entry = code.symbols[f"tau_pools_{verb}"]
            bound = paths.from_address(entry) + paths.fetch(entry)
            seen = most - READING_CYCLES - CALL_CYCLES
            print(f"level {level} {verb}: {seen} of {bound}")
            assert seen <= bound and (seen == bound or verb == "free"), verb
