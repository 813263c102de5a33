"""The package installs from its sources as any other, build isolation included, and works then.

Method: what `pipx install .` does: an empty environment, `pip install FOLDER`, `tau doctor`; and a
replay on the tile, whose simulator is built from what the package carries.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testing.paging_reference import events_with_touches
from testing.random_trace import write_events

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "build", "out", "_native", "__pycache__")


@pytest.fixture(scope="module")
def tau(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, installed in an environment of its own; its sources are gone."""
    folder = tmp_path_factory.mktemp("package")
    sources, environment = folder / "sources", folder / "environment"
    shutil.copytree(ROOT, sources, ignore=LEFT_OUT, symlinks=True)
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    install = [str(environment / "bin" / "pip"), "install", "--quiet", f"{sources}[tile]"]
    done = subprocess.run(install, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    shutil.rmtree(sources)
    return environment / "bin" / "tau"


def findings(tau: Path, folder: Path, *options: str) -> dict[str, dict[str, object]]:
    """What the doctor found, by name; everything that is built is kept in FOLDER."""
    done = subprocess.run(
        [str(tau), "doctor", "--json", *options],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment_of(folder),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert document["main_job_works"]
    return {finding["name"]: finding for finding in document["findings"]}


def environment_of(folder: Path) -> dict[str, str]:
    """Variables for a command that knows no folder of the repository and no earlier cache."""
    left_out = ("PYTHONPATH", "TAU_TILE_CACHE")
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**kept, "XDG_CACHE_HOME": str(folder / "cache")}


@pytest.mark.slow
def test_an_isolated_installation_does_the_main_job(tau: Path, tmp_path: Path) -> None:
    found = findings(tau, tmp_path)["tile:rtmmu"]
    assert not found["works"] and found["next_step"] == "tau doctor --build"
    assert "not built" in str(found["detail"])


@pytest.mark.slow
def test_it_builds_the_tile_and_replays_on_it(tau: Path, tmp_path: Path) -> None:
    trace = write_events(tmp_path / "t.tau", events_with_touches(3, events=200))
    done = subprocess.run(
        [str(tau), "replay", str(trace), "--on", "tile:rtmmu,tile:pagetable", "--json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment_of(tmp_path),
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    systems = json.loads(done.stdout)["systems"]
    assert all(system["completed"] and system["cycles"] > 1_000_000 for system in systems)
    found = findings(tau, tmp_path)
    assert found["tile:rtmmu"]["works"] and found["tile:pagetable"]["works"]
    assert list((tmp_path / "cache" / "tautochrone" / "tile").glob("rtmmu-*/tau_sim"))
