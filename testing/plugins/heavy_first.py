"""A plugin of pytest: files that take a minute or more start first, so that none is left for last.

With `--no-loadscope-reorder` pytest-xdist hands out files in the order of collection.
"""

import pytest

HEAVY = (
    "linux/coldcode/tests/test_smallest_kernel.py",  # builds a kernel, on both cores
    "tests/test_pages.py",
    "tests/test_size_a_heap.py",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests of these files to the front, in this order."""
    items.sort(key=lambda item: _place(item.nodeid.partition("::")[0]))


def _place(path: str) -> int:
    return HEAVY.index(path) if path in HEAVY else len(HEAVY)
