"""The sources of a kernel's programs: folders, archives and images are distinguished and put where
the specification says, and all else is refused.
"""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from linux.coldcode.tests.cold_kernels import ROOT
from tautochrone.coldcode.linux import qemu, root
from tautochrone.coldcode.linux.build import Built
from tautochrone.coldcode.linux.qemu import Boot
from tautochrone.coldcode.linux.root import open_root
from tautochrone.errors import TauError

MIB = 1 << 20


def image(path: Path, size_bytes: int) -> Path:
    """A file that says it is ext4."""
    with open(path, "wb") as file:
        file.seek(root.EXT4_MAGIC_PLACE)
        file.write(root.EXT4_MAGIC)
        file.truncate(size_bytes)
    return path


def test_a_folder_becomes_an_archive(tmp_path: Path) -> None:
    (tmp_path / "root" / "bin").mkdir(parents=True)
    (tmp_path / "root" / "bin" / "sh").write_bytes(b"program")
    (tmp_path / "root" / "bin" / "sh").chmod(0o755)
    (tmp_path / "root" / "init").symlink_to("bin/sh")
    opened = open_root(tmp_path / "root", tmp_path)
    assert not opened.is_disk
    assert opened.kernel_options(64 * MIB) == []
    (tmp_path / "out").mkdir()
    command = ["cpio", "-i", "-d", "--quiet", "-F", str(opened.path)]
    subprocess.run(command, cwd=tmp_path / "out", check=True)
    assert (tmp_path / "out" / "init").readlink() == Path("bin/sh")
    assert (tmp_path / "out" / "bin" / "sh").stat().st_mode & 0o777 == 0o755
    assert open_root(opened.path, tmp_path) == opened


def test_the_archive_of_the_tutorial_is_the_same_everywhere(tmp_path: Path) -> None:
    """Made by the tutorial's command in two folders, at other times, by other users and in another
    order; the kernel reads times and inodes, so that recordings differed."""
    text = (ROOT / "docs/tutorials/cold-code.md").read_text(encoding="utf-8")
    start = text.index("(cd root")
    script = text[start : text.index("> root.cpio", start)]
    made = []
    for number, names in enumerate(("abc", "cba")):
        folder = tmp_path / str(number)
        (folder / "root").mkdir(parents=True)
        for name in names:
            (folder / "root" / name).write_text(name)
            os.utime(folder / "root" / name, (number, number))
            os.chown(folder / "root" / name, number if os.getuid() == 0 else -1, -1)
        made.append(subprocess.run(script, shell=True, cwd=folder, capture_output=True, check=True))
    assert made[0].stdout == made[1].stdout and b"TRAILER" in made[0].stdout


def test_a_disk_lies_behind_the_kernels_memory(tmp_path: Path) -> None:
    opened = open_root(image(tmp_path / "root,1.img", 3 * MIB + 1), tmp_path)
    assert opened.is_disk
    options = opened.options(128 * MIB)
    assert options[:2] == ["-m", f"{256 + 4 + 16}M"]
    assert "root,,1.img,addr=0x90000000,force-raw=on" in options[3]
    words = opened.kernel_options(128 * MIB)
    assert words[0] == "phram.phram=root,0x90000000,0x301000"
    assert words[-1] == f"mem={128 * MIB}"


def test_a_file_that_is_not_a_root_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text")
    with pytest.raises(TauError, match="is not a root file system"):
        open_root(tmp_path / "text", tmp_path)
    with pytest.raises(TauError, match="cannot read .*none"):
        open_root(tmp_path / "none", tmp_path)
    (tmp_path / "root").mkdir()
    os.mkfifo(tmp_path / "root" / "pipe")
    with pytest.raises(TauError, match="pipe is not a file, folder or link"):
        open_root(tmp_path / "root", tmp_path)


def test_what_does_not_fit_the_machine_is_refused(tmp_path: Path) -> None:
    built = Built(tmp_path)
    how = Boot(open_root(image(tmp_path / "large.img", 800 * MIB), tmp_path))
    with pytest.raises(TauError, match="has 800 MiB, the machine room for 752"):
        qemu.boot(built, how)
    how = Boot(open_root(image(tmp_path / "root.img", MIB), tmp_path), memory_bytes=512 * MIB)
    with pytest.raises(TauError, match="reach the image"):
        qemu.boot(built, how)
    long = replace(how, memory_bytes=64 * MIB, options=("x" * 1024,))
    with pytest.raises(TauError, match="command line has"):
        qemu.boot(built, long)
