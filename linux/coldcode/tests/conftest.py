"""The fixtures of these tests: the test's kernel, and another build of it."""

import pytest

from tautochrone.coldcode.kernel import Kernel
from testing.code_kernel import build


@pytest.fixture(scope="session")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    """The test's kernel."""
    return build(tmp_path_factory.mktemp("kernel") / "kernel.elf")


@pytest.fixture(scope="session")
def other_kernel(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    """Another build: one function is longer, so that most of the code is elsewhere."""
    return build(tmp_path_factory.mktemp("kernel") / "other.elf", "-DOTHER_KERNEL")
