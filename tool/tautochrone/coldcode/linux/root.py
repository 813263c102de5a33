"""The source of a kernel's programs: an archive that it unpacks, or a file system in memory.

root = open_root(Path("root.img"), folder)     # a folder, a cpio archive, or an ext4 image

A disk would answer at times that differ from run to run, so that a file system is put into memory
after the kernel's memory.
"""

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tautochrone.coldcode.linux.initramfs import Entry, archive
from tautochrone.errors import TauError

CPIO_MAGIC = b"070701"
EXT4_MAGIC, EXT4_MAGIC_PLACE = b"\x53\xef", 1024 + 56
RAM_START, DISK_START = 0x8000_0000, 0x9000_0000
# QEMU puts the device tree after all memory, at most there.
TREE_START_MAX, TREE_BYTES = 0xC000_0000, 16 << 20
PAGE_BYTES = 4096
MIB = 1 << 20
KINDS = "a folder, a cpio archive (newc, not compressed), or an ext4 image"


@dataclass(frozen=True)
class Root:
    """A file for QEMU. A disk is an ext4 image, all else an archive."""

    path: Path
    is_disk: bool = False

    def options(self, memory_bytes: int) -> list[str]:
        """QEMU's options, for a kernel with so much memory."""
        if not self.is_disk:
            return ["-m", f"{memory_bytes}B", "-initrd", str(self.path)]
        behind = DISK_START - RAM_START + self._bytes() + TREE_BYTES
        file = str(self.path).replace(",", ",,")
        loader = f"loader,file={file},addr={DISK_START:#x},force-raw=on"
        return ["-m", f"{-(-behind // MIB)}M", "-device", loader]

    def kernel_options(self, memory_bytes: int) -> list[str]:
        """Words of the kernel's command line."""
        if not self.is_disk:
            return []
        # The first flash memory is the machine's chip.
        words = f"root=/dev/mtdblock1 rootfstype=ext4 rw mem={memory_bytes}".split()
        return [f"phram.phram=root,{DISK_START:#x},{self._bytes():#x}", *words]

    def refuse(self, memory_bytes: int) -> None:
        """Raise TauError if both do not fit the machine."""
        room = TREE_START_MAX - TREE_BYTES - DISK_START
        if self.is_disk and self._bytes() > room:
            cause = f"{self.path} has {self._bytes() // MIB:,} MiB, the machine room for"
            raise TauError(f"{cause} {room // MIB:,}", "make a smaller image")
        if self.is_disk and memory_bytes > DISK_START - RAM_START:
            most = (DISK_START - RAM_START) // MIB
            raise TauError(f"{memory_bytes:,} bytes of memory reach the image", f"give {most}M")

    def _bytes(self) -> int:
        return -(-self.path.stat().st_size // PAGE_BYTES) * PAGE_BYTES


def open_root(path: Path, folder: Path) -> Root:
    """The root at PATH; the archive of a folder is made in FOLDER. Raises TauError if PATH is not a
    root, or if its folder has more than files, folders and links."""
    if path.is_dir():
        made = folder / "initramfs.cpio"
        made.write_bytes(archive(_entries(path)))
        return Root(made)
    try:
        with open(path, "rb") as file:
            head = file.read(EXT4_MAGIC_PLACE + len(EXT4_MAGIC))
    except OSError as error:
        raise TauError(f"cannot read {path}: {error.strerror}", f"name {KINDS}") from error
    if head.startswith(CPIO_MAGIC):
        return Root(path.resolve())
    if head[EXT4_MAGIC_PLACE:] == EXT4_MAGIC:
        return Root(path.resolve(), is_disk=True)
    raise TauError(f"{path} is not a root file system", f"name {KINDS}")


def _entries(folder: Path) -> Iterator[Entry]:
    """All below FOLDER; a folder before its content."""
    for path in sorted(folder.rglob("*")):
        name, mode = str(path.relative_to(folder)), path.lstat().st_mode
        if stat.S_ISLNK(mode):
            yield Entry(name, mode, str(path.readlink()).encode())
        elif stat.S_ISREG(mode):
            yield Entry(name, mode, path.read_bytes())
        elif stat.S_ISDIR(mode):
            yield Entry(name, mode)
        else:
            raise TauError(f"{path} is not a file, folder or link", "use devtmpfs for devices")
