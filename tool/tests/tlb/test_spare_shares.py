"""Shares that nobody needs, and what the plan says of the price of colors.

Method: tasks whose pages are more than one set holds, on small geometries; the planner alone.
"""

import json
from pathlib import Path

import pytest

from tautochrone.tlb.geometry import known_geometry
from tautochrone.tlb.planning.planner import Planned, crowded_entries, plan_partition, price, told
from tautochrone.tlb.tile.shape import geometry_or_shape, parsed
from testing.command import tau_done
from tool.tests.tlb.task_files import KERNEL, PAGE, task, task_set

ISOLATED = 'mode = "isolated"'
SHAPES = [
    (shape, policy)
    for shape in ("16x4", "8x2", "16x4+128x4", "16x4:xor", "16x4+128x4:xor")
    for policy in ("lru", "plru", "random")
]


def planned(folder: Path, *tables: str, shape: str = "16x4", is_compared: bool = False) -> Planned:
    geometry = parsed(shape).geometry()
    found = plan_partition(task_set(folder, *tables), geometry, is_compared=is_compared)
    assert not found.misfits, found.misfits
    return found


def sets(found: Planned) -> dict[str, int]:
    """How many sets of the first array each has."""
    return {each.name: len(each.sets[0]) for each in found.partition.principals}


def test_free_shares_go_to_isolated_tasks_by_need(tmp_path: Path) -> None:
    """The one of 12 pages gets sets until it fits, those that fit get none; nobody loses any."""
    large = task("large", f"heap_bytes = {12 * PAGE}", ISOLATED)
    found = planned(tmp_path, KERNEL, task("small"), large)
    assert sets(found) == {"small": 1, "large": 4, "kernel": 1}
    assert crowded_entries(found.partition) == 0
    assert found.shares_free == 16 - 6


def test_equals_get_alike_when_there_is_too_little(tmp_path: Path) -> None:
    tasks = [task(f"t{number}", f"heap_bytes = {40 * PAGE}", ISOLATED) for number in range(4)]
    counts = sets(planned(tmp_path, *tasks)).values()
    assert sum(counts) >= 15 and max(counts) - min(counts) <= 2


def test_sets_that_the_user_gave_stay(tmp_path: Path) -> None:
    more = f'{ISOLATED}\nsets = [{{ array = "data", count = 1 }}]'
    found = planned(tmp_path, task("large", f"heap_bytes = {12 * PAGE}", more))
    assert sets(found) == {"large": 1} and found.shares_free == 15


@pytest.mark.parametrize(("number", "shape"), [(4, "16x4"), (8, "64x4"), (15, "128x4")])
def test_the_plan_says_when_colors_buy_nothing(tmp_path: Path, number: int, shape: str) -> None:
    tables = [task(f"t{each}") for each in range(number)]
    found = planned(tmp_path, KERNEL, *tables, shape=shape, is_compared=True)
    assert found.uncolored is not None and crowded_entries(found.uncolored) == 0
    lines = told(price(found.partition, found.uncolored))
    assert lines[0].startswith("price of the colors: windows of ")
    assert lines[1].startswith("colors buy nothing while all keep to these pages")


def test_the_plan_says_what_colors_buy(tmp_path: Path) -> None:
    """15 tasks crowd sets of 16 x 4 without colors."""
    found = planned(tmp_path, *(task(f"t{each}") for each in range(15)), is_compared=True)
    assert found.uncolored is not None
    before = crowded_entries(found.uncolored)
    assert before > 0
    (_, line) = told(price(found.partition, found.uncolored))
    assert line == f"promise: 0 entries share sets that do not hold them; {before:,} without colors"


def test_the_plan_says_when_colors_cost_misses(tmp_path: Path) -> None:
    """A task that fits all sets, but not those that the user gives it."""
    more = f'{ISOLATED}\nsets = [{{ array = "data", count = 1 }}]'
    large = task("large", f"heap_bytes = {12 * PAGE}", more)
    found = planned(tmp_path, large, is_compared=True)
    assert found.uncolored is not None
    last = told(price(found.partition, found.uncolored))[-1]
    assert last.startswith("colors cost misses here: 14 entries")


def test_equal_counts_of_crowded_entries_are_not_a_cost() -> None:
    """The same price with and without colors; one entry more with them is a cost."""
    same = {"address_space_bytes": 4096, "page_table_bytes": 4096, "crowded_entries": 5}
    (_, line) = told({"colored": same, "uncolored": same})
    assert line.startswith("colors neither cost nor save misses here: 5 entries")
    (_, line) = told({"colored": same | {"crowded_entries": 6}, "uncolored": same})
    assert line.startswith("colors cost misses here: 6 entries") and "and 5 without" in line


@pytest.mark.parametrize(("shape", "policy"), SHAPES)
def test_the_plan_knows_each_shape_of_the_run(shape: str, policy: str) -> None:
    assert geometry_or_shape(shape, policy) == parsed(shape, policy).geometry()


def test_known_geometries_keep_their_names() -> None:
    assert geometry_or_shape("tile-16x4", None) == known_geometry("tile-16x4")
    assert known_geometry("tile-16x4").digest() == geometry_or_shape("16x4", "lru").digest()


def test_the_command_plans_a_shape_with_a_policy(tmp_path: Path) -> None:
    """The result has the price, and the part that was not searched. The plan can be read back."""
    task_set(tmp_path, task("a"))
    words = ["plan", "tasks.toml", "--geometry", "4x2:xor", "--policy", "plru", "-o", "plan.toml"]
    done = tau_done("tlb", *words, "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert document["price"]["colored"]["crowded_entries"] == 0
    assert any("tau tlb run" in each for each in document["not_looked_at"])
    assert "4x2:xor --policy plru" in (tmp_path / "plan.toml").read_text()
