"""The file that an output names: whatever it is, nothing is lost.

Method: each command that writes a file is given a device, a pipe, links, its own input, a file that
exists, a disk that fills up; then the file system is looked at. Commands run in this process, as
they would from the command line, unless the test is about their stdout or their end.
"""

import contextlib
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tautochrone.cli import verbs
from tautochrone.errors import TauError
from tautochrone.plan.file import load_plan
from testing.random_trace import FREE, MALLOC, write_events

TIMEOUT_S = 300
TAU = [sys.executable, "-m", "tautochrone"]


@dataclass(frozen=True)
class Done:
    """How a command ended, and its message if it failed."""

    status: int
    said: str = ""


def tau(*words: object) -> Done:
    """Run the command."""
    result = CliRunner().invoke(verbs, list(map(str, words)), standalone_mode=False)
    error = result.exception
    if isinstance(error, TauError):
        return Done(error.exit_code, f"{error.message}\n{error.next_step}")
    if isinstance(error, click.ClickException):
        return Done(error.exit_code, error.format_message())
    if error is not None:
        raise error
    return Done(result.return_value or 0)


@pytest.fixture(autouse=True)
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: with a trace t.tau and a recording in CSV, t.csv."""
    folder = tmp_path / "inputs"
    folder.mkdir()
    write_events(folder / "t.tau", [(MALLOC, 0, 100, 0), (FREE, 0, 0, 0)] * 10)
    (folder / "t.csv").write_text("op,id,size\nmalloc,1,100\nfree,1,\n")
    monkeypatch.chdir(folder)
    return folder


# A command that writes a file, and where in its words the output is.
COMMANDS = {
    "plan": ("plan", "t.tau", "-o", "OUT"),
    "header": ("plan", "t.tau", "--header", "OUT"),
    "import": ("import", "t.csv", "-o", "OUT"),
    "csv": ("export", "t.tau", "-o", "OUT"),
    "parquet": ("export", "t.tau", "--format", "parquet", "-o", "OUT"),
    "report": ("report", "t.tau", "-o", "OUT"),
}
every_command = pytest.mark.parametrize("name", COMMANDS)


def words_of(name: str, out: Path | str) -> list[str]:
    """The words of one of COMMANDS."""
    return [str(out) if word == "OUT" else word for word in COMMANDS[name]]


def write(name: str, out: Path | str, *more: str) -> Done:
    """Run one of COMMANDS."""
    return tau(*words_of(name, out), *more)


def device(path: Path, kind: int, major: int, minor: int) -> Path:
    """Make a device node; skips the test where that is not allowed."""
    try:
        os.mknod(path, kind | 0o666, os.makedev(major, minor))
        os.close(os.open(path, os.O_WRONLY))
    except PermissionError:
        pytest.skip("only root can make devices")
    except OSError:
        pass  # a block device without a driver cannot be opened, and need not be
    return path


@pytest.fixture
def stdout_link(tmp_path: Path) -> Path:
    """What /dev/stdout is, but not the machine's: a fault would replace that."""
    link = tmp_path / "stdout"
    link.symlink_to("/proc/self/fd/1")
    return link


def names(folder: Path) -> list[str]:
    """The contents of a folder."""
    return sorted(path.name for path in folder.iterdir())


@every_command
def test_a_device_is_written_to_and_stays(name: str, inputs: Path, tmp_path: Path) -> None:
    """/dev/null takes everything, also with --force, and is a device afterwards."""
    null = device(tmp_path / "null", stat.S_IFCHR, 1, 3)
    for options in ((), ("--force",)):
        assert write(name, null, *options) == Done(0)
        assert stat.S_ISCHR(null.stat().st_mode)
    assert names(tmp_path) == ["inputs", "null"] and names(inputs) == ["t.csv", "t.tau"]


@every_command
def test_a_pipe_whose_reader_has_left_is_named(name: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    pipe = Path(f"/dev/fd/{writer}")
    step = "let it read to the end, or name a file"
    assert write(name, pipe) == Done(1, f"{pipe}: its reader closed it early\n{step}")
    os.close(writer)


@pytest.mark.parametrize("name", ["plan", "import", "csv"])
def test_stdout_by_another_name_is_appended_to(
    name: str, stdout_link: Path, tmp_path: Path
) -> None:
    """`> file -o /dev/stdout` writes on where stdout stands, and nothing but the output."""
    with open(tmp_path / "file", "wb") as file:
        file.write(b"before\n")
        file.flush()
        command = [*TAU, *words_of(name, stdout_link)]
        done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    assert write(name, tmp_path / "plain") == Done(0)
    assert (tmp_path / "file").read_bytes() == b"before\n" + (tmp_path / "plain").read_bytes()
    assert stdout_link.is_symlink()


@pytest.mark.parametrize("name", ["plan", "header", "import", "csv", "report"])
def test_json_and_an_output_do_not_share_stdout(name: str, stdout_link: Path) -> None:
    for out in ("-", stdout_link):
        refused = write(name, out, "--json")
        assert refused.status == 2 and "both write to stdout" in refused.said


@every_command
def test_other_kinds_of_files_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    block = device(tmp_path / "block", stat.S_IFBLK, 7, 250)
    os.mkfifo(tmp_path / "fifo")
    for out in (tmp_path / "folder", block, tmp_path / "fifo"):
        refused = write(name, out, "--force")
        assert refused.status == 2 and out.name in refused.said
    assert stat.S_ISBLK(block.stat().st_mode) and names(tmp_path / "folder") == []


@every_command
def test_a_link_stays_and_its_target_is_replaced(name: str, tmp_path: Path) -> None:
    """A dangling link gets its target: nothing is lost, and --force is not needed."""
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "target", tmp_path / "link"
    link.symlink_to("far/target")
    assert write(name, link) == Done(0)
    assert link.is_symlink() and target.stat().st_size > 0
    target.write_text("precious")
    refused = write(name, link)
    assert refused.status == 2 and "--force" in refused.said
    assert target.read_text() == "precious"
    assert write(name, link, "--force") == Done(0)
    assert link.is_symlink() and target.read_bytes() != b"precious"
    assert names(tmp_path / "far") == ["target"]
    link.unlink()
    link.symlink_to("link")
    looped = write(name, link, "--force")
    assert looped.status == 2 and "symbolic links" in looped.said


@every_command
def test_an_input_is_never_the_output(name: str, inputs: Path) -> None:
    """By whatever name, and with --force too."""
    source = inputs / COMMANDS[name][1]
    before = source.read_bytes()
    (inputs / "link").symlink_to(source)
    os.link(source, inputs / "twin")
    for out in (source, inputs / ".." / "inputs" / source.name, inputs / "link", inputs / "twin"):
        refused = write(name, out, "--force")
        assert refused.status == 2 and "same file" in refused.said
    assert source.read_bytes() == before


def test_two_outputs_do_not_share_stdout(inputs: Path, stdout_link: Path) -> None:
    for plan, header in (("-", "-"), ("-", stdout_link), (stdout_link, "-")):
        words = ["plan", inputs / "t.tau", "-o", plan, "--header", header]
        refused = tau(*words)
        assert refused.status == 2 and "both write to stdout" in refused.said


def test_two_outputs_are_two_files(inputs: Path) -> None:
    for words in (("plan", "-o", "x", "--header", "x"), ("report", "-o", "x", "--picture", "x")):
        refused = tau(words[0], "t.tau", *words[1:])
        assert refused.status == 2 and "same file" in refused.said
    assert names(inputs) == ["t.csv", "t.tau"]


@every_command
def test_what_exists_is_replaced_with_force_only(name: str, tmp_path: Path) -> None:
    """Also the command's own earlier output. The mode of a replaced file stays."""
    out = tmp_path / "out"
    for content in (b"precious", b""):
        out.write_bytes(content)
        out.chmod(0o640)
        refused = write(name, out)
        assert refused.status == 2 and "--force" in refused.said
        assert out.read_bytes() == content
    assert write(name, out, "--force") == Done(0)
    assert out.stat().st_size > 0 and stat.S_IMODE(out.stat().st_mode) == 0o640
    assert write(name, out).status == 2


@every_command
def test_a_new_file_has_the_mode_that_the_umask_leaves(name: str, inputs: Path) -> None:
    before = os.umask(0o027)
    try:
        assert write(name, "out") == Done(0)
    finally:
        os.umask(before)
    assert stat.S_IMODE((inputs / "out").stat().st_mode) == 0o640


@contextlib.contextmanager
def full_disk() -> Iterator[None]:
    """A limit on file sizes, which is the same to a writer: the disk is full at the first byte."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@every_command
def test_a_failed_write_leaves_the_old_file(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("precious")
    with full_disk():
        failed = write(name, out, "--force")
    assert failed.status == 1 and str(out) in failed.said and ".partial" not in failed.said
    assert out.read_text() == "precious" and names(tmp_path) == ["inputs", "out"]


def test_a_full_stream_is_a_failure(tmp_path: Path) -> None:
    full = device(tmp_path / "full", stat.S_IFCHR, 1, 7)
    failed = write("plan", full)
    assert failed.status == 1 and "No space left" in failed.said


def test_a_missing_folder_is_told_before_the_work() -> None:
    failed = write("plan", "none/p.toml")
    assert failed.status == 1 and "none is missing" in failed.said and "mkdir -p" in failed.said


def test_a_long_name_is_not_an_obstacle(inputs: Path) -> None:
    """255 bytes, the most that a name can have: the temporary file next to it has a name too."""
    for name in ("x" * 255, "é" * 127):
        assert write("plan", name) == Done(0)
        assert load_plan(inputs / name).heap_bytes > 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_command_that_is_ended_leaves_nothing(number: signal.Signals, inputs: Path) -> None:
    """A long import gets the signal as soon as its file is there."""
    rows = "malloc,1,100\nfree,1,\n" * 1_000_000
    (inputs / "long.csv").write_text(f"op,id,size\n{rows}")
    words = [*TAU, "import", "long.csv", "-o", "out.tau"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as command:
        try:
            deadline = time.monotonic() + TIMEOUT_S
            while not list(inputs.glob("*partial*")):
                assert command.poll() is None and time.monotonic() < deadline
                time.sleep(0.01)
            command.send_signal(number)
            _, said = command.communicate(timeout=TIMEOUT_S)
        finally:
            command.kill()
    assert command.returncode == 128 + number and "Traceback" not in said, said
    assert names(inputs) == ["long.csv", "t.csv", "t.tau"]
