"""What is decoded once: the spool of a long trace, parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tautochrone.facts import fault_format as faults
from tautochrone.replay.open_trace import OpenTrace
from tautochrone.replay.session import Session
from tautochrone.replay.systems.native import TLSF
from testing.random_trace import ALIGNED_ALLOC, FREE, MALLOC, REALLOC, random_events, write_events

HEAP_BYTES = 1 << 27
DOUBLE_FREE = 4  # enum tau_trace_flag
SPOOL_ESCAPE = (1 << 24) - 1  # sizes from here on take more room in the spool


def placements(trace: OpenTrace) -> int:
    """The hash of a checked run, which must complete."""
    with Session(trace, TLSF) as session:
        result = session.run(HEAP_BYTES)
    assert result.fault == faults.COMPLETED
    return int(result.placement_hash)


def with_large_objects(seed: int) -> list[tuple[int, int, int, int]]:
    """More random events than a block has, and objects of sizes that the spool packs otherwise."""
    events = random_events(seed, events=66_000)
    slot = 1 + max(event[1] for event in events)
    sizes = [0, SPOOL_ESCAPE - 1, SPOOL_ESCAPE, SPOOL_ESCAPE + 1]
    large = [(MALLOC, slot + index, size, 0) for index, size in enumerate(sizes)]
    return [*events, *large, (ALIGNED_ALLOC, slot + len(sizes), 9, 20)]


@pytest.mark.parametrize("folder", ["writable", "missing"])
def test_a_spooled_trace_is_replayed_as_one_in_memory_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    """Without a place for the spool the trace's own file is read again."""
    events = [(MALLOC, 0, 40, 0), (FREE, 0, 0, 0), (FREE, 0, 0, 0), *with_large_objects(1)]
    flags = [0, 0, DOUBLE_FREE, *[0] * (len(events) - 3)]
    path = write_events(tmp_path / "t.tau", events, flags)
    place = tmp_path / folder
    if folder == "writable":
        place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    streamed = OpenTrace(path, 0)
    assert [placements(streamed) for _ in range(2)] == [placements(OpenTrace(path))] * 2
    assert not place.exists() or not list(place.iterdir())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ops_in_memory_max", [0, 1 << 24])
def test_a_part_starts_with_what_is_alive(
    tmp_path: Path, seed: int, ops_in_memory_max: int
) -> None:
    """Against a naive list of live objects, the oldest first."""
    events = random_events(seed, events=1200)
    trace = OpenTrace(write_events(tmp_path / "t.tau", events), ops_in_memory_max)
    for first, end in ((0, 1200), (500, 900), (1199, 1200), (700, 700)):
        alive: dict[int, tuple[int, int, int, int]] = {}
        for op, slot, size_bytes, align_log2 in events[:first]:
            alive.pop(slot, None)
            if op != FREE:
                made = MALLOC if op == REALLOC else op
                alive[slot] = (made, slot, size_bytes, align_log2)
        expected = renumbered([*alive.values(), *events[first:end]])
        naive = OpenTrace(write_events(tmp_path / f"{first}.tau", expected))
        part = trace.part(first, end)
        assert part.facts.events == naive.facts.events == len(alive) + end - first
        assert part.facts.peak_live_bytes == naive.facts.peak_live_bytes
        assert part.facts.peak_event == naive.facts.peak_event
        assert placements(part) == placements(naive)


def renumbered(events: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """The same events with slots in the order of their first use, as a trace has them."""
    slots: dict[int, int] = {}
    return [
        (op, slots.setdefault(slot, len(slots)), size_bytes, align_log2)
        for op, slot, size_bytes, align_log2 in events
    ]
