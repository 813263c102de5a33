"""The real-time MMU's units by themselves, against the naive model, with cocotb."""

from pathlib import Path

import pytest

from testing.cocotb_run import SMALL, run, simulated, unit

PARALLEL = {"Latency0": 1, "Latency1": 1, "Latency2": 2}
FIXED = [
    PARALLEL,
    {"Latency0": 1, "Latency1": 1, "Latency2": 1},
    {"Latency0": 2, "Latency1": 2, "Latency2": 4},
]
UNITS = [("pagetable", {}), ("rtmmu", {}), ("rtmmu-tlb", {}), ("rtmmu", PARALLEL)]


def test_rtmmu(tmp_path: Path) -> None:
    """Lookups, faults, order and cycles."""
    run(unit("rtmmu", **SMALL), "hw.rtmmu.tb.cocotb_rtmmu", tmp_path)


@pytest.mark.parametrize("latencies", FIXED, ids=lambda latencies: str([*latencies.values()]))
def test_fixed_latencies(latencies: dict[str, int], tmp_path: Path) -> None:
    """The same with the small lookup, on tables of its latencies."""
    run(unit("rtmmu", **SMALL, **latencies), "hw.rtmmu.tb.cocotb_rtmmu", tmp_path)


def test_rtmmu_tlb(tmp_path: Path) -> None:
    """Hits and misses while software maps and unmaps."""
    run(unit("rtmmu-tlb", **SMALL), "hw.rtmmu.tb.cocotb_tlb", tmp_path)


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
