"""The lines of a program's and of firmwares' code are those that binutils tell.

Method: at random addresses in all functions, those of the C library included, functions and lines
are compared with addr2line's. Dropped code keeps its debugging information, at address 0. Where it
overlaps with code that runs, addr2line takes it; so this is tested apart.
"""

import random
import re
from pathlib import Path

import pytest

from tautochrone.who.symbols import told_of
from testing import firmware

PREFIXES = {"x86-64": "", "m4": "arm-none-eabi-", "rv32": "riscv64-unknown-elf-"}
PROGRAM = "strings"
NOP = "    asm volatile(\"nop\");\n"
KEPT = f"__attribute__((constructor)) void kept(void) {{\n{NOP}}}\n"
DROPPED = f"void dropped(void) {{\n{NOP * 1000}}}\n"
VECTORS_END = 0x40  # data among the functions of board.c
Found = list[tuple[str, int]]


def built(target: str, folder: Path) -> Path:
    """The program for a target, with debugging information."""
    if target == "x86-64":
        return firmware.on_host(PROGRAM, folder, "-g")
    sources = [firmware.source_of(PROGRAM)]
    if target == "rv32":
        return firmware.picolibc_firmware(sources, folder, "-g")
    return firmware.firmware(sources, folder, ["-g"])


def addresses_in(elf: Path, prefix: str) -> list[int]:
    """Odd addresses in all functions, so that the next one is an instruction's."""
    listing = firmware.run(f"{prefix}nm", "-S", elf, cwd=elf.parent)
    rows = re.findall(r"^(\w+) (\w+) [tTW] ", listing, re.M)
    spans = [(int(start, 16), int(size, 16)) for start, size in rows]
    chosen = {start + random.randrange(size) | 1 for start, size in spans for _ in range(8)}
    return sorted(each for each in chosen if each > VECTORS_END)


def told_by_addr2line(elf: Path, prefix: str, addresses: list[int]) -> dict[int, Found]:
    """Functions and lines, the innermost first; its files are wrong in DWARF 5."""
    words = (f"{prefix}addr2line", "-a", "-f", "-i", "-e", elf, *map(hex, addresses))
    parts = re.split(r"^0x(\w+)\n", firmware.run(*words, cwd=elf.parent), flags=re.M)[1:]
    found: dict[int, Found] = {}
    for address, text in zip(parts[::2], parts[1::2], strict=True):
        frames = re.findall(r"^(.+)\n.*:(\d+|\?)", text, re.M)
        found[int(address, 16)] = [(name, int(line)) for name, line in frames if line.isdigit()]
    return found


@pytest.mark.parametrize("target", PREFIXES)
def test_lines_are_those_of_addr2line(tmp_path: Path, target: str) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    random.seed(seed)
    elf, prefix = built(target, tmp_path), PREFIXES[target]
    addresses = addresses_in(elf, prefix)
    wanted = told_by_addr2line(elf, prefix, addresses)
    behind = 2 if target == "m4" else 1  # On Thumb, bit 0 of where a call returns to is set.
    frames = told_of(elf, [each + behind for each in addresses], False).frames
    found = {
        each: [(one.function, one.line) for one in frames.get(each + behind, ()) if one.line]
        for each in addresses
    }
    assert sum(map(bool, wanted.values())) > 20  # 38 to 47 on the host, by seed
    assert found == wanted


def test_dropped_code_does_not_hide_code_that_runs(tmp_path: Path) -> None:
    """Both are of one unit, and code that runs lies within the dropped code's addresses."""
    (tmp_path / "a.c").write_text(f"{KEPT}{DROPPED}int main(void) {{ return 0; }}\n")
    elf = firmware.firmware([tmp_path / "a.c"], tmp_path, ["-g"])
    listing = firmware.run("arm-none-eabi-nm", elf, cwd=tmp_path)
    (kept,) = (int(start, 16) for start in re.findall(r"^(\w+) . kept$", listing, re.M))
    assert " dropped\n" not in listing and kept < 2 * DROPPED.count(NOP)
    (frame,) = told_of(elf, [kept + 2], False).frames[kept + 2]
    assert (frame.function, frame.line) == ("kept", 2)
