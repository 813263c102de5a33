"""Traces written and read back: events, totals, sizes, sites, and the rules that a writer enforces.

Random events are compared with a plain Python model of the totals; the seed is printed.
"""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tautochrone.errors import TauError
from tautochrone.facts import trace_format as form
from tautochrone.trace.file import EVENT, TraceWriter, open_trace
from tool.tests.trace import trace_forge
from tool.tests.trace import trace_model as model

ROOT = Path(__file__).parents[3]


def assert_equal(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    for name in EVENT.names or ():
        assert np.array_equal(found[name], wanted[name]), name


@pytest.mark.parametrize("lifo", [True, False])
@pytest.mark.parametrize("count", [0, 1, 2, 700, 65_536, 150_001])
def test_random_events_come_back_with_their_totals(tmp_path: Path, count: int, lifo: bool) -> None:
    seed = time.time_ns() % 2**32
    print("seed", seed)
    events = model.random_events(seed, count, lifo=lifo)
    model.write(tmp_path / "t.tau", events, command=["program", "ä"])
    assert_equal(model.read(tmp_path / "t.tau"), events)
    wanted = model.totals_of(events)
    with open_trace(tmp_path / "t.tau") as reader:
        found = reader.totals.plain() | {"sizes": reader.sizes()}
        assert {name: found[name] for name in wanted} == wanted
        assert reader.header == {"command": ["program", "ä"]}
        assert found["blocks"] == -(-count // form.BLOCK_EVENTS_MAX)
        assert not found["recovered"] and found["sizes_rounded_count"] == 0
        assert reader.sites() == [(f"/lib/module{n % 3}.so", n * 16) for n in range(9)]


def test_any_subset_of_columns_reads_the_same(tmp_path: Path) -> None:
    events = model.random_events(5, 70_000)
    model.write(tmp_path / "t.tau", events)
    names = EVENT.names or ()
    with open_trace(tmp_path / "t.tau") as reader:
        for wanted in [*((name,) for name in names), ("time_ns", "slot"), ("op", "size_bytes")]:
            at = 0
            for block in reader.columns(wanted):
                count = len(getattr(block, wanted[0]))
                for name in names:
                    column = getattr(block, name)
                    if name in wanted:
                        assert np.array_equal(column, events[name][at : at + count]), name
                    else:
                        assert len(column) == 0
                at += count
            assert at == 70_000


def test_structured_blocks_hold_the_same(tmp_path: Path) -> None:
    events = model.random_events(6, 1000)
    model.write(tmp_path / "t.tau", events)
    with open_trace(tmp_path / "t.tau") as reader:
        (block,) = reader.blocks()
    assert_equal({name: block[name] for name in EVENT.names or ()}, events)


@pytest.mark.parametrize(
    "extreme",
    [
        {"time_ns": [0, 2**64 - 1]},
        {"time_ns": [2**64 - 1, 2**64 - 1]},
        {"size_bytes": [2**64 - 1, 2**64 - 1]},
        {"size_bytes": [0, 0]},
        {"thread": [form.THREADS_MAX - 1, 0]},
        {"align_log2": [63, 0], "op": [model.ALIGNED, model.ALIGNED]},
        {
            "op": [model.MALLOC, model.TOUCH],
            "size_bytes": [2**64 - 1, 2**64 - 16],
            "align_log2": [0, 1],
            "slot": [0, 0],
        },
    ],
)
def test_extremes_survive(tmp_path: Path, extreme: dict[str, list[int]]) -> None:
    plain = {name: np.zeros(2, EVENT[name]) for name in EVENT.names or ()}
    plain["slot"][1] = 1
    events = plain | {name: np.array(values, EVENT[name]) for name, values in extreme.items()}
    model.write(tmp_path / "t.tau", events)
    assert_equal(model.read(tmp_path / "t.tau"), events)
    with open_trace(tmp_path / "t.tau") as reader:
        sizes = events["size_bytes"][events["op"] != model.TOUCH]
        assert reader.totals.peak_live_bytes == min(2**64 - 1, sum(sizes.tolist()))


@pytest.mark.parametrize("touches", [0.0, 0.5, 0.98])
def test_touches_are_kept_and_change_nothing_else(tmp_path: Path, touches: float) -> None:
    """Without its touches a trace has the same objects, sizes and peaks."""
    seed = time.time_ns() % 2**32
    print("seed", seed)
    events = model.random_events(seed, 70_000, touches=touches)
    is_touch = events["op"] == model.TOUCH
    assert bool(is_touch.any()) == (touches > 0)
    model.write(tmp_path / "all.tau", events)
    assert_equal(model.read(tmp_path / "all.tau"), events)
    model.write(tmp_path / "none.tau", {name: c[~is_touch] for name, c in events.items()})
    with open_trace(tmp_path / "all.tau") as whole, open_trace(tmp_path / "none.tau") as bare:
        assert whole.sizes() == bare.sizes()
        assert whole.totals.touched_granules == events["align_log2"][is_touch].sum()
        assert whole.totals.events_of_op[:5] == bare.totals.events_of_op[:5]
        assert whole.totals.events_of_op[5] == is_touch.sum()
        for name in ("peak_live_bytes", "peak_live_objects", "end_live_bytes", "slots_count_max"):
            assert getattr(whole.totals, name) == getattr(bare.totals, name), name


def test_a_file_of_an_earlier_version_is_refused(tmp_path: Path) -> None:
    """It does not say for which ABI its sizes are; damage of the version is still damage."""
    path = tmp_path / "a.tau"
    model.write(path, model.random_events(9, 100))
    today = path.read_bytes()
    path.write_bytes(trace_forge.of_earlier_version(today))
    with pytest.raises(TauError, match="did not note the program's ABI") as caught:
        open_trace(path)
    assert "record the program again" in (caught.value.next_step or "")
    path.write_bytes(today[:8] + b"\1" + today[9:])
    with pytest.raises(TauError, match="damaged"):
        open_trace(path)


def test_more_sizes_than_the_table_holds_are_rounded_and_said(tmp_path: Path) -> None:
    count = form.SIZES_EXACT_MAX + 5000
    sizes = np.arange(count, dtype=np.uint64) * 3 + 2000
    sizes[-1] = 2**64 - 1
    with TraceWriter(tmp_path / "t.tau", {}) as writer:
        slot = np.arange(count, dtype=np.uint32)
        writer.append(op=np.zeros(count, np.uint8), slot=slot, size_bytes=sizes)
    with open_trace(tmp_path / "t.tau") as reader:
        table = reader.sizes()
        rounded = reader.totals.sizes_rounded_count
    assert 0 < rounded <= 5000
    lines_max = form.SIZES_DIRECT + form.SIZES_EXACT_MAX + form.SIZES_ROUNDED_MAX
    assert len(table) <= lines_max
    assert sum(allocations for _, allocations, _ in table) == count
    assert table[-1] == (2**64 - 1, 1, 1)


BROKEN = [
    ("TRACE-19", {"op": 6}),
    ("TRACE-20", {"op": model.FREE, "slot": 0, "size_bytes": 1}),
    ("TRACE-21", {"op": model.FREE, "slot": form.SLOT_NONE, "flags": 3}),
    ("TRACE-22", {"op": model.MALLOC, "slot": form.SLOT_NONE, "flags": form.FLAG_UNKNOWN}),
    ("TRACE-23", {"op": model.FREE, "slot": 0, "flags": form.FLAG_UNKNOWN}),
    ("TRACE-24", {"op": model.FREE, "slot": 9, "flags": form.FLAG_DOUBLE_FREE}),
    ("TRACE-25", {"op": model.MALLOC, "slot": 0}),
    ("TRACE-25", {"op": model.MALLOC, "slot": 2}),
    ("TRACE-25", {"op": model.MALLOC, "slot": form.SLOT_NONE}),
    ("TRACE-26", {"op": model.FREE, "slot": 1}),
    ("TRACE-26", {"op": model.REALLOC, "slot": form.SLOT_NONE}),
    ("TRACE-27", {"op": model.FREE, "slot": 0, "time_ns": 9}),
    ("TRACE-28", {"op": model.FREE, "slot": 0, "thread": form.THREADS_MAX}),
    ("TRACE-29", {"op": model.FREE, "slot": 0, "site": 1}),
    ("TRACE-30", {"op": model.MALLOC, "slot": 1, "align_log2": 64}),
    ("TRACE-30", {"op": model.FREE, "slot": 0, "align_log2": 1}),
    ("TRACE-22", {"op": model.TOUCH, "slot": form.SLOT_NONE, "flags": form.FLAG_UNKNOWN}),
    ("TRACE-44", {"op": model.TOUCH, "slot": 1, "align_log2": 1}),
    ("TRACE-44", {"op": model.TOUCH, "slot": form.SLOT_NONE, "align_log2": 1}),
    ("TRACE-45", {"op": model.TOUCH, "slot": 0, "size_bytes": 0, "align_log2": 0}),
    ("TRACE-45", {"op": model.TOUCH, "slot": 0, "size_bytes": 8, "align_log2": 1}),
    ("TRACE-45", {"op": model.TOUCH, "slot": 0, "size_bytes": 48, "align_log2": 1}),
    ("TRACE-45", {"op": model.TOUCH, "slot": 0, "size_bytes": 16, "align_log2": 3}),
    ("TRACE-45", {"op": model.TOUCH, "slot": 0, "size_bytes": 2**64 - 16, "align_log2": 1}),
]


@pytest.mark.parametrize(("rule", "event"), BROKEN)
def test_a_broken_rule_is_named_and_what_came_before_stays(
    tmp_path: Path, rule: str, event: dict[str, int]
) -> None:
    good = {"op": model.MALLOC, "slot": 0, "time_ns": 10, "size_bytes": 33}
    columns = {
        name: np.array([good.get(name, 0), event.get(name, 10 * (name == "time_ns")), 0], dtype)
        for name, dtype in ((name, EVENT[name]) for name in EVENT.names or ())
    }
    with TraceWriter(tmp_path / "t.tau", {}) as writer:
        with pytest.raises(TauError, match=rf"event 1 violates a rule of the trace: \[{rule}\]"):
            writer.append(**columns)
        writer.append(**{name: np.array([good.get(name, 0)]) for name in ("time_ns",)}
                      | {"op": np.array([model.FREE]), "slot": np.array([0]),
                         "size_bytes": np.array([0])})  # fmt: skip
    assert len(model.read(tmp_path / "t.tau")["op"]) == 2


def test_a_file_that_is_not_a_trace_or_newer_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "t.tau"
    for text in (b"", b"op,id,size\nmalloc,1,2\n", bytes(4096)):
        path.write_bytes(text)
        with pytest.raises(TauError, match="not a trace"):
            open_trace(path)
    model.write(path, model.random_events(1, 10))
    data = bytearray(path.read_bytes())
    data[8:12] = (form.VERSION + 1).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(TauError, match="newer version") as caught:
        open_trace(path)
    assert "upgrade" in (caught.value.next_step or "")
    with pytest.raises(TauError, match="no such file"):
        open_trace(tmp_path / "absent.tau")
    with pytest.raises(TauError, match="folder"):
        open_trace(tmp_path)


FULL = """
import resource, sys
from tool.tests.trace import trace_forge
from tool.tests.trace import trace_model as model
from tautochrone.errors import TauError
from tautochrone.trace.file import TraceWriter
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
events = model.random_events(3, 150_000)
writer = TraceWriter(sys.argv[1], {})
for number in range(9):
    writer.site("m", number)
try:
    for _ in range(20):
        writer.append(**events)
        break
    writer.close()
except TauError as error:
    sys.exit(str(error))
"""


def test_a_full_disk_is_said_and_what_reached_it_stays(tmp_path: Path) -> None:
    with pytest.raises(TauError, match="disk is full"):
        TraceWriter("/dev/full", {"a": 1})
    path = tmp_path / "t.tau"
    run = subprocess.run(
        [sys.executable, "-c", FULL, path], capture_output=True, text=True, cwd=ROOT, timeout=300
    )
    assert run.returncode == 1 and "disk is full" in run.stderr, run.stderr
    with open_trace(path) as reader:
        assert reader.totals.recovered and reader.totals.events >= form.BLOCK_EVENTS_MAX
    assert model.is_prefix(model.read(path), model.random_events(3, 150_000))


KILLED = """
import os, signal, sys
from tool.tests.trace import trace_forge
from tool.tests.trace import trace_model as model
from tautochrone.trace.file import TraceWriter
writer = TraceWriter(sys.argv[1], {"command": ["x"]})
for number in range(9):
    writer.site("m", number)
writer.append(**model.random_events(4, 200_000))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_writer_leaves_its_whole_blocks(tmp_path: Path) -> None:
    path = tmp_path / "t.tau"
    run = subprocess.run([sys.executable, "-c", KILLED, path], cwd=ROOT, timeout=300)
    assert run.returncode == -9
    events = model.random_events(4, 200_000)
    found = model.read(path)
    assert len(found["op"]) == 3 * form.BLOCK_EVENTS_MAX and model.is_prefix(found, events)
    with open_trace(path) as reader:
        part = {name: column[: len(found["op"])] for name, column in events.items()}
        wanted = model.totals_of(part)
        found_totals = reader.totals.plain() | {"sizes": reader.sizes()}
        assert {name: found_totals[name] for name in wanted} == wanted
        assert reader.totals.recovered and reader.totals.dropped_bytes == 0
        assert reader.header == {"command": ["x"]} and reader.sites()[8] == ("m", 8)


LONG = """
import resource, sys
import numpy as np
from tautochrone.trace.file import TraceWriter, open_trace
n = 100_000
op = np.tile(np.array([0, 0, 4, 4], np.uint8), n // 4)
slot = np.tile(np.array([0, 1, 1, 0], np.uint32), n // 4)
size = np.tile(np.array([64, 100, 0, 0], np.uint64), n // 4)
noise = np.random.default_rng(1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with TraceWriter(sys.argv[1], {}) as writer:
    for part in range(100):
        time = np.sort(noise.integers(part * 10**9, (part + 1) * 10**9, n)).astype(np.uint64)
        writer.append(op=op, slot=slot, size_bytes=size, time_ns=time)
with open_trace(sys.argv[1]) as reader:
    events = sum(len(block.op) for block in reader.columns())
print(events, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_ten_million_events_stream_in_bounded_memory(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", LONG, tmp_path / "t.tau"],
        capture_output=True, text=True, cwd=ROOT, timeout=300, check=True,
    )  # fmt: skip
    events, grown_kib = map(int, run.stdout.split())
    assert events == 10_000_000
    assert grown_kib < 64 * 1024, f"{grown_kib} KiB more than before"
