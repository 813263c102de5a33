"""Damaged and hostile code recordings: every cut, every flipped bit, every rule broken under sound
checksums. Each is refused with its place, its cause and a next step, by every command."""

from pathlib import Path

import numpy as np
import pytest

from tautochrone.coldcode.chunks import varints
from tautochrone.coldcode.kernel import read_kernel
from tautochrone.coldcode.recording import SETTINGS, load, problems_of
from tautochrone.errors import TauError
from tautochrone.facts import code_format as form
from testing.command import tau
from tool.tests.coldcode import code_forge as forge

BIG = (1 << 64) - 1


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a recording is written."""
    return tmp_path / "kernel.taucode"


def test_a_sound_recording_is_read(path: Path) -> None:
    recording = load(forge.write(path))
    assert not problems_of(path)
    rows = zip(recording.touches.tolist(), recording.times.tolist(), strict=True)
    assert list(rows) == forge.TOUCHES
    assert recording.blocks.tolist() == forge.BLOCKS
    assert recording.functions.names == forge.FUNCTIONS.names
    assert recording.instructions("boot").tolist() == [4, 0, 6]
    assert recording.instructions("steady").tolist() == [1, 8, 2]
    assert (recording.marker_time, recording.end_time) == (10, 21)
    assert recording.settings == forge.SETTINGS


def refused(path: Path) -> TauError:
    """The error of a recording that is not sound."""
    with pytest.raises(TauError) as error:
        load(path)
    (problem,) = problems_of(path)
    assert error.value.message == f"{path}: {problem}"
    assert error.value.next_step
    return error.value


def test_every_cut_is_refused(path: Path) -> None:
    whole = forge.write(path).read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        refused(path)
    path.write_bytes(whole + b"\0")
    assert "ends within the chunk's header" in refused(path).message


def test_every_flipped_bit_is_refused(path: Path) -> None:
    whole = bytearray(forge.write(path).read_bytes())
    assert len(whole) < 1000
    for bit in range(len(whole) * 8):
        whole[bit // 8] ^= 1 << bit % 8
        path.write_bytes(whole)
        whole[bit // 8] ^= 1 << bit % 8
        refused(path)


def block(index: int, **change: int) -> list[tuple[int, ...]]:
    """The sound blocks with fields of one of them changed."""
    names = ("start", "boot", "steady", "bytes", "instructions", "checksum")
    row = {**dict(zip(names, forge.BLOCKS[index], strict=True)), **change}
    return [*forge.BLOCKS[:index], tuple(row.values()), *forge.BLOCKS[index + 1 :]]


FORGED = {
    "settings too short": ({"settings": b"short"}, "the chunk is too short"),
    "settings without JSON": ({"settings": SETTINGS.pack(1, 1) + b"{"}, "JSON cannot be read"),
    "settings of a list": ({"settings": SETTINGS.pack(1, 1) + b"[]"}, "the JSON is not an object"),
    "functions cut": ({"functions": b""}, "3 functions do not fit"),
    "functions overlap": (
        {"functions": forge.function_rows((1, 4, 0), (4, 4, 0), (9, 4, 0))},
        "overlap or are out of order",
    ),
    "a function of no bytes": (
        {"functions": forge.function_rows((1, 0, 0), (4, 4, 0), (9, 4, 0))},
        "a size that is not allowed",
    ),
    "a function at the end of memory": (
        {"functions": forge.function_rows((1, 1, 0), (4, 4, 0), (BIG, 4, 0))},
        "a size that is not allowed",
    ),
    "a long name": (
        {"functions": forge.function_rows((1, 1, 5000), (4, 4, 0), (9, 4, 0))},
        "a name is too long",
    ),
    "names that end early": (
        {"functions": forge.function_rows((1, 1, 9), (4, 4, 0), (9, 4, 0), names=b"x")},
        "the names do not end where the chunk does",
    ),
    "a touch of no function": ({"touches": [*forge.TOUCHES, (3, 20)]}, "has no function"),
    "a touch below zero": ({"touches": [(-1, 10), *forge.TOUCHES[1:]]}, "has no function"),
    "the same function": ({"touches": [(1, 10), (1, 11), (0, 14), (2, 19)]}, "the same function"),
    "the same time": ({"touches": [(1, 10), (0, 10), (1, 15), (2, 19)]}, "the same time"),
    "back in time": ({"touches": [(1, 14), (0, 10), (1, 15), (2, 19)]}, "the same time"),
    "more touches than allowed": (
        {"touches": [(1, 10), (0, 14), (1, 15), (2, 19), (1, 20)]},
        "more than the settings allow",
    ),
    "more touches than executions": (
        {"touches": [(1, 10), (0, 14), (1, 15), (0, 19), (2, 20)]},
        "touched more often than executed",
    ),
    "executed, not touched": ({"touches": forge.TOUCHES[:3]}, "executed but not touched"),
    "a touch in boot": ({"touches": [(1, 9), *forge.TOUCHES[1:]]}, "outside of the steady state"),
    "a touch after the end": (
        {"touches": [*forge.TOUCHES[:3], (2, 21)]},
        "outside of the steady state",
    ),
    "blocks out of order": ({"blocks": forge.BLOCKS[::-1]}, "out of order"),
    "a block twice": ({"blocks": [forge.BLOCKS[0], *forge.BLOCKS]}, "out of order"),
    "a block of no function": ({"blocks": block(3, start=0x1800)}, "one is in no function"),
    "a block that leaves its function": ({"blocks": block(2, bytes=32)}, "leaves its function"),
    "a block of no instructions": ({"blocks": block(0, instructions=0)}, "impossible number"),
    "a block of too many": ({"blocks": block(0, instructions=9)}, "impossible number"),
    "a block never executed": ({"blocks": block(0, boot=0)}, "never executed"),
    "too much boot": ({"blocks": block(0, boot=3)}, "instructions differ from the boot phase"),
    "too much steady state": ({"blocks": block(3, steady=3)}, "from the steady phase"),
    "counts beyond 64 bits": ({"blocks": block(0, boot=BIG)}, "from the boot phase"),
    "other touches": ({"end": (10, 21, 3, 4)}, "counts of touches or blocks are wrong"),
    "other blocks": ({"end": (10, 21, 4, 5)}, "counts of touches or blocks are wrong"),
    "a marker after the end": ({"end": (23, 22, 4, 4)}, "time of the marker is impossible"),
    "an end of another size": (None, "the chunk's size is wrong"),
    "no end": (None, "it is cut short after 5 chunks"),
    "only prepared": (None, "it was prepared, but nothing was recorded"),
    "a chunk behind the end": (None, "out of order"),
    "settings twice": (None, "out of order"),
    "no settings": (None, "out of order"),
    "touches behind blocks": (None, "out of order"),
    "a number beyond 64 bits": (None, "a number exceeds 64 bits"),
    "a number that is cut": (None, "the last number is cut"),
    "too many rows": (None, "number of rows is wrong"),
    "a chunk of blocks too long": (None, "size does not match its rows"),
}


def forged(name: str) -> bytes:
    """The file of a name above that does not change a part."""
    sound = forge.chunks()
    first, second, early, late, blocks, end = sound
    touches = form.CHUNK_TOUCHES
    made = {
        "an end of another size": [*sound[:-1], (form.CHUNK_END, 0, end[2] + b"\0" * 8)],
        "no end": sound[:-1],
        "only prepared": [first, second],
        "a chunk behind the end": [*sound, end],
        "settings twice": [first, first, *sound[1:]],
        "no settings": sound[1:],
        "touches behind blocks": [first, second, early, blocks, late, end],
        "a number beyond 64 bits": [first, second, (touches, 1, b"\xff" * 10 + b"\1"), *sound[4:]],
        "a number that is cut": [first, second, (touches, 1, b"\x80"), *sound[4:]],
        "too many rows": [first, second, (touches, 1, b"\1\1\1\1"), *sound[4:]],
        "a chunk of blocks too long": [*sound[:4], (blocks[0], 4, blocks[2] + b"\0"), end],
    }
    return forge.content(made[name])


@pytest.mark.parametrize("name", FORGED)
def test_every_rule_is_checked_under_sound_checksums(path: Path, name: str) -> None:
    change, cause = FORGED[name]
    if change is None:
        path.write_bytes(forged(name))
    else:
        forge.write(path, **change)
    assert cause in refused(path).message


def test_a_newer_version_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(form, "VERSION", form.VERSION + 1)
        forge.write(path)
    error = refused(path)
    assert "is newer than" in error.message and "upgrade" in error.next_step


def test_varints_of_every_length() -> None:
    values = [(1 << bits) - 1 for bits in range(65)] + [0]
    data = b"".join(forge.varint(value) for value in values)
    assert varints(memoryview(data), "here").tolist() == values
    assert not len(varints(memoryview(b""), "here"))


# ---- The commands


def run(*words: object) -> tuple[int, str]:
    """Run a command; return its status and output."""
    done = tau(*words)
    return done.returncode, done.stdout + done.stderr


def test_the_commands_know_the_file(path: Path) -> None:
    forge.write(path)
    status, said = run("check", path)
    assert status == 0 and said.startswith(f"{path}: code recording, no problems\n")
    status, said = run("info", path)
    assert status == 0 and "touches      4 of 3 functions; 1 hot function with 2" in said
    assert "boot         10 instructions of the kernel in 2 functions of 96 bytes" in said
    assert "steady       11 instructions of the kernel in 3 functions of 112 bytes" in said
    assert "marker       work, first executed after 10 instructions" in said
    status, said = run("plan", path)
    assert status == 1 and f"{path} is a code recording, not a trace" in said
    path.write_bytes(path.read_bytes()[:-1])
    status, said = run("check", path)
    assert status == 1 and "code recording, 1 problem\n" in said and "next: record it again" in said


def test_a_recording_without_steady_state_is_a_problem(path: Path) -> None:
    blocks = [forge.BLOCKS[0], forge.BLOCKS[3][:2] + (0,) + forge.BLOCKS[3][3:]]
    forge.write(path, blocks=blocks, touches=[], end=(form.ABSENT, 10, 0, 2))
    status, said = run("check", path)
    assert status == 1 and "work was not executed, so steady state never began" in said
    status, said = run("info", path)
    assert status == 0 and "marker       work was not executed: all of it is boot" in said


# ---- Kernels


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF\x02\x01\x01" + bytes(57)])
def test_a_file_that_is_not_a_kernel_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "vmlinux"
    path.write_bytes(content)
    with pytest.raises(TauError) as error:
        read_kernel(path)
    assert "vmlinux" in error.value.message and error.value.next_step


def test_addresses_find_their_functions() -> None:
    addresses = [0, 0xFFF, 0x1000, 0x101F, 0x1020, 0x1030, 0x2000, 0x203F, 0x2040, BIG]
    found = forge.FUNCTIONS.numbers_at(np.array(addresses, np.uint64)).tolist()
    assert found == [-1, -1, 0, 0, 1, -1, 2, 2, -1, -1]
