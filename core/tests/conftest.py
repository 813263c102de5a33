"""Makes the golden models importable and names the marker `slow`, which `make check` leaves out and `make check-all` runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


def pytest_configure(config: pytest.Config) -> None:
    """Names the marker."""
    config.addinivalue_line("markers", "slow: takes more than a few seconds; make check-all runs it, make check does not")
