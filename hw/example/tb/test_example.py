"""The example SoC: lint, and the program that it runs after reset."""

import subprocess
from pathlib import Path

import pytest

from tautochrone.tile.build import (
    LEVEL,
    MAKE_FLAGS,
    ibex_sources,
    run_with_all_it_starts,
    verilator,
)
from targets.build import link
from targets.heaps import heaps
from testing.tile import HW, ROOT

EXAMPLE = HW / "example"
SOURCES = ["hw/example/tb/programs/example.c", "targets/strings.c"]
SOURCES += heaps()["page_heap"].files
FIXED = ",.Latency0(Latency0),.Latency1(Latency1),.Latency2(Latency2)"
SECONDS_MAX = 500


def words(unit_parameters: str) -> list[str]:
    """What Verilator is told in any case."""
    folders, ibex = ibex_sources()
    # SYNTHESIS drops Ibex's message at each illegal instruction.
    switches = ["+define+SYNTHESIS", "--top-module", "tau_example"]
    switches += [f"+incdir+{folder}" for folder in folders]
    ours = ["-F", HW / "rtmmu.f", EXAMPLE / "rtl/tau_example.sv"]
    switches.append(f"+define+TAU_UNIT_PARAMETERS={unit_parameters}")
    return [*switches, *map(str, (*ibex, *ours))]


@pytest.mark.parametrize("unit_parameters", ["", FIXED], ids=["any latencies", "its latencies"])
def test_lint(unit_parameters: str) -> None:
    """Nothing is said against our files; Ibex's package has waivers for its own."""
    line = ["perl", str(verilator()), "--lint-only", "-Wall", "-Wno-fatal"]
    line += words(unit_parameters)
    done = subprocess.run(line, capture_output=True, text=True, timeout=SECONDS_MAX)
    ours = [each for each in done.stderr.splitlines() if each.startswith("%") and str(HW) in each]
    assert done.returncode == 0 and ours == [], done.stderr[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("unit_parameters", ["", FIXED], ids=["any latencies", "its latencies"])
def test_it_boots_and_its_mmu_works(unit_parameters: str, tmp_path: Path) -> None:
    """The program says so, and ends with 0."""
    elf, image, model = (tmp_path / name for name in ("example.elf", "example.hex", "model"))
    link("tile", ROOT, SOURCES, elf)
    convert = "riscv64-unknown-elf-objcopy -O verilog --verilog-data-width 4"
    convert += " --change-addresses -0x100000"
    subprocess.run([*convert.split(), str(elf), str(image)], check=True)
    line = ["perl", str(verilator()), *"--cc --exe --build -j 1 -Wno-fatal --noassert".split()]
    line += ["-Mdir", str(model), "-o", "soc", "-MAKEFLAGS", f"{MAKE_FLAGS} OPT_FAST={LEVEL}"]
    line += [f"+define+TAU_EXAMPLE_PROGRAM={image}", *words(unit_parameters)]
    line.append(str(EXAMPLE / "sim/main.cpp"))
    built = run_with_all_it_starts(line, tmp_path, SECONDS_MAX)
    assert built.returncode == 0, built.stderr[-3000:]
    done = subprocess.run([str(model / "soc")], capture_output=True, text=True, timeout=SECONDS_MAX)
    assert (done.returncode, done.stdout) == (0, "mapped, touched, unmapped\n")
