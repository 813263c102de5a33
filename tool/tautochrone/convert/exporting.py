"""Writes traces in other tools' formats."""

import ctypes
import errno
import json
import os
from pathlib import Path

from tautochrone import native
from tautochrone.console import bars
from tautochrone.errors import TauError
from tautochrone.files import output_file
from tautochrone.installation import needed
from tautochrone.trace import abi
from tautochrone.trace import file as trace


def export_csv(reader: trace.TraceReader, path: Path, force: bool = False) -> int:
    """Write a trace as the CSV file `path`; returns its events.

    As output_file.written: `force` lets it replace a file, and failures raise TauError.
    """
    with output_file.written(path, force, [reader.path]) as partial, open(partial, "wb") as file:
        return export_csv_to(reader, file.fileno(), partial)


def export_csv_to(reader: trace.TraceReader, descriptor: int, name: Path | str) -> int:
    """Write a trace as CSV to an open file; returns its events.

    A closed pipe ends the export without a message. Messages call the file `name`. Raises TauError.
    """
    lib = native.library()
    exporter = lib.tau_trace_exporter_open(reader.handle, descriptor)
    if not exporter:
        raise TauError("memory is short")
    status = 0
    blocks = range(reader.totals.blocks)
    for index in bars.progress(blocks, "writing CSV", len(blocks)):
        status = lib.tau_trace_exporter_block(exporter, index)
        if status:
            break
    broken_pipe = status == trace.STATUS_IO_FAILED and ctypes.get_errno() == errno.EPIPE
    if not broken_pipe:
        closing = lib.tau_trace_exporter_close(exporter)
        broken_pipe = closing == trace.STATUS_IO_FAILED and ctypes.get_errno() == errno.EPIPE
        status = status or closing
    if broken_pipe:
        # Python flushes stdout at exit and would report the pipe again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
        return reader.totals.events
    if status:
        is_written = status in (trace.STATUS_IO_FAILED, trace.STATUS_DISK_FULL)
        raise trace.status_error(status, name if is_written else reader.path)
    return reader.totals.events


def export_parquet(reader: trace.TraceReader, path: Path, force: bool = False) -> int:
    """Write a trace as a Parquet file, otherwise as export_csv; returns its events.

    It has the columns of trace.EVENT. The metadata holds the operations, the call sites, the
    ABI, and how the trace ended, as JSON. Raises TauError, also if pyarrow is missing.
    """
    with needed():
        import pyarrow
        import pyarrow.parquet
    deltas = dict.fromkeys(("time_ns", "slot"), "DELTA_BINARY_PACKED")
    others = ["size_bytes", "thread", "site", "op", "flags", "align_log2"]
    with output_file.written(path, force, [reader.path]) as partial:
        fields = [(name, pyarrow.from_numpy_dtype(trace.EVENT[name])) for name in trace.EVENT.names]
        sites = "\n".join(f"{module}+{offset:#x}" for module, offset in reader.sites())
        schema = pyarrow.schema(
            fields,
            metadata={
                "operations": ",".join(trace.OPS),
                "sites": os.fsencode(sites),
                "ending": json.dumps(reader.ending.document()),
                "abi": abi.of_header(reader.header),
            },
        )
        # Arrow takes only file names in UTF-8, so it gets an open file.
        with open(partial, "wb") as file, pyarrow.parquet.ParquetWriter(
            file,
            schema,
            compression="zstd",
            use_dictionary=others,
            column_encoding=deltas,
        ) as writer:
            blocks = bars.progress(reader.columns(), "writing Parquet", reader.totals.blocks)
            for block in blocks:
                arrays = [pyarrow.array(getattr(block, name)) for name in schema.names]
                writer.write_batch(pyarrow.record_batch(arrays, schema=schema))
        return reader.totals.events
