"""Makes a trace of the first events of another, for replays that would take too long.

    first_events("program.tau", 400_000, "beginning.tau")

The events are unchanged, so a replay of the beginning is the beginning of the replay. In a
recording whose clock counts accesses, the prefix ends where the next event begins.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.trace.ending import RECOVERED
from tautochrone.trace.file import TraceReader, TraceWriter, heap_accesses, open_trace


def first_events(path: str | Path, count: int, target: str | Path) -> int:
    """Write the first COUNT events of a trace, or all if it has fewer; return their number.

    Raises TauError (usage) if COUNT is below 1, and for a trace that cannot be read.
    """
    if count < 1:
        raise TauError(f"{count} events cannot be replayed", "give 1 or more", EXIT_USAGE)
    with open_trace(path) as reader:
        header, events = dict(reader.header), reader.totals.events
        end_time = _time_of(reader, count) if count < events else None
        counted = heap_accesses(header)
        if end_time is not None and counted is not None:
            header["accesses"] = _accesses_until(counted[0], end_time)
        if count < events:
            header["first_events"], header["whole_events"] = count, events
        copy_events(reader, target, header, _beginning(reader, count))
    return min(count, events)


def _beginning(reader: TraceReader, count: int) -> Iterator[dict[str, np.ndarray]]:
    """Yield the columns of the first events; no block after them is read."""
    for columns in reader.columns():
        yield {name: column[:count] for name, column in columns._asdict().items()}
        count -= len(columns.op)
        if count <= 0:
            return


def copy_events(
    reader: TraceReader,
    target: str | Path,
    header: Mapping[str, Any],
    blocks: Iterable[dict[str, np.ndarray]],
) -> None:
    """Write a trace of `blocks`, columns by name, with the sites of an open trace.

    How that one ended is kept. The copy has a footer, which would hide that the trace had none.
    """
    said = {"recovered": one.cause for one in reader.ending.remarks if one.kind == RECOVERED}
    with TraceWriter(target, {**header, **said}) as writer:
        sites = {number: writer.site(*site) for number, site in enumerate(reader.calls(), start=1)}
        assert all(number == same for number, same in sites.items())
        for columns in blocks:
            writer.append(**columns)


def _time_of(reader: TraceReader, event: int) -> int:
    """Return the time of an event."""
    for columns in reader.columns(("time_ns",)):
        if event < len(columns.time_ns):
            return int(columns.time_ns[event])
        event -= len(columns.time_ns)
    raise AssertionError("the event exists")


def _accesses_until(heap_loads: int, end_time: int) -> dict[str, Any]:
    """Return the header's counts of the heap: END_TIME in all; the share of stores is unknown."""
    loads = min(heap_loads, end_time)
    return {"heap_loads": loads, "heap_stores": end_time - loads}
