"""Compiles the Sv39 port and its tests: for a workstation, QEMU's virt, and the emulator."""

import shutil
import subprocess
from pathlib import Path

from tautochrone.targets.build import TARGETS, link
from tautochrone.targets.sources import CORE_FILES

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
# What the numbers are of; QEMU's program has the registers of supervisor mode too.
MARCH = "-march=rv64imac"
SCRIPT_ADDRESS = 0x81000000
SECONDS_MAX = 300


def _compile(compiler: str, flags: list[str], core: Path, sources: list[str], made: Path) -> Path:
    path = shutil.which(compiler)
    if path is None:
        raise FileNotFoundError(f"{compiler} is missing: install the Debian package that has it")
    files = [str(core.parent / source) for source in (*CORE_FILES["sv39"], *sources)]
    command = [path, "-std=c17", *WARNINGS, *flags, f"-I{core.parent}", *files, "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{' '.join(command)}\n{done.stderr}")
    return made


def build_host(made: Path, core: Path = ROOT / "core", compiler: str = "gcc") -> Path:
    """The script's program for this machine, with sanitizers and all checks; CORE may be a copy."""
    sources = [f"core/tests/ports/{name}_sv39.c" for name in ("host", "script", "check")]
    flags = ["-O1", "-g", "-DTAU_ASSERT_LEVEL=2", *SANITIZERS]
    return _compile(compiler, flags, core, sources, made)


def build_checker(made: Path) -> Path:
    """The program that breaks each invariant, for this machine."""
    sources = [f"core/tests/ports/{name}_sv39.c" for name in ("checker", "check")]
    # Asserts, but not the invariants, which the program breaks.
    flags = ["-O1", "-g", "-DTAU_ASSERT_LEVEL=1", *SANITIZERS]
    return _compile("gcc", flags, ROOT / "core", sources, made)


def build_qemu(made: Path, core: Path = ROOT / "core", assert_level: int = 0) -> Path:
    """The script's program for QEMU's machine virt."""
    sources = [f"core/tests/ports/{name}_sv39.c" for name in ("qemu", "script", "check")]
    files = [core.parent / source for source in (*CORE_FILES["sv39"], *sources)]
    flags = [*WARNINGS, f"-DTAU_ASSERT_LEVEL={assert_level}", f"-I{core.parent}"]
    return link("sv39", ROOT, files, made, flags)


def build_emulated(made: Path) -> Path:
    """The port as it is measured, linked with what unmap_cost.py needs."""
    recipe = TARGETS["sv39"]
    flags = [*recipe.machine, MARCH, *recipe.flags, recipe.optimize, "-nostdlib"]
    layout = ["-Wl,-Ttext=0x10000", "-Wl,-e,0"]
    sources = ["core/tests/ports/measure_sv39.c"]
    return _compile(recipe.compiler, flags + layout, ROOT / "core", sources, made)


def emulate(command: list[str], seconds_max: int) -> tuple[bool, str, str]:
    """Whether an emulator's program ended well in time, its output, and all messages."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds_max,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        return False, "", f"more than {seconds_max} s\n{error.stdout!r}"
    return done.returncode == 0, done.stdout, done.stdout + done.stderr


def _run(command: list[str], seconds_max: int) -> tuple[bool, str]:
    is_done, printed, said = emulate(command, seconds_max)
    return is_done and printed.startswith("ok:"), said


def run_checker(program: Path) -> tuple[bool, str]:
    """Whether everything broken was found, and the messages."""
    return _run([str(program)], SECONDS_MAX)


def run_host(program: Path, script: Path, seconds_max: int = SECONDS_MAX) -> tuple[bool, str]:
    """Carry a script out here: whether all was as expected, and the messages.

    A program that hangs counts as failed.
    """
    return _run([str(program), str(script)], seconds_max)


def run_qemu(
    program: Path, script: Path, seconds_max: int = SECONDS_MAX, counted: bool = False
) -> tuple[bool, str]:
    """The same on QEMU. `counted` makes its instruction counter exact, and the run slower."""
    emulator = shutil.which("qemu-system-riscv64")
    if emulator is None:
        raise FileNotFoundError("qemu-system-riscv64 is missing: apt install qemu-system-misc")
    loader = f"loader,file={script},addr={SCRIPT_ADDRESS:#x},force-raw=on"
    command = [emulator, "-machine", "virt", "-m", "512M", "-nographic", "-monitor", "none"]
    command += ["-bios", "none", "-no-reboot", "-kernel", str(program), "-device", loader]
    return _run(command + (["-icount", "shift=0"] if counted else []), seconds_max)
