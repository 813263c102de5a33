"""Shared by all proofs: CBMC, fetched once."""

from __future__ import annotations

import pytest

from core.tests.proofs.cbmc import Cbmc, CbmcMissing, fetch


@pytest.fixture(scope="session")
def cbmc() -> Cbmc:
    """CBMC; a test that needs it fails if it cannot be had."""
    try:
        return fetch()
    except CbmcMissing as cause:
        pytest.fail(f"CBMC is missing: {cause}", pytrace=False)
