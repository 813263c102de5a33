"""Without the right to install, setting up lists the missing packages and changes nothing.

Method: setup.sh runs with a dpkg-query that knows no package and an id that is not root's.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from requirements import requirements

SETUP = Path(__file__).resolve().parent / "setup.sh"


def put_command(folder: Path, name: str, text: str) -> None:
    """Put a command in front of the machine's."""
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def test_without_root_the_missing_packages_are_named_and_nothing_is_done(tmp_path: Path) -> None:
    put_command(tmp_path, "dpkg-query", 'case "$*" in *ninja*|*jemalloc*) exit 1;; esac; '
                'printf "install ok installed"')
    put_command(tmp_path, "id", "echo 1000")
    put_command(tmp_path, "apt-get", f"touch {tmp_path}/touched")
    put_command(tmp_path, "python3", f"touch {tmp_path}/touched")
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([SETUP, "demo"], capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert done.stderr == (
        "setup: not root; first run: sudo apt-get install -y ninja-build libjemalloc2\n"
    )
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize(("failures", "status"), [(3, 0), (1000, 1)])
def test_another_apt_at_work_is_waited_for_with_a_message(
    tmp_path: Path, failures: int, status: int
) -> None:
    """apt-get finds its lock taken some times, once for ever; a copy of the script runs on it."""
    lock = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)"
    commands = tmp_path / "commands"
    for folder in (commands, tmp_path / "scripts", tmp_path / ".venv/bin"):
        folder.mkdir(parents=True)
    put_command(commands, "dpkg-query", "exit 1")
    put_command(commands, "id", "echo 0")
    put_command(commands, "sleep", "exit 0")
    put_command(commands, "apt-get", f"""echo "$*" >> {tmp_path}/called
        [ $(wc -l < {tmp_path}/called) -gt {failures} ] || {{ echo '{lock}' >&2; exit 100; }}""")
    put_command(tmp_path / ".venv/bin", "python", "exit 0")
    for name in ("setup.sh", "pins.txt"):
        shutil.copy(SETUP.parent / name, tmp_path / "scripts")
    environment = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}"}
    command = [tmp_path / "scripts/setup.sh", "demo"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == status, done.stderr
    assert done.stderr.count(f"setup: another apt is at work; waiting for its lock: {lock}") == 1
    calls = (tmp_path / "called").read_text().splitlines()
    assert len(calls) == (failures + 2 if status == 0 else 121)
    assert ("install" in calls[-1]) == (status == 0)


def test_two_native_builds_at_once_wait_for_each_other(tmp_path: Path) -> None:
    """The Makefile's cmake is one that fails if another one runs."""
    busy = tmp_path / "busy"
    put_command(tmp_path, "cmake", f"mkdir {busy} || exit 1; sleep 0.1; rmdir {busy}")
    shutil.copy(SETUP.parents[1] / "Makefile", tmp_path)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = ["make", "-C", str(tmp_path), "native"]
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    made = [subprocess.Popen(command, env=environment, **streams) for _ in range(2)]
    said = [one.communicate()[1] for one in made]
    assert [one.returncode for one in made] == [0, 0], said


def test_an_unknown_purpose_is_a_usage_error() -> None:
    done = subprocess.run([SETUP, "nonsense"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "usage: scripts/setup.sh demo|check|bench\n")


def test_every_python_package_is_pinned() -> None:
    """Each requirement has one pin, which its range allows."""
    lines = (SETUP.parent / "pins.txt").read_text().splitlines()
    pins = {canonicalize_name(name): version for name, version in (x.split("==") for x in lines)}
    assert len(pins) == len(lines)
    extras = ["verify", "frames", "tile", "hw", "test"]
    for each in map(Requirement, requirements(extras)):
        is_for_others = each.marker is not None and not each.marker.evaluate()
        assert is_for_others or pins[canonicalize_name(each.name)] in each.specifier, each
    with pytest.raises(KeyError):
        requirements(["nonsense"])


def test_users_get_ranges() -> None:
    """A pin in a package's dependencies excludes other packages. One is exact: hardware, whose
    cycles are measured."""
    ranges = map(Requirement, requirements(["verify", "parquet", "frames", "tile"]))
    exact = {each.name for each in ranges if "==" in str(each)}
    assert exact == {"pythondata-cpu-ibex"}
