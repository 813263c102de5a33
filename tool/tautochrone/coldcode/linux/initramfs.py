"""The first program of our kernels, compiled, in the archive that the kernel starts from."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tautochrone import native
from tautochrone.coldcode.linux import build_cache
from tautochrone.errors import TauError

FLAGS = "-static -nostdlib -ffreestanding -fno-stack-protector -Os -Wall -Wextra -Werror".split()
SECONDS_MAX = 120
ROUNDS = 3
TRAILER = "TRAILER!!!"
EXECUTABLE, FOLDER = 0o100755, 0o040755


@dataclass(frozen=True)
class Entry:
    """A file or folder of an archive."""

    name: str
    mode: int
    content: bytes = b""


def initramfs(compiler: str, rounds: int = ROUNDS) -> Path:
    """The archive with our first program, compiled if needed. It makes its calls in `rounds`."""
    flags = [*FLAGS, f"-DTAU_ROUNDS={rounds}"]
    files = sorted((native.sources() / "coldcode" / "init").glob("*.[ch]"))
    parts: list[bytes | str] = [compiler, *flags]
    for path in files:
        parts += [path.name, path.read_bytes()]

    def make(folder: Path) -> None:
        sources = [str(path) for path in files if path.suffix == ".c"]
        command = [compiler, *flags, "-o", str(folder / "init"), *sources]
        done = build_cache.compiled(command, SECONDS_MAX)
        if done.returncode:
            raise TauError("the first program cannot be compiled", said=done.stderr)
        program = (folder / "init").read_bytes()
        entries = [Entry("dev", FOLDER), Entry("init", EXECUTABLE, program)]
        (folder / "initramfs.cpio").write_bytes(archive(entries))

    folder = build_cache.folder(
        build_cache.cache_folder(), "init", build_cache.hash_of(parts), make
    )
    return folder / "initramfs.cpio"


def archive(entries: Iterable[Entry]) -> bytes:
    """A cpio archive in the format `newc`, as the kernel reads it."""
    rows = [*entries, Entry(TRAILER, 0)]
    return b"".join(_member(number, row) for number, row in enumerate(rows, 1))


def _member(number: int, entry: Entry) -> bytes:
    name = entry.name.encode() + b"\0"
    # Inode, mode, owner, group, links, time, size, four device numbers, length of name, checksum.
    fields = [number, entry.mode, 0, 0, 1, 0, len(entry.content), 0, 0, 0, 0, len(name), 0]
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + name
    return _padded(head) + _padded(entry.content)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
