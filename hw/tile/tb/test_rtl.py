"""Our RTL read as a reviewer would: lint without waivers, names, resets.

Lint is Verilator's with every warning on, of each unit in each shape and of a whole tile with each
unit. Ibex's own warnings are not ours: its package brings its waivers along.
"""

import re
import subprocess
from pathlib import Path

import pytest

from tautochrone.tile.build import Options, arguments, verilator
from tautochrone.tile.units import Unit, unit_sources, units
from testing.tile import HW, SOCKET

SIZES = ("PageBits=10 FrameBits=18", "PageBits=18 FrameBits=10", "PageBits=26 FrameBits=27")
NOT_RESET = re.compile(r"^( *)always_ff @\(posedge clk_i\) begin$", re.M)
SOURCES = sorted(path for path in HW.glob("*/rtl/*.sv"))


def warnings(words: list[str]) -> list[str]:
    """What lint says of our files."""
    done = subprocess.run(["perl", str(verilator()), *words], capture_output=True, text=True)
    ours = re.compile(rf"^%\w+[^ ]*: {re.escape(str(HW))}/.*", re.M)
    lines = [line for line in ours.findall(done.stderr) if "UNUSEDPARAM" not in line]
    broken = [line for line in done.stderr.splitlines() if line.startswith("%Error-")]
    return lines + broken


@pytest.mark.parametrize("unit", units().values(), ids=lambda unit: unit.name)
def test_lint_of_units(unit: Unit) -> None:
    """Every parameter that widths depend on."""
    for shape in ("", *SIZES, *unit.shapes):
        words = ["--lint-only", "-Wall", "-Wno-MULTITOP", f"-I{SOCKET}"]
        words += ["--top-module", unit.module, *(f"-G{each}" for each in shape.split())]
        assert warnings([*words, *map(str, unit_sources(unit))]) == [], shape


@pytest.mark.parametrize("unit", units())
def test_lint_of_the_tile(unit: str) -> None:
    """With what the build leaves on or off for Ibex put back."""
    words = [word for word in arguments(Options(unit=unit), Path("unused"))[2:]]
    left_out = {"--cc", "--exe", "--build", "--noassert", "-Wno-UNOPTFLAT", "-Wno-UNSIGNED"}
    kept = [word for word in words if word not in left_out and not word.endswith(".cpp")]
    assert warnings(["--lint-only", "-Wall", *kept]) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_each_file_is_its_module(path: Path) -> None:
    """One module or package per file, of the file's name; a register without reset says why."""
    text = path.read_text()
    assert re.findall(r"^(?:module|package) (\w+)", text, re.M) == [path.stem]
    assert text.startswith("// ")
    assert "lint_off" not in text and "always @" not in text and "always_latch" not in text
    lines = text.splitlines()
    for found in NOT_RESET.finditer(text):
        above = text[: found.start()].count("\n") - 1
        while lines[above].strip().startswith(("logic ", "assign ")):
            above -= 1
        while not re.search("Not? reset: ", lines[above]):
            assert lines[above].strip().startswith("//"), f"{path.name}:{above + 2} has no reset"
            above -= 1
