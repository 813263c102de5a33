"""Compiles the kernel of linux/coldcode/tests for QEMU's machine virt."""

import subprocess
from pathlib import Path

from tautochrone.coldcode.kernel import Kernel, read_kernel
from tautochrone.targets.build import TARGETS, compiler_of

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [ROOT / "linux/coldcode/tests/programs" / name for name in ("start.S", "kernel.c")]


def build(made: Path, *flags: str) -> Kernel:
    """Compile the kernel, with more flags: OTHER_KERNEL, WAITS."""
    recipe = TARGETS["sv39"]
    command = [compiler_of("sv39"), *recipe.machine, *recipe.flags, "-O1", "-Wall", "-Wextra"]
    command += [*flags, "-nostdlib", "-static", "-Wl,--no-warn-rwx-segments"]
    command += ["-T", str(ROOT / "targets" / recipe.script), *map(str, SOURCES), "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return read_kernel(made)
