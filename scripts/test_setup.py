"""Setting up says in one line what is missing when it may not install, and changes nothing then.

Method: setup.sh runs with a dpkg-query that knows no package and an id that is not root's.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
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


def test_an_unknown_purpose_is_a_usage_error() -> None:
    done = subprocess.run([SETUP, "nonsense"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "usage: scripts/setup.sh demo|check|bench\n")


def test_every_python_package_is_pinned() -> None:
    pinned = requirements(["test", "parquet"])
    assert all("==" in one for one in pinned)
    assert any(one.startswith("scikit-build-core==") for one in pinned)
    with pytest.raises(KeyError):
        requirements(["nonsense"])
