"""Costs of the region tree's operations at 2^20 pages."""

from __future__ import annotations

from pathlib import Path

from core.tests.kit.core_build import CORE
from core.tests.kit.counted import Counted, within_bounds
from model.region_tree import size_bytes
from tautochrone.machine.calls import Machine, core_code

PAGES_LOG2 = 20
OPERATIONS = ("find", "next", "is_start", "split", "union")
FIND_MAX = {"rv32": 120, "rv32zbb": 60}
GOLDEN = Path(__file__).with_name("region_tree_golden.json")


def every_way(counted: Counted) -> None:
    """A region that starts at PAGE, for pages at borders of words of every level."""
    machine = counted.machine
    needed, start = size_bytes(PAGES_LOG2), machine.reserve(4)
    assert counted.call("init", machine.reserve(needed), needed, PAGES_LOG2) == "OK"
    last = 2**PAGES_LOG2 - 1
    for page in (1, 31, 32, 1023, 1024, 32767, 32768, 65535, 700_001, last):
        for asked in (0, page - 1, page, last):
            assert counted.result("find", asked) == 0
            counted.result("split", page)
            assert counted.result("find", asked) == (page if asked >= page else 0)
            assert counted.result("next", asked, start) == (asked < page)
            assert counted.result("is_start", asked) == (asked in (0, page))
            counted.result("union", page)
            counted.result("next", asked, start)


def costs(isa: str) -> dict[str, dict[str, int]]:
    """The longest path of each operation, and its cost in the worst of many states."""
    keep = [f"tau_region_tree_{verb}" for verb in (*OPERATIONS, "init")]
    image = core_code("region_tree", isa, ["core/region_tree.c"], keep=keep)
    with Machine(image) as machine:
        counted = Counted(machine, "region_tree", 8)
        every_way(counted)
    found = counted.costs(image.elf, OPERATIONS)
    assert within_bounds(found)
    assert found["find"]["bound_instructions"] <= FIND_MAX[isa]
    return found


def documented(golden: dict) -> None:
    """The header states the pinned bounds."""
    header = " ".join((CORE / "region_tree.h").read_text().replace("//", " ").split())
    for isa, sentence in (("rv32", "at most {}"), ("rv32zbb", "{} with zbb")):
        for verb in OPERATIONS:
            stated = sentence.format(golden[isa][verb]["bound_instructions"])
            before = header[: header.index(f" tau_region_tree_{verb}(")]
            assert stated in before.rsplit(");", 1)[1].lower(), f"{verb}: {stated}"
