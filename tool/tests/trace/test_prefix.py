"""The beginning of a trace is a trace of the same events, and replays as the whole one begins."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tautochrone.commands import replay
from tautochrone.errors import EXIT_DONE, EXIT_USAGE, TauError
from tautochrone.replay.paging import page_replay
from tautochrone.trace.file import TraceWriter, open_trace
from tautochrone.trace.prefix import first_events
from testing.paging_reference import events_with_touches
from testing.random_trace import write_events


def events_of(path: Path) -> np.ndarray:
    """All events."""
    with open_trace(path) as reader:
        return np.concatenate(list(reader.blocks()))


def test_events_sites_and_header_are_the_same(tmp_path: Path) -> None:
    """Also where the beginning ends inside a later block."""
    whole, part = tmp_path / "w.tau", tmp_path / "p.tau"
    count = 200_000
    with TraceWriter(whole, {"command": ["x"], "host": "h"}) as writer:
        sites = [writer.site("a", 16), writer.site("b", 32)]
        writer.append(
            op=np.zeros(count, np.uint8),
            slot=np.arange(count, dtype=np.uint32),
            size_bytes=np.arange(count, dtype=np.uint64),
            time_ns=np.arange(count, dtype=np.uint64) * 3,
            site=np.array([sites[number % 2] for number in range(count)], np.uint32),
        )
    assert first_events(whole, 150_001, part) == 150_001
    assert np.array_equal(events_of(part), events_of(whole)[:150_001])
    with open_trace(part) as reader, open_trace(whole) as known:
        assert reader.sites() == known.sites()
        assert {**known.header, "first_events": 150_001, "whole_events": count} == reader.header
    assert first_events(whole, count + 5, part) == count
    assert np.array_equal(events_of(part), events_of(whole))
    with open_trace(part) as reader:
        assert reader.ending.is_complete, "all events are the whole trace"


def test_counted_accesses_end_where_the_next_event_began(tmp_path: Path) -> None:
    whole, part = tmp_path / "w.tau", tmp_path / "p.tau"
    header = {"clock": "accesses", "accesses": {"heap_loads": 30, "heap_stores": 70}}
    with TraceWriter(whole, header) as writer:
        writer.append(
            op=np.zeros(4, np.uint8),
            slot=np.arange(4, dtype=np.uint32),
            size_bytes=np.full(4, 8, np.uint64),
            time_ns=np.array([0, 10, 40, 90], np.uint64),
        )
    for events, accesses in ((2, 40), (4, 100), (9, 100)):
        first_events(whole, events, part)
        with open_trace(part) as reader:
            counted = reader.header["accesses"]
        assert counted["heap_loads"] + counted["heap_stores"] == accesses


def test_no_events_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TauError) as caught:
        first_events(tmp_path / "w.tau", 0, tmp_path / "p.tau")
    assert caught.value.exit_code == EXIT_USAGE


def test_replay_of_the_beginning(tmp_path: Path) -> None:
    """On the command line, on any system; calls are the first of the whole replay."""
    whole = write_events(tmp_path / "w.tau", events_with_touches(5, events=300))
    part = tmp_path / "p.tau"
    first_events(whole, 200, part)
    long, short = (page_replay(path, "rtvm").calls["malloc"] for path in (whole, part))
    kept = long.event < 200
    assert long.instructions[kept].tolist() == short.instructions.tolist()
    words = [str(whole), "--on", "tlsf,rtvm", "--events", "200", "--json"]
    done = CliRunner().invoke(replay.command, words, standalone_mode=False)
    assert done.exception is None and done.return_value == EXIT_DONE
    document = json.loads(done.stdout)
    assert (document["events"], document["first_events"]) == (200, 200)
    assert document["trace"] == str(whole)
    assert document["systems"][1]["operations"]["malloc"]["count"] == short.count
