"""The single-file core compiles without a warning for each target and works there.

Method: one small program uses the three heaps; on the host it runs as it is, for RV32IMC and
Cortex-M4 it is linked as a bare image and emulated. The answer of each is the number of the step
that failed.
"""

import io
import subprocess
from pathlib import Path

import pytest
from amalgamate import ARDUINO, ROOT, SOURCES, amalgamate
from elftools.elf.elffile import ELFFile
from unicorn import UC_ARCH_ARM, UC_ARCH_RISCV, UC_MODE_MCLASS, UC_MODE_RISCV32, UC_MODE_THUMB, Uc
from unicorn.arm_const import UC_ARM_REG_LR, UC_ARM_REG_R0, UC_ARM_REG_SP
from unicorn.riscv_const import UC_RISCV_REG_A0, UC_RISCV_REG_RA, UC_RISCV_REG_SP

PROGRAM = """
#include "tautochrone.h"

#define STEP(holds) do { ++step; if (!(holds)) { return step; } } while (0)

static _Alignas(16) unsigned char memory[2][8192];

int run(void);
int run(void)
{
    int step = 0;
    struct tau_tlsf *heap = tau_tlsf_init(memory[0], sizeof memory[0], 0);
    STEP(heap != NULL);
    unsigned char *object = tau_tlsf_malloc(heap, 100);
    STEP(object != NULL);
    object = tau_tlsf_realloc(heap, object, 300);
    STEP(object != NULL && tau_tlsf_usable_size(heap, object) >= 300);
    STEP(tau_tlsf_free(heap, object) == TAU_OK);
    STEP(tau_tlsf_free(heap, object) == TAU_DOUBLE_FREE);
    STEP(tau_tlsf_statistics(heap).used_bytes == 0);
    struct tau_budget *budget = NULL;
    const struct tau_budget_class classes[] = {{48, 4}, {16, 8}};
    STEP(tau_budget_init(&budget, memory[1], sizeof memory[1], classes, 2) == TAU_OK);
    STEP(tau_budget_malloc(budget, 48) != NULL);
    STEP(tau_budget_class_statistics(budget, 0).used_count == 1);
    STEP(tau_budget_malloc(budget, 2000) != NULL);
    STEP(tau_budget_statistics(budget).shared.used_bytes >= 2000);
    struct tau_pools *pools = NULL;
    const struct tau_budget_class bands[] = {{16, 1}, {100, 2}};
    STEP(tau_pools_init(&pools, memory[0], tau_pools_size(bands, 2, 0, 0), bands, 2, 0) == TAU_OK);
    STEP(tau_pools_malloc(pools, 17) != NULL && tau_pools_malloc(pools, 100) != NULL);
    STEP(tau_pools_malloc(pools, 50) == NULL);
    STEP(tau_pools_reason(pools, 50) == TAU_LIMIT_REACHED);
    return 0;
}
"""
CPP_PROGRAM = """
#include "tautochrone.h"

int main()
{
    alignas(TAU_ALIGNMENT) static unsigned char memory[8192];
    tau_budget *heap = nullptr;
    const tau_budget_class classes[] = {{48, 4}, {16, 8}};
    if (tau_budget_init(&heap, memory, sizeof memory, classes, 2) != TAU_OK) {
        return 1;
    }
    void *object = tau_budget_malloc(heap, 48);
    return object == nullptr || tau_budget_free(heap, object) != TAU_OK;
}
"""
HOST_MAIN = "int main(void) { return run(); }\n"
# What a bare image needs from its C library.
MEMORY_FUNCTIONS = """
#include <stddef.h>
void *memset(void *to, int value, size_t size);
void *memset(void *to, int value, size_t size)
{
    for (unsigned char *byte = to; size > 0; --size) { *byte++ = (unsigned char)value; }
    return to;
}
void *memmove(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size)
{
    unsigned char *target = to;
    const unsigned char *source = from;
    for (size_t i = 0; i < size; ++i) {
        size_t at = target < source ? i : size - 1 - i;
        target[at] = source[at];
    }
    return to;
}
"""
FLAGS = [
    *("-std=c17", "-O2", "-ffreestanding", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow"),
    *("-Wconversion", "-Werror"),
]
BARE = ["-nostdlib", "-fno-tree-loop-distribute-patterns", "-Wl,-e,run,-Ttext=0x10000,-n"]
TARGETS = {
    "rv32": ["riscv64-unknown-elf-gcc", "-march=rv32imc", "-mabi=ilp32"],
    "m4": ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb"],
}
HEAPS = [name for name in ARDUINO if name.endswith(".c")]
BASE, SPACE_BYTES, STOP = 0x10000, 0x100000, 0x300000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the amalgamation and the program."""
    made = tmp_path_factory.mktemp("amalgamation")
    for name, text in amalgamate(ROOT / "core").items():
        (made / name).write_text(text)
    (made / "program.c").write_text(PROGRAM)
    (made / "host.c").write_text(PROGRAM + HOST_MAIN)
    (made / "memory.c").write_text(MEMORY_FUNCTIONS)
    return made


def compiled(folder: Path, command: list[str], sources: list[str]) -> Path:
    """Compile `sources` of `folder` into one program."""
    made = folder / f"{command[0]}.elf"
    paths = [str(folder / name) for name in sources]
    whole = [*command, *paths, "-lgcc", "-o", str(made)]
    done = subprocess.run(whole, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return made


def emulated(image: Path, is_riscv: bool) -> int:
    """Run a bare image from its entry until it returns; return its result."""
    mode = UC_MODE_RISCV32 if is_riscv else UC_MODE_THUMB | UC_MODE_MCLASS
    machine = Uc(UC_ARCH_RISCV if is_riscv else UC_ARCH_ARM, mode)
    machine.mem_map(BASE, SPACE_BYTES)
    machine.mem_map(STOP, 0x1000)
    elf = ELFFile(io.BytesIO(image.read_bytes()))
    for segment in elf.iter_segments("PT_LOAD"):
        machine.mem_write(segment["p_vaddr"], segment.data())
    sp, link, answer = (
        (UC_RISCV_REG_SP, UC_RISCV_REG_RA, UC_RISCV_REG_A0)
        if is_riscv
        else (UC_ARM_REG_SP, UC_ARM_REG_LR, UC_ARM_REG_R0)
    )
    machine.reg_write(sp, BASE + SPACE_BYTES - 64)
    machine.reg_write(link, STOP | (0 if is_riscv else 1))
    machine.emu_start(elf["e_entry"] | (0 if is_riscv else 1), STOP, count=1_000_000)
    return machine.reg_read(answer)


def test_host(folder: Path) -> None:
    made = compiled(folder, ["gcc", *FLAGS], ["host.c", *HEAPS])
    assert subprocess.run([made]).returncode == 0


def test_from_cpp(folder: Path) -> None:
    """The source is C, its user C++."""
    (folder / "user.cpp").write_text(CPP_PROGRAM)
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c"]
    for command in (
        ["g++", "-std=c++17", *strict, "user.cpp"],
        ["gcc", *FLAGS, "-c", *HEAPS],
        ["gcc", "user.o", "tautochrone.o", "tautochrone_budget.o", "-o", "user"],
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert subprocess.run([folder / "user"]).returncode == 0


@pytest.mark.parametrize("target", TARGETS)
def test_target(folder: Path, target: str) -> None:
    sources = ["program.c", *HEAPS, "memory.c"]
    made = compiled(folder, [*TARGETS[target], *FLAGS, *BARE], sources)
    assert emulated(made, target == "rv32") == 0


def test_it_stands_alone(folder: Path) -> None:
    for name in ("tautochrone.h", *HEAPS):
        assert '#include "core/' not in (folder / name).read_text()


def test_nothing_is_changed_on_the_way(folder: Path) -> None:
    """Every line of the sources is there, in order, but for includes."""
    for made, name in SOURCES.items():
        wanted = [
            line
            for line in (ROOT / "core" / name).read_text().splitlines()
            if not line.startswith("#include")
        ]
        lines = iter((folder / made).read_text().splitlines())
        assert all(line in lines for line in wanted), name


@pytest.mark.parametrize("target", [*TARGETS, "host"])
def test_the_unity_file_is_every_mechanism(tmp_path: Path, target: str) -> None:
    """core/tau.c compiles without a warning and exports what the sources export one by one."""
    unity = ROOT / "core" / "tau.c"
    sources = sorted(set((ROOT / "core").glob("*.c")) - {unity})
    command = [*TARGETS.get(target, ["gcc"]), *FLAGS, f"-I{ROOT}", "-c"]
    symbols: list[set[str]] = []
    for paths, optimization in (([unity], "-O2"), (sources, "-O1")):
        found = set()
        for path in paths:
            made = tmp_path / f"{path.stem}.o"
            words = [*command, optimization, path, "-o", made]
            done = subprocess.run(words, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            elf = ELFFile(io.BytesIO(made.read_bytes()))
            table = elf.get_section_by_name(".symtab")
            found |= {
                symbol.name
                for symbol in table.iter_symbols()
                if symbol["st_info"]["bind"] == "STB_GLOBAL" and symbol["st_shndx"] != "SHN_UNDEF"
            }
        symbols.append(found)
    assert symbols[0] == symbols[1]
    assert len(symbols[0]) > len(sources)
