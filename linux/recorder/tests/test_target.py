"""The target shim: a firmware's events come back from its byte stream, one by one."""

import csv
import json
import platform
import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from tautochrone.errors import TauError
from tautochrone.facts import abi_format, trace_format
from tautochrone.record import merge
from tautochrone.trace import abi
from tautochrone.trace.ending import (
    ENDED_BY_FLUSH,
    ENDED_WITHOUT_MARK,
    LOSE_NOTHING_ON_TARGET,
    LOST,
    MARK_THE_END,
    NO_END,
    NO_EXIT,
)
from tautochrone.trace.file import OPS, open_trace

from linux.recorder.tests import test_merge as fuzz
from testing import command
from testing.recorded import Build, events_of

ROOT = Path(__file__).parents[3]
SHIM = ROOT / "core" / "ports" / "record.c"


@pytest.fixture
def firmware(build: Build) -> Path:
    """The firmware, with a small buffer so that blocks are many."""
    return build("firmware", f"-I{ROOT}", str(SHIM), "-DTAU_RECORD_BUFFER_BYTES=256u")


def run(firmware: Path, stream: Path, *words: object) -> tuple[list[dict[str, str]], int]:
    """Run the firmware; returns the events it made, and the rows that could not be sent."""
    command = [str(firmware), str(stream), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return list(csv.DictReader(done.stdout.splitlines())), int(done.stderr)


def run_rows(build: Build, stream: Path, rows: str) -> None:
    """Make a target's stream of rows, as programs/firmware/rows.c reads them."""
    command = [str(build("rows", f"-I{ROOT}", str(SHIM))), str(stream)]
    subprocess.run(command, input=rows, text=True, check=True, timeout=300)


def test_round_trip(firmware: Path, tmp_path: Path) -> None:
    """Each event comes back with its size, alignment, time, thread and object."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    made, dropped = run(firmware, tmp_path / "stream", seed, 20000)
    assert dropped == 0
    assert merge.is_target(tmp_path / "stream") and not merge.is_raw(tmp_path / "stream")
    merged = merge.merge_target(tmp_path / "stream", tmp_path / "out.tau")
    assert merged.events == len(made)
    wrong = (merged.implied_frees, merged.unknown_count, merged.damaged_chunks, merged.lost_blocks)
    assert wrong == (0, 0, 0, 0)
    object_of_slot: dict[int, str] = {}
    number_of_thread: dict[str, int] = {}
    for event, expected in zip(events_of(tmp_path / "out.tau"), made, strict=True):
        assert OPS[event["op"]] == expected["op"]
        assert event["size_bytes"] == int(expected["size"])
        assert event["align_log2"] == int(expected["align"])
        assert abs(int(event["time_ns"]) - int(expected["time"]) * 1000) <= 1
        number = number_of_thread.setdefault(expected["thread"], int(event["thread"]))
        assert number == event["thread"] or int(expected["thread"]) >= 2**20
        slot = int(event["slot"])
        if expected["op"] in ("realloc", "free"):
            assert object_of_slot[slot] == expected["id"]
        object_of_slot[slot] = expected["id"]
    with open_trace(tmp_path / "out.tau") as reader:
        sites = reader.sites()
    assert {offset for _, offset in sites} <= {0x08000001 + 64 * i for i in range(40)}


def test_refused_writes_are_counted(firmware: Path, tmp_path: Path) -> None:
    """Blocks that the link refused are known by number and by their rows."""
    _, dropped = run(firmware, tmp_path / "stream", 7, 5000, 20)
    assert dropped > 0
    merged = merge.merge_target(tmp_path / "stream", tmp_path / "out.tau")
    assert merged.lost_blocks == 3
    assert merged.dropped_rows == dropped
    with open_trace(tmp_path / "out.tau") as reader:
        assert reader.header["lost"] == {"lost_blocks": 3, "dropped_rows": dropped}
        assert reader.totals.events == merged.events
        assert [remark.kind for remark in reader.ending.remarks] == [LOST, LOST]


def test_import_says_what_the_link_lost(firmware: Path, tmp_path: Path) -> None:
    run(firmware, tmp_path / "stream", 7, 5000, 20)
    command = [sys.executable, "-m", "tautochrone", "import", "stream", "-o", "out.tau", "--json"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300
    )
    words = "3 blocks of the target's stream were lost in transfer"
    assert words in done.stderr
    assert words in json.loads(done.stdout)["ending"]["remarks"][0]["cause"]


def test_frees_of_lost_objects_have_their_place_and_the_next_step(
    build: Build, tmp_path: Path
) -> None:
    """A block with an allocation is lost: each command names the loss, not a missing wrapper."""
    stream, trace = tmp_path / "stream", tmp_path / "out.tau"
    run_rows(build, stream, "m 100 24 b 0 m 200 8 b 0 f 200 e 0")
    blocks = stream.read_bytes().split(b"TauT")
    stream.write_bytes(b"TauT".join(blocks[:2] + blocks[3:]))
    said = command.tau_done("import", stream, "-o", trace).stderr
    assert f"were lost in transfer\n  next: {LOSE_NOTHING_ON_TARGET}" in said
    assert f"tau: 1 free of lost objects, see tau check {trace};" in said
    checked = command.tau("check", trace, expect=1).stdout.splitlines()
    assert f"{trace}: event 1: free of an object that the trace never allocated" in checked
    assert checked[-1] == f"next: {LOSE_NOTHING_ON_TARGET}"
    told = command.tau_done("info", trace).stdout
    assert (
        "incomplete   1 free of objects that were lost\n             the first is event 1" in told
    )
    refused = command.tau("plan", trace, expect=1).stderr
    assert LOSE_NOTHING_ON_TARGET in refused and "wrap every function" not in refused


def test_a_damaged_capture_is_named_as_one(stream: bytes, tmp_path: Path) -> None:
    (tmp_path / "damaged").write_bytes(stream[:50].replace(b"\x03", b"\x04"))
    refused = command.tau("import", tmp_path / "damaged", expect=1).stderr
    assert "a damaged capture of a firmware" in refused and "record_wrap.c" in refused


def test_capture_that_starts_late(firmware: Path, tmp_path: Path) -> None:
    """Noise before, in between and at the end costs the blocks it hits and no others."""
    run(firmware, tmp_path / "stream", 11, 5000)
    data = (tmp_path / "stream").read_bytes()
    whole = merge.merge_target(tmp_path / "stream", tmp_path / "out.tau")
    middle = len(data) // 2
    noisy = b"boot: hello\r\nTauT" + data[100:middle] + b"\0TauT\xff" + data[middle + 40 :] + b"T"
    (tmp_path / "noisy").write_bytes(noisy)
    assert merge.is_target(tmp_path / "noisy")
    merged = merge.merge_target(tmp_path / "noisy", tmp_path / "noisy.tau")
    assert merged.lost_blocks == 1  # the first is not missed: nothing tells that it was there
    assert whole.chunks - 3 <= merged.chunks < whole.chunks


MANY = "".join(f" m {address:x} 8" for address in range(0x200, 0x1200, 16))
# Rows of programs/firmware/rows.c, bytes that are cut off the end, and how the trace ended.
ENDS = {
    "exit": ("m 100 24 e 0", 0, "exit"),
    "rows of the C library behind it": ("m 100 24 e 0 f 100 b 0", 0, "exit"),
    "nothing recorded": ("e 0", 0, "exit"),
    "flushed": ("m 100 24 b 0 f 100 b 0 t 5 b 0", 0, ENDED_BY_FLUSH),
    "rows behind a flush": ("m 100 24 b 0" + MANY, 0, ENDED_WITHOUT_MARK),
    "neither": ("m 100 24" + MANY, 0, ENDED_WITHOUT_MARK),
    "the last block is cut": ("m 100 24" + MANY + " e 0", 1, ENDED_WITHOUT_MARK),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_end_of_a_stream_is_marked(build: Build, tmp_path: Path, name: str) -> None:
    """Each end mark is found; a stream without one gets a remark and the next step [REC-26]."""
    rows, cut_bytes, ended = ENDS[name]
    stream = tmp_path / "stream"
    run_rows(build, stream, rows)
    stream.write_bytes(stream.read_bytes()[: stream.stat().st_size - cut_bytes])
    merge.merge_target(stream, tmp_path / "out.tau")
    with open_trace(tmp_path / "out.tau") as reader:
        assert reader.header["ended"] == ended
        assert reader.ending.is_complete == (ended != ENDED_WITHOUT_MARK)
        remarks = reader.ending.remarks
    kinds = {"exit": [], ENDED_BY_FLUSH: [NO_EXIT], ENDED_WITHOUT_MARK: [NO_END]}
    assert [remark.kind for remark in remarks] == kinds[ended]
    if ended == ENDED_WITHOUT_MARK:
        assert remarks[0].next_step == MARK_THE_END
        for verb, status in {"check": 1, "plan": 0}.items():
            done = command.tau(verb, tmp_path / "out.tau", expect=status)
            said = done.stdout + done.stderr
            assert "may lack its end: the target's stream has no end mark" in said
            assert f"next: {MARK_THE_END}" in said


def test_a_second_start_needs_its_own_end(build: Build, tmp_path: Path) -> None:
    """The mark of a run before a restart says nothing of the run after it."""
    whole, second = tmp_path / "whole", tmp_path / "second"
    run_rows(build, whole, "m 100 24 e 0")
    run_rows(build, second, "m 100 24" + MANY)
    second.write_bytes(whole.read_bytes() + second.read_bytes())
    merge.merge_target(second, tmp_path / "out.tau")
    with open_trace(tmp_path / "out.tau") as reader:
        assert reader.header["ended"] == ENDED_WITHOUT_MARK


def test_restart_frees_everything(firmware: Path, tmp_path: Path) -> None:
    """A firmware that begins again has an empty heap, and time goes on."""
    run(firmware, tmp_path / "stream", 13, 3000)
    data = (tmp_path / "stream").read_bytes()
    (tmp_path / "twice").write_bytes(data + data)
    once = merge.merge_target(tmp_path / "stream", tmp_path / "once.tau")
    twice = merge.merge_target(tmp_path / "twice", tmp_path / "twice.tau")
    assert twice.restarts == 1 and twice.unknown_count == 0
    assert twice.events == 2 * once.events + twice.implied_frees
    assert twice.peak_live_objects == once.peak_live_objects
    assert twice.duration_ns == pytest.approx(2 * once.duration_ns, rel=0.01)


def test_any_damage(firmware: Path, tmp_path: Path) -> None:
    """A stream that is cut anywhere or bit-flipped is merged or refused, and never crashes."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chosen = random.Random(seed)
    run(firmware, tmp_path / "stream", 17, 5000)
    size = (tmp_path / "stream").stat().st_size
    mutations = [fuzz.mutate(chosen, size) for _ in range(200)]
    done = fuzz.merge_all("merge_target", tmp_path / "stream", tmp_path, mutations)
    lines = len(done.stdout.splitlines())
    assert done.returncode == 0, (mutations[lines : lines + 1], done.stderr)


def forged(data: bytes, **fields: int) -> bytes:
    """The stream's first block with other bytes in its header, and a right checksum."""
    block = bytearray(data)
    for name, value in fields.items():
        block[{"version": 4, "abi": 10, "pointer_bytes": 11}[name]] = value
    payload_bytes = struct.unpack_from("<H", block, 8)[0]
    del block[44 + payload_bytes :]
    struct.pack_into("<I", block, 40, zlib.crc32(block[44:], zlib.crc32(block[:40])))
    return bytes(block)


@pytest.fixture
def stream(firmware: Path, tmp_path: Path) -> bytes:
    """A short stream."""
    run(firmware, tmp_path / "whole", 19, 100)
    return (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"version": 9}, "newer"),
        ({"version": 2}, "earlier version of tau"),
    ],
)
def test_other_versions_are_refused(
    stream: bytes, tmp_path: Path, fields: dict[str, int], words: str
) -> None:
    """A block of another version is not guessed at."""
    (tmp_path / "other").write_bytes(b"boot" + forged(stream, **fields))
    assert merge.is_target(tmp_path / "other")
    with pytest.raises(TauError, match=words) as refused:
        merge.merge_target(tmp_path / "other", tmp_path / "out.tau")
    assert (refused.value.next_step or "").startswith(("update tau", "record again"))


def test_the_stream_tells_its_machine(stream: bytes, tmp_path: Path) -> None:
    """The trace has the ABI that the recorder was compiled for; two in one stream are refused."""
    machine = platform.machine().replace("_", "-")
    numbers = abi_format.NUMBER
    for number, name in ((numbers[machine], machine), (numbers["arm"], "arm"), (0, ""), (200, "")):
        (tmp_path / "one").write_bytes(forged(stream, abi=number))
        merge.merge_target(tmp_path / "one", tmp_path / "out.tau")
        with open_trace(tmp_path / "out.tau") as reader:
            assert abi.of_header(reader.header) == name
    assert stream[10:12] == bytes([abi_format.NUMBER[machine], 8])
    for fields in ({"abi": abi_format.NUMBER["arm"]}, {"pointer_bytes": 4}):
        (tmp_path / "two").write_bytes(stream + forged(stream, **fields))
        with pytest.raises(TauError, match="different ABIs"):
            merge.merge_target(tmp_path / "two", tmp_path / "out.tau")


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        ("arm-none-eabi-gcc", ["-mcpu=cortex-m4", "-mthumb"]),
        ("riscv64-unknown-elf-gcc", ["-march=rv32imc", "-mabi=ilp32"]),
    ],
)
def test_shim_is_freestanding(compiler: str, flags: list[str], tmp_path: Path) -> None:
    """It compiles without warnings for both targets and needs nothing but memset and division."""
    out = tmp_path / "record.o"
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
    command = [compiler, *flags, "-std=c17", "-Os", "-ffreestanding", *strict, f"-I{ROOT}"]
    subprocess.run([*command, "-c", str(SHIM), "-o", str(out)], check=True, timeout=300)
    tool = compiler.replace("gcc", "nm")
    listing = subprocess.run(
        [tool, "-u", str(out)], capture_output=True, text=True, check=True, timeout=300
    )
    needed = {line.split()[-1] for line in listing.stdout.splitlines()}
    assert needed <= {"memcpy", "memset", "__aeabi_llsl", "__aeabi_llsr", "__ashldi3", "__lshrdi3"}
    assert trace_format.SLOT_NONE == 0xFFFFFFFF
