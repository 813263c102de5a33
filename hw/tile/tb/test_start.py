"""The start-up code leaves sp and gp where the linker put them, and reads neither before it is set.

Method: a program so small that its stack ends near gp, where the linker rewrites addresses as
distances from gp; the code before the first branch is then evaluated, with nothing known of
any register at reset.
"""

import re
import subprocess
from pathlib import Path

import capstone
import pytest
from elftools.elf.elffile import ELFFile

from tautochrone.targets.build import TARGETS
from testing.tile import HW

SOFTWARE = HW.parent / "targets/tile"
WORD = 1 << 32
SMALL_STACK_BYTES = 256
PROGRAM = "void tau_tile_trap(void) {}\nint main(void) { return 0; }\n"


def linked(folder: Path, start: str) -> Path:
    """A program of nothing with the start-up code START and a stack that ends near gp."""
    (folder / "start.S").write_text(start)
    (folder / "main.c").write_text(PROGRAM)
    recipe = TARGETS["tile"]
    line = [recipe.compiler, *recipe.machine, *recipe.flags, "-nostdlib", "start.S", "main.c"]
    line += ["-T", str(SOFTWARE / "tile.ld"), "-o", "small.elf"]
    line.append(f"-Wl,--defsym=tau_tile_stack_bytes={SMALL_STACK_BYTES}")
    subprocess.run(line, cwd=folder, check=True, capture_output=True, timeout=300)
    return folder / "small.elf"


def symbols_and_code(program: Path) -> tuple[dict[str, int], int, bytes]:
    """The program's symbols, and its code with its address."""
    with program.open("rb") as file:
        elf = ELFFile(file)
        text = elf.get_section_by_name(".text")
        table = elf.get_section_by_name(".symtab").iter_symbols()
        return {each.name: each["st_value"] for each in table}, text["sh_addr"], text.data()


def registers_after_start(program: Path) -> dict[str, int]:
    """What the code from _start on computes before its first branch.

    Raises KeyError, with the register's name, where it reads one that was not set.
    """
    symbols, address, code = symbols_and_code(program)
    mode = capstone.CS_MODE_RISCV32 | capstone.CS_MODE_RISCVC
    decoder = capstone.Cs(capstone.CS_ARCH_RISCV, mode)
    known = {"zero": 0}
    for step in decoder.disasm(code[symbols["_start"] - address :], symbols["_start"]):
        name = step.mnemonic.removeprefix("c.")
        words = step.op_str.split(", ")
        if name == "auipc":
            known[words[0]] = (step.address + (int(words[1], 0) << 12)) % WORD
        elif name in ("lui", "li"):
            known[words[0]] = (int(words[1], 0) << (12 if name == "lui" else 0)) % WORD
        elif name in ("addi", "mv"):
            added = int(words[-1], 0) if name == "addi" else 0
            source = words[1] if name == "mv" or len(words) == 3 else words[0]
            known[words[0]] = (known[source] + added) % WORD
        else:
            assert name in ("bgeu", "sw"), f"not expected before the first branch: {step}"
            return known
    raise AssertionError("no branch")


def with_first(start: str, register: str) -> str:
    """The start-up code with the address of REGISTER taken before all else."""
    pattern = rf"    la {register}, .*\n"
    (line,) = re.findall(pattern, start)
    return start.replace(line, "").replace("_start:\n", "_start:\n" + line)


def test_sp_and_gp_are_the_linkers(tmp_path: Path) -> None:
    program = linked(tmp_path, (SOFTWARE / "crt0.S").read_text())
    symbols = symbols_and_code(program)[0]
    distance = symbols["tau_tile_stack_end"] - symbols["__global_pointer$"]
    assert -2048 <= distance < 2048, "too far apart for the linker to rewrite sp's address"
    known = registers_after_start(program)
    assert known["gp"] == symbols["__global_pointer$"]
    assert known["sp"] == symbols["tau_tile_stack_end"]


@pytest.mark.parametrize("register", ["sp", "gp"])
def test_an_address_that_needs_gp_too_early_is_noticed(tmp_path: Path, register: str) -> None:
    """sp before gp, or gp itself where relaxing is allowed, is a distance from gp."""
    start = with_first((SOFTWARE / "crt0.S").read_text(), register)
    with pytest.raises(KeyError, match="gp"):
        registers_after_start(linked(tmp_path, start))
