"""Merging never crashes, whatever the raw file holds, and gives what can be read of it."""

import random
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tautochrone import native
from tautochrone.declarations import Struct
from tautochrone.errors import TauError
from tautochrone.facts import trace_format
from tautochrone.record import merge
from tautochrone.record.program import build_id
from tautochrone.trace import abi
from tautochrone.trace.file import open_trace

from testing.recorded import Build, events_of

ROOT = Path(__file__).parents[3]
ROUNDS = 150
HEADER_BYTES = 4096

# Runs in a process of its own: a crash must not take the tests along. Reads mutations from stdin,
# one a line: how many bytes to keep, then offset:byte pairs.
MERGE_MANY = """
import sys
from tautochrone.record import merge
from tautochrone.errors import TauError
whole = open(sys.argv[1], "rb").read()
for line in sys.stdin:
    kept, *flips = line.split()
    data = bytearray(whole[: int(kept)])
    for flip in flips:
        at, value = map(int, flip.split(":"))
        data[at] ^= value
    open(sys.argv[2], "wb").write(data)
    try:
        merge.MERGE(sys.argv[2], sys.argv[3])
    except TauError as error:
        assert error.next_step, error.message
    print(line, end="", flush=True)
"""


def merge_all(
    function: str, source: Path, folder: Path, mutations: list[str]
) -> subprocess.CompletedProcess[str]:
    """Merge each mutation of `source` in one child process."""
    script = MERGE_MANY.replace("MERGE", function, 1).replace("merge.MERGE", f"merge.{function}")
    words = [sys.executable, "-c", script, str(source), str(folder / "cut"), str(folder / "o.tau")]
    text = "".join(line + "\n" for line in mutations)
    return subprocess.run(words, input=text, capture_output=True, text=True, timeout=400)


def mutate(chosen: random.Random, size: int) -> str:
    """Name one mutation: a cut, some flipped bits, or both; half of the flips near the start."""
    kept = chosen.randrange(size) if chosen.random() < 0.5 else size
    flips = []
    for _ in range(chosen.choice((0, 1, 1, 2, 8, 64))):
        if kept > 0:
            reach = min(kept, chosen.choice((512, 2 * HEADER_BYTES, 65536, size)))
            flips.append(f"{chosen.randrange(reach)}:{1 << chosen.randrange(8)}")
    return " ".join([str(kept), *flips])


@pytest.fixture
def raw(build: Build, tau: Any, tmp_path: Path) -> Path:
    """One raw recording with several threads and chunks."""
    out = tmp_path / "program.tauraw"
    done = tau("record", "--raw", "-o", out, "--", build("threads"), 3, 20000)
    assert done.returncode == 0, done.stderr
    return out


def test_raw_recording_merges_as_recorded(raw: Path, tmp_path: Path) -> None:
    """--raw leaves what merge_raw needs, and merging is a function of its bytes alone [REC-12]."""
    assert merge.is_raw(raw) and not merge.is_target(raw)
    merged = merge.merge_raw(raw, tmp_path / "a.tau")
    assert merge.merge_raw(raw, tmp_path / "b.tau").plain() == merged.plain()
    assert merged.events > 120000 and merged.implied_frees == 0
    assert (tmp_path / "a.tau").read_bytes() == (tmp_path / "b.tau").read_bytes()


def test_a_raw_recording_names_its_machine(raw: Path, build: Build) -> None:
    """ABI, alignment and build id are the program's; no emulator ran it."""
    header = merge.read_raw_header(raw)
    assert header.abi == abi.of_host() != ""
    assert (header.page.malloc_alignment, header.emulator) == (16, "")
    assert header.build_id == build_id(build("threads")) != ""
    without = merge.read_raw_header(raw).trace_header()
    assert (without["abi"], without["build_id"]) == (header.abi, header.build_id)
    assert "emulator" not in without


@pytest.mark.parametrize(("version", "said"), [(2, "record again"), (4, "update tau")])
def test_another_version_is_refused(tmp_path: Path, version: int, said: str) -> None:
    """An earlier recording does not know its machine, a later one is not understood."""
    data = bytearray(recording(b""))
    struct.pack_into("<I", data, 8, version)
    path = tmp_path / "other.tauraw"
    path.write_bytes(data)
    for refuse in (
        lambda: merge.merge_raw(path, tmp_path / "out.tau"),
        lambda: merge._merge("tau_merge_recording", path, tmp_path / "out.tau", {}, None),
    ):
        with pytest.raises(TauError) as refused:
            refuse()
        assert said in (refused.value.next_step or "")
    assert not (tmp_path / "out.tau").exists()


def test_any_damage(raw: Path, tmp_path: Path) -> None:
    """A raw file cut anywhere or bit-flipped is merged or refused, never a crash [REC-13]."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chosen = random.Random(seed)
    mutations = [mutate(chosen, raw.stat().st_size) for _ in range(ROUNDS)]
    done = merge_all("merge_raw", raw, tmp_path, mutations)
    lines = len(done.stdout.splitlines())
    assert done.returncode == 0, (mutations[lines : lines + 1], done.stderr)


def test_any_damage_under_sanitizers(raw: Path, build: Build, tmp_path: Path) -> None:
    """The same, with every access and every conversion checked by the compiler's sanitizers."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chosen = random.Random(seed)
    native = ROOT / "tool" / "native"
    sources = [*(native / "record").glob("*.c"), *(native / "trace").glob("*.c")]
    flags = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    flags += ["-D_GNU_SOURCE", f"-I{ROOT}", *map(str, sources), "-lzstd"]
    program = build("sanitized", *flags)
    whole = raw.read_bytes()
    files = []
    for index in range(40):
        kept, *flips = mutate(chosen, len(whole)).split()
        data = bytearray(whole[: int(kept)])
        for flip in flips:
            at, value = map(int, flip.split(":"))
            data[at] ^= value
        files.append(tmp_path / f"{index}.tauraw")
        files[-1].write_bytes(data)
    words = [program, "raw", tmp_path / "out.tau", *files]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    lines = len(done.stdout.splitlines())
    assert done.returncode == 0, (files[lines : lines + 1], done.stderr)


def test_cut_keeps_what_is_there(raw: Path, tmp_path: Path) -> None:
    """Half of a file gives a trace with a good part of its events."""
    whole = merge.merge_raw(raw, tmp_path / "whole.tau")
    data = raw.read_bytes()
    used = data.rstrip(b"\0")
    (tmp_path / "half").write_bytes(used[: len(used) // 2])
    half = merge.merge_raw(tmp_path / "half", tmp_path / "half.tau")
    assert 0.2 * whole.events < half.events < whole.events
    assert half.damaged_chunks == 1, "the one that the file ends in"
    with open_trace(tmp_path / "half.tau") as reader:
        assert "1 damaged chunks of the recording were left out" in reader.ending.gaps
    with open_trace(tmp_path / "whole.tau") as reader:
        assert "lost" not in reader.header and reader.ending.is_complete


def test_damaged_chunk_is_counted(raw: Path, tmp_path: Path) -> None:
    """A chunk whose rows make no sense ends where they do; the others are complete."""
    data = bytearray(raw.read_bytes())
    at = 0
    while (at := data.find(b"TauC" + struct.pack("<I", 1), at + 1)) > 0:
        data[at + 500 : at + 600] = b"\xf8" * 100  # A tag without an operation.
    (tmp_path / "bad").write_bytes(data)
    damaged = merge.merge_raw(tmp_path / "bad", tmp_path / "bad.tau").damaged_chunks
    assert damaged >= 1
    with open_trace(tmp_path / "bad.tau") as reader:
        assert reader.header["lost"] == {"damaged_chunks": damaged}
        assert f"{damaged} damaged chunks" in reader.ending.gaps


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: b"", "neither a raw recording"),
        (lambda data: b"\x7fELF" + data[4:], "neither a raw recording"),
        (lambda data: data[:100], "neither a raw recording"),
        (lambda data: data[:8] + struct.pack("<I", 99) + data[12:], "newer version"),
    ],
    ids=["empty", "other", "short", "newer"],
)
def test_a_file_that_is_not_a_recording(
    raw: Path, tmp_path: Path, change: Callable[[bytes], bytes], says: str
) -> None:
    """Each refusal names its cause and the next step."""
    (tmp_path / "bad").write_bytes(change(raw.read_bytes()))
    with pytest.raises(TauError, match=says) as refused:
        merge.merge_raw(tmp_path / "bad", tmp_path / "bad.tau")
    assert refused.value.next_step


# ---- Hand-made recordings


def recording(rows: bytes, forked_from: int = 0) -> bytes:
    """A raw recording with one chunk of these rows, clock in nanoseconds."""
    header = native.struct("tau_raw_header")(
        magic=merge.RAW_MAGIC,
        version=3,
        header_bytes=HEADER_BYTES,
        started_ticks=1000,
        started_ns=1000,
        latest_ticks=2000,
        latest_ns=2000,
        address_shift=4,
        forked_from_pid=forked_from,
        ended=1,
    )
    chunk = struct.pack("<IIIIQQ", 0x43756154, 1, 4096, 1, 1000, HEADER_BYTES) + rows
    return bytes(header) + chunk.ljust(4096, b"\0")


def row(op: int, address: int, size: int | None = None) -> bytes:
    """A row one tick after the last, its address whole (9 off a multiple of 16), without a site."""
    assert size is None or size < 128
    known = b"" if size is None else bytes([size << 1])
    return bytes([op | 7 << 5, 1]) + struct.pack("<Q", address) + known + b"\1"


def merged_events(folder: Path, data: bytes) -> tuple[Struct, list[tuple[int, int, int]]]:
    """Merge and return (op, flags, slot) of each event."""
    (folder / "hand.tauraw").write_bytes(data)
    merged = merge.merge_raw(folder / "hand.tauraw", folder / "hand.tau")
    events = events_of(folder / "hand.tau")
    return merged, events[["op", "flags", "slot"]].tolist()


MALLOC, BEGIN, END, FREE = 1, 3, 4, 6
FAILED, FREED = bytes([7 | 1 << 3]), bytes([7 | 2 << 3])
A, B, C = 0x1009, 0x2009, 0x3009
NONE = trace_format.SLOT_NONE
T_MALLOC, T_REALLOC, T_FREE = (
    trace_format.OP_MALLOC,
    trace_format.OP_REALLOC,
    trace_format.OP_FREE,
)


def test_slots_are_reused_last_first(tmp_path: Path) -> None:
    """A new object takes the slot that was freed last [REC-14]."""
    rows = b"".join([row(MALLOC, A, 1), row(MALLOC, B, 2), row(FREE, A), row(MALLOC, C, 3)])
    _, events = merged_events(tmp_path, recording(rows))
    assert events == [(T_MALLOC, 0, 0), (T_MALLOC, 0, 1), (T_FREE, 0, 0), (T_MALLOC, 0, 0)]


def test_misuse_is_flagged(tmp_path: Path) -> None:
    """A second free is DOUBLE_FREE, one never seen UNKNOWN, in a child INHERITED [REC-9]."""
    rows = row(MALLOC, A, 1) + row(FREE, A) + row(FREE, A) + row(FREE, B)
    merged, events = merged_events(tmp_path, recording(rows))
    assert events[2:] == [
        (T_FREE, trace_format.FLAG_DOUBLE_FREE, NONE),
        (T_FREE, trace_format.FLAG_UNKNOWN, NONE),
    ]
    assert (merged.double_free_count, merged.unknown_count) == (1, 1)
    merged, events = merged_events(tmp_path, recording(rows, forked_from=9))
    assert events[3] == (T_FREE, trace_format.FLAG_INHERITED, NONE)


def test_realloc_of_an_unknown_object(tmp_path: Path) -> None:
    """It is flagged once; from then on the object is known."""
    rows = row(BEGIN, A) + row(END, B, 5) + row(FREE, B)
    merged, events = merged_events(tmp_path, recording(rows))
    assert events == [
        (T_REALLOC, trace_format.FLAG_UNKNOWN, NONE),
        (T_MALLOC, 0, 0),
        (T_FREE, 0, 0),
    ]
    assert merged.unknown_count == 1


def test_realloc_that_fails_or_frees(tmp_path: Path) -> None:
    """A failed realloc is not an event and keeps the object; realloc(p, 0) is its free."""
    rows = row(MALLOC, A, 1) + row(BEGIN, A) + FAILED + row(BEGIN, A) + FREED + row(FREE, A)
    _, events = merged_events(tmp_path, recording(rows))
    flag = trace_format.FLAG_DOUBLE_FREE
    assert events == [(T_MALLOC, 0, 0), (T_FREE, 0, 0), (T_FREE, flag, NONE)]


def test_free_that_was_not_seen(tmp_path: Path) -> None:
    """A new object where one is alive: a free is inserted before it, and counted [REC-10]."""
    merged, events = merged_events(tmp_path, recording(row(MALLOC, A, 1) + row(MALLOC, A, 2)))
    assert events == [(T_MALLOC, 0, 0), (T_FREE, 0, 0), (T_MALLOC, 0, 0)]
    assert merged.implied_frees == 1


def test_trace_that_cannot_be_written(raw: Path, tmp_path: Path) -> None:
    """The cause and the next step are named, and the recording stays."""
    before = raw.read_bytes()
    with pytest.raises(TauError, match="cannot write") as refused:
        merge.merge_raw(raw, tmp_path / "nowhere" / "a.tau")
    assert refused.value.next_step and raw.read_bytes() == before


def test_progress_can_stop_the_merge(raw: Path, tmp_path: Path) -> None:
    """What the progress function raises comes out of the merge: Ctrl-C is not lost."""

    def stop(done_bytes: int, total_bytes: int) -> None:
        assert done_bytes <= total_bytes
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        merge.merge_raw(raw, tmp_path / "a.tau", progress=stop)
