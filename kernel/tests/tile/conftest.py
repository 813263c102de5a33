"""The executables of a module's tests, each built once."""

from __future__ import annotations

import pytest

from kernel.tests.tile.systems import Builder


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """A builder with a folder of its own."""
    return Builder(tmp_path_factory.mktemp("systems"))
