"""Compiles the core and its C tests in the configurations that the tests ask for.

A `Build` names one configuration; `build_program` and `shared_core` turn it into an executable or into a library that ctypes can
load. Nothing here knows what is tested.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "core" / "tests"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
COMPILE_SECONDS_MAX = 120


@dataclass(frozen=True)
class Build:
    """One configuration of the core. `sanitize` adds the address and undefined-behaviour sanitizers."""

    word_bits: int = 64
    check_level: int = 1
    junk_fill: int = 0
    optimize: str = "-O2"
    compiler: str = "gcc"
    sanitize: bool = False

    def __str__(self) -> str:
        """The configuration as a test id."""
        parts = [self.compiler, f"w{self.word_bits}", f"level{self.check_level}", self.optimize[1:]]
        if self.junk_fill:
            parts.append("junk")
        if self.sanitize:
            parts.append("sanitize")
        return "-".join(parts)

    def flags(self) -> list[str]:
        """Compiler arguments of this configuration."""
        flags = [
            "-std=c17",
            *WARNINGS,
            "-g",
            self.optimize,
            f"-I{ROOT}",
            f"-DTAU_WORD_BITS={self.word_bits}",
            f"-DTAU_CHECK_LEVEL={self.check_level}",
            f"-DTAU_JUNK_FILL={self.junk_fill}",
        ]
        if self.sanitize:
            flags += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
        return flags


class CompileError(Exception):
    """The compiler refused; the message is its output."""


def compile_c(build: Build, sources: list[Path], output: Path, extra: list[str]) -> Path:
    """Compiles SOURCES into OUTPUT and returns it. Raises CompileError with the compiler's words."""
    compiler = shutil.which(build.compiler)
    if compiler is None:
        raise CompileError(f"{build.compiler} is missing: install the Debian package of that name")
    command = [compiler, *build.flags(), *extra, "-o", str(output), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS_MAX, check=False)
    if done.returncode != 0:
        raise CompileError(f"{' '.join(command)}\n{done.stderr}")
    return output


def build_program(build: Build, name: str, folder: Path, core: Path = ROOT / "core") -> Path:
    """The executable of core/tests/NAME.c in FOLDER.

    The core's sources come from CORE, so that a mutated copy can be tested; its tests are copied along with it, as they include
    what they test by a relative path.
    """
    tests = core / "tests"
    sources = [tests / f"{name}.c", *(tests / source for source in COMPANIONS[name])]
    port = ["-DTAU_PORT_HEADER=\"core/tests/port_test.h\""]
    extra = [f"-I{core.parent}", *port]
    return compile_c(build, sources, folder / name, extra)


# What each program needs beside its own file, which includes the mechanism under test.
COMPANIONS = {
    "test_bits": [],
    "test_tlsf": ["check_tlsf.c", "port_test.c"],
    "test_budget": ["../tlsf.c", "check_tlsf.c", "check_budget.c", "port_test.c"],
    "fuzz_tlsf": ["check_tlsf.c", "port_test.c"],
    "fuzz_budget": ["../tlsf.c", "check_tlsf.c", "check_budget.c", "port_test.c"],
}


def shared_core(build: Build, folder: Path) -> Path:
    """The core as a shared library in FOLDER, for ctypes."""
    sources = sorted((ROOT / "core").glob("*.c"))
    return compile_c(build, sources, folder / f"core-{build}.so", ["-shared", "-fPIC"])


def run_program(program: Path, arguments: list[str], seconds_max: int, environment: dict[str, str]) -> str:
    """Runs PROGRAM and returns its output. Raises AssertionError with that output if it fails or takes too long."""
    command = [str(program), *arguments]
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds_max, env=environment, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise AssertionError(f"{command} took more than {seconds_max} s; its output so far: {error.stdout!r}") from error
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout
