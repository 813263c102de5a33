"""The one function that writes outputs: two writers at once, signals, other disks.

Method: what commands cannot be made to do at a certain moment is done to the function itself.
"""

import errno
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tautochrone.console import signals
from tautochrone.errors import TauError
from tautochrone.files import output_file

TIMEOUT_S = 300


def test_two_writers_have_two_files_and_the_first_stays(tmp_path: Path) -> None:
    """Neither sees the other's half, and the second gets a message."""
    out = tmp_path / "out"
    with pytest.raises(output_file.OutputExists), output_file.written(out) as second:
        with output_file.written(out) as first:
            assert first != second
            first.write_text("first")
            second.write_text("second, a half")
        second.write_text("second")
    assert out.read_text() == "first" and list(tmp_path.iterdir()) == [out]


def test_with_force_the_last_writer_wins_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with output_file.written(out, force=True) as second:
        second.write_text("second")
        with output_file.written(out, force=True) as first:
            first.write_text("first, and longer")
    assert out.read_text() == "second" and list(tmp_path.iterdir()) == [out]


def test_a_name_that_was_taken_meanwhile_stays(tmp_path: Path) -> None:
    """Also if it is a folder or a link to nowhere now."""
    for number, take in enumerate((Path.touch, Path.mkdir, lambda path: path.symlink_to("none"))):
        out = tmp_path / str(number)
        with pytest.raises(output_file.OutputExists), output_file.written(out) as partial:
            partial.write_text("new")
            take(out)
        assert out.is_symlink() or out.is_dir() or out.read_text() == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "2"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_block_that_fails_leaves_nothing(failure: type[BaseException], tmp_path: Path) -> None:
    with pytest.raises(failure), output_file.written(tmp_path / "out") as partial:
        partial.write_text("half")
        raise failure
    assert list(tmp_path.iterdir()) == []


def test_messages_name_the_output_and_not_the_partial_file(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(TauError) as caught, output_file.written(out) as partial:
        raise TauError(f"{partial}: broken")
    assert caught.value.message == f"{out}: broken"
    with (
        pytest.raises(TauError, match=f"^{out}: Is a directory"),
        output_file.written(out) as partial,
    ):
        raise IsADirectoryError(21, "Is a directory", str(partial))
    with pytest.raises(FileNotFoundError), output_file.written(out):
        (tmp_path / "another").read_text()


SLEEPER = """
import sys, time
from pathlib import Path
from typing import Any
from tautochrone.files.output_file import written
with written(Path(sys.argv[1])) as partial:
    print(partial.name, flush=True)
    time.sleep(float(sys.argv[2]))
"""


def sleeper(out: Path, seconds: float, *before: str) -> subprocess.Popen[str]:
    """Start a process that is in the middle of writing OUT; it has printed the file's name."""
    words = [*before, sys.executable, "-c", SLEEPER, str(out), str(seconds)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_ends_the_process_and_its_file(number: signal.Signals, tmp_path: Path) -> None:
    """Only an end that cannot be caught leaves the file; its name says why it is there."""
    with sleeper(tmp_path / "out.tau", TIMEOUT_S) as process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        assert name.startswith("out.tau.") and name.endswith(".partial")
        process.send_signal(number)
        process.communicate(timeout=TIMEOUT_S)
    is_killed = number == signal.SIGKILL
    assert process.returncode == (-number if is_killed else 128 + number)
    assert [path.name for path in tmp_path.iterdir()] == ([name] if is_killed else [])


def test_a_hangup_that_is_ignored_stays_so(tmp_path: Path) -> None:
    """`nohup tau …` goes on."""
    with sleeper(tmp_path / "out", 0.3, "nohup") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0 and (tmp_path / "out").exists()


def test_handlers_are_given_back(tmp_path: Path) -> None:
    before = [signal.getsignal(number) for number in signals.ENDING_SIGNALS]
    with output_file.written(tmp_path / "out"):
        assert [signal.getsignal(number) for number in signals.ENDING_SIGNALS] != before
    assert [signal.getsignal(number) for number in signals.ENDING_SIGNALS] == before


@pytest.fixture
def handlers_kept() -> Iterator[None]:
    """Give the handlers back that a signal to this process took away."""
    before = {number: signal.getsignal(number) for number in signals.ENDING_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("first", [None, *signals.ENDING_SIGNALS])
def test_signals_while_it_clears_away_leave_no_file(
    first: signal.Signals | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    handlers_kept: None,
) -> None:
    """The block fails, or a signal ends it; then each signal comes before the file is removed."""
    unlink = Path.unlink

    def interrupted(path: Path, missing_ok: bool = False) -> None:
        for number in signals.ENDING_SIGNALS:
            signal.raise_signal(number)
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", interrupted)
    ends = KeyboardInterrupt if first == signal.SIGINT else SystemExit
    with pytest.raises(ends), output_file.written(tmp_path / "out"):
        if first is None:
            raise ValueError
        signal.raise_signal(first)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", signals.ENDING_SIGNALS)
def test_a_signal_just_before_the_rename_leaves_no_empty_file(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, handlers_kept: None
) -> None:
    """The name is claimed by an empty file then."""
    out, opened = tmp_path / "out", os.open

    def interrupted(path: Any, flags: int, *more: Any) -> int:
        descriptor = opened(path, flags, *more)
        if Path(path) == out:
            signal.raise_signal(number)
        return descriptor

    ends = KeyboardInterrupt if number == signal.SIGINT else SystemExit
    with pytest.raises(ends), output_file.written(out) as partial:
        partial.write_text("whole")
        monkeypatch.setattr(os, "open", interrupted)
    assert (out.read_text(), [*tmp_path.iterdir()]) == ("whole", [out])


MESSAGE_CUT_SHORT = """
import signal, sys
from tautochrone import cli
fail = cli._fail
def interrupted(*words):
    signal.raise_signal(signal.SIGINT)
    return fail(*words)
cli._fail = interrupted
sys.argv = ["tau", "info", "missing.tau"]
cli.main()
"""


def test_ctrl_c_while_a_failure_is_told_prints_no_traceback() -> None:
    words = [sys.executable, "-c", MESSAGE_CUT_SHORT]
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_moving_keeps_the_source_unless_it_succeeds(tmp_path: Path) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    source.write_text("content")
    out.write_text("precious")
    with pytest.raises(output_file.OutputExists):
        output_file.move(source, out)
    assert (source.read_text(), out.read_text()) == ("content", "precious")
    output_file.move(source, out, force=True)
    assert out.read_text() == "content" and list(tmp_path.iterdir()) == [out]


def test_a_copy_that_does_not_fit_blames_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of the file's size stands for a full disk."""
    source, out, limit = tmp_path / "source", tmp_path / "out", resource.RLIMIT_FSIZE
    source.write_bytes(bytes(3000))
    before = resource.getrlimit(limit)

    def other_disk(*_: Any) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", other_disk)
        resource.setrlimit(limit, (1000, before[1]))
        try:
            with pytest.raises(TauError, match=f"^{out}: File too large") as raised:
                output_file.move(source, out)
        finally:
            resource.setrlimit(limit, before)
    assert raised.value.next_step and list(tmp_path.iterdir()) == [source]


def test_moving_from_another_disk_and_into_a_stream(tmp_path: Path) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second disk")
    source = memory / f"tau-test-{os.getpid()}"
    try:
        source.write_text("content")
        with open("/dev/full", "wb") as full, pytest.raises(TauError, match="No space left"):
            output_file.move(source, Path(f"/dev/fd/{full.fileno()}"))
        assert source.read_text() == "content"
        output_file.move(source, tmp_path / "out")
        assert not source.exists() and (tmp_path / "out").read_text() == "content"
    finally:
        source.unlink(missing_ok=True)


@pytest.mark.parametrize("force", [False, True])
def test_moving_between_mounts_of_one_file_system(
    force: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with bind mounts in containers: the device is the same, and a rename is refused."""
    mounted, replace = tmp_path / "mounted", Path.replace
    mounted.mkdir()

    def refused(path: Path, target: Path) -> Path:
        if path.parent != Path(target).parent:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(path))
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", refused)
    source, out = tmp_path / "source", mounted / "out"
    source.write_text("content")
    if force:
        out.write_text("old")
    output_file.move(source, out, force)
    assert not source.exists() and out.read_text() == "content" and list(mounted.iterdir()) == [out]


def test_a_stream_gets_nothing_of_what_fails() -> None:
    reading, writing = os.pipe()
    with pytest.raises(ValueError), output_file.written(Path(f"/dev/fd/{writing}")) as partial:
        partial.write_text("half")
        raise ValueError
    with output_file.written(Path(f"/dev/fd/{writing}")) as partial:
        partial.write_text("whole")
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert pipe.read() == "whole"


def test_names_of_stdout() -> None:
    for name in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1"):
        assert output_file.is_stdout(Path(name)), name
    for name in ("1", "/dev/stderr", "/dev/null", "/proc/self/fd/2"):
        assert not output_file.is_stdout(Path(name)), name
