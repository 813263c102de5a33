"""Objects on the tile hold what the replay wrote to them, and if they do not, that is noticed.

At assert level 2 the replay's program writes words from which their owner is known and looks at
them again (targets/programs/replay/contents.h). Each sabotage is a small wrong change of code that
maps pages, moves or clears; the simulation must end and report it.
"""

from pathlib import Path

import pytest

from tautochrone.errors import TauError
from tautochrone.replay import tile
from tautochrone.replay.paging import PAGE_BYTES
from tautochrone.tile import systems as tile_systems
from testing.mutants import Mutant
from testing.paging_reference import events_with_touches
from testing.random_trace import write_events

HEAP_BYTES = 2048 * PAGE_BYTES
LIMIT = {"heap_bytes": HEAP_BYTES, "cycles_max": 40_000_000}
RTMMU, PAGETABLE = "tile:rtmmu", "tile:pagetable"
HELD = "an object does not hold what was written to it"
MAPPED = "a page that objects are in is not mapped"
# The defect, the system, the file, old text, new text, the message.
SABOTAGES = (
    (
        "two pages on one frame",
        RTMMU,
        "core/private/pages/validity_inline.h",
        "frame | (top & TAU_RIGHTS)",
        "(frame & ~1u) | (top & TAU_RIGHTS)",
        HELD,
    ),
    (
        "two pages on one frame",
        PAGETABLE,
        "peers/conventional/pagetable_inline.h",
        "= frame | rights;",
        "= (frame & ~1u) | rights;",
        HELD,
    ),
    (
        "another page is unmapped",
        RTMMU,
        "targets/programs/replay/replay.c",
        "    const enum tau_status status = system_free(object);\n",
        "    system_space.validity.data[page_of((uintptr_t)object).number - 1] ^= 1;\n"
        "    const enum tau_status status = system_free(object);\n",
        HELD,
    ),
    (
        "a page is lost",
        PAGETABLE,
        "targets/programs/replay/replay.c",
        "    const enum tau_status status = system_free(object);\n",
        "    system_table.entries[page_of((uintptr_t)object).number - 1] = 0;\n"
        "    const enum tau_status status = system_free(object);\n",
        MAPPED,
    ),
    (
        "a move copies the wrong words",
        RTMMU,
        "targets/programs/replay/replay.c",
        "((volatile uint32_t *)to)[i] = from[i];",
        "((volatile uint32_t *)to)[i] = from[i ^ 4];",
        HELD,
    ),
    (
        "calloc leaves the last word",
        RTMMU,
        "targets/programs/replay/replay.c",
        "        words[i] = 0;\n",
        "        words[i] = i == 7;\n",
        HELD,
    ),
)

QUICK = ("two pages on one frame", "a page is lost")  # the others are slow


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of every operation, with touches."""
    path = tmp_path_factory.mktemp("contents") / "t.tau"
    return write_events(path, events_with_touches(73, events=400))


@pytest.mark.slow
@pytest.mark.parametrize("name", [RTMMU, PAGETABLE])
def test_contents_are_right(trace: Path, name: str) -> None:
    """With every page touched there is something to look at in each.

    In `make check` tool/tests/tile/test_tile.py replays with contents that are checked.
    """
    found = tile.tile_replay(trace, name, heap_bytes=HEAP_BYTES, assert_level=2, touch_all=True)
    assert found.completed and found.faults > 60


@pytest.mark.parametrize(
    "system, file, old, new, said",
    [
        pytest.param(
            *sabotage,
            id=f"{why}, {sabotage[0]}",
            marks=[] if why in QUICK else [pytest.mark.slow],
        )
        for why, *sabotage in SABOTAGES
    ],
)
def test_sabotage_is_noticed(
    trace: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    system: str,
    file: str,
    old: str,
    new: str,
    said: str,
) -> None:
    """The program is built from a copy of the sources with one change."""
    Mutant(said, file, old, new).applied(tmp_path, ("core", "peers", "hw", "targets", "facts"))
    monkeypatch.setattr(tile_systems, "root", lambda: tmp_path)
    with pytest.raises(TauError) as caught:
        tile.tile_replay(trace, system, assert_level=2, touch_all=True, **LIMIT)
    assert f"tile: failed: {said}" in caught.value.message
