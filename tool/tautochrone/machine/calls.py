"""Calls functions of compiled code on an emulated RV32 processor, and counts exactly.

    image = core_code("tree", "rv32", ["core/region_tree.c"], keep=["tau_region_tree_find"])
    with Machine(image) as machine:
        tree = machine.reserve(64)                     # zeroed memory of the target
        done = machine.call("tau_region_tree_find", tree, 5)
        done.result, done.instructions, done.accesses
        many = machine.call_many("tau_region_tree_find", rows)   # arrays of these

The processor is our own (tool/native/machine/rv32.h); ISAs are "rv32" and "rv32zbb". An argument is
a word: an integer, an address, or a structure of one word. A call of memmove, memcpy or memset is
charged three instructions. The bytes that it moves count neither as instructions nor as accesses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tautochrone import native
from tautochrone.machine.images import CODE_ADDRESS, Image, build_image
from tautochrone.declarations import Struct
from tautochrone.errors import EXIT_USAGE, TauError

MEMORY_ADDRESS = 0x40000000
MEMORY_BYTES = 256 << 20
INSTRUCTIONS_MAX = 1 << 36
ISAS = ("rv32", "rv32zbb")
STOPS = {
    1: "ran into an instruction that the processor does not have",
    2: "left its code or its memory",
    3: "made a misaligned access",
    4: "touched memory that is not mapped",
    5: "trapped",
    6: "took more instructions than allowed",
}


@dataclass(frozen=True)
class Call:
    """One call: its result (a0) and its cost, without payload."""

    result: int
    instructions: int
    accesses: int


@dataclass(frozen=True)
class CallArrays:
    """Many calls, one entry per call."""

    result: np.ndarray
    instructions: np.ndarray
    accesses: np.ndarray


def native_image(image: Image) -> Struct:
    """Return an image as native code reads it. Raises TauError for a target that is not RV32."""
    if image.isa not in ISAS:
        raise TauError(
            f"{image.name} is built for {image.isa}", f"use one of {', '.join(ISAS)}", EXIT_USAGE
        )
    return native.struct("tau_rv32_image")(
        bytes=image.code,
        bytes_count=len(image.code),
        address=CODE_ADDRESS,
        move_function=image.symbols["memmove"],
        copy_function=image.symbols["memcpy"],
        fill_function=image.symbols["memset"],
        has_zbb=image.isa == "rv32zbb",
    )


def core_code(
    name: str,
    isa: str,
    sources: Sequence[str | Path],
    keep: Sequence[str],
    cflags: Sequence[str] = (),
    check_level: int = 0,
    optimize: str = "-O2",
) -> Image:
    """Compile files for a target; link the functions in `keep` with all that they call.

    A relative path in `sources` is one of the repository. The sources may include "core/…".
    """
    return build_image(
        name,
        isa,
        sources,
        [f"-DTAU_CHECK_LEVEL={check_level}", *cflags],
        (),
        "tau_none",
        optimize,
        keep=keep,
    )


class Machine:
    """An image on the processor, with `memory_bytes` of memory at MEMORY_ADDRESS.

    Variables of the image and memory keep their state between calls. A context manager.
    """

    def __init__(self, image: Image, memory_bytes: int = MEMORY_BYTES) -> None:
        self.image = image
        self._native = native_image(image)
        self._free = MEMORY_ADDRESS
        self._end = MEMORY_ADDRESS + memory_bytes
        self.handle = native.library().tau_rv32_machine_open(self._native, memory_bytes)
        if not self.handle:
            raise TauError(f"cannot emulate {image.name}: out of memory, or too large an image")

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the machine's memory. Views of it become invalid."""
        if self.handle:
            native.library().tau_rv32_machine_close(self.handle)
            self.handle = None

    def reserve(self, size_bytes: int, alignment: int = 8) -> int:
        """Reserve `size_bytes` of zeroed memory of the target; return its address there."""
        address = -(-self._free // alignment) * alignment
        if address + size_bytes > self._end:
            raise TauError(f"{size_bytes} bytes are more than the machine's memory has left")
        self._free = address + size_bytes
        return address

    def view(self, address: int, size_bytes: int) -> np.ndarray:
        """Return memory of the target as writable bytes."""
        where = native.library().tau_rv32_machine_memory(self.handle, address, size_bytes)
        if not where:
            raise TauError(f"{self.image.name} has no memory of {size_bytes} bytes at {address:#x}")
        return np.ctypeslib.as_array(where, (size_bytes,))

    def words(self, address: int, count: int) -> np.ndarray:
        """Return memory of the target as writable 32-bit words."""
        return self.view(address, 4 * count).view(np.uint32)

    def call(self, function: str | int, *arguments: int) -> Call:
        """Call a function by name or address. Raises TauError if it does not return."""
        done = self.call_many(function, np.array([arguments], dtype=np.int64))
        return Call(int(done.result[0]), int(done.instructions[0]), int(done.accesses[0]))

    def call_many(
        self, function: str | int, rows: np.ndarray, instructions_max: int = INSTRUCTIONS_MAX
    ) -> CallArrays:
        """Call a function once per row of arguments. Raises TauError if a call does not return."""
        name = function if isinstance(function, str) else f"{function:#x}"
        if isinstance(function, str):
            if function not in self.image.symbols:
                raise TauError(f"the image {self.image.name} has no function {function}")
            function = self.image.symbols[function]
        taken = np.ascontiguousarray(np.asarray(rows) & 0xFFFFFFFF, dtype=np.uint32)
        if taken.ndim != 2 or taken.shape[1] > 8:
            raise TauError(f"{name}: a call takes a row of at most eight words")
        done = np.zeros(len(taken), native.struct("tau_rv32_done"))
        made = native.library().tau_rv32_machine_call(
            *(self.handle, function, taken, taken.shape[1], len(taken)),
            *(instructions_max, done),
        )
        if made and done["stop"][made - 1]:
            last = done[made - 1]
            raise TauError(
                f"{name} {STOPS[int(last['stop'])]} at {int(last['pc']):#x}"
                f" (address {int(last['address']):#x}), in call {made - 1}"
            )
        return CallArrays(done["result"], done["instructions"], done["accesses"])
