"""Kernels that cannot be built or do not boot: the cause is said first, all at once, and no work is
lost.

Method: made-up make programs, configurations, source folders and consoles.
"""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tautochrone.coldcode.linux import build as building
from tautochrone.coldcode.linux import build_cache, qemu, source
from tautochrone.coldcode.linux.build import Built, Make, options_of
from tautochrone.coldcode.linux.qemu import Boot
from tautochrone.coldcode.linux.root import Root
from tautochrone.errors import TauError

# The lines of 40 jobs that go on for a while after the error.
FAILING_MAKE = """#!/bin/sh
echo "  CC      lib/a.o"
echo "lib/test_a.c:28:10: fatal error: ../tools/testing/a.h: No such file or directory" >&2
echo "make[2]: *** [scripts/Makefile.build:229: lib/test_a.o] Error 1" >&2
for job in $(seq 40); do echo "  CC      mm/$job.o"; done
exit 2
"""
SLOW_MAKE = "#!/bin/sh\necho '  CC      a.o'\nexec sleep 30\n"
PANIC = """coldcode: 5 pages, 0 pinned, 16 frames, nru, store flash
Run /init as init process
usercopy: Kernel memory overwrite attempt detected to linear kernel text (offset 8192, size 20)!
------------[ cut here ]------------
kernel BUG at mm/usercopy.c:102!
{}
Kernel panic - not syncing: Fatal exception in interrupt
---[ end Kernel panic ]---
"""


def made_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Make:
    """A kernel's make that is this script; its build folder is `build`."""
    program = tmp_path / "bin" / "make"
    program.parent.mkdir()
    program.write_text(script)
    program.chmod(0o755)
    (tmp_path / "build").mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return Make(tmp_path, {"compiler": "gcc"}, 60)


# ---- Builds


def test_the_errors_of_a_build_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of this try: an earlier one failed otherwise."""
    make = made_make(tmp_path, monkeypatch, FAILING_MAKE)
    (tmp_path / "build" / "make.log").write_text("a.c:1: error: of another day\n")
    with pytest.raises(TauError, match="the kernel cannot be built") as raised:
        make.run(tmp_path / "build", "vmlinux")
    lines = raised.value.said.splitlines()
    assert "fatal error: ../tools/testing/a.h" in lines[0] and "*** [scripts" in lines[1]
    assert lines[-1] == "  CC      mm/40.o" and "of another day" not in raised.value.said


def test_a_build_says_how_far_it_is_and_keeps_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    make = replace(made_make(tmp_path, monkeypatch, SLOW_MAKE), seconds_max=0.7)
    monkeypatch.setattr(build_cache, "TELL_SECONDS", 0.2)
    with pytest.raises(TauError, match=r"took over 0\.7 s") as raised:
        make.run(tmp_path / "build", "vmlinux")
    assert "are kept" in str(raised.value.next_step)
    assert "building the kernel: 1 file, 0 s" in capfd.readouterr().err


def test_a_second_try_goes_on_where_the_first_one_stopped(tmp_path: Path) -> None:
    def stop(folder: Path) -> None:
        (folder / "a.o").write_text("compiled")
        raise TauError("stopped")

    with pytest.raises(TauError, match="stopped"):
        build_cache.folder(tmp_path, "build", "1", stop, goes_on=True)
    made = build_cache.folder(tmp_path, "build", "1", lambda _: None, goes_on=True)
    assert (made / "a.o").read_text() == "compiled" and build_cache.is_made(made)


def test_the_source_has_what_the_kernels_own_tests_include() -> None:
    """lib/test_printf.c includes it."""
    left_out = source._left_out_of(Path("/linux"))
    assert not left_out("/linux/tools/testing/selftests", ["kselftest_module.h"])
    assert left_out("/linux/tools/testing/selftests/bpf", ["test_maps.c"])


# ---- Configurations


def refusal(missing: list[str], got: list[str]) -> TauError:
    """The message about a configuration."""
    with pytest.raises(TauError) as raised:
        building._refuse(missing, got)
    return raised.value


def test_all_that_is_wrong_with_a_configuration_is_said_at_once() -> None:
    missing = ["CONFIG_COLD_CODE=y", "CONFIG_NO_SUCH=y", "CONFIG_NEITHER=5"]
    error = refusal(missing, ["CONFIG_SMP=y", "CONFIG_KVM=m", "CONFIG_MMU=y", "CONFIG_KPROBES=y"])
    assert "cold code cannot have CONFIG_SMP=y, CONFIG_KVM=m, CONFIG_KPROBES=y; " in error.message
    assert error.message.endswith("Kconfig dropped CONFIG_NO_SUCH=y, CONFIG_NEITHER=5")
    assert "code_pager.md" in error.next_step and "correct the name" in error.next_step
    assert "COLD_CODE" not in error.message


@pytest.mark.parametrize("name", ["HARDENED_USERCOPY", "PRINTK"])
def test_what_cold_code_gets_on_with_is_not_refused(name: str) -> None:
    error = refusal(["CONFIG_NO_SUCH=y"], [f"CONFIG_{name}=y"])
    assert "cannot have" not in error.message


def test_every_line_that_is_not_an_option_is_reported(tmp_path: Path) -> None:
    """Kconfig would pass over them."""
    own = tmp_path / "own.config"
    own.write_text("CONFG_SMP=y\n# a remark\n\nCONFIG_NET=y  \nCONFIG_PRINTK\n")
    with pytest.raises(TauError, match="CONFG_SMP=y; CONFIG_PRINTK") as raised:
        options_of(str(own))
    assert "CONFIG_NAME=value" in str(raised.value.next_step)
    own.write_text('CONFIG_CMDLINE="quiet # no"\n# CONFIG_SMP is not set\n')
    assert "quiet" in options_of(str(own))


# ---- Source folders


def source_folder(path: Path) -> Path:
    """A folder with what a source of Linux is known by, built in its own folder."""
    for name in (*source.IS_SOURCE, "mm/slub.c", "mm/slub.o", ".config", ".git/HEAD"):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(name)
    (path / "link").symlink_to("mm")
    return path


def test_a_source_folder_is_copied_without_what_was_built(tmp_path: Path) -> None:
    folder = source_folder(tmp_path / "linux")
    (tmp_path / "copy").mkdir()
    source.copy(folder, tmp_path / "copy")
    found = {str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*.*")}
    assert found == {"arch/riscv/kernel/vmlinux.lds.S", "mm/slub.c"}
    assert (tmp_path / "copy" / "link").is_symlink()


def test_a_changed_source_folder_is_another_one(tmp_path: Path) -> None:
    folder = source_folder(tmp_path / "linux")
    before = source.folder_hash(folder)
    (folder / "mm" / "slub.o").write_text("built again")
    assert source.folder_hash(folder) == before
    os.utime(folder / "mm" / "slub.c", ns=(1, 1))
    assert source.folder_hash(folder) != before


def test_a_folder_that_is_not_an_unchanged_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TauError, match="is not a source of Linux: Makefile is missing"):
        source.prepared(tmp_path)
    folder = source_folder(tmp_path / "linux")
    (folder / source.TARGET).mkdir(parents=True)
    with pytest.raises(TauError, match="has the code pager in it already"):
        source.prepared(folder)


# ---- Boots


@pytest.mark.parametrize("lines", [1, 200])
def test_a_kernel_that_panics_says_why_and_which_one_it_was(lines: int) -> None:
    """However long its backtrace is."""
    console = PANIC.format("\n".join(["[<ffffffff80001000>] walk+0x0/0x10"] * lines))
    with pytest.raises(TauError, match="panicked: Fatal exception in interrupt") as raised:
        qemu.seen(console, "the kernel with cold code")
    assert raised.value.message.startswith("the kernel with cold code panicked")
    said = raised.value.said.splitlines()
    assert said[0].startswith("usercopy: Kernel memory overwrite attempt")
    assert "Kernel panic - not syncing" in raised.value.said and len(said) < 60


def test_seeds_move_the_ticks_of_the_timer(tmp_path: Path) -> None:
    """A tick is 4 ms or 10 ms. Without this, seeds of QEMU gave the same run."""
    root = tmp_path / "root.cpio"
    root.touch()
    waits = []
    for seed in range(1, 11):
        words = " ".join(qemu._command(Built(tmp_path), Boot(Root(root), seed=seed), tmp_path))
        said = re.search(r"coldcode\.wait_us=(\d+)", words)
        waits.append(int(said[1]) if said else 0)
    assert waits[0] == 0 and len({wait // 1000 for wait in waits}) >= 8
    assert len({wait % 4000 // 400 for wait in waits}) >= 6
