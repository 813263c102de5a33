"""Kernels that are kept in the cache: killed builds, full disks, and what a user names wrongly.

Method: programs that write into a folder are shells and make; the disk is full for a made-up tar.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tautochrone.coldcode.linux import build, build_cache, qemu, source
from tautochrone.coldcode.linux.build import PACKAGES, options_of
from tautochrone.errors import TauError

SECONDS_MAX = 300
# Makes a folder by make.
MAKER = """
import sys
from pathlib import Path
from tautochrone.coldcode.linux import build_cache
command = ["make", "--silent", "-C", sys.argv[1]]
build_cache.folder(Path(sys.argv[1]), "made", "1", lambda _: build_cache.run(command, 60))
"""
# A signal while a program is being started would leave it, with the lock.
RECIPE = "all:\n\tsleep 0.5\n\techo started\n\tsleep {seconds}\n\ttouch written\n"


def stopped(parent: Path, number: int, seconds: float) -> None:
    """A process makes a folder, and gets a signal while its program runs."""
    (parent / "Makefile").write_text(RECIPE.format(seconds=seconds))
    command = [sys.executable, "-c", MAKER, str(parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as maker:
        assert maker.stdout is not None and maker.stdout.readline() == b"started\n"
        maker.send_signal(number)
        maker.stdout.close()
        assert maker.wait(SECONDS_MAX) != 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stopped_build_leaves_no_program(tmp_path: Path, number: int) -> None:
    before = time.monotonic()
    stopped(tmp_path, number, SECONDS_MAX)
    made = build_cache.folder(tmp_path, "made", "1", lambda folder: (folder / "file").touch())
    assert (made / "file").exists() and not (tmp_path / "written").exists()
    assert time.monotonic() - before < SECONDS_MAX


def test_nobody_writes_next_to_the_program_of_a_killed_build(tmp_path: Path) -> None:
    stopped(tmp_path, signal.SIGKILL, 1.5)

    def make(folder: Path) -> None:
        assert (tmp_path / "written").exists()
        (folder / "file").touch()

    assert (build_cache.folder(tmp_path, "made", "1", make) / "file").exists()


def test_a_waiting_process_says_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    stopped(tmp_path, signal.SIGKILL, 1.5)
    build_cache.folder(tmp_path, "made", "1", lambda _: None)
    assert f"another process makes {tmp_path / 'made-1'}: waiting" in capfd.readouterr().err


@pytest.mark.parametrize("damage", ["changed", "cut", "gone"])
def test_a_damaged_page_file_is_made_again(tmp_path: Path, damage: str) -> None:
    """The sealed file of a made folder is changed, cut short or removed, and asked for again."""
    sealed = build.SEALED

    def make(folder: Path) -> None:
        for name in sealed:
            (folder / name).write_bytes(name.encode())

    def asked() -> Path:
        return build_cache.folder(tmp_path, "linked", "1", make, sealed=sealed)

    pages = asked() / build.PAGES
    before = pages.stat().st_ino
    assert asked() / build.PAGES == pages and pages.stat().st_ino == before, "it was made twice"
    pages.write_bytes({"changed": b"pages.bim", "cut": b"pages"}.get(damage, b""))
    if damage == "gone":
        pages.unlink()
    assert (asked() / build.PAGES).read_bytes() == b"pages.bin"


def test_the_jobs_of_make_end_at_the_time_limit(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("all:\n\techo $$$$ > pid; exec sleep 60\n")
    with pytest.raises(subprocess.TimeoutExpired):
        build_cache.run(["make", "-C", str(tmp_path)], 2)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_kept_file_is_written_once_and_whole(tmp_path: Path) -> None:
    """Another process may read it at any time, and the cache may be read-only later."""
    path = build_cache.file(tmp_path / "placements", ".lds", "text")
    assert path.read_text() == "text" and list(path.parent.iterdir()) == [path]
    path.chmod(0o444)
    before = path.stat()
    assert build_cache.file(tmp_path / "placements", ".lds", "text") == path
    assert path.stat() == before
    path.unlink()
    path.write_text("te")  # a disk was full
    assert build_cache.file(tmp_path / "placements", ".lds", "text").read_text() == "text"
    with pytest.raises(TauError, match="cannot build in") as raised:
        build_cache.file(path, ".lds", "other")
    assert "XDG_CACHE_HOME" in str(raised.value.next_step)


def test_a_relative_cache_is_the_same_for_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """make runs in another folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert build_cache.cache_folder() == tmp_path / "cache" / "tautochrone" / "linux"


def test_a_full_disk_is_said_in_some_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """tar prints one line per file. The files that it wrote are removed."""
    tar = tmp_path / "bin" / "tar"
    tar.parent.mkdir()
    tar.write_text("#!/bin/sh\nyes 'tar: No space left on device' | head -n 99999 >&2\nexit 2\n")
    tar.chmod(0o755)
    archive = tmp_path / "linux.tar.xz"
    archive.write_bytes(b"archive")
    monkeypatch.setenv("PATH", f"{tar.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(TauError, match="cannot be unpacked") as raised:
        source.prepared(archive)
    assert raised.value.said.count("\n") < 10
    assert raised.value.next_step == build_cache.SPACE_STEP
    assert not any(path.is_dir() for path in build_cache.cache_folder().iterdir())


@pytest.mark.parametrize("name", ["a b", "a:b", "a,b", "a$b", "a#b", "a\nb", "a'b"])
def test_a_cache_that_make_cannot_use_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "linux.tar.xz").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
    with pytest.raises(TauError, match="make cannot build in") as raised:
        source.prepared(tmp_path / "linux.tar.xz")
    assert "XDG_CACHE_HOME" in str(raised.value.next_step)
    assert not (tmp_path / name).exists()


def test_missing_tar_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TauError, match="tar is not installed") as raised:
        source.unpack(tmp_path / "linux.tar.xz", tmp_path)
    assert raised.value.next_step == "apt install tar"
    assert " make " in PACKAGES


def test_a_configuration_is_text(tmp_path: Path) -> None:
    (tmp_path / "own.config").write_bytes(b"CONFIG_A=y\n\xda\xff\n")
    with pytest.raises(TauError, match="is not a configuration: not a text file") as raised:
        options_of(str(tmp_path / "own.config"))
    assert "smallest" in str(raised.value.next_step)


# ---- What the first program prints


def printed(*left_out: str) -> list[str]:
    """The lines of a first program, without the lines of some names."""
    names = [name for name in qemu.NEEDED if name not in left_out]
    return [*(f"tau: {name} 1" for name in names), "tau: hash 5", "tau: end"]


def test_a_first_program_prints_all_that_is_needed() -> None:
    qemu.seen("\n".join(printed())).refuse_gaps()
    gap = qemu.seen("\n".join(printed("frames", "MemTotal")))
    with pytest.raises(TauError, match="did not print MemTotal, frames") as raised:
        gap.refuse_gaps()
    assert "/proc/meminfo" in str(raised.value.next_step)
    nothing = qemu.seen("\n".join(line for line in printed() if "hash" not in line))
    with pytest.raises(TauError, match="printed no result"):
        nothing.refuse_gaps()


@pytest.mark.parametrize("value", ["x", "-5", "1_000", "\u0663", "9" * 30])
def test_a_counter_is_a_number(value: str) -> None:
    seen = qemu.seen("\n".join([f"tau: pages {value}", *printed("pages")]))
    with pytest.raises(TauError, match="the first program printed pages"):
        seen.number("pages")


def test_what_the_pager_says_decides() -> None:
    said = "coldcode: 5 pages, 0 pinned, 16 frames, nru, store flash"
    assert qemu.seen("\n".join([said, *printed()])).is_paged
    said = "coldcode: all code stays in RAM: switched off"
    assert not qemu.seen("\n".join([said, *printed()])).is_paged
