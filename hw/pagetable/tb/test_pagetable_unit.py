"""The conventional unit by itself, against the naive model, with cocotb."""

from pathlib import Path

from testing.cocotb_run import SMALL, run, unit


def test_pagetable(tmp_path: Path) -> None:
    """Lookups, faults, order and cycles."""
    run(unit("pagetable", **SMALL), "hw.pagetable.tb.cocotb_pagetable", tmp_path)
