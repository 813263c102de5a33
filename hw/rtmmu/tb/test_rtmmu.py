"""The real-time MMU's units by themselves, against the naive model, with cocotb."""

from pathlib import Path

import pytest

from testing.cocotb_run import SMALL, run, simulated, unit

UNITS = ["pagetable", "rtmmu", "rtmmu-tlb"]


def test_rtmmu(tmp_path: Path) -> None:
    """Lookups, faults, order and cycles."""
    run(unit("rtmmu", **SMALL), "hw.rtmmu.tb.cocotb_rtmmu", tmp_path)


def test_rtmmu_tlb(tmp_path: Path) -> None:
    """Hits and misses while software maps and unmaps."""
    run(unit("rtmmu-tlb", **SMALL), "hw.rtmmu.tb.cocotb_tlb", tmp_path)


@pytest.mark.parametrize("name", UNITS)
def test_a_false_assertion_stops_the_run(name: str, tmp_path: Path) -> None:
    """An answer that nobody asked for: the simulation ends there, and says why."""
    code, log = simulated(unit(name, **SMALL), "hw.socket.tb.cocotb_false", tmp_path)
    assert code != 0, log
    assert "assertion" in log and "WasAsked failed" in log, log
    assert "went on" not in log, log
