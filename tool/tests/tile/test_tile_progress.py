"""The progress of a simulation: a bar on a terminal, nothing at all elsewhere.

Method: in the simulator's place runs a program that reports progress many times a second if it is
asked to, as `tau_sim --progress` does.
"""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tautochrone.errors import TauError
from tautochrone.tile import simulation

COMMANDS = 200
SIMULATOR = f"""
import sys, time
print("said on stdout", flush=True)
for done in range({COMMANDS}):
    if "--progress" in sys.argv:
        print("progress", done * 1000, done, file=sys.stderr, flush=True)
    time.sleep(0.01)
print("said on stderr", file=sys.stderr)
sys.exit(3)
"""
CALLER = f"""
import sys
from tautochrone.console import output
from tautochrone.tile.simulation import watched
output.configure(color="auto", quiet="quiet" in sys.argv)
line = [sys.executable, "-c", {SIMULATOR!r}]
commands = None if "cycles" in sys.argv else {COMMANDS}
done = watched(line, "a replay", {COMMANDS} * 1000, commands)
assert done.returncode == 3 and done.stdout == "said on stdout\\n", done
assert done.stderr == "said on stderr\\n", done
"""
BAR, CONTROL = b"a replay", b"\x1b["


def called(*words: str, stderr: int) -> subprocess.Popen[bytes]:
    """Start a process that runs the simulator, with this stderr."""
    environment = os.environ | {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "80"}
    line = [sys.executable, "-c", CALLER, *words]
    return subprocess.Popen(line, stdout=stderr, stderr=stderr, env=environment)


@pytest.mark.parametrize("way", ["commands", "cycles"])
def test_nothing_is_written_where_no_terminal_is(tmp_path: Path, way: str) -> None:
    """Not even where colors are forced."""
    with open(tmp_path / "log", "wb") as file:
        assert called(way, stderr=file.fileno()).wait(300) == 0
    assert (tmp_path / "log").read_bytes() == b""


@pytest.mark.parametrize("way", ["commands", "cycles"])
@pytest.mark.parametrize("words", [(), ("quiet",)], ids=["shown", "quiet"])
def test_on_a_terminal_there_is_a_bar_unless_quiet(words: tuple[str, ...], way: str) -> None:
    ours, theirs = os.openpty()
    process = called(way, *words, stderr=theirs)
    os.close(theirs)
    sent = b""
    with open(ours, "rb", buffering=0) as terminal, suppress(OSError):  # at the end of a terminal
        while data := terminal.read(4096):
            sent += data
    assert process.wait(300) == 0
    if words:
        assert sent == b""
    else:
        assert BAR in sent and CONTROL in sent and b"progress" not in sent


def test_a_simulator_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of time follows from the limit of cycles."""
    monkeypatch.setattr(simulation, "START_SECONDS_MAX", 0)
    monkeypatch.setattr(simulation, "CYCLES_PER_SECOND_MIN", 1)
    with pytest.raises(TauError, match="a replay took more than 1 s"):
        simulation.watched(["sh", "-c", "exec sleep 100"], "a replay", 1)
