"""The package installs from its source distribution as any other, build isolation included.

Method: what `pipx install .` does: an empty environment, `pip install`, `tau doctor`; then the
command that the doctor names for the tile; and a replay there, whose simulator is built from what
the package carries.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testing.paging_reference import events_with_touches
from testing.random_trace import write_events

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "build", "out", "_native", "__pycache__")
BUILD = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
PACKAGES_MIB_MAX = 120  # with pip and setuptools, which take 26


@pytest.fixture(scope="module")
def tau(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, installed in an environment of its own; its sources are gone."""
    folder = tmp_path_factory.mktemp("package")
    sources, environment = folder / "sources", folder / "environment"
    shutil.copytree(ROOT, sources, ignore=LEFT_OUT, symlinks=True)
    subprocess.run([sys.executable, "-c", BUILD, str(folder)], check=True, cwd=sources)
    shutil.rmtree(sources)
    (archive,) = folder.glob("tautochrone-*.tar.gz")
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    pip_installs(environment / "bin" / "python", archive)
    return environment / "bin" / "tau"


def pip_installs(python: Path, *packages: str | Path) -> None:
    """Install packages, which must succeed."""
    words = [str(python), "-m", "pip", "install", "--quiet", *map(str, packages)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


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
def test_a_plain_installation_is_small_and_does_the_main_job(tau: Path, tmp_path: Path) -> None:
    (packages,) = tau.parents[1].glob("lib/python*/site-packages")
    weights = {
        found.name: sum(path.stat().st_blocks * 512 for path in (found, *found.rglob("*"))) / 2**20
        for found in packages.iterdir()
    }
    assert sum(weights.values()) <= PACKAGES_MIB_MAX, weights
    assert (tau.parents[1] / "share/man/man1/tau-plan.1").is_file()
    found = findings(tau, tmp_path)
    left_out = ("capstone", "unicorn", "pyarrow", "tile:rtmmu")
    assert not any(found[name]["works"] for name in left_out)


@pytest.mark.slow
def test_the_doctor_names_the_command_that_installs_an_extra(tau: Path, tmp_path: Path) -> None:
    step = shlex.split(str(findings(tau, tmp_path)["tile:rtmmu"]["next_step"]))
    assert step[:4] == [str(tau.parent / "python"), "-m", "pip", "install"]
    pip_installs(*step[:1], *step[4:])
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
