"""Sound files of every kind that the command reads, and what damages them."""

import copy
import ctypes
import gzip
import json
import random
import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tautochrone import native
from tautochrone.facts import trace_format
from tautochrone.record import accesses as access
from tautochrone.trace import file as trace
from testing.random_trace import random_events
from tool.tests.commands import target_samples
from tool.tests.trace import trace_forge

# A block of a target's stream (docs/spec/recorder.md): magic, version, address shift, rows,
# payload bytes, ABI, pointer bytes, sequence, ticks per second, dropped rows, start ticks, thread,
# checksum.
TARGET_BLOCK = struct.Struct("<4sBBHHBBIIQQII")
ESCAPE = "\x1b]0;forged\x07\x1b[31m"
DEEP = 100_000
DIGITS = "9" * 5000
WORDS = (0, 1, 127, 255, 65535, 65536, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 40, 2**64 - 1)
TOKENS = (
    *(b"\0", b"\xff", b"\n", b",", b'"', b"'", b"\\", b"%", b"\r\n", b"\xef\xbb\xbf", b"\x80" * 20),
    *(b"-1", b"1e999", b"NaN", b"0x", b"18446744073709551616", b"9" * 5000, b"1_0", b"--"),
    *(b"[" * 2000, b"{" * 2000, b'{"a":' * 2000, b"\\u001b", ESCAPE.encode(), b"\xe2\x80\xae"),
)
JSON_VALUES = (
    *(None, True, -1, 0, 1.5, 2**63, 2**64, 10**400, 1e308, float("nan"), float("inf")),
    *("", ESCAPE, "\ud800", "a\nb", "x" * 5000, [], {}, [[]], [None], {"": None}, "\0", "é"),
)
ELFS = ("kernel", "application", "firmware", "program")
TEXTS = (
    *("plan", "link map", "code plan", "kept functions", "tasks", "geometry"),
    *("TLB plan", "system", "limits", "guaranteed plan"),
)
CSV = (
    "op,id,size,align,time,thread,site\n"
    "malloc,a,24,,1,0,/lib/a.so+0x10\ncalloc,b,100,,2,1,main+0x0\naligned_alloc,c,64,64,3,0,\n"
    "touch,a,0,1,4,0,\nrealloc,a,80,,5,0,\nfree,b,,,6,0,\nfree,zz,,,7,0,\n"
)
LIMITS = (
    'format = "tautochrone limits"\nversion = 1\n'
    '[[limit]]\nname = "a"\nsize_bytes = 24\ncount = 9\n'
    '[[limit]]\nname = "b"\nsize_bytes = 96\ncount = 5\n[[exclusive]]\nlimits = ["a", "b"]\n'
)
HEAPTRACK = (
    "v 10400 3\nx 8 /bin/abc\nX abc --flag\nI 1000 5e298d\nm 1 - 0\nt 4005 0\nt 4100 1\n"
    "+ 18 2 aa0\nc a\n+ 40 1 ab0\n- aa0\nc 14\n+ 8 1 aa0\n- ab0\n- ab0\n- 99\n"
)
HEADER = {
    "recorder": "preload",
    "program": "/usr/bin/program",
    "command": ["program", ESCAPE],
    "started_unix_ns": 1_700_000_000_000_000_000,
    "clock": "accesses",
    "accesses": {"heap_loads": 500, "heap_stores": 600, "other_loads": 7, "other_stores": 8},
    "host": "machine",
    "parent": None,
}


def _calls(unit: str) -> dict[str, Any]:
    said = {"count": 3, f"max_{unit}": 90, f"p999_{unit}": 80, f"bound_{unit}": 100, "grows": None}
    return said | {"by_size": {"size_bytes": [16, 32], unit: [80, 90]}}


def _on_pages(name: str, role: str, unit: str) -> dict[str, Any]:
    said: dict[str, Any] = {"name": name, "role": role, "completed": True}
    said["footprint_bytes"] = 8192
    said |= {"failed_at_event": None, "cause": None, "peak_mapped_pages": 2, "faults": 2}
    said |= {"mean_mapped_pages": 1.5, "touches": 1, "touch": "recorded", "frames": 4}
    said["mapped_pages"] = {"event": [0, 5], "min": [0, 1], "max": [1, 2]}
    said["operations"] = {kind: _calls(unit) for kind in ("malloc", "free", "fault")}
    return said | {"cycles" if unit == "cycles" else "table_bytes": 4096}


REPLAY = {
    "version": 1,
    "command": "replay",
    "trace": "program.tau",
    "plan": None,
    "instructions": "rv32",
    "systems": [
        {
            **{"name": "tlsf", "role": "ours", "completed": True, "footprint_bytes": 2000},
            "operations": {"malloc": {**_calls("instructions"), "max_hit_instructions": 7}},
        },
        {
            **{"name": "budget", "role": "planned", "completed": False, "footprint_bytes": 1500},
            "operations": {},
        },
        _on_pages("rtvm", "ours", "instructions"),
        _on_pages("conventional", "conventional", "instructions"),
        _on_pages("tile:rtmmu", "ours", "cycles"),
        _on_pages("tile:pagetable", "conventional", "cycles"),
    ],
}


def write_trace(path: Path, header: str | bytes, events: int = 120) -> None:
    """Write a trace of random events under any text as its header."""
    rows = np.array(random_events(8, events), dtype=np.uint64).reshape(-1, 4)
    data = header.encode("utf-8", "surrogatepass") if isinstance(header, str) else header
    writer = trace.TraceWriter.__new__(trace.TraceWriter)
    writer.path = path
    writer._handle = native.library().tau_trace_writer_open(
        bytes(path), data, ctypes.c_uint32()
    )
    with writer:
        for number in range(9):
            writer.site(f"/lib/{ESCAPE}module{number % 3}.so", number * 16)
        writer.append(
            op=rows[:, 0],
            slot=rows[:, 1],
            size_bytes=rows[:, 2],
            align_log2=rows[:, 3],
            site=np.arange(len(rows)) % 10,
            time_ns=10 * np.arange(len(rows)),
        )


def _write_lines(path: Path) -> None:
    """Write a trace with addresses in the code of host.elf and of firmware.elf as call sites."""
    with trace.TraceWriter(path, {"recorder": "target"}) as writer:
        places = (*range(0x401000, 0x401020), *range(0x20, 0x800, 30))
        sites = [writer.site("", place) for place in places]
        size = np.full(len(sites), 8)
        slot = np.arange(len(sites))
        writer.append(op=0 * size, slot=slot, size_bytes=size, site=np.array(sites))


def access_recording() -> bytes:
    """A recording of accesses of one small process."""
    rows = b"".join(
        bytes([fact << 4, len(text)]) + text
        for fact, text in (
            (access.FACT_PROGRAM, b"/bin/program"),
            (access.FACT_DIRECTORY, b"/tmp"),
            (access.FACT_ARGUMENT, b"--option"),
            (access.FACT_NUMBERS, b"17 16 1700000000000 0 0"),
        )
    )
    rows += b"\x09\x09/lib/a.so\x10" + b"\x01\x01\x00\x01\x40" + b"\x26\x01\x00\x01"
    rows += b"\x08\x01" + b"\x04\x01\x02\x01\x40\x06" + b"\x05\x01\x01\x01" + b"\x17\x01\x00"
    return access.RAW_MAGIC + b"\x01" + rows + b"\x0a\x05\x06\x07\x08\x09" + b"\x0c\x00"


def target_stream(source: random.Random, blocks: int = 4) -> bytes:
    """Blocks with sound checksums around rows that mean anything."""
    stream = b""
    for sequence in range(blocks):
        payload = source.randbytes(source.randrange(0, 60))
        head = TARGET_BLOCK.pack(
            *(b"TauT", 3, 3, 2, len(payload), 4, 4),
            *(sequence, 1_000_000, 0, 5, 0, 0),
        )[:-4]
        stream += head + struct.pack("<I", zlib.crc32(payload, zlib.crc32(head))) + payload
    return stream


def samples(folder: Path) -> dict[str, bytes]:
    """Return a sound file of each kind, by kind; `folder` is for making them."""
    write_trace(folder / "program.tau", json.dumps(HEADER))
    _write_lines(folder / "lines.tau")
    (folder / "limits.toml").write_text(LIMITS)
    guaranteed = ("--skip-misuse", "--guarantee", "--limits", "limits.toml")
    for words in (
        ("plan", "program.tau", "--skip-misuse", "-o", "plan.toml"),
        ("plan", "program.tau", *guaranteed, "-o", "guaranteed.toml"),
        ("export", "program.tau", "-o", "program.parquet"),
        ("record", "--raw", "-o", "true.tauraw", "--", "true"),
    ):
        target_samples.tau(folder, *words)
    return target_samples.samples(folder) | {
        "trace": (folder / "program.tau").read_bytes(),
        "plan": (folder / "plan.toml").read_bytes(),
        "limits": LIMITS.encode(),
        "guaranteed plan": (folder / "guaranteed.toml").read_bytes(),
        "parquet": (folder / "program.parquet").read_bytes(),
        "recording": (folder / "true.tauraw").read_bytes(),
        "csv": CSV.encode(),
        "packed csv": gzip.compress(CSV.encode()),
        "heaptrack": HEAPTRACK.encode(),
        "accesses": access_recording(),
        "target": target_stream(random.Random(1)),
        "replay": json.dumps(REPLAY).encode(),
        "program": _program(folder, "gcc", "-no-pie"),
    }


def _program(folder: Path, *compiler: str) -> bytes:
    """A small program with its types, of which target.elf in `folder` is another build."""
    (folder / "program.c").write_text(
        "struct node { struct node *next; long value; char name[20]; } node;\n"
        "union { double d; void *p[9]; } some; int main(void) { return sizeof node; }\n"
    )
    arm = ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb")
    for words, out in ((compiler, "host.elf"), (arm, "target.elf")):
        alone = ("-g", "-nostdlib", "-Wl,-e,0", "program.c", "-o", out)
        subprocess.run([*words, *alone], cwd=folder, check=True, capture_output=True)
    return (folder / "host.elf").read_bytes()


# ---- damage


def damage(source: random.Random, kind: str, data: bytes, path: Path) -> None:
    """Write a damaged version of `data`, a file of this kind, to `path`."""
    structured: dict[str, Callable[[], bytes]] = {
        "trace": lambda: _damaged_trace(source, data, path),
        "replay": lambda: _damaged_json(source, _some_systems(source)),
        "target": lambda: target_stream(source, source.randrange(1, 9)),
        "packed csv": lambda: gzip.compress(_damaged_bytes(source, CSV.encode())),
        "fragment": lambda: target_samples.damaged_fragment(source, data),
        "code recording": lambda: target_samples.damaged_recording(source),
    }
    for name in ELFS:
        structured[name] = lambda: target_samples.damaged_elf(source, data)
    for name in TEXTS:
        structured[name] = lambda: target_samples.damaged_text(source, data)
    is_plain = kind not in structured or source.random() < 0.3
    path.write_bytes(_damaged_bytes(source, data) if is_plain else structured[kind]())


def _damaged_bytes(source: random.Random, data: bytes) -> bytes:
    made = bytearray(data)
    for _ in range(source.randrange(1, 5)):
        # Half of the hits go to the beginning, where headers are.
        span = len(made) if source.random() < 0.5 else min(len(made), 200)
        at = source.randrange(span) if span else 0
        kind = source.randrange(6)
        if kind == 0 and made:
            made[at] ^= 1 << source.randrange(8)
        elif kind == 1:
            made[at:at] = source.choice(TOKENS)
        elif kind == 2:
            width = source.choice((4, 8))
            made[at : at + width] = source.choice(WORDS).to_bytes(8, "little")[:width]
        elif kind == 3:
            del made[at : at + source.randrange(1, 40)]
        elif kind == 4:
            made[at : at + source.randrange(1, 9)] = source.choice(TOKENS)
        elif source.random() < 0.2:
            del made[at:]
    return bytes(made)


def _some_systems(source: random.Random) -> dict[str, Any]:
    """The sound document with a few of its systems: all of them take seconds to draw."""
    systems = REPLAY["systems"]
    assert isinstance(systems, list)
    return {**REPLAY, "systems": source.sample(systems, source.choice((1, 1, 2)))}


def _damaged_json(source: random.Random, value: Any) -> bytes:
    """The text of a value with parts of another type in it, missing, or beyond what JSON can."""
    made = {"": copy.deepcopy(value)}
    for _ in range(source.randrange(1, 4)):
        inside: Any = made
        key: Any = ""
        while isinstance(inside[key], (dict, list)) and inside[key] and source.random() < 0.85:
            inside = inside[key]
            key = source.choice(list(inside) if isinstance(inside, dict) else range(len(inside)))
        if isinstance(inside, dict) and key != "" and source.random() < 0.2:
            del inside[key]
        else:
            inside[key] = copy.deepcopy(source.choice(JSON_VALUES))
    text = json.dumps(made[""], ensure_ascii=source.random() < 0.5)
    kind = source.randrange(12)
    if kind == 0:
        text = "[" * DEEP
    elif kind == 1:
        text = text.replace(": 2", ": " + DIGITS)
    elif kind == 2:
        text = text.replace("null", "[" * 500 + "]" * 500, 1)
    elif kind == 3:
        text = text.replace("null", "1e999", 1)
    return text.encode("utf-8", "surrogatepass")


def _damaged_trace(source: random.Random, data: bytes, path: Path) -> bytes:
    """A trace with a hostile header, or one whose chunk is damaged under a checksum that fits."""
    if source.random() < 0.4:
        header = _damaged_json(source, HEADER).replace(b"\0", b"0")
        write_trace(path, header[: trace_format.HEADER_BYTES_MAX], source.randrange(0, 60))
        return path.read_bytes()
    made = bytearray(data)
    start, end = source.choice(trace_forge.chunks(data))
    for _ in range(source.randrange(1, 4)):
        at = source.randrange(start + trace_format.CHUNK_HEADER_BYTES, end)
        word = source.choice(WORDS) if source.random() < 0.5 else source.getrandbits(64)
        width = min(source.choice((1, 2, 4, 8)), end - at)
        made[at : at + width] = word.to_bytes(8, "little")[:width]
    trace_forge.seal_chunk(made, start)
    return bytes(made)
