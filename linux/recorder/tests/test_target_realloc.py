"""A realloc in place that a target tells as an allocation and a free is one realloc [REC-16].

Method: the Zephyr recipe is taken out of core/ports/record.h and built into a firmware on a
stand-in for Zephyr's heap, whose every operation must come back; then each condition of the rule.
"""

import csv
import random
import re
import subprocess
from pathlib import Path

import pytest

from tautochrone.record import merge

from linux.recorder.tests.test_target import run_rows
from testing.recorded import Build, operations_of

ROOT = Path(__file__).parents[3]
PORTS = ROOT / "core" / "ports"
SHIM = str(PORTS / "record.c")


def recipe(title: str) -> str:
    """The code of the paragraph of record.h that starts with TITLE."""
    header = (PORTS / "record.h").read_text()
    (paragraph,) = re.findall(rf"^// {title}.*?^//$", header, re.M | re.S)
    return "".join(re.findall(r"^//     (.*\n)", paragraph, re.M))


def test_zephyrs_listeners(build: Build, tmp_path: Path) -> None:
    """The trace has the calls of k_malloc's heap, and no others."""
    seed = random.randrange(2**31)
    print(f"seed {seed}")
    (tmp_path / "recipe.h").write_text(recipe("Zephyr"))
    # Blocks so small that pairs straddle them.
    flags = [f"-I{ROOT}", f"-I{tmp_path}", SHIM, "-DTAU_RECORD_BUFFER_BYTES=128u"]
    firmware = build("zephyr", *flags)
    command = [str(firmware), str(tmp_path / "stream"), str(seed), "20000"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    made = list(csv.DictReader(done.stdout.splitlines()))
    merged = merge.merge_target(tmp_path / "stream", tmp_path / "out.tau")
    wrong = (merged.unknown_count, merged.double_free_count, merged.implied_frees)
    assert wrong == (0, 0, 0)
    object_of_slot: dict[int, str] = {}
    for (op, size, slot), expected in zip(operations_of(tmp_path / "out.tau"), made, strict=True):
        assert (op, size) == (expected["op"], int(expected["size"]))
        if op != "malloc":
            assert object_of_slot[slot] == expected["id"]
        object_of_slot[slot] = expected["id"]
    assert sum(row["op"] == "realloc" for row in made) > 1000


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
