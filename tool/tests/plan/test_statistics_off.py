"""Plans for a core without statistics: `statistics = false` in the file of `tau plan --build`."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path

import pytest

from tautochrone.errors import TauError
from tautochrone.machine.core_build import FILE_KEYS, Build, load
from tautochrone.plan.build import build_of
from tautochrone.plan.file import load_plan
from testing.command import tau_done as tau
from testing.random_trace import write_events
from tool.tests.plan.plan_traces import come_and_go

ROOT = Path(__file__).resolve().parents[3]
USER = """#include "plan.h"
static _Alignas(TAU_PLAN_ALIGNMENT) unsigned char memory[TAU_PLAN_HEAP_BYTES];
int main(void) {
    tau_plan_heap *heap = tau_plan_init(memory);
    return heap == 0 || tau_plan_malloc(heap, 16) == 0;
}
"""
OFF = "-DTAU_STATISTICS=0"
REMEDIES = {True: f"leave out {OFF}", False: f"add {OFF}"}


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A firmware's."""
    return write_events(tmp_path / "p.tau", come_and_go(5, [16, 8, 100, 3], 20, 1500), abi="arm")


def planned(folder: Path, recording: Path, pools: str, statistics: bool) -> tuple[Path, Path]:
    """A plan and its header."""
    build, path, header = folder / "build.toml", folder / "plan.toml", folder / "plan.h"
    build.write_text(f"statistics = {str(statistics).lower()}\n")
    words = ["--build", build, "--pools", pools, "--force"]
    tau("plan", recording, "-o", path, "--header", header, *words)
    return path, header


@pytest.mark.parametrize("pools", ["always", "never"])
def test_the_heap_is_the_same_and_bounds_are_lower(
    tmp_path: Path, recording: Path, pools: str
) -> None:
    """check and verify use the build that the plan states."""
    found = {}
    for statistics in (True, False):
        path, _ = planned(tmp_path, recording, pools, statistics)
        assert build_of(load_plan(path)) == Build(statistics=statistics)
        tau("check", path)
        document = json.loads(tau("verify", path, recording, "--json").stdout)
        assert document["held"] and all(run["refusals"] == 0 for run in document["runs"])
        found[statistics] = load_plan(path)
    assert found[False].heap_bytes == found[True].heap_bytes
    assert found[False].classes == found[True].classes
    bounds = {
        statistics: {
            (row.system, row.operation, row.target): row.bound
            for row in plan.sections["bounds"].operations
            if row.build == Build(statistics=statistics).name
        }
        for statistics, plan in found.items()
    }
    assert bounds[True].keys() == bounds[False].keys() and bounds[True]
    print({key: (bound, bounds[False][key]) for key, bound in bounds[True].items()})
    for key in itertools.product([found[True].system], ["malloc", "free"], ["rv32", "m4"]):
        assert bounds[False][key] < bounds[True][key]


@pytest.mark.parametrize("pools", ["always", "never"])
@pytest.mark.parametrize("is_planned", [True, False])
@pytest.mark.parametrize("is_built", [True, False])
def test_a_core_of_the_other_build_is_refused(
    tmp_path: Path, recording: Path, pools: str, is_planned: bool, is_built: bool
) -> None:
    """The header does not compile with it; compiled otherwise, it does not link with it."""
    planned(tmp_path, recording, pools, is_planned)
    user, made = tmp_path / "user.c", tmp_path / "user.o"
    user.write_text(USER)
    words = ["gcc", "-std=c17", "-Os", "-DTAU_WORD_BITS=32", f"-I{ROOT}", f"-I{tmp_path}"]
    for is_compiled in (not is_planned, is_planned):
        flags = [*words, *([] if is_compiled else [OFF])]
        command = [*flags, "-c", str(user), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert (done.returncode == 0) == (is_compiled == is_planned), done.stderr
        assert is_compiled == is_planned or REMEDIES[is_planned] in done.stderr
    core = [str(ROOT / "core" / name) for name in ("tlsf.c", "budget.c")]
    link = [*words, *([] if is_built else [OFF]), str(made), *core, "-o", str(tmp_path / "user")]
    done = subprocess.run(link, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode == 0) == (is_built == is_planned), done.stderr
    if is_built == is_planned:
        subprocess.run([str(tmp_path / "user")], check=True, timeout=300)
    else:
        assert "undefined reference to `tau_tlsf_built_word32" in done.stderr


def test_a_plan_says_which_ports_refuse_it(tmp_path: Path, recording: Path) -> None:
    """Where it is made, in its header, and where the port's compiler stops."""
    build = tmp_path / "build.toml"
    for statistics in (True, False):
        build.write_text(f"statistics = {str(statistics).lower()}\n")
        said = tau("plan", recording, "--build", build).stdout
        assert ("refuse a plan without statistics" in said) != statistics
    _, header = planned(tmp_path, recording, "never", False)
    header.rename(tmp_path / "heap_plan.h")
    assert "if a port refuses it, plan with statistics" in (tmp_path / "heap_plan.h").read_text()
    words = ["gcc", "-fsyntax-only", "-DTAU_WORD_BITS=32", "-DTAU_SINGLE_THREAD", OFF]
    words += [f"-I{ROOT}", f"-I{tmp_path}", str(ROOT / "core/ports/newlib/heap.c")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode != 0 and f"leave out {OFF}, and plan with statistics" in done.stderr
    assert "statistics = false" in tau("plan", "--help").stdout


def test_a_build_that_is_refused_names_every_key(tmp_path: Path) -> None:
    """A macro among the flags is refused; the key for it is named."""
    path = tmp_path / "build.toml"
    path.write_text(f'flags = ["{OFF}"]\n')
    with pytest.raises(TauError) as caught:
        load(path)
    assert all(f"{key} = " in caught.value.next_step for key in FILE_KEYS)


@pytest.mark.parametrize("value", ["0", '"off"'])
def test_other_values_are_refused(tmp_path: Path, value: str) -> None:
    """It is true or false."""
    path = tmp_path / "build.toml"
    path.write_text(f"statistics = {value}\n")
    with pytest.raises(TauError, match="expected true or false"):
        load(path)
