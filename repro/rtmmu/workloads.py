"""The six real programs that stand for the paper's [P0-36], recorded with `tau record --accesses`.

The paper names programs, not versions or inputs. Each of ours does what the paper says of its own;
inputs are generated, the same every time, and sized so that a recording takes seconds. What stands
for what, and why, is claims.md, P0-36.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import tautochrone
from bench.allocators.programs import three_sat
from tautochrone.console.output import note
from tautochrone.errors import TauError

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
OUT = REPOSITORY / "out" / "repro" / "rtmmu"
PACKAGE_FOLDER = str(Path(tautochrone.__file__).resolve().parents[1])
RECORD_SECONDS_MAX = 300
SATISFIABLE, UNSATISFIABLE = 10, 20  # what SAT solvers exit with


@dataclass(frozen=True)
class Program:
    """One program with its input; `paper` is the row of Table I that it stands for."""

    paper: str
    command: tuple[str, ...]
    package: str  # of Debian
    files: dict[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()  # of programs/, compiled first; the command is the last one's
    environment: dict[str, str] = field(default_factory=dict)
    statuses: tuple[int, ...] = (0,)


def transcode(milliseconds: int, size: str) -> tuple[str, ...]:
    """ffmpeg's command for a short video with sound. It does the same again: one thread, and one
    input that gives both, as ffmpeg reads several inputs with a thread each."""
    return (
        *("ffmpeg", "-nostdin", "-loglevel", "error", "-threads", "1", "-filter_threads", "1"),
        *("-f", "lavfi", "-i", f"testsrc=size={size}:rate=25[out0];sine=frequency=440[out1]"),
        *("-t", f"{milliseconds}ms"),
        *("-c:v", "mpeg4", "-c:a", "mp2", "-threads", "1", "-f", "matroska", "-y", "/dev/null"),
    )


def programs(quick: bool = False) -> dict[str, Program]:
    """Every program by its name in our table; QUICK: with inputs for a test."""
    solver = {"package": "minisat", "statuses": (SATISFIABLE, UNSATISFIABLE)}
    large = {"formula.cnf": three_sat(500 if quick else 50_000, 300, 2)}
    hard = {"formula.cnf": three_sat(100 if quick else 10_000, 330, 3)}
    network = (HERE / "programs" / "nn.php").read_text(encoding="utf-8")
    streams, different, elements = ("40", "16", "64") if quick else ("3000", "128", "512")
    counted = (streams, different, elements, "1")
    return {
        "ffmpeg": Program(
            "avconv", transcode(*((200, "64x48") if quick else (1000, "320x240"))), "ffmpeg"
        ),
        "fft": Program("FFT", ("./fft", "10" if quick else "17"), "gcc", sources=("fft.c",)),
        "mc": Program("mc", ("./mc", "sparse", *counted), "gcc", sources=("mc.c",)),
        "mc (hash table)": Program("", ("./mc", "hash", *counted), "gcc", sources=("mc.c",)),
        "minisat": Program(
            "sharpSAT", ("minisat", "-verb=0", "formula.cnf"), files=large, **solver
        ),
        "picosat": Program(
            "antom",
            ("picosat", "-n", "formula.cnf"),
            files=hard,
            **{**solver, "package": "picosat"},
        ),
        "php": Program(
            "PHP (neural net)",
            ("php", "-d", "memory_limit=-1", "nn.php", "100" if quick else "6000"),
            "php-cli",
            files={"nn.php": network},
            environment={"USE_ZEND_ALLOC": "0"},
        ),
    }


def prepare(program: Program, folder: Path) -> None:
    """Write the program's files and compile its sources in FOLDER. Raises TauError."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in program.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    for source in program.sources:
        made = folder / Path(source).stem
        command = ["gcc", "-std=c17", "-O2", "-o", str(made), str(HERE / "programs" / source)]
        done = subprocess.run([*command, "-lm"], capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise TauError(f"{source} does not compile: {done.stderr.strip()[-300:]}")
    if not program.sources and shutil.which(program.command[0]) is None:
        raise TauError(f"{program.command[0]} is missing", f"apt install {program.package}")


def trace_path(name: str, out: Path = OUT) -> Path:
    """Where a program's recording lies."""
    word = name.split()[0] if "(" not in name else name.replace(" (", "-").replace(" table)", "")
    return out / "traces" / f"{word}.tau"


def record(name: str, program: Program, out: Path = OUT) -> Path:
    """Record a program with its accesses and return the trace. Raises TauError."""
    trace = trace_path(name, out)
    folder = out / "input" / trace.stem
    trace.parent.mkdir(parents=True, exist_ok=True)
    prepare(program, folder)
    record_it = ("-m", "tautochrone", "record", "--accesses", "--force", "-o", str(trace))
    note(f"recording {name}")
    done = subprocess.run(
        [sys.executable, *record_it, "--", *program.command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": PACKAGE_FOLDER, **program.environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=RECORD_SECONDS_MAX,
    )
    if done.returncode not in program.statuses:
        trace.unlink(missing_ok=True)
        raise TauError(f"{name} failed ({done.returncode}): {done.stderr.strip()[-300:]}")
    return trace
