"""The bench of the region tree's forms: sizes, the default's numbers, and why it is the default."""

from pathlib import Path
from typing import Any

import pytest

from bench.region_tree import run
from tautochrone.machine.longest_path import bound_instructions
from tautochrone.machine.calls import core_code


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Every form at 2^20 pages."""
    return run.measure(tmp_path_factory.mktemp("tree"), (20,))


def cost(rows: list[dict[str, Any]], form: str, isa: str, verb: str) -> int:
    """The longest path."""
    (row,) = (row for row in rows if row["form"] == form and row["isa"] == isa)
    return row["operations"][verb]["bound_instructions"]


def test_bytes(rows: list[dict[str, Any]]) -> None:
    """[P0-19]: the paper's 143,756 bytes, and the bytes of the flat forms."""
    found = {row["form"]: row["bytes"] for row in rows}
    assert found["layered"] == 143_756
    assert found["flat"] == 135_300
    assert found["flat, 64 bits"] == 133_160


@pytest.mark.parametrize("isa", ["rv32", "rv32zbb"])
def test_why_flat(rows: list[dict[str, Any]], isa: str) -> None:
    """The layered tree finds faster; on the way of malloc and free it costs far more. The core's
    tree costs what the flat form does."""
    names = {verb: f"tau_region_tree_{verb}" for verb in ("find", "split", "union")}
    core = core_code("core_tree", isa, ["core/region_tree.c"], keep=[*names.values()])
    flat = {verb: bound_instructions(core.elf, name) for verb, name in names.items()}
    assert flat == {verb: cost(rows, "flat", isa, verb) for verb in names}
    assert cost(rows, "layered", isa, "find") < flat["find"]
    assert cost(rows, "layered", isa, "split") > 1.5 * flat["split"]
    assert cost(rows, "layered", isa, "union") > 2 * flat["union"]


def test_nothing_is_seen_above_its_bound(rows: list[dict[str, Any]]) -> None:
    """The emulator's maxima and both ways to the longest path agree."""
    for row in rows:
        for verb, costs in row["operations"].items():
            for unit in ("instructions", "accesses"):
                seen = costs.get(f"max_{unit}", costs[f"bound_{unit}"])
                assert seen <= costs[f"bound_{unit}"], (row["form"], row["isa"], verb)


def test_a_wrong_tree_is_noticed(tmp_path: Path) -> None:
    """A form with a wrong answer is refused."""
    wrong = (run.HERE / "flat.c").read_text().replace("if (left != 0) {", "if (1) {")
    (tmp_path / "wrong.c").write_text(wrong)
    form = run.Form(str(tmp_path / "wrong.c"))
    with pytest.raises(RuntimeError, match="is wrong"):
        run.compare(form, 20, tmp_path)
