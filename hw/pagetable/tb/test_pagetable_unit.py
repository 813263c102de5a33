"""The conventional unit by itself, against the naive model, with cocotb."""

from __future__ import annotations

from pathlib import Path

from hw.rtmmu.tb.simulate import run


def test_pagetable(tmp_path: Path) -> None:
    """Lookups, faults, order and cycles."""
    run("tau_pagetable", "hw.pagetable.tb.cocotb_pagetable", tmp_path)
