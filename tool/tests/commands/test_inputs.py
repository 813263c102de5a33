"""Commands refuse an input that is not a file: nothing is opened that may never end.

Method: each command that reads a file is given a pipe, a device without an end, a folder and a link
to each; it must refuse it, with its name and kind, at once. A command that opened it would hang.
"""

import os
import stat
from functools import partial
from pathlib import Path

import pytest

from testing import command
from testing.random_trace import FREE, MALLOC, write_events

ADDRESS_BYTES_MAX = 4 << 30
tau = partial(command.tau, address_bytes_max=ADDRESS_BYTES_MAX)
COMMANDS = {
    "check": ("check", "IN"),
    "import": ("import", "IN", "-o", "out.tau"),
    "info": ("info", "IN"),
    "plan": ("plan", "IN"),
    "plan, second": ("plan", "t.tau", "IN"),
    "replay": ("replay", "IN", "--on", "tlsf"),
    "replay --events": ("replay", "IN", "--on", "tlsf", "--events", "1"),
    "replay --plan": ("replay", "t.tau", "--plan", "IN"),
    "report": ("report", "IN"),
    "report --plan": ("report", "t.tau", "--plan", "IN"),
    "report --replay": ("report", "t.tau", "--replay", "IN"),
    "export": ("export", "IN"),
    "export -o": ("export", "IN", "-o", "out.csv"),
}
NEXT_STEP = {"pipe": "write it to a file first", "device": "to a file", "folder": ""}


@pytest.fixture(params=NEXT_STEP)
def kind(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make `in`, which is not a file, and a link to it; next to them a trace."""
    monkeypatch.chdir(tmp_path)
    write_events(tmp_path / "t.tau", [(MALLOC, 0, 100, 0), (FREE, 0, 0, 0)])
    if request.param == "pipe":
        os.mkfifo("in")
    elif request.param == "folder":
        os.mkdir("in")
    else:
        try:
            os.mknod("in", stat.S_IFCHR | 0o666, os.makedev(1, 5))  # as /dev/zero
            os.close(os.open("in", os.O_RDONLY))
        except PermissionError:
            pytest.skip("only root can make devices")
    os.symlink("in", "link")
    return str(request.param)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_path_that_is_not_a_file_is_refused_with_its_kind(name: str, kind: str) -> None:
    path = "link" if len(name) % 2 else "in"
    done = tau(*(path if word == "IN" else word for word in COMMANDS[name]))
    word = "directory" if kind == "folder" and "is a directory" in done.stderr else kind
    assert f"{path} is a {word}" in done.stderr.replace("'", ""), done.stderr
    assert NEXT_STEP[kind] in done.stderr and (done.returncode, done.stdout) == (2, "")
    assert sorted(os.listdir()) == ["in", "link", "t.tau"]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_missing_file_is_one_line_and_a_step(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_events(tmp_path / "t.tau", [(MALLOC, 0, 100, 0), (FREE, 0, 0, 0)])
    done = tau(*("nope" if word == "IN" else word for word in COMMANDS[name]))
    assert done.returncode == 1 and done.stderr.startswith("tau: nope: no such file\n  next: ")
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize("words", [("check", "in"), ("report", "t.tau", "--replay", "in")])
def test_a_file_of_any_length_takes_little_memory(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sparse file may be larger than memory."""
    monkeypatch.chdir(tmp_path)
    write_events(tmp_path / "t.tau", [(MALLOC, 0, 100, 0), (FREE, 0, 0, 0)])
    Path("in").touch()
    os.truncate("in", 2 * ADDRESS_BYTES_MAX)
    done = tau(*words)
    assert done.returncode == 1 and "memory" not in done.stderr, done.stderr
