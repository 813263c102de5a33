"""The bench of layouts in the TLB measures each way; times are only checked for sense.

Method: plan for a known geometry, whatever this machine has; pages are where plan and heaps have
them. One test of `make check-all` is on this machine's own geometry, where `tau tlb discover` finds
its index.
"""

import os
from pathlib import Path

import pytest

from bench.runtime import attack, colors
from bench.runtime.programs import HERE, built
from tautochrone.errors import TauError
from tautochrone.plan.file import load_any_plan
from tautochrone.tlb.geometry import Array, known_geometry, read_geometry

GEOMETRY = "zen4"
KNOWN = {"value": ["0x1", "0x2"]}


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """16 tasks on the second level of GEOMETRY."""
    return colors.planned(tmp_path, Path(GEOMETRY), "second level", 256)


def test_each_way_walks_over_pages_of_its_own(tmp_path: Path, plan: Path) -> None:
    """Those of the layout and of tasks' heaps need no set twice; all times make sense."""
    partition = load_any_plan(plan).sections["tlb"]
    layout = colors.layout_of(partition)
    program = built(tmp_path, HERE / "colors.c", "colors")
    ways = colors.ways_of(program, max(os.sched_getaffinity(0)), plan, layout)
    rows = colors.measured(ways, rounds=1)
    geometry = known_geometry(GEOMETRY)
    array = colors.last_array(geometry)
    assert array is not None
    assert {"layout", "glibc", "ours", "glibc, one arena", "colored"} <= rows.keys()
    for way, row in rows.items():
        assert len(set(row["pages"])) == colors.THREADS * colors.PAGES, way
        assert 0 < row["ticks"] <= row["median"] < 5000, way
    assert rows["layout"]["pages"] == [int(page, 16) for page in layout]
    owned = {
        page
        for task in partition.principals
        for run in task.runs_of("heap")
        for page in partition.addresses(run)
    }
    assert set(rows["colored"]["pages"]) <= owned
    for way in ("layout", "colored"):
        assert colors.crowding(geometry, array, rows[way]["pages"]) <= 2  # 7 pages in 8 sets


def test_a_geometry_of_pages_alone() -> None:
    """What discovery verified of pages is enough for a layout; an unknown index is not."""
    array = {"name": "level", "sets": {"value": 4}, "ways": {"value": {"least": 4, "most": 4}}}
    row = {"role": "data", "array": "level", "page_bytes": 4096, "rows": KNOWN}
    document = {"page_bytes": 4096, "arrays": [array], "structures": [row]}
    found = colors.pages_only(document)
    assert found is not None and found["structure"][0]["rows"] == ["0x1", "0x2"]
    document["structures"] = [{**row, "rows": {"value": "unknown"}}]
    assert colors.pages_only(document) is None


def test_an_attack_is_timed_and_judged(tmp_path: Path) -> None:
    """The three passes have times. Few walks elsewhere pass, with many in the same sets."""
    plan = attack.planned(tmp_path, Path(GEOMETRY), Array("second level", 256, 12, 9))
    found = attack.attacked(tmp_path, plan, max(os.sched_getaffinity(0)))
    assert min(found[key] for key in ("alone", "elsewhere", "same")) > 0
    assert 1 <= found["tries"] <= attack.TRIES
    assert attack.judged(100, 109, 420)["is_passed"]  # a walk has 20 ticks
    assert not attack.judged(100, 111, 420)["is_passed"]
    assert not attack.judged(100, 100, 179)["is_passed"]


@pytest.mark.slow
def test_on_this_machine(tmp_path: Path) -> None:
    """In other sets an attacker costs less than in the same, and a colored layout is not worse
    than the reference. Limits are wide: colors.py has the figures."""
    cpu = max(os.sched_getaffinity(0))
    try:
        found = colors.found_geometry(cpu, tmp_path, range(1, 3))
    except TauError as error:
        pytest.skip(error.message)
    if isinstance(found, str):
        pytest.skip(f"the index of this machine's TLB is unknown: {found}")
    geometry = read_geometry(found[0])
    array = colors.last_array(geometry)
    if array is None:
        pytest.skip("no TLB of this machine has sets that could be owned")
    facts = geometry.arrays[array]
    program = built(tmp_path, HERE / "colors.c", "colors")
    plan = colors.planned(tmp_path, found[0], facts.name, facts.sets)
    layout = colors.layout_of(load_any_plan(plan).sections["tlb"])
    ways = colors.ways_of(program, cpu, plan, layout)
    rows = colors.measured({name: ways[name] for name in ("layout", "colored")}, rounds=4)
    assert rows["colored"]["ticks"] < 1.3 * rows["layout"]["ticks"]
    attacked = attack.attacked(tmp_path, attack.planned(tmp_path, found[0], facts), cpu)
    assert attacked["elsewhere"] < attacked["same"] and attacked["same_ratio"] > 1.3
