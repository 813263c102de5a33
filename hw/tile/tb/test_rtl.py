"""Our RTL read as a reviewer would: lint without waivers, names, resets, numbers said twice.

Lint is Verilator's with every warning on, of each unit in each shape and of a whole tile with each
unit. Ibex's own warnings are not ours: its package brings its waivers along.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from hw.build import HW, TILE, UNITS, Options, arguments, unit_sources, verilator

SIZES = ("PageBits=10 FrameBits=18", "PageBits=18 FrameBits=10", "PageBits=26 FrameBits=27")
SHAPES = {
    "bare": ("", *SIZES),
    "pagetable": ("", *SIZES, "SlotBits=4"),
    "rtmmu": ("", *SIZES, "SlotBits=4"),
    "rtmmu-tlb": ("", *SIZES, "SlotBits=4", "Entries=1", "Entries=3"),
    "composable": ("", *SIZES, "Entries=1", "Entries=2", "Entries=8"),
    "tlb": (
        *("", *SIZES, "OwnerBits=1", "OwnerBits=4", "Sets=1 Ways=1", "Ways=1", "Sets=1 Ways=8"),
        *("Replacement=1", "Replacement=1 Ways=2", "Replacement=2", "XorIndex=1"),
        *("Levels=2", "Levels=2 Replacement=1", "Levels=2 Replacement=2", "Levels=2 Ways2=1"),
    ),
    "probe": ("",),
}
NOT_RESET = re.compile(r"^( *)always_ff @\(posedge clk_i\) begin$", re.M)
SOURCES = sorted(path for path in HW.glob("*/rtl/*.sv"))
REGISTER = re.compile(r"localparam logic \[7:0\] (\w+)Word = 8'd(\d+);")


def warnings(words: list[str]) -> list[str]:
    """What lint says of our files."""
    done = subprocess.run(["perl", str(verilator()), *words], capture_output=True, text=True)
    ours = re.compile(rf"^%\w+[^ ]*: {re.escape(str(HW))}/.*", re.M)
    lines = [line for line in ours.findall(done.stderr) if "UNUSEDPARAM" not in line]
    broken = [line for line in done.stderr.splitlines() if line.startswith("%Error-")]
    return lines + broken


@pytest.mark.parametrize("unit", SHAPES)
def test_lint_of_units(unit: str) -> None:
    """Every parameter that widths depend on."""
    for shape in SHAPES[unit]:
        files = [path for path in unit_sources(unit) if path.parent != TILE / "rtl"]
        if unit == "bare":
            files = [TILE / "rtl/tau_bare.sv"]
        words = ["--lint-only", "-Wall", "-Wno-MULTITOP", f"-I{TILE / 'rtl'}"]
        words += ["--top-module", UNITS[unit].module, *(f"-G{each}" for each in shape.split())]
        assert warnings([*words, *map(str, files)]) == [], shape


@pytest.mark.parametrize("unit", UNITS)
def test_lint_of_the_tile(unit: str) -> None:
    """With what the build leaves on or off for Ibex put back."""
    words = [word for word in arguments(Options(unit=unit), Path("unused"))[2:]]
    left_out = {"--cc", "--exe", "--build", "--noassert", "-Wno-UNOPTFLAT", "-Wno-UNSIGNED"}
    kept = [word for word in words if word not in left_out and not word.endswith(".cpp")]
    assert warnings(["--lint-only", "-Wall", *kept]) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_each_file_is_its_module(path: Path) -> None:
    """One module or package a file, of the file's name; what has no reset says why."""
    text = path.read_text()
    assert re.findall(r"^(?:module|package) (\w+)", text, re.M) == [path.stem]
    assert text.startswith("// ")
    assert "lint_off" not in text and "always @" not in text and "always_latch" not in text
    lines = text.splitlines()
    for found in NOT_RESET.finditer(text):
        above = text[: found.start()].count("\n") - 1
        while lines[above].strip().startswith(("logic ", "assign ")):
            above -= 1
        while not re.search("No reset: ", lines[above]):
            assert lines[above].strip().startswith("//"), f"{path.name}:{above + 2} has no reset"
            above -= 1


def test_registers_are_those_of_iface() -> None:
    """What the units' modules call `…Word` is what software is told."""
    told = tomllib.loads((HW.parent / "iface/tile.toml").read_text())
    tables = {"composable": told["composable"], "tlb": told["tlb"]}
    for unit, table in tables.items():
        text = (HW / unit / f"rtl/tau_{unit}.sv").read_text()
        found = {
            re.sub("(?<!^)(?=[A-Z])", "_", name).lower(): int(number)
            for name, number in REGISTER.findall(text)
        }
        assert found == {name: table[name] for name in found} and len(found) >= 6, unit
    text = (HW / "rtmmu/rtl/tau_rtmmu_tlb.sv").read_text()
    for name, number in told["rtmmu_tlb"].items():
        assert f"{name} = forget && reg_addr_i == 8'd{number};" in text
