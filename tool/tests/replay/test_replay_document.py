"""`tau replay --json` is read back whole; invalid values are refused.

Method: one entry that has everything, and one mutant of its document for each rule.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tautochrone.replay.document import document_of
from tautochrone.replay.entry import (
    CYCLES,
    OURS,
    Entry,
    Measure,
    Operation,
    Pages,
    Scatter,
    Simulation,
)

FREE = Operation(
    "free",
    9,
    (Measure(CYCLES, 2.5, 6, 7, None), Measure(CYCLES, 1.5, 2, 3, 8, "hit", "zbb")),
    {"hit": 4, "miss": 5},
    "linear",
    Scatter([8, 16], [6, 7], [4, 5]),
    [[1, 2], [3, 4]],
)
WHOLE = Entry(
    *("tile:rtmmu", OURS, False, 4096, 1.25, 17, "failed"),
    operations={"malloc": Operation("malloc", 1), "free": FREE},
    events=20,
    in_process=True,
    plan_heap_bytes=8192,
    plan_holds=False,
    pages=Pages(3, 1.5, 2, 4, 5, "all", 6, {"event": [0], "min": [1], "max": [3]}, 7, 8),
    simulation=Simulation(100, 10, {"stalls": 1}),
    heap_parts={"live": 3000, "headers": 40, "rounding": 30, "tables": 1000, "free": 26},
)


def read(**changed: Any) -> Entry:
    """The entry of a document with other values."""
    system = json.loads(json.dumps(WHOLE.document() | changed))
    (entry,) = document_of({"command": "replay", "systems": [system]}).entries
    return entry


def operations(**changed: Any) -> dict[str, Any]:
    """The operations of a document, with other values in free."""
    said: dict[str, Any] = WHOLE.document()["operations"]
    return said | {"free": said["free"] | changed}


def test_an_entry_is_read_back_whole() -> None:
    assert read() == WHOLE


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"completed": 1}, "completed"),
        ({"role": "boss"}, "role"),
        ({"name": "a b"}, "name"),
        ({"name": "a" * 201}, "name"),
        ({"events": -1}, "events"),
        ({"events": 2**63}, "events"),
        ({"events": True}, "events"),
        ({"start_cycles": 1.5}, "start_cycles"),
        ({"counters": {"stalls": "1"}}, "counters.stalls"),
        ({"heap_parts": {"live": 4096}}, "heap_parts.headers"),
        ({"footprint_bytes": 4097}, "whose sum is footprint_bytes"),
        ({"footprint_ratio": -0.5}, "footprint_ratio"),
        ({"mean_mapped_pages": float("nan")}, "mean_mapped_pages"),
        ({"mapped_pages": {"event": [0], "min": [], "max": [3]}}, "mapped_pages"),
        ({"operations": {"free": {"count": 1}}}, "operations.malloc"),
        ({"operations": {"malloc": {"count": 1}}}, "operations.free"),
        ({"operations": operations() | {"a b": {"count": 1}}}, "a name without blanks"),
        ({"operations": operations(p999_cycles=None)}, "operations.free.p999_cycles"),
        ({"operations": operations(by_size={"size_bytes": [1], "cycles": []})}, "by_size"),
        ({"operations": operations(by_size={"size_bytes": [], "cycles": [1]})}, "by_size"),
    ],
)
def test_what_no_system_says_is_refused(changed: dict[str, Any], place: str) -> None:
    with pytest.raises(ValueError, match=place):
        read(**changed)


@pytest.mark.parametrize(
    "changed",
    [{"command": "plan"}, {"instructions": "z80"}, {"ending": {"remarks": [{"cause": 7}]}}],
)
def test_a_file_that_is_not_a_replay_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="".join(changed)):
        document_of({"command": "replay", "systems": []} | changed)


def test_a_long_value_is_cut_in_the_message() -> None:
    with pytest.raises(ValueError, match=r"command is 'x{56}\.\.\., expected 'replay'"):
        document_of({"command": "x" * 10_000, "systems": []})


def test_the_keys_are_spelled_as_the_specification_has_them() -> None:
    told = WHOLE.document()["operations"]["free"]
    assert (told["max_cycles"], told["max_hit_cycles_zbb"], told["misses"]) == (7, 3, 5)


@pytest.mark.parametrize(("touches", "touch"), [(0, "recorded"), (1, "recorded"), (0, "all")])
def test_pages_without_accesses_are_blind(touches: int, touch: str) -> None:
    pages = Pages(1, 1.0, 1, 1, touches, touch, 1, {})
    assert pages.is_blind == (touches == 0 and touch == "recorded")
