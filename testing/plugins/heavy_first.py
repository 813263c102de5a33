"""A plugin of pytest: files that take a minute or more start first, so that none is left for last.

With `--no-loadscope-reorder` pytest-xdist hands out files in the order of collection.
"""

import pytest

HEAVY = (
    "linux/coldcode/tests/test_smallest_kernel.py",  # may build a kernel, on all processors
    "tests/test_pages.py",
    "core/tests/test_core.py",
    "tool/tests/compose/test_neighbors.py",
    "core/tests/page_heap/test_page_heap_programs.py",
    "tool/tests/replay/tile/test_tile.py",
    "tool/tests/tlb/test_run.py",
    "tool/tests/compose/test_compose_commands.py",
    "linux/runtime/tests/test_layout.py",
    "tool/tests/tlb/discover/test_simulated_processors.py",
    "tests/test_size_a_heap.py",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests of these files to the front, in this order."""
    items.sort(key=lambda item: _place(item.nodeid.partition("::")[0]))


def _place(path: str) -> int:
    return HEAVY.index(path) if path in HEAVY else len(HEAVY)
