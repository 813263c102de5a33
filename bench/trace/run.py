"""How large a trace is and how fast it is written and read, compared with Parquet in one run.

Run `python -m bench trace`; it writes out/bench/trace.json. Two sets of ten million events:

- *program*: a Python program that builds, prints and parses JSON, recorded by `tau record` with its
  times, call sites and sizes as they came;
- *noise*: the worst case for the format. Four random threads call malloc and free in random order.
  Each event has a random size, site and time; the freed object is any of twenty thousand.

Both sides start from the same numpy columns and end with numpy columns, use one thread, and are
timed by processor time, the best of REPEATS runs, taken in turns. Parquet is written with zstd and
DELTA_BINARY_PACKED, for all columns or for those that it suits with dictionaries for the rest. Each
of Parquet's numbers is the best that any of its settings reaches: the smallest file, the fastest
write, the fastest read, though no one setting reaches all three.
"""

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet

from bench.recording import Run, record
from bench.runner import Bench, Given
from tautochrone.facts import trace_format
from tautochrone.trace.file import EVENT, Columns, TraceWriter, open_trace

EVENTS = 10_000_000
REPEATS = 3
SEED = 7
ROW_GROUP_EVENTS = 1_000_000
DELTA = "DELTA_BINARY_PACKED"
PROGRAM = """
import json, sys
rows = [{"number": i, "names": [str(i)] * 3, "inner": {"half": i * 0.5}} for i in range(60000)]
for _ in range(4):
    rows = json.loads(json.dumps(rows))
"""
Events = dict[str, np.ndarray]


def record_program(folder: Path, events: int) -> Events:
    """The first `events` events of PROGRAM. Raises RuntimeError if it was not recorded whole."""
    run = Run((sys.executable, "-c", PROGRAM), environment={"PYTHONMALLOC": "malloc"})
    out = record("program", run, folder / "program.tau", ["--no-children"])
    columns: dict[str, list[np.ndarray]] = {name: [] for name in Columns._fields}
    with open_trace(out) as reader:
        if reader.totals.events < events:
            raise RuntimeError(f"only {reader.totals.events} events were recorded")
        for block in reader.columns():
            for name in columns:
                columns[name].append(getattr(block, name).copy())
            if sum(map(len, columns["op"])) >= events:
                break
    return {name: np.concatenate(parts)[:events] for name, parts in columns.items()}


def make_noise(events: int, seed: int = SEED) -> Events:
    """Events that no format can foresee; see the file's head. About 40,000 slots."""
    noise, choose = np.random.default_rng(seed), random.Random(seed)
    live: list[int] = []
    free: list[int] = []
    op, slot = bytearray(events), np.zeros(events, np.uint32)
    slots = 0
    for index in range(events):
        if choose.random() * 40_000 < len(live):
            at = int(choose.random() * len(live))
            live[at], live[-1] = live[-1], live[at]
            slot[index] = live.pop()
            free.append(int(slot[index]))
            op[index] = trace_format.OP_FREE
        else:
            if free:
                slot[index] = free.pop()
            else:
                slot[index] = slots
                slots += 1
            live.append(int(slot[index]))
    ops = np.frombuffer(bytes(op), np.uint8)
    sizes = noise.integers(1, 4097, events).astype(np.uint64)
    return {
        "time_ns": np.cumsum(20 + noise.exponential(100, events).astype(np.uint64)),
        "size_bytes": np.where(ops == trace_format.OP_FREE, np.uint64(0), sizes),
        "slot": slot,
        "thread": noise.integers(0, 4, events).astype(np.uint32),
        "site": noise.integers(1, 1001, events).astype(np.uint32),
        "op": ops,
        "flags": np.zeros(events, np.uint8),
        "align_log2": np.zeros(events, np.uint8),
    }


def parquet_settings() -> dict[str, dict[str, Any]]:
    """The ways in which Parquet is asked to write, by name."""
    names = list(EVENT.names or ())
    settings: dict[str, dict[str, Any]] = {}
    for level in (1, 3):
        for label, deltas in (
            ("all", names),
            ("time, slot, size", ["time_ns", "slot", "size_bytes"]),
            ("time, slot", ["time_ns", "slot"]),
            ("time", ["time_ns"]),
        ):
            settings[f"delta for {label}; zstd {level}"] = {
                "compression": "zstd",
                "compression_level": level,
                "use_dictionary": [name for name in names if name not in deltas] or False,
                "column_encoding": dict.fromkeys(deltas, DELTA),
            }
    return settings


def seconds_of(work: Callable[[], None]) -> float:
    """Processor seconds that `work` takes, all threads together."""
    started = time.process_time()
    work()
    return time.process_time() - started


def write_ours(path: Path, events: Events) -> None:
    """Write a trace; the sites' names are made up, as the columns do not have them."""
    with TraceWriter(path, {}) as writer:
        for site in range(int(events["site"].max())):
            writer.site("module", site)
        writer.append(**events)


def read_ours(path: Path) -> int:
    """Read all columns; returns the events."""
    with open_trace(path) as reader:
        return sum(len(block.op) for block in reader.columns())


def read_parquet(path: Path) -> int:
    """Read all columns, a row group at a time, as numpy arrays; returns the events."""
    file, events = pyarrow.parquet.ParquetFile(path), 0
    for group in range(file.num_row_groups):
        table = file.read_row_group(group, use_threads=False)
        events += max(len(column.to_numpy()) for column in table.columns)
    return events


def measure(events: Events, folder: Path, repeats: int = REPEATS) -> dict[str, Any]:
    """Sizes in bytes an event, speeds in events a processor second, ours and Parquet's."""
    count = len(events["op"])
    ours, parquet = folder / "a.tau", folder / "a.parquet"
    table = pyarrow.table(events)
    found: dict[str, dict[str, float]] = {}

    def note(name: str, path: Path, write: float, read: float) -> None:
        best = found.setdefault(name, {"write_per_second": 0.0, "read_per_second": 0.0})
        best["bytes_per_event"] = path.stat().st_size / count
        best["write_per_second"] = max(best["write_per_second"], count / write)
        best["read_per_second"] = max(best["read_per_second"], count / read)

    for _ in range(repeats):
        write = seconds_of(lambda: write_ours(ours, events))
        note("trace", ours, write, seconds_of(lambda: read_ours(ours)))
        for name, setting in parquet_settings().items():
            write = seconds_of(
                lambda setting=setting: pyarrow.parquet.write_table(
                    table, parquet, row_group_size=ROW_GROUP_EVENTS, **setting
                )
            )
            note(name, parquet, write, seconds_of(lambda: read_parquet(parquet)))
    if read_ours(ours) != count or read_parquet(parquet) != count:
        raise RuntimeError("not every event came back")
    trace = found.pop("trace")
    peers = list(found.values())
    return {
        "events": count,
        "trace": trace,
        "parquet": found,
        "size_ratio": trace["bytes_per_event"] / min(peer["bytes_per_event"] for peer in peers),
        "write_ratio": trace["write_per_second"] / max(p["write_per_second"] for p in peers),
        "read_ratio": trace["read_per_second"] / max(p["read_per_second"] for p in peers),
    }


def measure_all(given: Given) -> dict[str, Any]:
    """Both sets."""
    sets = {"program": record_program(given.folder, EVENTS), "noise": make_noise(EVENTS)}
    return {
        "python": sys.version.split()[0],
        "pyarrow": pyarrow.__version__,
        "sets": {name: measure(events, given.folder) for name, events in sets.items()},
    }


BENCH = Bench("trace", measure_all)
