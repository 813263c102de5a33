"""A code recording: which blocks of a kernel were executed, and the order of its functions.

recording = load(Path("boot.taucode"))
recording.blocks["steady"]             # executions after the marker, block by block
recording.touches, recording.times     # functions in order, each with the instructions before it

A recording is read as a whole: it is checked against every rule before any of it is believed.
"""

import json
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tautochrone.coldcode.chunks import (
    RECORD_AGAIN,
    Chunk,
    DamagedError,
    chunk,
    file_header,
    read_chunks,
    varints,
)
from tautochrone.coldcode.functions import NONE, Functions, functions_of
from tautochrone.coldcode.kernel import Kernel
from tautochrone.errors import TauError
from tautochrone.facts import code_format as form
from tautochrone.files import input_file, json_text

FILE_BYTES_MAX = 1 << 32
REPEATED = (form.CHUNK_TOUCHES, form.CHUNK_BLOCKS)
SETTINGS = struct.Struct("<QQ")
END = struct.Struct("<QQQQ")
BLOCK = np.dtype(
    [
        ("start", "<u8"),
        ("boot", "<u8"),
        ("steady", "<u8"),
        ("bytes", "<u4"),
        ("instructions", "<u4"),
        ("code_checksum", "<u4"),
    ]
)


class NotExecutedError(TauError):
    """QEMU ran nothing of the kernel."""


@dataclass(frozen=True)
class Settings:
    """The order to record. `marker` is an address, or None: all of it is steady state."""

    marker: int | None
    touches_max: int
    document: dict[str, Any]

    def payload(self) -> bytes:
        """The payload of a chunk of settings [CODE-6]."""
        text = json.dumps(self.document).encode()
        if len(text) > form.SETTINGS_JSON_BYTES_MAX:
            raise TauError(f"the recording's settings have {len(text):,} bytes", "shorten them")
        marker = form.ABSENT if self.marker is None else self.marker
        return SETTINGS.pack(marker, self.touches_max) + text

    def said(self, key: str) -> str:
        """A text of the document; empty if there is none."""
        value = self.document.get(key)
        return value if isinstance(value, str) else ""


@dataclass(frozen=True)
class CodeRecording:
    """A sound recording. `marker_time` is None if the marker was not executed.

    A function with `touches_max` touches is hot: later ones are not in `touches`.
    """

    path: Path
    settings: Settings
    functions: Functions
    blocks: np.ndarray
    block_functions: np.ndarray
    touches: np.ndarray
    times: np.ndarray
    marker_time: int | None
    end_time: int

    def instructions(self, phase: str) -> np.ndarray:
        """Instructions that each function executed in the phase `boot` or `steady`."""
        executed = np.zeros(len(self.functions.names), np.uint64)
        np.add.at(executed, self.block_functions, self.blocks[phase] * self.blocks["instructions"])
        return executed

    def touches_count(self) -> np.ndarray:
        """Touches of each function."""
        return np.bincount(self.touches, minlength=len(self.functions.names))


def prepared(kernel: Kernel, settings: Settings) -> bytes:
    """The beginning of a recording of this kernel; QEMU's plugin appends the rest."""
    parts = [file_header(), chunk(form.CHUNK_SETTINGS, 0, 0, settings.payload())]
    functions = kernel.functions
    parts.append(chunk(form.CHUNK_FUNCTIONS, 1, len(functions.names), functions.payload()))
    return b"".join(parts)


def is_code_recording(path: Path) -> bool:
    """Whether a file says that it is a code recording. False if it cannot be read."""
    try:
        return path.is_file() and path.open("rb").read(len(form.MAGIC)) == form.MAGIC.encode()
    except OSError:
        return False


def kernel_path(recording: CodeRecording) -> Path:
    """The path of its kernel that a recording names; a relative one is also looked for in the
    recording's folder."""
    said = recording.settings.said("kernel")
    neighbor = recording.path.parent / said
    return neighbor if not Path(said).exists() and neighbor.exists() else Path(said)


def load(path: Path) -> CodeRecording:
    """Read a recording. Raises TauError with the place and the cause if it breaks a rule."""
    try:
        return read(path)
    except DamagedError as error:
        raise TauError(f"{path}: {error}", error.next_step) from error


def read(path: Path) -> CodeRecording:
    """As load, but raises DamagedError for damaged content."""
    data = input_file.read(path, "code recording", FILE_BYTES_MAX)
    if len(data) > FILE_BYTES_MAX:
        raise DamagedError("the file", "it has more than 4 GiB", "record a shorter run")
    chunks = list(read_chunks(data))
    _check_order(chunks)
    settings = _settings_of(chunks[0])
    functions = _functions_of(chunks[1])
    marker_time, end_time, touches_count, blocks_count = END.unpack(chunks[-1].payload)
    blocks = _blocks_of([one for one in chunks if one.kind == form.CHUNK_BLOCKS])
    touches, times = _touches_of([one for one in chunks if one.kind == form.CHUNK_TOUCHES])
    if len(blocks) != blocks_count or len(touches) != touches_count:
        raise DamagedError("end", "its counts of touches or blocks are wrong")
    recording = CodeRecording(
        path,
        settings,
        functions,
        blocks,
        functions.numbers_at(blocks["start"]),
        touches,
        times,
        None if marker_time == form.ABSENT else marker_time,
        end_time,
    )
    _check_blocks(recording)
    _check_touches(recording)
    _check_times(recording)
    return recording


def problems_of(path: Path) -> list[DamagedError]:
    """The problems of a recording; empty if it is sound and can be planned from."""
    try:
        recording = read(path)
    except DamagedError as error:
        return [error]
    if recording.marker_time is None and recording.settings.marker is not None:
        name = recording.settings.said("marker") or f"{recording.settings.marker:#x}"
        cause = f"{name} was not executed, so steady state never began"
        step = "let QEMU run longer, or choose a function that the kernel calls when it has booted"
        return [DamagedError("marker", cause, step)]
    if not recording.blocks["steady"].any():
        cause = "no code of the kernel was executed in steady state"
        return [DamagedError("blocks", cause, "let QEMU run longer")]
    return []


# ---- Against another kernel


def refuse_other_kernel(recording: CodeRecording, kernel: Kernel) -> None:
    """Raise TauError if and only if the recording was prepared for another kernel, or QEMU ran one.

    The second: most of the blocks that were executed hold other code than the kernel's file.
    """
    said = recording.settings.said("code_sha256")
    if said != kernel.code_sha256:
        raise TauError(
            f"{recording.path} was recorded on another kernel than {kernel.path}:"
            f" code {said[:16] or 'unknown'}, not {kernel.code_sha256[:16]}",
            f"name the kernel that was recorded, or record {kernel.path}",
        )
    count, of = len(patched_blocks(recording, kernel)), len(recording.blocks)
    if of == 0:
        step = "give QEMU the image that was made from that file, and memory for it"
        raise NotExecutedError(f"{recording.path}: no code of {kernel.path} was executed", step)
    if 2 * count > of:
        seen = f"{count:,} of {of:,} blocks hold other code"
        raise TauError(
            f"{recording.path}: QEMU did not run {kernel.path}: {seen}",
            "give QEMU the image that was made from that file, and record again",
        )


def patched_blocks(recording: CodeRecording, kernel: Kernel) -> np.ndarray:
    """The numbers of the blocks whose code differs from the kernel's file."""
    rows = recording.blocks[["start", "bytes", "code_checksum"]].tolist()
    return np.flatnonzero(
        [zlib.crc32(kernel.code_at(start, size)) != said for start, size, said in rows]
    )


# ---- The chunks


def _check_order(chunks: list[Chunk]) -> None:
    """Check [CODE-4]: the chunks of the file, and their order."""
    kinds = [one.kind for one in chunks]
    is_prepared = kinds == [form.CHUNK_SETTINGS, form.CHUNK_FUNCTIONS]
    if is_prepared:
        cause = "it was prepared, but nothing was recorded: QEMU did not start, or was killed"
        raise DamagedError("the end", cause, RECORD_AGAIN)
    if form.CHUNK_END not in kinds:
        cause = f"it is cut short after {len(kinds)} chunks: QEMU was killed, or the disk was full"
        raise DamagedError("the end", cause, RECORD_AGAIN)
    for one, kind in zip(chunks[:2], (form.CHUNK_SETTINGS, form.CHUNK_FUNCTIONS), strict=True):
        if one.kind != kind:
            raise DamagedError(one.place, "the chunk is out of order")
    for before, after in zip(chunks[1:], chunks[2:], strict=False):
        is_repeated = after.kind == before.kind and after.kind in REPEATED
        if not (is_repeated or after.kind > before.kind):
            raise DamagedError(after.place, "the chunk is out of order")
    if len(chunks[-1].payload) != END.size:
        raise DamagedError(chunks[-1].place, "the chunk's size is wrong")


def _settings_of(one: Chunk) -> Settings:
    if len(one.payload) < SETTINGS.size:
        raise DamagedError(one.place, "the chunk is too short")
    marker, touches_max = SETTINGS.unpack_from(one.payload)
    try:
        document = json_text.parse(bytes(one.payload[SETTINGS.size :]))
    except ValueError as error:
        raise DamagedError(one.place, f"the JSON cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise DamagedError(one.place, "the JSON is not an object")
    return Settings(None if marker == form.ABSENT else marker, touches_max, document)


def _functions_of(one: Chunk) -> Functions:
    try:
        return functions_of(bytes(one.payload), one.count)
    except ValueError as error:
        raise DamagedError(one.place, str(error)) from error


def _blocks_of(chunks: list[Chunk]) -> np.ndarray:
    for one in chunks:
        if len(one.payload) != one.count * BLOCK.itemsize:
            raise DamagedError(one.place, "the chunk's size does not match its rows")
    return np.concatenate(
        [np.empty(0, BLOCK), *(np.frombuffer(one.payload, BLOCK) for one in chunks)]
    )


def _touches_of(chunks: list[Chunk]) -> tuple[np.ndarray, np.ndarray]:
    """The functions that were touched, and when."""
    touches, times = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
    for one in chunks:
        values = varints(one.payload, one.place)
        if len(values) != 2 * one.count:
            raise DamagedError(one.place, "the chunk's number of rows is wrong")
        folded = values[0::2]
        if (folded > 2 * form.FUNCTIONS_MAX).any():
            raise DamagedError(one.place, "a function's number is too large")
        steps = folded.astype(np.int64)
        touches.append(np.cumsum(np.where(steps & 1, -(steps + 1) // 2, steps // 2)))
        times.append(np.cumsum(values[1::2], dtype=np.uint64))
    return np.concatenate(touches), np.concatenate(times)


# ---- Rules over several rows


def _check_blocks(recording: CodeRecording) -> None:
    """Check [CODE-10]: each block is one of a function, and was executed."""
    blocks, functions = recording.blocks, recording.functions
    numbers = recording.block_functions
    keys = blocks[["start", "bytes", "code_checksum"]].tolist()
    if any(before >= after for before, after in zip(keys, keys[1:], strict=False)):
        raise DamagedError("blocks", "they are out of order")
    if (numbers == NONE).any():
        raise DamagedError("blocks", "one is in no function")
    ends = functions.starts[numbers] + functions.sizes_bytes[numbers] if len(numbers) else 0
    if (blocks["bytes"] >= ends - blocks["start"] + form.INSTRUCTION_BYTES_MAX).any():
        raise DamagedError("blocks", "one leaves its function")
    if (blocks["instructions"] == 0).any() or (blocks["instructions"] > blocks["bytes"]).any():
        raise DamagedError("blocks", "one has an impossible number of instructions")
    if ((blocks["boot"] == 0) & (blocks["steady"] == 0)).any():
        raise DamagedError("blocks", "one was never executed")


def _check_touches(recording: CodeRecording) -> None:
    """Check [CODE-9]: each touch is of another function, later, and of one that was executed."""
    touches, times = recording.touches, recording.times
    if ((touches < 0) | (touches >= len(recording.functions.names))).any():
        raise DamagedError("touches", "one has no function")
    if (touches[1:] == touches[:-1]).any() or (times[1:] <= times[:-1]).any():
        raise DamagedError("touches", "one has the same function or the same time as the last")
    counted = recording.touches_count()
    if len(touches) and counted.max() > recording.settings.touches_max:
        raise DamagedError("touches", "a function has more than the settings allow")
    executed = np.zeros(len(recording.functions.names), np.float64)
    np.add.at(executed, recording.block_functions, recording.blocks["steady"].astype(np.float64))
    if (counted > executed).any():
        raise DamagedError("touches", "a function was touched more often than executed")
    if recording.settings.touches_max and ((executed > 0) & (counted == 0)).any():
        raise DamagedError("touches", "a function was executed but not touched")


def _check_times(recording: CodeRecording) -> None:
    """Check [CODE-11]: the instructions of all blocks are the time of their phase."""
    has_marker = recording.settings.marker is not None
    end, marker_time = recording.end_time, recording.marker_time
    if marker_time is not None and (not has_marker or marker_time > end):
        raise DamagedError("end", "the time of the marker is impossible")
    if not has_marker:
        boot = 0
    else:
        boot = end if marker_time is None else marker_time
    for phase, time in (("boot", boot), ("steady", end - boot)):
        rows = recording.blocks[[phase, "instructions"]].tolist()
        if sum(count * instructions for count, instructions in rows) != time:
            raise DamagedError("end", f"the blocks' instructions differ from the {phase} phase's")
    times = recording.times
    if len(times) and not boot <= int(times[0]) <= int(times[-1]) < end:
        raise DamagedError("touches", "one is outside of the steady state")
