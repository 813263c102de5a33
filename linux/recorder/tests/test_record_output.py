"""`tau record -o`: whatever is there, appears there or fails, no file and no trace is lost.

Method: short programs are recorded as a user does it; then the file system is looked at.
"""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tautochrone.trace.file import open_trace
from testing.recorded import Tau

TIMEOUT_S = 300
TAU = [sys.executable, "-m", "tautochrone"]


def events(path: Path) -> int:
    """How many events a trace has; fails if it is none."""
    with open_trace(path) as reader:
        return reader.totals.events


def names(folder: Path) -> list[str]:
    """The names in a folder."""
    return sorted(path.name for path in folder.iterdir())


def device(path: Path, minor: int) -> Path:
    """Make a device like /dev/null (3) or /dev/full (7); skips the test where that is forbidden."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
        os.close(os.open(path, os.O_WRONLY))
    except PermissionError:
        pytest.skip("only root can make devices")
    return path


@pytest.mark.parametrize("options", [(), ("--force",), ("--raw",)])
def test_a_device_stays(options: tuple[str, ...], tau: Tau, tmp_path: Path) -> None:
    """The other processes' traces are where they are without -o, not next to the device."""
    (tmp_path / "devices").mkdir()
    null = device(tmp_path / "devices" / "null", 3)
    done = tau("record", *options, "-o", null, "--", "sh", "-c", "date; date")
    assert done.returncode == 0, done.stderr
    assert stat.S_ISCHR(null.stat().st_mode) and names(tmp_path / "devices") == ["null"]
    others = [name for name in names(tmp_path) if name != "devices"]
    assert len(others) == 2, "the shell and the other date"


def test_a_fifo_is_refused(tau: Tau, tmp_path: Path) -> None:
    """Opening it waits for a reader."""
    os.mkfifo(tmp_path / "fifo")
    done = tau("record", "-o", tmp_path / "fifo", "--", "date")
    assert "is a FIFO, not a file to write to" in done.stderr and names(tmp_path) == ["fifo"]


def test_a_link_stays(tau: Tau, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "target.tau", tmp_path / "link.tau"
    link.symlink_to("far/target.tau")
    assert tau("record", "-o", link, "--", "date").returncode == 0
    assert link.is_symlink() and events(target) > 0
    target.write_text("precious")
    assert tau("record", "-o", link, "--", "date").returncode == 125
    assert target.read_text() == "precious"
    assert tau("record", "--force", "-o", link, "--", "date").returncode == 0
    assert link.is_symlink() and events(target) > 0 and names(tmp_path / "far") == ["target.tau"]


def test_what_appears_while_the_program_runs_stays(tau: Tau, tmp_path: Path) -> None:
    """The trace gets the next name, and the command says so. With --force it is replaced."""
    out = tmp_path / "x.tau"
    program = ("sh", "-c", "echo precious > x.tau")
    done = tau("record", "-o", out, "--", *program)
    assert done.returncode == 0, done.stderr
    assert out.read_text() == "precious\n" and events(tmp_path / "x-2.tau") > 0
    assert "appeared while" in done.stderr and "x-2.tau" in done.stderr
    assert tau("record", "--force", "-o", out, "--", *program).returncode == 0
    assert events(out) > 0


def test_the_program_is_not_the_output(tau: Tau, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\ndate\n")
    script.chmod(0o755)
    done = tau("record", "--force", "-o", "script", "--", "./script")
    assert done.returncode == 125 and "same file" in done.stderr
    assert script.read_text() == "#!/bin/sh\ndate\n"


def test_a_trace_that_cannot_be_placed_is_kept(tau: Tau, tmp_path: Path) -> None:
    full = device(tmp_path / "full", 7)
    done = tau("record", "-o", full, "--", "date")
    assert done.returncode == 125 and "No space left" in done.stderr
    kept = next(line for line in done.stderr.splitlines() if "traces are kept" in line)
    folder = Path(kept.split(": ")[-1]).parent
    (trace,) = folder.glob("*.tau")
    assert events(trace) > 0
    trace.unlink()
    folder.rmdir()


def test_json_and_the_trace_do_not_share_stdout(tau: Tau, tmp_path: Path) -> None:
    done = tau("record", "--json", "-o", "-", "--", "touch", "ran")
    assert done.returncode == 125 and "both write to stdout" in done.stderr and done.stdout == ""
    assert names(tmp_path) == []


def test_the_program_writes_elsewhere_when_the_trace_goes_to_stdout(tmp_path: Path) -> None:
    words = [*TAU, "record", "-o", "-", "--", "echo", "said by the program"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=TIMEOUT_S)
    assert done.returncode == 0 and b"said by the program" in done.stderr
    assert b"next: tau plan" not in done.stderr
    (tmp_path / "x.tau").write_bytes(done.stdout)
    assert events(tmp_path / "x.tau") > 0


# ---- A stderr that nobody reads


@pytest.mark.parametrize("closed", ["2>&-", "2>/dev/full", "2> >(true)"])
def test_without_a_stderr_the_trace_is_there(closed: str, tmp_path: Path) -> None:
    command = " ".join([*TAU, "record", "-o", "x.tau", "--", "sh", "-c", "'sleep 0.3; exit 7'"])
    words = ["bash", "-c", f"{command} {closed}"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=TIMEOUT_S)
    assert (done.returncode, done.stdout) == (7, b"")
    assert events(tmp_path / "x.tau") > 0
    assert not list(tmp_path.glob(".tau-recording-*"))
