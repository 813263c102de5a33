"""A damaged ELF file is an error that names it, in every command that reads one.

Method: the tables of a made kernel are damaged, one header by hand and many from a seed, and its
functions and symbols are read.
"""

import io
import os
import random
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from tautochrone.coldcode.kernel import read_kernel
from tautochrone.coldcode.linux import must_stay
from tautochrone.errors import TauError
from tool.tests.coldcode import made_kernel
from tool.tests.commands.target_samples import damaged_elf

SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
MUTANTS = 150
# Fields of a section's header in a 64-bit ELF file: (offset, bytes).
FIELDS = {"sh_type": (4, 4), "sh_offset": (24, 8), "sh_size": (32, 8), "sh_link": (40, 4)}
FIELDS |= {"sh_entsize": (56, 8)}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a kernel."""
    kernel, _ = made_kernel.build(tmp_path_factory.mktemp("kernel"))
    return kernel.path.read_bytes()


def read(path: Path) -> None:
    """Read all that `tau coldcode` reads of a kernel."""
    must_stay.patched_while_booting(read_kernel(path))


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", [0, 0xFFFFFFF0, (1 << 64) - 1])
def test_a_broken_header_of_the_symbol_table_is_named(
    sound: bytes, tmp_path: Path, field: str, value: int
) -> None:
    elf = ELFFile(io.BytesIO(sound))
    number = elf.get_section_index(".symtab")
    offset, size = FIELDS[field]
    at = elf.header["e_shoff"] + number * elf.header["e_shentsize"] + offset
    made = bytearray(sound)
    made[at : at + size] = value.to_bytes(8, "little")[:size]
    path = tmp_path / "broken"
    path.write_bytes(made)
    with pytest.raises(TauError, match=f"{path} (is not a valid ELF file: [^'<]|has no)") as raised:
        read(path)
    assert raised.value.next_step


def test_no_damage_is_taken_for_a_bug(sound: bytes, tmp_path: Path) -> None:
    """Numbers in headers, symbols and notes are replaced."""
    print(f"seed {SEED}")
    source, path, refused = random.Random(SEED), tmp_path / "mutant", 0
    for _ in range(MUTANTS):
        path.write_bytes(damaged_elf(source, sound))
        try:
            read(path)
        except TauError as error:
            assert str(path) in error.message or "function" in error.message
            refused += 1
    assert refused > MUTANTS / 10
