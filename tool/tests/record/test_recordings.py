"""Recordings that end early: their folder keeps its files, and the next step fits the cause."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tautochrone.errors import TauError
from tautochrone.record import preloaded, raw_header, recordings

TIMEOUT_S = 300
MERGER = """
import sys, time
from pathlib import Path
from tautochrone.record.recordings import raw_folder
try:
    with raw_folder(".tauraw") as folder:
        (folder / "1.tauraw").write_text("events")
        print(folder, flush=True)
        time.sleep(60)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_while_merging_names_the_kept_recordings(
    number: signal.Signals, tmp_path: Path
) -> None:
    environment = dict(os.environ) | {"XDG_STATE_HOME": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", MERGER],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert process.stdout is not None
        folder = process.stdout.readline().strip()
        for _ in range(3):
            process.send_signal(number)
        said = process.communicate(timeout=TIMEOUT_S)[1]
    assert process.returncode == 128 + number
    step = f'for each in {folder}/*.tauraw; do tau import "$each"; done'
    assert said == f"tau: the raw recordings are kept: {step}\n"
    assert (Path(folder) / "1.tauraw").read_text() == "events"


@pytest.mark.parametrize(("program_status", "expected"), [(0, 125), (5, 5)])
def test_a_trace_without_a_place_keeps_the_programs_status(
    program_status: int, expected: int, tmp_path: Path
) -> None:
    """The place is on a disk that has no room: /dev/full."""
    trace = tmp_path / "1.tau"
    trace.write_text("events")
    files = [(trace, recordings.Who("program", 1))]
    with pytest.raises(TauError, match="^/dev/full: No space left on device") as raised:
        recordings.place(files, Path("/dev/full"), False, program_status)
    assert raised.value.exit_code == expected and trace.exists()


def test_what_a_program_puts_among_the_recordings_is_not_waited_for(tmp_path: Path) -> None:
    """A pipe, a device without end, a folder and a link to nothing, each under a name of ours."""
    os.mkfifo(tmp_path / "1.tauraw")
    (tmp_path / "2.tauraw").symlink_to("/dev/zero")
    (tmp_path / "3.tauraw").mkdir()
    (tmp_path / "4.tauraw").symlink_to("nothing")
    (tmp_path / "5.tauraw").write_text("events")
    os.mkfifo(tmp_path / recordings.EXECS_NAME)
    assert recordings.raws_in(tmp_path, ".tauraw") == [tmp_path / "5.tauraw"]
    assert recordings.not_recorded(tmp_path, []) == []


@pytest.mark.parametrize(
    ("code", "step"),
    [
        (errno.EMFILE, "ulimit -n"),
        (errno.ENFILE, "open files"),
        (errno.ENOSPC, "free space"),
        (errno.EFBIG, "ulimit -f"),
        (raw_header.STOP_CONFINED, "seccomp"),
    ],
)
def test_the_next_step_fits_why_recording_stopped(code: int, step: str) -> None:
    assert step in preloaded.stop_step(code)
