"""The C tests of the purging heap, and what its free costs beside the conventional one."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.tests.kit.core_build import Build, build_program, run_program
from tautochrone.facts import trace_format as form
from tautochrone.replay.paging import PAGE_BYTES, page_replay
from testing.random_trace import write_events

ASSERTS = "-DTAU_ASSERT_LEVEL=2"
BUILDS = [
    Build(32, 0, 0, "-O1", "gcc", sanitize=True),
    Build(32, 1, 0, "-O1", "gcc", sanitize=True),
    Build(64, 2, 0, "-O1", "gcc", sanitize=True),
]


@pytest.mark.parametrize("build", BUILDS, ids=str)
def test_examples(build: Build, tmp_path: Path) -> None:
    """The C program's own tests pass."""
    program = build_program(build, "test_purge_heap", tmp_path, extra=(ASSERTS,))
    print(run_program(program, [], 60))


def test_a_page_of_the_block_costs_what_its_entry_costs(tmp_path: Path) -> None:
    """The table's walk: 4 instructions a page that is not mapped, 11 a page that is."""
    cost = {}
    for pages in (100, 1100):
        made = ((form.OP_MALLOC, 0, pages * PAGE_BYTES, 0), (form.OP_MALLOC, 1, 64, 0))
        events = [*made, (form.OP_FREE, 0, 0, 0)]
        trace = write_events(tmp_path / f"{pages}.tau", events)
        for is_touched in (False, True):
            found = page_replay(trace, "conventional-purging", touch_all=is_touched)
            cost[is_touched, pages] = found.calls["free"].max_instructions
    assert cost[False, 1100] - cost[False, 100] == 1000 * 4
    assert cost[True, 1100] - cost[True, 100] == 1000 * 11
