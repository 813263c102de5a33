"""The package installs from its sources as any other, build isolation included, and works then.

Method: what `pipx install .` does: an empty environment, `pip install FOLDER`, `tau doctor`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "build", "out", "_native", "__pycache__")


@pytest.mark.slow
def test_an_isolated_installation_does_the_main_job(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    shutil.copytree(ROOT, sources, ignore=LEFT_OUT, symlinks=True)
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    install = [str(environment / "bin" / "pip"), "install", "--quiet", str(sources)]
    done = subprocess.run(install, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    shutil.rmtree(sources)
    tau = str(environment / "bin" / "tau")
    doctor = subprocess.run([tau, "doctor", "--json"], capture_output=True, text=True, cwd=tmp_path)
    assert json.loads(doctor.stdout)["main_job_works"], doctor.stdout
    assert doctor.returncode == 0
