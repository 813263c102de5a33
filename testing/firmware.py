"""Firmware for a Cortex-M4 in QEMU: built, run and recorded as the tutorial on its heap says.

With picolibc it is for RV32IMAC.

PROGRAMS are pointer-rich programs of tests/firmware/programs. The same source also builds for the
host and for 32-bit Arm Linux. Each takes a seed and prints a checksum and its failed allocations.
"""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tautochrone.convert.importing import Imported, import_file
from tautochrone.trace.file import OPS
from testing.recorded import events_of

ROOT = Path(__file__).resolve().parent.parent
FIRMWARE = ROOT / "tests" / "firmware"
PORTS = ROOT / "core" / "ports"
RECORDER = PORTS / "record_wrap.c"
SINGLE_THREAD = "-DTAU_SINGLE_THREAD"  # for core/ports/newlib/heap.c
WRAPS = f"@{PORTS / 'record_wrap.flags'}"
CORE = [ROOT / "core" / name for name in ("tlsf.c", "budget.c", "pools.c")]
HEAP = [PORTS / "newlib" / "heap.c", *CORE]
CAPTURE = "capture.bin"
SOURCES = sorted((FIRMWARE / "programs").glob("*.c*"))
PROGRAMS = tuple(path.stem for path in SOURCES)

LANGUAGES = {".c": ("gcc", "-std=gnu17"), ".cpp": ("g++", "-std=gnu++17")}
STRICT = ("-Wall", "-Wextra", "-Werror")
CORTEX_M4 = ("-mcpu=cortex-m4", "-mthumb")
SECTIONS = ("-ffunction-sections", "-fdata-sections")
# rdimon: files and exit through the debugger, which is QEMU here.
LIBRARIES = {
    "nano": ("--specs=nano.specs", "--specs=rdimon.specs"),
    "newlib": ("--specs=rdimon.specs",),
}
QEMU_ARM = (
    *("qemu-system-arm", "-M", "mps2-an386"),
    *("-display", "none", "-monitor", "none", "-serial", "none"),
)
# Instructions are its time, so that interrupts come at the same ones in each run.
QEMU_COUNTING = (*QEMU_ARM, "-icount", "shift=5,sleep=off")
PICOLIBC = (
    *("riscv64-unknown-elf-gcc", "-march=rv32imac", "-mabi=ilp32", "--specs=picolibc.specs"),
    *("--oslib=semihost", "--crt0=semihost"),
)
PICOLIBC_MEMORY = ("flash=0x80000000", "flash_size=0x200000", "ram=0x80200000", "ram_size=0x200000")
QEMU_RISCV = (
    *("qemu-system-riscv32", "-M", "virt", "-bios", "none", "-display", "none"),
    *("-monitor", "none", "-serial", "none"),
)


@dataclass(frozen=True)
class Printed:
    """What a program says about its run."""

    checksum: str
    failed: int


def run(*words: str | Path, cwd: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a command that must succeed within two minutes; return its output."""
    command = ["timeout", "120", *map(str, words)]
    env = {**os.environ, **(environment or {})}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def source_of(program: str) -> Path:
    """The source of one of PROGRAMS."""
    (source,) = (path for path in SOURCES if path.stem == program)
    return source


def objects(
    sources: Sequence[Path], folder: Path, flags: Sequence[str | Path] = (), prefix: str = ""
) -> list[Path]:
    """Compile each source by itself, C and C++, by the compilers with PREFIX."""
    made = []
    for source in sources:
        compiler, standard = LANGUAGES[source.suffix]
        out = folder / f"{source.stem}.o"
        compile_it = (prefix + compiler, standard, *STRICT, *flags, "-c", source, "-o", out)
        run(*compile_it, cwd=folder)
        made.append(out)
    return made


def firmware(
    sources: Sequence[Path],
    folder: Path,
    flags: Sequence[str | Path] = (),
    library: str = "nano",
    optimize: str = "-Os",
) -> Path:
    """Build a firmware of SOURCES for a Cortex-M4 with newlib; return the ELF file.

    FLAGS go to both compiler and linker.
    """
    common = (*CORTEX_M4, optimize, *SECTIONS, *LIBRARIES[library], f"-I{folder}")
    common += (SINGLE_THREAD, *flags)
    made = objects([*sources, FIRMWARE / "board.c"], folder, common, "arm-none-eabi-")
    is_cpp = any(source.suffix == ".cpp" for source in sources)
    linker = "arm-none-eabi-g++" if is_cpp else "arm-none-eabi-gcc"
    link = ["-Wl,--gc-sections", "-T", FIRMWARE / "board.ld", "-o", "firmware.elf"]
    run(linker, *common, *made, *link, cwd=folder)
    return folder / "firmware.elf"


def picolibc_firmware(sources: Sequence[Path], folder: Path, *flags: str | Path) -> Path:
    """Build a firmware of SOURCES in C for RV32IMAC with picolibc; return the ELF file."""
    memory = [f"-Wl,--defsym=__{word}" for word in PICOLIBC_MEMORY]
    common = (*PICOLIBC, "-Os", "-Wl,--gc-sections", *SECTIONS, *STRICT, SINGLE_THREAD, *flags)
    run(*common, *sources, *memory, "-o", "firmware.elf", cwd=folder)
    return folder / "firmware.elf"


def emulate(elf: Path, *words: object, machine: Sequence[str] = QEMU_ARM) -> str:
    """Run a firmware in QEMU, in its folder, with these arguments; return its output."""
    arguments = ",".join(f"arg={word}" for word in (elf.stem, *words))
    semihosting = ("-semihosting-config", f"enable=on,target=native,{arguments}")
    return run(*machine, *semihosting, "-kernel", elf, cwd=elf.parent)


def printed(text: str) -> Printed:
    """Read the line that one of PROGRAMS prints."""
    found = re.fullmatch(r"checksum ([0-9a-f]{8}) failed (\d+)\n", text)
    assert found, text
    return Printed(found[1], int(found[2]))


def on_host(program: str, folder: Path, *flags: str) -> Path:
    """Build a program for this machine; return the executable."""
    source = source_of(program)
    compiler, standard = LANGUAGES[source.suffix]
    out = folder / program
    run(compiler, standard, *STRICT, "-Os", *flags, source, "-o", out, cwd=folder)
    return out


def recorded_firmware(program: str, folder: Path, library: str = "nano") -> Path:
    """Build one of PROGRAMS as a firmware that records itself."""
    capture = (f'-DTAU_RECORD_CAPTURE="{CAPTURE}"', f"-I{ROOT}", WRAPS)
    return firmware([source_of(program), RECORDER], folder, capture, library)


def record(elf: Path, trace: Path, *words: object) -> tuple[Printed, Imported]:
    """Run a firmware that records itself, and import its capture to TRACE."""
    said = printed(emulate(elf, *words))
    return said, import_file(elf.parent / CAPTURE, trace, force=True)


def calls_of(trace: Path) -> list[tuple[str, int, int]]:
    """Operation, size and binary logarithm of the alignment of all events of a trace."""
    rows = events_of(trace)[["op", "size_bytes", "align_log2"]].tolist()
    return [(OPS[op], size, align) for op, size, align in rows]
