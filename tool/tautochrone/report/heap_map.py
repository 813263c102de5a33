"""The map of a plan's heap over time: which addresses live objects have."""

import base64
import struct
import zlib

import numpy as np

from tautochrone.errors import TauError
from tautochrone.plan.file import Plan
from tautochrone.replay.open_trace import OpenTrace
from tautochrone.replay.systems import system_named
from tautochrone.replay.systems.native import Native
from tautochrone.report.figure import BLUE, Axis, Figure, Panel, mark, of_bytes
from tautochrone.trace.file import TraceReader

ROWS, COLUMNS = 96, 360
VISITS_MAX = 50_000_000  # Of objects, in all columns: a tenth of a second.


def heap_map(reader: TraceReader, plan: Plan) -> Panel | None:
    """Replay the trace in the plan's heap and draw it; None if that is not possible."""
    system = system_named("pools" if plan.system == "pools" else "budget")
    assert isinstance(system, Native)
    try:
        trace = OpenTrace(reader)
    except TauError:
        return None
    instants = max(min(COLUMNS, VISITS_MAX // max(int(trace.facts.slots_count), 1)), 1)
    with system.session(trace, plan, plan.layout) as session:
        cells = session.map(plan.heap_bytes, ROWS, instants)
    if cells is None:
        return None
    events, row_bytes = int(trace.facts.events), plan.heap_bytes // ROWS + 1
    # The last row in use of each column; its whole room counts.
    top = np.where(cells.any(axis=0), ROWS - np.argmax(cells[::-1] > 0, axis=0), 0)
    columns = {
        "event": [-(-(place + 1) * events // instants) for place in range(instants)],
        "used_up_to_bytes": np.minimum(top * row_bytes, plan.heap_bytes).tolist(),
    }
    address = f"data:image/png;base64,{base64.b64encode(png(cells[::-1], BLUE)).decode()}"
    figure = Figure(
        Axis("event of the recording", start=0, end=max(events, 1)),
        Axis("address in the heap", is_bytes=True, start=0, end=ROWS * row_bytes),
        [mark("image", columns, address=address)],
    )
    caption = (
        f"The plan's heap of {of_bytes(plan.heap_bytes)} at {instants} instants: the more color,"
        f" the more of {of_bytes(row_bytes)} belongs to live objects. What stays blank is free,"
        " control tables, or the margin."
    )
    return Panel("heap-map", "The plan's heap over time", caption, figure, columns)


def png(cells: np.ndarray, color: str) -> bytes:
    """A picture in one color that is more opaque, the larger a cell."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        length, check = (struct.pack(">I", each) for each in (len(data), zlib.crc32(kind + data)))
        return length + kind + data + check

    height, width = cells.shape
    rows = b"".join(b"\0" + row.tobytes() for row in cells)  # without a filter
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)  # 8 bits from a palette
    parts = chunk(b"IHDR", head) + chunk(b"PLTE", bytes.fromhex(color[1:]) * 256)
    parts += chunk(b"tRNS", bytes(range(256))) + chunk(b"IDAT", zlib.compress(rows, 9))
    return b"\x89PNG\r\n\x1a\n" + parts + chunk(b"IEND", b"")
