"""The real-time MMU's units by themselves, against the naive model, with cocotb."""

from pathlib import Path
from typing import Any

import pytest

from tautochrone.tile.build import Options
from testing import tile
from testing.cocotb_run import SMALL, run, simulated, unit

PARALLEL = {"Latency0": 1, "Latency1": 1, "Latency2": 2}
FIXED = [
    PARALLEL,
    {"Latency0": 1, "Latency1": 1, "Latency2": 1},
    {"Latency0": 2, "Latency1": 2, "Latency2": 4},
    {"Latency0": 1, "Latency1": 2, "Latency2": 2},  # too different for the small lookup
]
UNITS = [("pagetable", {}), ("rtmmu", {}), ("rtmmu-tlb", {}), ("rtmmu", PARALLEL)]


def test_rtmmu(tmp_path: Path) -> None:
    """Lookups, faults, order and cycles."""
    run(unit("rtmmu", **SMALL), "hw.rtmmu.tb.cocotb_rtmmu", tmp_path)


@pytest.mark.parametrize("latencies", FIXED, ids=lambda latencies: str([*latencies.values()]))
def test_fixed_latencies(latencies: dict[str, int], tmp_path: Path) -> None:
    """The same by the lookup that these parameters select, on tables of these latencies."""
    run(unit("rtmmu", **SMALL, **latencies), "hw.rtmmu.tb.cocotb_rtmmu", tmp_path)


def test_rtmmu_tlb(tmp_path: Path) -> None:
    """Hits and misses while software maps and unmaps."""
    run(unit("rtmmu-tlb", **SMALL), "hw.rtmmu.tb.cocotb_tlb", tmp_path)


@pytest.mark.slow  # four simulators
@pytest.mark.parametrize("name", ["rtmmu", "rtmmu-tlb"])
def test_a_tile_does_the_same_in_each_cycle(name: str, tmp_path: Path) -> None:
    """Loads, stores, fetches and faults, with wait states of the memories: all counters too."""
    programs: list[tuple[list[str], Any]] = [
        (["tb/programs/faults.c", "tb/programs/accesses.S"], None),
        (["tb/programs/stress.c"], [(7, 0, 0, 0)]),
    ]
    given = tuple(f"{parameter}={cycles}" for parameter, cycles in PARALLEL.items())
    for files, commands in programs:
        program = tile.compiled(tmp_path, *files)
        for stall in (0, 90):
            words = ("--program", program, "--fill", 5, "--stall", stall)
            seen = []
            for unit_parameters in ((), given):
                options = Options(name, latencies=(1, 1, 2), unit_parameters=unit_parameters)
                done = tile.run(options, *words, commands=commands)
                assert done.code == 0, done.console + done.messages
                done.summary.pop("host")
                seen.append((done.console, done.summary, done.records()))
            assert seen[0] == seen[1]


@pytest.mark.parametrize("name, latencies", UNITS)
def test_a_false_assertion_stops_the_run(
    name: str, latencies: dict[str, int], tmp_path: Path
) -> None:
    """An answer that nobody asked for: the simulation ends there, and says why."""
    design = unit(name, **SMALL, **latencies)
    code, log = simulated(design, "hw.socket.tb.cocotb_false", tmp_path)
    assert code != 0, log
    assert "assertion Table2WasAsked" in log, log
    assert "went on" not in log, log
