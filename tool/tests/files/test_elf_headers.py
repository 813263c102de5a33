"""The reader of programs that start agrees with pyelftools, and damage is an error that names it.

Method: programs and libraries of this machine and of others are read by both; numbers in their
headers are replaced from a seed.
"""

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from tautochrone import native
from tautochrone.errors import TauError
from tautochrone.files import elf_headers
from tool.tests.coldcode import made_kernel
from tool.tests.commands.target_samples import damaged_elf

SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
MUTANTS = 300
# The last two name no symbol; `alloc` ends the names of others.
NAMES = ["malloc", "free", "exit", "tau_task", "alloc", "no_such_name"]
# A library of 32-bit words.
SMALL = "void *malloc(unsigned); void *tau_task(void) { return malloc(3); }"


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The files."""
    folder = tmp_path_factory.mktemp("kernel")
    kernel, _ = made_kernel.build(folder)
    small = folder / "small.so"
    command = ["arm-none-eabi-gcc", "-fPIC", "-nostdlib", "-shared", "-xc", "-", "-o", str(small)]
    subprocess.run(command, input=SMALL, text=True, check=True)
    programs = [sys.executable, shutil.which("true"), shutil.which("sh")]
    return [*map(Path, programs), native.file(native.RUN_LIBRARY), small, kernel.path]


def test_it_agrees_with_pyelftools(paths: list[Path]) -> None:
    seen: set[tuple[str, bool]] = set()
    for path in paths:
        found = elf_headers.read(path, "step", 1, NAMES)
        with open(path, "rb") as file:
            elf = ELFFile(file)
            interpreters = [one.get_interp_name() for one in elf.iter_segments("PT_INTERP")]
            sections = frozenset(one.name for one in elf.iter_sections())
            table = elf.get_section_by_name(".dynsym")
            symbols = table.iter_symbols() if table is not None else ()
            defines = {
                one.name: one["st_shndx"] != "SHN_UNDEF" for one in symbols if one.name in NAMES
            }
            assert found == elf_headers.Program(
                *(elf.header["e_machine"], elf.elfclass, "".join(interpreters)),
                *(sections, defines),
            )
        seen |= set(defines.items())
    assert {("malloc", True), ("malloc", False), ("tau_task", True)} <= seen
    assert not any(name in ("alloc", "no_such_name") for name, _ in seen)


def test_machines_have_the_names_of_pyelftools() -> None:
    assert elf_headers.machine_name(40) == "EM_ARM"
    assert elf_headers.machine_name(0xABCD) == "43981"


def test_no_damage_is_taken_for_a_bug(paths: list[Path], tmp_path: Path) -> None:
    """Numbers in headers are replaced, or the file is cut."""
    print(f"seed {SEED}")
    source, path, refused = random.Random(SEED), tmp_path / "mutant", 0
    sound = paths[1].read_bytes()
    for number in range(MUTANTS):
        made = damaged_elf(source, sound)
        path.write_bytes(made if number % 4 else made[: source.randrange(len(made))])
        try:
            elf_headers.read(path, "step", 1, NAMES)
        except TauError as error:
            assert str(path) in error.message and error.next_step == "step"
            refused += 1
    assert MUTANTS / 10 < refused < MUTANTS
