"""The parts of building and booting a kernel that need no kernel: kept folders, page file, archive,
console, configurations. Each against what the specification says, and with bad input.
"""

import subprocess
import threading
from pathlib import Path

import pytest

from tautochrone.coldcode.fragment import fragment_text
from tautochrone.coldcode.link_map import Piece
from tautochrone.coldcode.linux import build as building
from tautochrone.coldcode.linux import build_cache, flash, initramfs, qemu
from tautochrone.coldcode.linux.build import Wish, build
from tautochrone.errors import TauError

BUILD_ID = "00112233445566778899aabbccddeeff01234567"


# ---- Folders that are kept


def test_a_folder_is_made_once(tmp_path: Path) -> None:
    made = []
    for _ in range(2):
        folder = build_cache.folder(tmp_path, "name", "mark", made.append)
    assert made == [folder] == [tmp_path / "name-mark"]
    assert build_cache.is_made(folder)


def test_a_half_done_folder_is_made_again(tmp_path: Path) -> None:
    def stop(folder: Path) -> None:
        (folder / "half").touch()
        raise TauError("stopped")

    with pytest.raises(TauError, match="stopped"):
        build_cache.folder(tmp_path, "name", "mark", stop)
    assert (tmp_path / "name-mark" / "half").exists()
    folder = build_cache.folder(tmp_path, "name", "mark", lambda made: (made / "whole").touch())
    assert sorted(path.name for path in folder.iterdir()) == [build_cache.COMPLETE, "whole"]


def test_two_who_want_a_folder_make_it_once(tmp_path: Path) -> None:
    made, both = [], threading.Barrier(2)

    def want() -> None:
        both.wait()
        build_cache.folder(tmp_path, "name", "mark", made.append)

    threads = [threading.Thread(target=want) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TauError, match="cannot build in") as raised:
        build_cache.folder(tmp_path / "file", "name", "mark", lambda _: None)
    assert "XDG_CACHE_HOME" in str(raised.value.next_step)


def test_a_hash_tells_parts_from_their_sum() -> None:
    assert build_cache.hash_of(["ab", "c"]) != build_cache.hash_of(["a", "bc"])
    assert build_cache.hash_of(["ab"]) == build_cache.hash_of([b"ab"])


# ---- Boots


def test_the_page_file_is_as_specified() -> None:
    pages = (b"\1" * 4096, b"\2" * 4096)
    content = flash.PageFile(BUILD_ID, pages).content()
    assert len(content) == 3 * 4096
    assert content[:16] == b"TAUPAGES\1\0\0\0\2\0\0\0"
    assert content[16:36].hex() == BUILD_ID
    assert content[36:4096] == bytes(4) + b"\xff" * 4056
    assert content[4096:] == b"".join(pages)
    chip = flash.chip_of(content)
    assert chip[4096:] == content
    assert chip[:6].hex() == "8542fe028282"


def test_a_page_file_that_flash_cannot_hold_is_refused() -> None:
    with pytest.raises(TauError, match="the page file has"):
        flash.chip_of(bytes(flash.CHIP_BYTES))


def test_cpio_reads_the_archive(tmp_path: Path) -> None:
    entries = [
        initramfs.Entry("dev", initramfs.FOLDER),
        initramfs.Entry("init", initramfs.EXECUTABLE, b"content"),
        initramfs.Entry("odd.name", initramfs.EXECUTABLE, b"four"),
    ]
    archive = initramfs.archive(entries)
    subprocess.run(["cpio", "-i", "--quiet"], input=archive, cwd=tmp_path, check=True)
    assert (tmp_path / "dev").is_dir()
    assert (tmp_path / "init").read_bytes() == b"content"
    assert (tmp_path / "init").stat().st_mode == initramfs.EXECUTABLE
    assert (tmp_path / "odd.name").read_bytes() == b"four"


def test_a_console_is_read() -> None:
    lines = [
        "Kernel command line: console=hvc0 coldcode.frames=4",
        "coldcode: 9 pages, 1 pinned, 4 frames, aging, store flash",
        "tau: hash of one 4567cdef",
        "tau: hash 0123abcd",
        "tau: MemTotal:          62600 kB",
        "tau: Active(anon):          0 kB",
        "tau: faults 12",
        "tau: end",
    ]
    seen = qemu.seen("\r\n".join(lines))
    assert seen.pager == ("9 pages, 1 pinned, 4 frames, aging, store flash",)
    assert seen.values == {"hash": "0123abcd", "MemTotal": "62600", "faults": "12"}
    assert seen.results == ("tau: hash of one 4567cdef", "tau: hash 0123abcd")
    assert seen.number("faults") == 12
    assert seen.number("loads") == 0


def test_a_kernel_that_did_not_get_to_the_end_is_told_from_one_that_did() -> None:
    with pytest.raises(TauError, match="did not print `tau: end`") as raised:
        qemu.seen("Oops\ntau: hash 0123abcd")
    assert "Oops" in raised.value.said


# ---- Builds


def test_our_configurations_have_what_cold_code_needs() -> None:
    required = (building.configurations_folder() / "required.config").read_text()
    assert "smallest" in building.configurations()
    for name in building.configurations():
        assert required in building.options_of(name)


def test_an_unknown_configuration_is_refused() -> None:
    with pytest.raises(TauError, match="unknown configuration none") as raised:
        build(Wish("none"))
    assert "smallest" in str(raised.value.next_step)


def test_a_damaged_placement_is_refused(tmp_path: Path) -> None:
    placement = tmp_path / "plan.lds"
    piece = Piece(0xFFFFFFFF80001000, 16, "mm/slub.o", ".text.foo", ".text")
    placement.write_text(fragment_text([[piece]]).replace("foo", "bar"))
    with pytest.raises(TauError, match="cut short or changed"):
        build(Wish("smallest", placement))
