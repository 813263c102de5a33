"""A plugin of pytest: files that take half a minute or more start first; none is left for last.

With `--no-loadscope-reorder` pytest-xdist hands out files in the order of collection.
"""

import pytest

HEAVY = (
    "linux/coldcode/tests/test_smallest_kernel.py",  # may build a kernel, on all processors
    "core/tests/test_mechanisms.py",
    "tests/test_pages.py",
    "tool/tests/commands/test_command_fuzzer.py",
    "tool/tests/tile/test_tile.py",
    "tool/tests/compose/test_compose_commands.py",
    "tool/tests/plan/test_pages.py",
    "tool/tests/console/test_terminal.py",
    "tool/tests/tlb/test_run.py",
    "tool/tests/verify/test_verify.py",
    "tool/tests/tlb/test_planner.py",
    "tool/tests/tlb/discover/test_simulated_processors.py",
    "bench/runtime/test_colors_bench.py",
    "tool/tests/compose/test_leaks.py",
    "linux/recorder/tests/test_machines.py",
    "core/tests/test_names.py",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests of these files to the front, in this order."""
    items.sort(key=lambda item: _place(item.nodeid.partition("::")[0]))


def _place(path: str) -> int:
    return HEAVY.index(path) if path in HEAVY else len(HEAVY)
