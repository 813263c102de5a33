"""Writes traces in other tools' formats."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tautochrone import output, trace
from tautochrone.errors import TauError

PARQUET_BATCH_BLOCKS = 16


@functools.cache
def _library() -> ctypes.CDLL:
    lib = trace.library()
    handle = ctypes.c_void_p
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "tau_trace_exporter_open": (handle, [handle, ctypes.c_int]),
        "tau_trace_exporter_block": (ctypes.c_int, [handle, ctypes.c_uint64]),
        "tau_trace_exporter_close": (ctypes.c_int, [handle]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


@contextmanager
def _whole_or_nothing(path: Path) -> Iterator[Path]:
    """Give a path to write to that becomes `path` only if the block ends well."""
    partial = path.with_name(path.name + ".partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def export_csv(source: Path, path: Path) -> int:
    """Write a trace as the CSV file `path`; returns its events. Raises TauError."""
    with _whole_or_nothing(path) as partial, open(partial, "wb") as file:
        return export_csv_to(source, file.fileno())


def export_csv_to(source: Path, descriptor: int) -> int:
    """Write a trace as CSV to an open file; returns its events. A closed pipe ends it quietly."""
    lib = _library()
    with trace.open_trace(source) as reader:
        exporter = lib.tau_trace_exporter_open(reader.handle, descriptor)
        if not exporter:
            raise TauError("memory is short")
        status = 0
        blocks = range(reader.totals.blocks)
        for index in output.progress(blocks, "writing CSV", len(blocks)):
            status = lib.tau_trace_exporter_block(exporter, index)
            if status:
                break
        broken_pipe = status == trace.STATUS_IO_FAILED and ctypes.get_errno() == errno.EPIPE
        if not broken_pipe:
            closing = lib.tau_trace_exporter_close(exporter)
            broken_pipe = closing == trace.STATUS_IO_FAILED and ctypes.get_errno() == errno.EPIPE
            status = status or closing
        if broken_pipe:
            # Python flushes stdout at its end and would complain of the pipe again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
            return reader.totals.events
        if status:
            raise trace.status_error(status, source)
        return reader.totals.events


def export_parquet(source: Path, path: Path) -> int:
    """Write a trace as a Parquet file; returns its events.

    Columns as in trace.EVENT, and module and offset in place of the site's number. Raises TauError,
    also if pyarrow is missing.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise TauError(
            "Parquet needs pyarrow, which is not installed",
            "pipx inject tautochrone pyarrow, or export as CSV",
        ) from error
    deltas = dict.fromkeys(("time_ns", "slot"), "DELTA_BINARY_PACKED")
    others = ["size_bytes", "thread", "site", "op", "flags", "align_log2"]
    with trace.open_trace(source) as reader, _whole_or_nothing(path) as partial:
        fields = [(name, pyarrow.from_numpy_dtype(trace.EVENT[name])) for name in trace.EVENT.names]
        sites = "\n".join(f"{module}+{offset:#x}" for module, offset in reader.sites())
        schema = pyarrow.schema(
            fields, metadata={"operations": ",".join(trace.OPS), "sites": sites}
        )
        with pyarrow.parquet.ParquetWriter(
            partial,
            schema,
            compression="zstd",
            use_dictionary=others,
            column_encoding=deltas,
        ) as writer:
            blocks = output.progress(reader.columns(), "writing Parquet", reader.totals.blocks)
            for block in blocks:
                arrays = [pyarrow.array(getattr(block, name)) for name in schema.names]
                writer.write_batch(pyarrow.record_batch(arrays, schema=schema))
        return reader.totals.events
