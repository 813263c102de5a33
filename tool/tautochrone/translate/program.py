"""Reads a program's ELF file for a translation: its ABI, build id, types and functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tautochrone.errors import TauError
from tautochrone.facts import abi_format
from tautochrone.files import elf_file, input_file
from tautochrone.translate.types import SplitDwarf, TypeIndex, read_types

# (e_machine, bits) of each ABI of facts/abi.toml.
ABI_OF_MACHINE = {
    ("EM_X86_64", 64): "x86-64",
    ("EM_AARCH64", 64): "aarch64",
    ("EM_RISCV", 64): "riscv64",
    ("EM_RISCV", 32): "riscv32",
    ("EM_ARM", 32): "arm",
    ("EM_386", 32): "i386",
}
EABI_SHIFT = 24  # In e_flags of 32-bit Arm. 0 is the ABI before AAPCS.
RISCV_RVE = 8  # In e_flags: ilp32e aligns members of 8 bytes to 4.
BUILD = "compile and link it with -g, and do not strip it"
DECOMPRESS = "decompress a copy: objcopy --decompress-debug-sections"
NEEDED = (".debug_info", ".debug_abbrev")
STREAM_OF_SECTION = (".debug_str", ".debug_line", ".debug_line_str", ".debug_types")
COMPRESSED_NAMES = {f".z{name[1:]}" for name in (*NEEDED, *STREAM_OF_SECTION)}


@dataclass(frozen=True)
class Program:
    """A program as its ELF file describes it. `build_id` is empty if it has none.

    `base` is the address of its first page.
    """

    path: Path
    abi: str
    build_id: str
    types: TypeIndex
    functions: elf_file.Functions
    base: int

    @property
    def pointer_bytes(self) -> int:
        """The bytes of a pointer."""
        return abi_format.POINTER_BYTES[self.abi]

    def function_at(self, offset: int) -> str:
        """The function that a call in it returns to, by its distance from the first byte."""
        return self.functions.at(self.base + offset - 1)


def read_program(path: Path, told: Callable[[int, int], None] | None = None) -> Program:
    """Read a program with its DWARF. `told` gets the bytes of DWARF that are read, and all.

    Raises TauError, which names the file, if it is not an ELF file of a known ABI, or if its DWARF
    is missing, elsewhere, compressed in an unknown way, or damaged.
    """
    if input_file.read(path, "program", 4)[:4] != b"\x7fELF":
        raise TauError(f"{path} is not an ELF file", "name the program that the compiler wrote")
    with elf_file.opened(path, f"build it again: {BUILD}") as elf:
        try:
            abi = _abi_of(path, elf)
            _check_sections(path, elf)
            dwarf = elf.get_dwarf_info(follow_links=False)
            types = read_types(dwarf, abi_format.POINTER_BYTES[abi], told)
            functions = elf_file.functions_of(elf)
            base = elf_file.first_address_of(elf)
            build_id = elf_file.build_id_of(elf)
        except SplitDwarf as error:
            raise TauError(
                f"{path}: its types are not in it, but in {error}",
                "compile it without -gsplit-dwarf and do not run dwz on it",
            ) from error
    if not types.definitions:
        raise TauError(f"{path} has DWARF without types", BUILD)
    return Program(path, abi, build_id, types, functions, base)


def _abi_of(path: Path, elf: Any) -> str:
    """The ABI that a file's header states."""
    machine, flags = elf.header["e_machine"], elf.header["e_flags"]
    abi = ABI_OF_MACHINE.get((machine, elf.elfclass), "")
    is_old_arm = abi == "arm" and flags >> EABI_SHIFT == 0
    is_embedded = abi == "riscv32" and flags & RISCV_RVE
    if abi and not is_old_arm and not is_embedded:
        return abi
    what = f"{elf.elfclass}-bit {str(machine).removeprefix('EM_')}"
    what += " before AAPCS" if is_old_arm else " with the ABI ilp32e" if is_embedded else ""
    known = ", ".join(abi_format.POINTER_BYTES)
    raise TauError(f"{path} is for {what}", f"translation knows the ABIs {known}")


def _check_sections(path: Path, elf: Any) -> None:
    """Refuse a file whose DWARF is missing, or in a form that is not read."""
    present = {section.name: section for section in elf.iter_sections()}
    names = {name for name in present if name in (*NEEDED, *STREAM_OF_SECTION)}
    if ".gnu_debugaltlink" in present or ".debug_sup" in present:
        raise SplitDwarf("a file that was made by dwz")
    if present.keys() & COMPRESSED_NAMES:
        raise TauError(f"{path} has DWARF in compressed sections .zdebug_*", DECOMPRESS)
    if any(name.endswith(".dwo") for name in present) and ".debug_info" not in present:
        raise TauError(f"{path} is a .dwo file, a part of a program's DWARF", "name the program")
    for name in NEEDED:
        if name not in names or present[name]["sh_type"] == "SHT_NOBITS":
            is_stripped = ".symtab" not in present
            what = "is stripped" if is_stripped else "has no DWARF (debugging information)"
            raise TauError(f"{path} {what}, so its types are not known", BUILD)
    for name in names:
        section = present[name]
        if section["sh_type"] == "SHT_NOBITS":
            raise TauError(f"{path}: section {name} has no content", BUILD)
        if section.compressed and section._compression_type != "ELFCOMPRESS_ZLIB":
            raise TauError(f"{path} has DWARF that is compressed, but not with zlib", DECOMPRESS)

