"""`tau record --pid`: the refusal, and the way that it names instead, which must work.

Method: a process gets a folder of /proc in which it belongs to a service. A program is then started
with the printed environment, as systemd would do it, and its recording is imported.
"""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tautochrone import native
from tautochrone.record import processes, running, session
from testing.recorded import Build, Tau, events_of


@pytest.fixture
def sleeper() -> Iterator[int]:
    """The pid of a process that does nothing."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process.pid
        process.kill()


def test_a_running_program_is_to_be_started_again(tau: Tau, sleeper: int) -> None:
    done = tau("record", "--pid", sleeper)
    assert done.returncode == 125 and f"cannot record sleep (pid {sleeper})" in done.stderr
    assert "next: start it again: tau record -- sleep 600\n" in done.stderr


def test_a_pid_of_nobody(tau: Tau) -> None:
    done = tau("record", "--pid", 2**30)
    assert done.returncode == 125 and "no process has the pid" in done.stderr
    assert tau("record", "--pid", 0).returncode == 2


@pytest.mark.parametrize(
    ("cgroup", "service"),
    [
        ("0::/system.slice/nginx.service", "nginx.service"),
        ("9:cpu:/\n1:name=systemd:/system.slice/x.slice/a@b.service/main\n", "a@b.service"),
        ("0::/user.slice/user-1.slice/user@1.service/app.slice/mine.service", ""),
        ("0::/system.slice/docker-12.scope", ""),
    ],
)
def test_a_service_is_recorded_by_the_environment_that_is_printed(
    sleeper: int,
    build: Build,
    tau: Tau,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cgroup: str,
    service: str,
) -> None:
    folder = tmp_path / "proc" / str(sleeper)
    folder.mkdir(parents=True)
    for name in ("stat", "cmdline"):
        (folder / name).write_bytes(Path(f"/proc/{sleeper}/{name}").read_bytes())
    (folder / "cgroup").write_text(cgroup)
    (folder / "status").write_text("Seccomp_filters:\t7\n")
    monkeypatch.setattr(processes, "PROC", tmp_path / "proc")
    error = running.refusal(sleeper)
    if not service:
        assert error.said == "" and "tau record -- sleep 600" in str(error.next_step)
        return
    copy, edit, section, *lines = error.said.splitlines()
    assert edit.startswith(f"systemctl edit {service} ") and section == "[Service]"
    assert shlex.split(copy)[1] == str(native.DIRECTORY / session.RECORDER)
    assert lines[0] == "StateDirectory=tautochrone"
    state = tmp_path / "state"
    (state / "tautochrone").mkdir(parents=True)
    library = shutil.copy(native.DIRECTORY / session.RECORDER, tmp_path)
    text = " ".join(line.removeprefix("Environment=") for line in lines[1:])
    text = text.replace("%S", str(state)).replace(str(running.SERVICE_LIBRARY), str(library))
    assert re.search(rf"TAU_PRELOAD=record 0 \d+ 7 0 0 {state}", text)
    environment = dict(word.split("=", 1) for word in shlex.split(text))
    assert subprocess.run([build("ends")], env=environment).returncode == 42
    step = str(error.next_step).partition("empty folder: ")[2]
    (raw,) = (state / "tautochrone").glob("*.tauraw")
    assert step == 'for each in /var/lib/tautochrone/*.tauraw; do tau import "$each"; done'
    done = tau("import", raw)
    assert done.returncode == 0, done.stderr
    (trace,) = tmp_path.glob("*.tau")
    assert (events_of(trace)["size_bytes"] == 33).sum() == 5000
    assert os.listdir(state) == ["tautochrone"]
