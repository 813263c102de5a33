"""A realloc in place that a target tells as an allocation and a free is one realloc [REC-16].

Method: each condition of the rule. tests/test_zephyr.py has the firmware.
"""

from pathlib import Path

import pytest

from tautochrone.record import merge

from linux.recorder.tests.test_target import run_rows
from testing.recorded import Build, operations_of

JOINED = ["malloc 24", "realloc 40", "free 0"]
APART = ["malloc 24", "free 0", "malloc 40", "free 0", "free 0"]
FIRST = "t 1 m 100 24 "
RULE = {
    "the next row": (FIRST + "m 100 40 f 100 f 100", JOINED),
    "in the next block": (FIRST + "m 100 40 b 0 f 100 f 100", JOINED),
    "another thread elsewhere": (
        FIRST + "m 100 40 t 2 m 200 8 t 1 f 100 f 100",
        ["malloc 24", "malloc 8", "realloc 40", "free 0"],
    ),
    "two threads at once": (
        "t 1 m 100 24 m 200 32 m 100 40 t 2 m 200 48 t 1 f 100 t 2 f 200",
        ["malloc 24", "malloc 32", "realloc 40", "realloc 48"],
    ),
    "twice": (FIRST + "m 100 40 f 100 m 100 16 f 100", ["malloc 24", "realloc 40", "realloc 16"]),
    "another row of the thread": (
        FIRST + "m 100 40 m 200 8 f 100 f 100",
        ["malloc 24", "free 0", "malloc 40", "malloc 8", "free 0", "free 0"],
    ),
    "freed by another thread": (FIRST + "m 100 40 t 2 f 100 t 1 f 100", APART),
    "moved by another thread": (
        FIRST + "m 100 40 t 2 m 100 8 t 1 f 100",
        ["malloc 24", "free 0", "malloc 40", "free 0", "malloc 8", "free 0"],
    ),
    "at the end": (FIRST + "m 100 40", ["malloc 24", "free 0", "malloc 40"]),
    "no object was there": ("t 1 m 100 24 f 100 f 100", ["malloc 24", "free 0", "free 0"]),
}


@pytest.mark.parametrize("name", RULE)
def test_the_rule(build: Build, tmp_path: Path, name: str) -> None:
    rows, expected = RULE[name]
    stream = tmp_path / "stream"
    run_rows(build, stream, rows + " e 0")
    merge.merge_target(stream, tmp_path / "out.tau")
    assert [f"{op} {size}" for op, size, _ in operations_of(tmp_path / "out.tau")] == expected


def test_a_lost_block_parts_the_pair(build: Build, tmp_path: Path) -> None:
    """The lost block may have had a free of the address."""
    stream = tmp_path / "stream"
    run_rows(build, stream, FIRST + "b 0 m 100 40 b 0 m 200 8 b 0 f 100 e 0")
    blocks = stream.read_bytes().split(b"TauT")
    del blocks[3]
    stream.write_bytes(b"TauT".join(blocks))
    merged = merge.merge_target(stream, tmp_path / "out.tau")
    assert (merged.lost_blocks, merged.implied_frees) == (1, 1)
    made = [f"{op} {size}" for op, size, _ in operations_of(tmp_path / "out.tau")]
    assert made == ["malloc 24", "free 0", "malloc 40", "free 0"]
