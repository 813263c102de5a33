"""Build a unit of the MMU socket alone with Verilator, and run cocotb tests on it.

A model is built once for each combination of sources, parameters and tools, under build/units/ of
the repository. The latencies of the table memories are the test's, so they need no build.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.metadata
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from cocotb_tools.runner import get_results, get_runner

from hw.build import search_path

ROOT = Path(__file__).resolve().parents[3]
CACHE = ROOT / "build" / "units"
INCLUDES = ROOT / "hw" / "tile" / "rtl"
PACKAGES = ("verilator", "cocotb")
LOOKUP = "hw/rtmmu/rtl/tau_rtmmu_lookup.sv"
SOURCES = {
    "tau_pagetable": ["hw/pagetable/rtl/tau_pagetable.sv"],
    "tau_rtmmu": [LOOKUP, "hw/rtmmu/rtl/tau_rtmmu.sv"],
    "tau_rtmmu_tlb": [LOOKUP, "hw/rtmmu/rtl/tau_rtmmu_tlb.sv"],
}
SIZES = {"PageBits": 6, "FrameBits": 12, "SlotBits": 3}
RUN_SECONDS_MAX = 300


@contextlib.contextmanager
def environment(**values: str) -> Iterator[None]:
    """Set variables of this process for a while: cocotb's runner passes on no others."""
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def built(top: str, **sizes: int) -> Path:
    """The folder of the model of module TOP with parameters SIZES, building it if need be."""
    sources = [ROOT / source for source in SOURCES[top]]
    digest = hashlib.sha256(json.dumps(sizes, sort_keys=True).encode())
    for package in PACKAGES:
        digest.update(f"{package}={importlib.metadata.version(package)};".encode())
    for path in (*sources, *sorted(INCLUDES.glob("*.svh"))):
        digest.update(path.read_bytes())
    folder = CACHE / f"{top}-{digest.hexdigest()[:16]}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"{folder.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / "is-built").exists():
            return folder
        # The package's makefile is not configured: see hw/build.py.
        make = "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1 OPT_GLOBAL=-O0"
        with environment(PATH=search_path(), MAKEFLAGS=make):
            get_runner("verilator").build(
                sources=sources,
                includes=[INCLUDES],
                hdl_toplevel=top,
                parameters=sizes,
                build_dir=folder,
                build_args=["-Wall"],
                log_file=str(CACHE / f"{folder.name}.log"),
            )
        (folder / "is-built").touch()
    return folder


def run(top: str, tests: str, folder: Path, **values: str) -> None:
    """Run the cocotb tests of module TESTS on TOP; FOLDER takes what they leave.

    VALUES are environment variables for them. Raises AssertionError with the log's end if one
    fails or the simulation does not end as it should.
    """
    code, log = simulated(top, tests, folder, **values)
    results = folder / "results.xml"
    count, failed = get_results(results) if results.exists() else (0, 0)
    assert code == 0 and count > 0 and failed == 0, f"{failed} of {count} failed\n{log[-6000:]}"


def simulated(top: str, tests: str, folder: Path, **values: str) -> tuple[int, str]:
    """Run as `run` does; return the simulator's exit code and all that it printed."""
    model = built(top, **SIZES)
    shown = io.StringIO()
    with environment(
        PYTHONPATH=os.pathsep.join([str(ROOT), *sys.path]), COCOTB_ANSI_OUTPUT="0", **values
    ):
        runner = get_runner("verilator")
        log = folder / "simulation.log"
        code = 0
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
            try:
                runner.test(
                    test_module=tests,
                    hdl_toplevel=top,
                    hdl_toplevel_lang="verilog",
                    build_dir=model,
                    test_dir=folder,
                    results_xml=str(folder / "results.xml"),
                    log_file=str(log),
                    timescale=None,
                )
            except (SystemExit, RuntimeError, subprocess.CalledProcessError) as error:
                code = 1
                shown.write(f"{type(error).__name__}: {error}\n")
    return code, (log.read_text() if log.exists() else "") + shown.getvalue()
