"""Netlists of designs in SystemVerilog, and their clock in an FPGA: pyosys and nextpnr.

Ibex is read as its package has it, but for one declaration with an initial value. That value is not
a constant, but synthesis would take it for one.
"""

import functools
import hashlib
import importlib.util
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.area.ecp5 import DEVICE, SynthesisError, cells_of, fastest_clock_mhz
from tautochrone.tile.build import ibex_sources
from tautochrone.tile.units import unit_sources, units
from testing.tile import ROOT, SOCKET, TILE

WORK = ROOT / "build" / "repro" / "composable"
RTL = Path(__file__).resolve().parent / "rtl"
INITIAL = "logic unused_scramble_inputs ="
ASSIGNED = "logic unused_scramble_inputs; assign unused_scramble_inputs ="
TARGET_MHZ = 60


@dataclass(frozen=True)
class Design:
    """A module with its parameters."""

    name: str
    module: str
    parameters: tuple[tuple[str, int], ...] = ()


def readable_core(folder: Path) -> list[Path]:
    """Ibex's files, with the declaration made into an assignment."""
    _, files = ibex_sources()
    found = []
    for path in files:
        if path.suffix != ".sv":
            continue
        if path.name == "ibex_top.sv":
            text = path.read_text(encoding="utf-8")
            if text.count(INITIAL) != 1:
                raise SynthesisError(f"{path.name} is another one: it has no `{INITIAL}`")
            path = folder / path.name
            path.write_text(text.replace(INITIAL, ASSIGNED), encoding="utf-8")
        found.append(path)
    return found


def sources(folder: Path) -> list[Path]:
    """All files, packages first."""
    unit = unit_sources(units()["composable"])
    own = sorted(RTL.glob("*.sv"))
    return [*readable_core(folder), *unit, TILE / "rtl/tau_tile_port.sv", *own]


def script(design: Design, folder: Path) -> str:
    """What Yosys does: netlist, and the number of cells."""
    folders, _ = ibex_sources()
    includes = " ".join(f"-I {path}" for path in (*folders, SOCKET))
    sets = " ".join(f"-G {name}={value}" for name, value in design.parameters)
    files = " ".join(map(str, sources(folder)))
    return "\n".join(
        (
            f"read_slang -D YOSYS {includes} --top {design.module} {sets} {files}",
            f"synth_ecp5 -top {design.module} -json {folder / design.name}.json",
            f"tee -q -o {folder / design.name}.cells.json stat -json",
        )
    )


@functools.cache
def synthesized(design: Design, folder: Path = WORK) -> dict[str, int]:
    """Make the netlist of a design and count its cells. Raises SynthesisError."""
    if importlib.util.find_spec("pyosys") is None:
        raise SynthesisError("package pyosys is missing: `make repro` installs it into .venv")
    folder.mkdir(parents=True, exist_ok=True)
    text = script(design, folder)
    program = (
        "from pyosys import libyosys\n"
        "made = libyosys.Design()\n"
        f"for line in {text.splitlines()!r}:\n"
        "    libyosys.run_pass(line, made)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    (folder / f"{design.name}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode != 0:
        raise SynthesisError(f"{design.name}: Yosys failed: {folder / design.name}.log")
    stat = json.loads((folder / f"{design.name}.cells.json").read_text(encoding="utf-8"))
    return cells_of(stat["design"]["num_cells_by_type"])


def clock_mhz(design: Design, seed: int, folder: Path = WORK) -> float:
    """Place and route the netlist of a synthesized design; its fastest clock.

    Placements are kept: a netlist with a seed is placed once.
    """
    netlist = folder / f"{design.name}.json"
    settings = f"{DEVICE}, {TARGET_MHZ} MHz, seed {seed}"
    key = hashlib.sha256(netlist.read_bytes() + settings.encode()).hexdigest()[:16]
    return fastest_clock_mhz(netlist, folder / f"{key}.report.json", TARGET_MHZ, seed)
