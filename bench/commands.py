"""Where benches are and write, and the commands that several of them run."""

import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import tautochrone

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out" / "bench"
PACKAGE_FOLDER = str(Path(tautochrone.__file__).resolve().parents[1])
TAU = (sys.executable, "-m", "tautochrone")
SECONDS_MAX = 600


def first_line(*command: str) -> str:
    """The first line of a command's output; empty if it cannot run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=ROOT)
    except OSError:
        return ""
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else ""


def gcc_program(name: str) -> str:
    """The path of a program of gcc's own, such as cc1; the command gcc only starts it."""
    return first_line("gcc", f"-print-prog-name={name}") or name


def compiled(program: Path, source: Path, *flags: str) -> Path:
    """Compile a C file for this machine."""
    command = ["gcc", "-O2", f"-I{ROOT}", "-pthread", "-o", program, source, *flags, "-lm"]
    subprocess.run(command, check=True)
    return program


def cpu_seconds(
    command: Sequence[str], variables: Mapping[str, str], is_checked: bool = True
) -> float:
    """User and system time of one run, children included. The status of a solver is its answer:
    it is not checked then."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command,
        env={**os.environ, **variables},
        check=is_checked,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=SECONDS_MAX,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
