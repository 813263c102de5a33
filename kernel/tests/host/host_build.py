"""Compiles kernel code for the machine that runs the tests: programs, and libraries for ctypes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
SECONDS_MAX = 300
DECODER = ("status", "huffman", "tables", "frame", "header", "vld", "idct", "color", "decode")
JPEG_FILES = tuple(f"kernel/systems/jpeg/{name}.c" for name in DECODER)
JPEG_TASKS = tuple(f"kernel/systems/jpeg/tasks/{name}.c" for name in ("vld", "idct", "cc"))
FIFO_FILES = ("kernel/base/fifo.c",)
PIPELINE_FILES = ("kernel/systems/pipeline/work.c", "kernel/systems/pipeline/tasks.c")


def build(
    made: Path,
    sources: Sequence[str | Path],
    flags: Sequence[str] = (),
    root: Path = ROOT,
    compiler: str = "gcc",
) -> Path:
    """Compile SOURCES, relative to ROOT, into MADE; headers come from ROOT too."""
    command = [compiler, "-std=c17", "-D_GNU_SOURCE", *WARNINGS, "-g", "-O1", *flags]
    command += [f"-I{root}", *(str(root / source) for source in sources), "-o", str(made)]
    environment = {name: value for name, value in os.environ.items() if name != "CPATH"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS_MAX, env=environment, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return made


def build_library(made: Path, sources: Sequence[str | Path], root: Path = ROOT) -> Path:
    """Compile SOURCES into a library that ctypes can load."""
    return build(made, sources, ["-shared", "-fPIC"], root)


def run(program: Path, *words: object, seconds_max: int = SECONDS_MAX) -> str:
    """Run PROGRAM and return its output; AssertionError with it if the program fails."""
    done = subprocess.run(
        [str(program), *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=seconds_max,
        check=False,
    )
    assert done.returncode == 0, f"{program} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def counts_of(said: str) -> dict[str, int]:
    """How often a program of fuzz_file.h got each answer."""
    lines = [line.split(" ", 1) for line in said.splitlines()]
    return {answer: int(count) for count, answer in lines}
