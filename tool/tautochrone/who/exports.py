"""Writes stacks and their bytes for other tools: speedscope, pprof, and flame graphs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tautochrone import __version__
from tautochrone.who.stacks import Stack

SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def speedscope(name: str, stacks: Sequence[Stack]) -> bytes:
    """A file of https://www.speedscope.app: a sample for each stack, weighed by its bytes."""
    frames: dict[tuple[str, str, int], int] = {}
    samples = [
        [frames.setdefault(tuple(frame), len(frames)) for frame in stack.frames]
        for stack in stacks
    ]
    shared = [
        {"name": function} | ({"file": file, "line": line} if file else {})
        for function, file, line in frames
    ]
    weights = [stack.size_bytes for stack in stacks]
    profile = {
        "type": "sampled", "name": name, "unit": "bytes", "startValue": 0, "endValue": sum(weights),
        "samples": samples, "weights": weights,
    }  # fmt: skip
    document = {
        "$schema": SCHEMA, "shared": {"frames": shared}, "profiles": [profile], "name": name,
        "activeProfileIndex": 0, "exporter": f"tautochrone {__version__}",
    }  # fmt: skip
    return json.dumps(document).encode()


def folded(_: str, stacks: Sequence[Stack]) -> bytes:
    """A line for each stack: its functions from the outermost, and its bytes."""
    lines: dict[str, int] = {}
    for stack in stacks:
        names = (" ".join(frame.function.replace(";", ":").split()) for frame in stack.frames)
        line = ";".join(names)
        lines[line] = lines.get(line, 0) + stack.size_bytes
    return "".join(f"{line} {size}\n" for line, size in lines.items()).encode()


# ---- pprof: a protocol buffer, whose fields are numbers of proto/profile.proto ----


def _varint(value: int) -> bytes:
    found = bytearray()
    value &= (1 << 64) - 1  # a negative number has the bits of its two's complement
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*found, value))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _numbers(field: int, values: Iterable[int]) -> bytes:
    return _bytes(field, b"".join(map(_varint, values)))


def pprof(name: str, stacks: Sequence[Stack]) -> bytes:
    """A gzip file of pprof: a location for each call site, with its inlined calls as lines."""
    texts: dict[str, int] = {"": 0}
    functions: dict[tuple[str, str], int] = {}
    locations: dict[tuple[str, int], int] = {}
    modules: dict[str, int] = {}
    parts: list[bytes] = []

    def text(value: str) -> int:
        return texts.setdefault(value, len(texts))

    def function(called: str, file: str) -> int:
        if (called, file) not in functions:
            number = functions[called, file] = len(functions) + 1
            fields = (_number(2, text(called)), _number(3, text(called)), _number(4, text(file)))
            parts.append(_bytes(5, _number(1, number) + b"".join(fields)))
        return functions[called, file]

    for value, unit in (("objects", "count"), ("space", "bytes")):
        parts.append(_bytes(1, _number(1, text(value)) + _number(2, text(unit))))
    for stack in stacks:
        path = []
        for place in stack.places:
            at = (place.module, place.offset)
            if at not in locations:
                locations[at] = len(locations) + 1
                module = modules.setdefault(place.module, len(modules) + 1)
                frames = Stack((place,), 0, 0).frames
                lines = b"".join(
                    _bytes(4, _number(1, function(one.function, one.file)) + _number(2, one.line))
                    for one in reversed(frames)
                )
                head = _number(1, locations[at]) + _number(2, module) + _number(3, place.offset)
                parts.append(_bytes(4, head + lines))
            path.append(locations[at])
        values = _numbers(2, (stack.objects, stack.size_bytes))
        parts.append(_bytes(2, _numbers(1, path) + values))
    for module, number in modules.items():
        parts.append(_bytes(3, _number(1, number) + _number(5, text(module)) + _number(7, 1)))
    parts.append(_number(13, text(name)))
    parts.append(_number(14, text("space")))
    parts += [_bytes(6, value.encode("utf-8", "replace")) for value in texts]
    return gzip.compress(b"".join(parts), mtime=0)


KINDS: dict[str, Callable[[str, Sequence[Stack]], bytes]] = {
    ".json": speedscope,
    ".pb.gz": pprof,
    ".txt": folded,
}


def kind_of(path: Path) -> str:
    """The ending of a file name that says what it is to hold; empty if it is none of KINDS."""
    return next((ending for ending in KINDS if path.name.endswith(ending)), "")
