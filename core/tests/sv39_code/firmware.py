"""The firmware whose cold code lies in flash: builds it, and runs it on QEMU's machine virt."""

from __future__ import annotations

import functools
import shutil
import struct
import subprocess
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from elftools.elf.elffile import ELFFile

from model.code_cache import POLICIES, frames_least
from tautochrone.targets.build import LINK_FLAGS, TARGETS, compiler_of
from tautochrone.targets.sources import CORE_FILES
from testing.sv39.build import emulate

ROOT = Path(__file__).resolve().parents[3]
HERE = Path("core/tests/sv39_code")
SOURCES = [HERE / name for name in ("start.S", "cold_pages.S", "cold.c", "firmware.c")]
SOURCES += [Path(name) for name in CORE_FILES["sv39_code"]]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
MAGIC = 0x3130444C4F435441
SETTINGS_ADDRESS = 0x81000000
PAGE_BYTES = 4096
FLASH_BYTES = 32 << 20  # What QEMU wants, to the byte.
# With a chip in unit 0, QEMU starts at the chip: li t0, 1; slli t0, t0, 31; jr t0.
FLASH_START = bytes.fromhex("8542fe028282")
INTERRUPT_PAGES = 2  # Cold pages of the interrupt's handler.
PATCH_NONE = 64
USES_NONE, USES_ALL, USES_SOME = range(3)
LEAST = frames_least(1, 0)
SECONDS_MAX = 300


@dataclass(frozen=True)
class Settings:
    """Settings of the firmware: struct settings of firmware.h."""

    magic: int = MAGIC
    is_paged: bool = True
    policy: int = 0
    frames_count: int = LEAST
    frames_least: int = LEAST
    seed: int = 1
    rounds: int = 300
    age_rounds: int = 8
    uses_at_fault: int = USES_ALL
    tick_time: int = 0
    patched_page: int = PATCH_NONE
    ticks_max: int = 10_000

    def of(self, policy: str, frames_count: int) -> Settings:
        """The same with another cache."""
        return replace(self, policy=POLICIES.index(policy), frames_count=frames_count)

    def data(self) -> bytes:
        """As the firmware reads it."""
        values = astuple(self)
        return struct.pack(f"<{len(values)}Q", *values)


@dataclass(frozen=True)
class Firmware:
    """The linked program: its cold pages and its symbols."""

    elf: Path

    @functools.cached_property
    def symbols(self) -> dict[str, int]:
        """Addresses by name."""
        with self.elf.open("rb") as file:
            table = ELFFile(file).get_section_by_name(".symtab")
            return {each.name: each["st_value"] for each in table.iter_symbols()}

    @functools.cached_property
    def cold(self) -> bytes:
        """The content of all cold pages."""
        with self.elf.open("rb") as file:
            return ELFFile(file).get_section_by_name(".cold").data()

    @property
    def pages_count(self) -> int:
        """The number of cold pages."""
        return len(self.cold) // PAGE_BYTES

    def page_of(self, name: str) -> int:
        """The cold page that a symbol lies in."""
        return (self.symbols[name] - self.symbols["cold_start"]) // PAGE_BYTES


def build(made: Path, root: Path = ROOT, flags: tuple[str, ...] = ()) -> Firmware:
    """Link the firmware; ROOT may be a copy with a changed core."""
    recipe = TARGETS["sv39"]
    command = [compiler_of("sv39"), *recipe.machine, *recipe.flags, recipe.optimize, *WARNINGS]
    # Relaxation moves page-aligned code.
    command += ["-mno-relax", *flags, f"-I{root}", *LINK_FLAGS, "-Wl,--no-gc-sections"]
    command += ["-T", str(root / HERE / "firmware.ld"), "-o", str(made)]
    command += [str(root / source) for source in SOURCES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return Firmware(made)


def write_flash(path: Path, pages: bytes) -> Path:
    """A chip with the jump to the firmware, and PAGES after its first page; the rest is erased."""
    start = FLASH_START.ljust(PAGE_BYTES, b"\xff")
    path.write_bytes((start + pages).ljust(FLASH_BYTES, b"\xff"))
    return path


@dataclass(frozen=True)
class Outcome:
    """The firmware's output, by name; `is_passed` if it came to its end."""

    is_passed: bool
    said: dict[str, int]
    text: str

    def __getitem__(self, name: str) -> int:
        """A number that it said."""
        return self.said[name]


def run(
    firmware: Firmware,
    settings: Settings,
    folder: Path,
    flash: Path | None,
    plugin: str | None = None,
    seconds_max: int = SECONDS_MAX,
) -> Outcome:
    """Run the firmware until it stops, at most SECONDS_MAX. Without FLASH there is none."""
    emulator = shutil.which("qemu-system-riscv64")
    assert emulator, "qemu-system-riscv64 is missing: apt install qemu-system-misc"
    path = folder / "settings.bin"
    path.write_bytes(settings.data())
    # One instruction per nanosecond: counts and interrupts repeat.
    command = [emulator, "-machine", "virt", "-m", "64M", "-nographic", "-monitor", "none"]
    command += ["-bios", "none", "-no-reboot", "-icount", "shift=0,sleep=off"]
    command += ["-kernel", str(firmware.elf)]
    command += ["-device", f"loader,file={path},addr={SETTINGS_ADDRESS:#x},force-raw=on"]
    if flash is not None:
        command += ["-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={flash}"]
    if plugin is not None:
        command += ["-plugin", plugin]
    is_passed, printed, told = emulate(command, seconds_max)
    pairs = (line.split() for line in printed.splitlines())
    said = {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
    return Outcome(is_passed, said, told)
