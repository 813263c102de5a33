"""Sound files of kernels, tasks and systems of applications, and what damages them."""

import hashlib
import io
import random
import subprocess
import sys
from pathlib import Path

from elftools.elf.elffile import ELFFile

from tautochrone.coldcode.chunks import chunk, file_header
from tautochrone.coldcode.fragment import HEAD as HEAD_OF_FRAGMENT
from testing.random_trace import random_events, write_events
from tool.tests.coldcode import code_forge, made_kernel
from tool.tests.tlb.task_files import HEAD, KERNEL, task
from tool.tests.verify import test_firmware

ROOT = Path(__file__).resolve().parents[3]
APPLICATION = ROOT / "tool/tests/compose/programs/ping.c"
SYSTEM = APPLICATION.with_name("system.toml")
LINES = (
    *(b"\0", b"\xff\xfe", b"[", b"[[task]]", b"[code]", b"= 1", b'"', b"\xe2\x80\xae = 1"),
    *(b" .text.f1       0x0000000080000000       0x10 a.o", b" .text.f2", b"OUTPUT(x)"),
    *(b"[[application]]", b"[[geometry.arrays]]", b"[tlb]", b"version = 2", b"a.b.c = []"),
)
VALUES = (
    *(b"-1", b"0", b"1", b"2.5", b"true", b"nan", b"1e300", b'""', b"[]", b"{}", b"[[[[]]]]"),
    *(b"4294967296", b"9223372036854775807", b"18446744073709551616", b"1979-05-27", b"4096"),
    *(b'"../../x"', b'"/dev/zero"', b'"a\\u0000b"', b'"\\u001b[31m"', b'"*"', b'"/*"', b'"**"'),
    *(b'["/a", "/b"]', b'["**/*.c"]', b'["../*"]', b"{a = 1}", b"'x'", b'"' + b"y" * 300 + b'"'),
)
WORDS = (0, 1, 2, 4, 255, 65535, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40, 1 << 63, (1 << 64) - 1)
ASKED = ("--threshold", "0.9", "--frames", "4")


def tau(folder: Path, *words: str) -> None:
    """Run a command of tau there; it must succeed."""
    command = [sys.executable, "-m", "tautochrone", *words]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def samples(folder: Path) -> dict[str, bytes]:
    """Return a sound file of each kind, by kind, and keep those in `folder` that others need."""
    kernel, _ = made_kernel.build(folder)
    made_kernel.record(kernel, folder / "kernel.taucode", 1, touches=600)
    (folder / "tasks.toml").write_text(HEAD + KERNEL + task("control") + task("logger"))
    (folder / "keep.txt").write_text("asm\nbegin\n")
    inputs = ("kernel.taucode", "--kernel", "kernel.elf", "--map", "kernel.map")
    for words in (
        ("coldcode", "plan", *inputs, *ASKED, "-o", "code.toml"),
        ("tlb", "plan", "tasks.toml", "--geometry", "tile-16x4", "-o", "tlb.toml"),
        ("tlb", "discover", "--on", "16x4", "-o", "geometry.toml"),
        ("compose", "link", str(APPLICATION), "-o", "ping.elf"),
    ):
        tau(folder, *words)
    files = {
        "kernel": "kernel.elf",
        "link map": "kernel.map",
        "code recording": "kernel.taucode",
        "code plan": "code.toml",
        "fragment": "code.lds",
        "kept functions": "keep.txt",
        "tasks": "tasks.toml",
        "geometry": "geometry.toml",
        "TLB plan": "tlb.toml",
        "application": "ping.elf",
    }
    sound = {kind: (folder / name).read_bytes() for kind, name in files.items()}
    return sound | {"system": SYSTEM.read_bytes(), "firmware": _firmware(folder)}


def _firmware(folder: Path) -> bytes:
    """A firmware with the heap of firmware.toml in `folder`, a plan from firmware.tau."""
    write_events(folder / "firmware.tau", random_events(11, 300), abi="arm")
    outputs = ("-o", "firmware.toml", "--header", "heap_plan.h", "--pools", "always")
    tau(folder, "plan", "firmware.tau", *outputs)
    (folder / "heap.c").write_text(test_firmware.HEAP)
    (folder / "payload.c").write_text(test_firmware.PAYLOAD)
    test_firmware.linked(folder, "m4", "firmware.elf").check_returncode()
    return (folder / "firmware.elf").read_bytes()


def damaged_text(source: random.Random, data: bytes) -> bytes:
    """A text whose lines are missing, doubled, exchanged or foreign, or have another value."""
    lines = data.split(b"\n")
    for _ in range(source.randrange(1, 5)):
        at, kind = source.randrange(len(lines)), source.randrange(6)
        if kind == 0:
            del lines[at]
        elif kind == 1:
            lines.insert(at, source.choice(lines))
        elif kind == 2:
            other = source.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == 3:
            lines.insert(at, source.choice(LINES))
        else:
            key, equals, _ = lines[at].partition(b"=")
            words = lines[at].split(b" ")
            words[source.randrange(len(words))] = source.choice(VALUES)
            changed = key + b"= " + source.choice(VALUES)
            lines[at] = changed if equals and kind == 5 else b" ".join(words)
        lines = lines or [b""]
    return b"\n".join(lines)


def damaged_fragment(source: random.Random, data: bytes) -> bytes:
    """A damaged fragment with a sound hash."""
    body = damaged_text(source, data.partition(b"\n")[2])
    return HEAD_OF_FRAGMENT.format(hashlib.sha256(body).hexdigest()).encode() + body


def damaged_elf(source: random.Random, data: bytes) -> bytes:
    """An ELF file with other numbers in its headers, its symbols, or its notes."""
    made = bytearray(data)
    elf = ELFFile(io.BytesIO(data))
    header = elf.header
    places = [(0, header["e_ehsize"])]
    for table in ("ph", "sh"):
        size = header[f"e_{table}entsize"]
        starts = range(header[f"e_{table}num"])
        places += [(header[f"e_{table}off"] + number * size, size) for number in starts]
    for section in elf.iter_sections():
        if section["sh_type"] in ("SHT_SYMTAB", "SHT_NOTE") and section["sh_size"]:
            places.append((section["sh_offset"], section["sh_size"]))
    for _ in range(source.randrange(1, 4)):
        start, size = source.choice(places)
        width = source.choice((1, 2, 4, 8))
        at = start + source.randrange(0, max(size - width, 0) + 1, min(width, 4))
        word = source.choice(WORDS) if source.random() < 0.7 else source.getrandbits(64)
        made[at : at + width] = word.to_bytes(8, "little")[:width]
    return bytes(made)


def damaged_recording(source: random.Random) -> bytes:
    """A code recording with damaged, missing, doubled or exchanged chunks under sound checksums."""
    rows = code_forge.chunks()
    for _ in range(source.randrange(1, 3)):
        at = source.randrange(len(rows))
        kind, count, payload = rows[at]
        how = source.randrange(5)
        if how == 0:
            del rows[at]
        elif how == 1:
            rows.insert(source.randrange(len(rows)), rows[at])
        elif how == 2:
            rows[at] = (kind, source.choice(WORDS) & 0xFFFFFFFF, payload)
        elif payload:
            changed = bytearray(payload)
            place = source.randrange(len(changed))
            changed[place : place + 8] = source.choice(WORDS).to_bytes(8, "little")
            rows[at] = (kind, count, bytes(changed[: len(payload) + source.choice((0, 0, -1, 1))]))
        rows = rows or [(1, 0, b"")]
    return file_header() + b"".join(chunk(kind, n, *rest) for n, (kind, *rest) in enumerate(rows))
