"""`tau record`: its messages, its outputs, its refusals, and its exit status."""

import contextlib
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tautochrone.record import merge
from tautochrone.trace.file import open_trace
from testing.recorded import Build, Record, Tau


def script(path: Path, text: str, mode: int = 0o755) -> Path:
    """Write a file with this mode."""
    path.write_text(text)
    path.chmod(mode)
    return path


# ---- Names and output


@pytest.mark.parametrize("words", [("-q", "record"), ("record", "-q"), ("record", "--quiet")])
def test_quiet_leaves_only_the_program(words: tuple[str, ...], tau: Tau, tmp_path: Path) -> None:
    done = tau(*words, "-o", tmp_path / "q.tau", "--", "echo", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "-q\n", "")


def test_an_unknown_option_is_not_taken_for_the_program(tau: Tau) -> None:
    done = tau("record", "--forse", "--", "true")
    assert done.returncode == 2 and "no such option '--forse'" in done.stderr


def deep_folder(parent: Path, path_bytes: int) -> Path:
    """Make a folder whose path has this many bytes, in `parent`."""
    while len(str(parent)) + 1 < path_bytes:
        left = path_bytes - len(str(parent)) - 1
        # The rest must be at least a slash and a letter.
        parent /= "d" * (left if left <= 200 else min(200, left - 2))
    parent.mkdir(parents=True)
    assert len(str(parent)) == path_bytes
    return parent


@pytest.mark.parametrize("path_bytes", [940, 1100, 3900])
def test_a_long_path_is_recorded_into(path_bytes: int, tau: Tau, tmp_path: Path) -> None:
    """Neither the output's folder nor the one for recordings need be short."""
    folder = deep_folder(tmp_path, path_bytes)
    state = dict(os.environ) | {"XDG_STATE_HOME": str(folder)}
    done = tau("record", "-o", folder / "x.tau", "--", "true", env=state)
    assert done.returncode == 0, done.stderr
    assert tau("check", folder / "x.tau").returncode == 0


def test_a_path_too_long_for_the_recorder_is_refused(tau: Tau, tmp_path: Path) -> None:
    state = dict(os.environ) | {"XDG_STATE_HOME": str(deep_folder(tmp_path, 4050))}
    done = tau("record", "-o", "x.tau", "--", "touch", tmp_path / "ran", env=state)
    assert done.returncode == 125 and "next: " in done.stderr
    assert f"has {4050 + len('/tautochrone')} bytes" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_default_name_and_summary(tau: Tau, build: Build, tmp_path: Path) -> None:
    """PROGRAM.PID.tau here; summary and next command on stderr, on stdout only its own."""
    done = tau("record", "--", build("threads"), 1, 100)
    assert done.returncode == 0
    assert done.stdout == "100\n"
    (trace,) = tmp_path.glob("threads.*.tau")
    assert f"next: tau plan {trace.name} -o plan.toml" in done.stderr
    assert "tau: recording malloc" in done.stderr and "tau: not recorded" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [trace.name]
    with open_trace(trace) as reader:
        assert reader.header["command"] == [str(build("threads")), "1", "100"]
        assert reader.header["truncated"] is False


def test_nothing_is_overwritten(tau: Tau, build: Build, tmp_path: Path) -> None:
    """An existing file stops the command before the program starts; --force replaces it."""
    out = script(tmp_path / "out.tau", "precious", 0o644)
    done = tau("record", "-o", out, "--", "touch", tmp_path / "ran")
    assert done.returncode == 125 and "--force" in done.stderr
    assert out.read_text() == "precious" and not (tmp_path / "ran").exists()
    assert tau("record", "--force", "-o", out, "--", build("ends")).returncode == 42
    with open_trace(out) as reader:
        assert reader.totals.events >= 9000


def test_other_traces_are_not_overwritten(tau: Tau, build: Build, tmp_path: Path) -> None:
    """Two recordings of one pid (exec) get two names."""
    tau("record", "-o", tmp_path / "x.tau", "--", build("ends"), "exec")
    names = sorted(path.name for path in tmp_path.glob("*.tau"))
    assert len(names) == 2 and names[1] == "x.tau" and names[0].startswith("x.ends.")


def test_json(record: Record, build: Build) -> None:
    """One document on stdout, with version and command; what the program prints goes to stderr."""
    recorded = record(build("threads"), 2, 1000)
    document = recorded.document
    assert document["version"] == 1 and document["command"] == "record"
    assert document["exit_status"] == 0 and document["signal"] is None
    assert document["trace"]["events"] >= 4000
    assert "2000\n" in recorded.stderr


def test_children_can_be_left_out(tau: Tau, build: Build, tmp_path: Path) -> None:
    """--no-children records the program itself, but not its children."""
    done = tau("record", "--no-children", "-o", "one.tau", "--", build("forks"))
    assert done.returncode == 0
    assert [path.name for path in tmp_path.glob("*.tau")] == ["one.tau"]


def test_preset(tau: Tau, tmp_path: Path) -> None:
    """Python's own heap hides most objects, unless the preset switches it off and says so."""
    events = {}
    for preset in ("auto", "none"):
        out = tmp_path / f"{preset}.tau"
        done = tau("record", "--preset", preset, "-o", out, "--", "python3", "-c", "pass")
        assert done.returncode == 0, done.stderr
        assert ("PYTHONMALLOC=malloc" in done.stderr) == (preset == "auto")
        with open_trace(out) as reader:
            events[preset] = reader.totals.events
    assert events["auto"] > 3 * events["none"]


def test_preset_leaves_the_users_choice(tau: Tau, tmp_path: Path) -> None:
    """A variable that is set already is not touched, and not announced."""
    env = dict(os.environ) | {"PYTHONMALLOC": "pymalloc"}
    done = tau("record", "--", "python3", "-c", "pass", env=env)
    assert "PYTHONMALLOC" not in done.stderr and "G_SLICE" in done.stderr


def test_raw_is_kept(tau: Tau, build: Build, tmp_path: Path) -> None:
    """--raw merges nothing and says how to."""
    done = tau("record", "--raw", "--", build("threads"), 1, 1000)
    (raw,) = tmp_path.glob("threads.*.tauraw")
    assert f"tau import {raw.name}" in done.stderr
    assert merge.merge_raw(raw, tmp_path / "x.tau").events >= 2000


def test_program_without_allocations(tau: Tau, tmp_path: Path) -> None:
    """No event is a result too, and says so."""
    source = script(tmp_path / "none.c", "int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-o", tmp_path / "none", source], check=True)
    done = tau("record", "-o", "none.tau", "--", tmp_path / "none")
    assert done.returncode == 0
    with open_trace(tmp_path / "none.tau") as reader:
        assert reader.totals.events == 0
    assert "no allocation was recorded" in done.stderr


def test_blank_in_the_package_path(tau: Tau, build: Build, tmp_path: Path) -> None:
    """LD_PRELOAD cannot name a path with a blank; the recorder works all the same."""
    import tautochrone

    home = tmp_path / "a b"
    shutil.copytree(Path(tautochrone.__file__).parent, home / "tautochrone")
    env = dict(os.environ) | {"PYTHONPATH": str(home), "PYTHONSAFEPATH": "1"}
    code = "from tautochrone.cli import main; main()"
    words = [sys.executable, "-c", code, "record", "-o", "x.tau", "--", str(build("ends"))]
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 42, done.stderr
    with open_trace(tmp_path / "x.tau") as reader:
        assert reader.totals.events >= 9000


# ---- Programs that cannot be recorded


def assert_refused(done: Any, status: int, *says: str) -> None:
    """The exit status, the cause, and a next step."""
    assert done.returncode == status, done.stderr
    for text in (*says, "next:"):
        assert text in done.stderr, done.stderr


OWN_MALLOC = (
    "#include <stddef.h>\nstatic char heap[1 << 20];\nstatic size_t used;\n"
    "void *malloc(size_t n) { used += (n + 15) & ~15ul; return heap + used; }\n"
    "void free(void *p) { (void)p; }\nint main(void) { return malloc(1) == 0; }\n"
)


def own_malloc(build: Build, folder: Path) -> Path:
    """A program that defines malloc, which comes before every library."""
    source = script(folder / "own.c", OWN_MALLOC)
    words = ["gcc", "-fno-builtin", "-rdynamic", "-o", folder / "own", source]
    subprocess.run(words, check=True)
    return folder / "own"


def static(build: Build, folder: Path) -> Path:
    """A program without a dynamic linker: nothing to preload into."""
    return build("ends", "-static", made="ends-static")


def changed(build: Build, folder: Path, change: Callable[[bytearray], bytearray]) -> Path:
    """A dynamic program whose bytes were changed."""
    path = folder / "changed"
    path.write_bytes(change(bytearray(build("ends").read_bytes())))
    path.chmod(0o755)
    return path


def for_another_machine(data: bytearray) -> bytearray:
    """The same program with another number of its machine."""
    data[18] = 0xF3 if data[18] != 0xF3 else 0x3E
    return data


def firmware(build: Build, folder: Path) -> Path:
    """A program of another machine that was linked without a C library."""
    (folder / "bare.c").write_text("void _start(void) { for (;;) { } }\n")
    command = ["gcc", "-nostdlib", "-static", "-o", folder / "bare.elf", folder / "bare.c"]
    subprocess.run(command, check=True)
    data = for_another_machine(bytearray((folder / "bare.elf").read_bytes()))
    (folder / "bare.elf").write_bytes(data)
    return folder / "bare.elf"


# The program, the exit status [REC-15], and the words of the message.
REFUSED: dict[str, tuple[Callable[[Build, Path], object], int, tuple[str, ...]]] = {
    "not found": (lambda *_: "no-such-program", 127, ("not found",)),
    "not executable": (
        lambda _, folder: script(folder / "plain", "hello", 0o644),
        126,
        ("not executable", "chmod +x"),
    ),
    "in this folder": (
        lambda _, folder: script(folder / "plain", "hello", 0o644).name,
        126,
        ("./plain",),
    ),
    "a folder": (lambda _, folder: folder, 126, ("directory",)),
    "neither a program nor a script": (
        lambda _, folder: script(folder / "words", "hello"),
        126,
        ("#! line",),
    ),
    "static": (static, 125, ("statically linked", "record_wrap.c")),
    "static and relocatable": (
        lambda build, _: build("ends", "-static-pie", made="ends-static-pie"),
        125,
        ("statically linked",),
    ),
    "its own malloc": (own_malloc, 125, ("its own malloc",)),
    "another machine": (
        lambda build, folder: changed(build, folder, for_another_machine),
        125,
        ("this machine",),
    ),
    "a firmware": (firmware, 125, ("looks like a firmware", "tutorials/size-a-heap.md")),
    "it ends in its header": (
        lambda build, folder: changed(build, folder, lambda data: data[:40]),
        126,
        ("is not a valid ELF file",),
    ),
    "a script of a static program": (
        lambda build, folder: script(folder / "bad", f"#!{static(build, folder)}\n"),
        125,
        ("statically linked",),
    ),
    "a script of nothing": (
        lambda _, folder: script(folder / "gone", "#!/no/such/shell\n"),
        127,
        ("/no/such/shell",),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_program_that_cannot_be_recorded(
    tau: Tau, build: Build, tmp_path: Path, name: str
) -> None:
    make, status, says = REFUSED[name]
    assert_refused(tau("record", "--", make(build, tmp_path)), status, *says)


def test_no_command(tau: Tau) -> None:
    """A wrong call is 2."""
    assert tau("record").returncode == 2
    assert tau("record", "--").returncode == 2


def test_setuid(tau: Tau, build: Build, tmp_path: Path) -> None:
    """A program that gains rights ignores LD_PRELOAD."""
    program = Path(shutil.copy(build("ends"), tmp_path / "privileged"))
    if os.getuid() != 0:
        pytest.skip("only root can make a program of another user")
    os.chown(program, 65534, 65534)
    program.chmod(0o755 | stat.S_ISUID)
    assert_refused(tau("record", "--", program), 125, "setuid", "sudo")
    program.chmod(0o755 | stat.S_ISGID)
    assert_refused(tau("record", "--", program), 125, "setgid")


def test_scripts_are_followed(tau: Tau, build: Build, tmp_path: Path) -> None:
    """A script is the program of its #! line."""
    script(tmp_path / "good", "#!/bin/sh\nexit 7\n")
    done = tau("record", "-o", "good.tau", "--", "./good")
    assert done.returncode == 7 and (tmp_path / "good.tau").exists()
    script(tmp_path / "python", "#!/usr/bin/env python3\nimport sys\nsys.exit(8)\n")
    assert tau("record", "-o", "python.tau", "--", "./python").returncode == 8


def test_output_that_cannot_be(tau: Tau, tmp_path: Path) -> None:
    """Where the trace should go is checked before the program starts."""
    for out in (tmp_path, tmp_path / "no" / "where.tau"):
        assert_refused(tau("record", "-o", out, "--", "touch", "ran"), 125)
    assert not (tmp_path / "ran").exists()


# ---- A disk that fills up


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount a tmpfs of this size; skips the test where that is not allowed."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tau", folder], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("mount is not allowed here; the limit on file sizes tests the same path")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def state_in(folder: Path) -> dict[str, str]:
    """An environment in which recordings lie on this disk."""
    return dict(os.environ) | {"XDG_STATE_HOME": str(folder)}


def test_full_disk(tau: Tau, build: Build, tmp_path: Path) -> None:
    """Recording stops, the program does not; the trace is marked, and fits on the disk."""
    with small_disk(tmp_path / "disk", "1m") as disk:
        out = disk / "out.tau"
        words = ("record", "--json", "-o", out, "--", build("grind"), 2000000)
        done = tau(*words, env=state_in(disk))
        assert done.returncode == 0, done.stderr
        assert "stopped early: No space left on device" in done.stderr and "next:" in done.stderr
        trace = json.loads(done.stdout)["trace"]
        assert trace["truncated"] == "No space left on device"
        assert trace["implied_frees"] == trace["unknown_count"] == 0
        with open_trace(out) as reader:
            assert reader.totals.events > 10000
            assert reader.header["truncated_reason"] == "No space left on device"
        done = tau("check", out)
        assert done.returncode == 1 and "recording: the recorder stopped early" in done.stdout
        assert not list(disk.glob("tautochrone/*"))


def test_full_disk_with_threads(tau: Tau, build: Build, tmp_path: Path) -> None:
    """The trace ends where the first thread's recording ended, so none is half known [REC-8]."""
    with small_disk(tmp_path / "disk", "1m") as disk:
        out = disk / "out.tau"
        words = ("record", "--json", "-o", out, "--", build("threads"), 6, 100000)
        done = tau(*words, env=state_in(disk))
        assert done.returncode == 0, done.stderr
        trace = json.loads(done.stdout)["trace"]
        assert trace["truncated"] and trace["events"] > 10000
        assert trace["implied_frees"] == trace["unknown_count"] == trace["double_free_count"] == 0


def test_disk_that_is_full_at_once(tau: Tau, build: Build, tmp_path: Path) -> None:
    """Not even the first page fits: the program runs, and the message has the cause."""
    with small_disk(tmp_path / "disk", "16k") as disk:
        (disk / "filler").write_bytes(b"x" * 8192)
        env = state_in(disk)
        done = tau("record", "-o", disk / "out.tau", "--", build("ends"), env=env)
        assert done.returncode == 42 and "stopped early: No space left" in done.stderr
        (disk / "out.tau").unlink()
        with contextlib.suppress(OSError):
            (disk / "more").write_bytes(b"x" * 16384)
        done = tau("record", "-o", disk / "none.tau", "--", build("ends"), env=env)
        assert_refused(done, 125, "disk")
        assert not list(disk.glob("tautochrone/*"))


def test_file_size_limit(tau: Tau, build: Build) -> None:
    """A limit on file sizes, from outside or set by the program, raises no SIGXFSZ [REC-4]."""
    for words in (("sh", "-c", f"ulimit -f 600; {build('grind')} 300000"),):
        done = tau("record", "--json", "-o", "out.tau", "--force", "--", *words)
        assert done.returncode == 0, done.stderr
        assert "File too large" in done.stderr
    done = tau("record", "--json", "-o", "own.tau", "--", build("grind"), 300000, "limit-files")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["trace"]["truncated"] == "File too large"
