"""The page file that flash holds [PAGER-4], and a flash chip of QEMU's `virt` with it."""

import struct
from dataclasses import dataclass

from tautochrone.coldcode.kernel import Kernel
from tautochrone.errors import TauError

MAGIC = b"TAUPAGES"
VERSION = 1
PAGE_BYTES = 4096
HEADER = struct.Struct("<8sII20sI")
# `virt` resets into flash if there is any: li t0,1; slli t0,t0,31; jr t0 goes on to the firmware.
STUB = bytes.fromhex("8542fe028282")
CHIP_BYTES = 32 << 20
START, END = "tau_cold_start", "tau_cold_end"


@dataclass(frozen=True)
class PageFile:
    """The cold code of a kernel, and the build that it belongs to."""

    build_id: str
    pages: tuple[bytes, ...]

    def content(self) -> bytes:
        """The file."""
        identity = bytes.fromhex(self.build_id)
        header = HEADER.pack(MAGIC, VERSION, len(self.pages), identity, 0)
        return header.ljust(PAGE_BYTES, b"\xff") + b"".join(self.pages)


def page_file_of(kernel: Kernel) -> PageFile:
    """The page file of a linked kernel."""
    if START not in kernel.places or not kernel.build_id:
        raise TauError(f"{kernel.path} has no place for cold code", "use `tau coldcode build`")
    cold = cold_range(kernel)
    code = kernel.code_at(cold.start, len(cold))
    pages = [code[place : place + PAGE_BYTES] for place in range(0, len(cold), PAGE_BYTES)]
    return PageFile(kernel.build_id, tuple(pages))


def cold_range(kernel: Kernel) -> range:
    """The addresses of cold code in a kernel that has a place for it."""
    return range(kernel.places[START].address, kernel.places[END].address)


def chip_of(content: bytes) -> bytes:
    """The content of QEMU's first flash chip with a page file at 0x20001000."""
    room = CHIP_BYTES - PAGE_BYTES
    if len(content) > room:
        raise TauError(f"the page file has {len(content):,} bytes, the flash {room:,}")
    return STUB.ljust(PAGE_BYTES, b"\xff") + content
