"""`tau run` lays a plan out as its replay did: byte for byte, and with the same refusals.

Method: a program of random calls is recorded, planned, and run on plans of many sizes; each is also
replayed. The program says where its objects lay.
"""

import json
import random
import secrets
from pathlib import Path

import pytest

from tautochrone.facts import fault_format
from tautochrone.plan.file import Plan, PlanClass, load_plan
from tautochrone.replay.open_trace import open_trace_for_replay
from tautochrone.replay.session import Session
from tautochrone.replay.systems.native import BUDGET, TLSF
from testing.recorded import Build, Record, Tau
from testing.runtime import MakePlan, RunProgram

CALLS = 4000
SIZES = 12


def replayed(trace: Path, plan: Plan, heap_bytes: int) -> tuple[int, int]:
    """The number of calls before the first that fails, and the hash of all places if none does."""
    system = BUDGET if plan.classes else TLSF
    with Session(open_trace_for_replay(trace), system, plan, "host") as session:
        result = session.run(heap_bytes)
    is_done = result.fault == fault_format.COMPLETED
    return CALLS if is_done else int(result.fault_event), int(result.placement_hash) * is_done


@pytest.mark.parametrize("has_pools", [True, False])
def test_places_and_refusals_are_those_of_the_replay(
    build: Build, tau: Tau, run: RunProgram, plan: MakePlan, tmp_path: Path, has_pools: bool
) -> None:
    seed = secrets.randbits(31)
    program = build("runtime_layout")
    trace = tmp_path / "layout.tau"
    assert tau("record", "-o", trace, "--", program, seed, CALLS).returncode == 0
    words = ("--layout", "host", "--margin", "0%", "--classes-max", 64 if has_pools else 0)
    assert tau("plan", trace, *words, "-o", tmp_path / "made.toml").returncode == 0
    made = load_plan(tmp_path / "made.toml")
    if has_pools and not made.classes:
        pools = (PlanClass(72, 31), PlanClass(24, 41))
        made = Plan(pools, made.heap_bytes + 1000, "replayed", 0.0, layout="host")
    sizes = [made.heap_bytes, made.heap_bytes + 4096]
    sizes += [
        random.Random(seed + k).randrange(made.heap_bytes * 9 // 10, made.heap_bytes) & -16
        for k in range(SIZES)
    ]
    refused = 0
    for heap_bytes in sizes:
        options = ("--plan", plan(heap_bytes, *made.classes), "--strict")
        done = run(program, seed, CALLS, options=options)
        calls, places = map(int, done.stdout.split())
        wanted = replayed(trace, made, heap_bytes)
        found = (calls, places if calls == CALLS else 0)
        assert found == wanted, f"seed {seed}, {heap_bytes} bytes"
        refused += calls < CALLS
    assert refused, f"seed {seed}: no size was too small"


OBJECTS = "import ctypes\nm = ctypes.CDLL(None).malloc\nm.restype = ctypes.c_void_p\n"


def test_an_object_of_no_bytes_is_one_of_a_byte(
    run: RunProgram, plan: MakePlan, record: Record
) -> None:
    """It takes the same place, from a pool too, and is recorded with its own size."""
    options = ("--plan", plan(4_000_000, (1, 500)), "--preset", "none")
    found = []
    for size in (0, 1):
        code = OBJECTS + f"print(len(set(m({size}) for _ in range(700))))"
        done = run("python3", "-S", "-c", code, options=options)
        assert done.stdout == "700\n", done.stderr
        found.append(done.document["classes"])
    assert found[0] == found[1]
    recorded = record("python3", "-S", "-c", OBJECTS + "print([m(0) for _ in range(700)][0])")
    assert sum(event["size_bytes"] == 0 for event in recorded.events()) >= 700


PROGRAMS = {
    "python3": (
        *("/usr/bin/python3", "-S", "-P", "-B", "-c"),
        "import os; d = {str(i): list(range(i % 300)) for i in range(600)}; print(len(repr(d)))",
    ),
    "bash": (
        *("bash", "-c"),
        'declare -A a; for ((i = 0; i < 900; i++)); do a[k$((i * 7 % 200))]+="$i "; done;'
        " echo ${#a[@]}",
    ),
    "perl": (
        *("perl", "-e"),
        'for my $i (1..3000) { push @{$h{$i % 300}}, "v$i" } print scalar keys %h',
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_copies_its_environment_holds_on_its_own_recording(
    tau: Tau, run: RunProgram, tmp_path: Path, name: str
) -> None:
    """Without a margin: it finds as many variables, of the same lengths, as when recorded.

    With its small objects in malloc, Python differs from run to run: it orders sets by address.
    """
    fixed = {"PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"}
    words = ["env", *(f"{key}={value}" for key, value in fixed.items()), *PROGRAMS[name]]
    trace, planned = tmp_path / "own.tau", tmp_path / "own.toml"
    assert tau("record", "--preset", "none", "-o", trace, "--", *words).returncode == 0
    done = tau("plan", trace, "--layout", "host", "--margin", "0%", "-o", planned)
    assert done.returncode == 0, done.stderr
    done = run(*words, options=("--plan", planned, "--strict", "--preset", "none"))
    assert (done.document["spilled_objects"], done.document["refusals"]) == (0, 0), done.stderr
    assert "the plan held" in done.stderr


def test_the_environment_is_as_long_as_when_recorded(
    tau: Tau, run: RunProgram, plan: MakePlan, tmp_path: Path
) -> None:
    """Count and lengths of all variables, in their order."""
    show = "import os, json; print(json.dumps([[k, len(v)] for k, v in os.environ.items()]))"
    words = ("python3", "-c", show)
    recorded = json.loads(tau("record", "-o", tmp_path / "a.tau", "--", *words).stdout)
    found = json.loads(run(*words, options=("--plan", plan(4_000_000))).stdout)
    assert found == recorded
    assert {"LD_PRELOAD", "TAU_PRELOAD"} <= {name for name, _ in found}


def test_a_plan_with_a_large_alignment_holds_wherever_the_system_maps(
    build: Build, tau: Tau, run: RunProgram, tmp_path: Path
) -> None:
    """[RUN-1] The heap starts at a multiple of it, so offsets are those of the replay."""
    program, trace, made = build("runtime_aligned"), tmp_path / "t.tau", tmp_path / "p.toml"
    assert tau("record", "-o", trace, "--", program).returncode == 0
    words = ("--layout", "host", "--margin", "0%", "--pools", "never")
    assert tau("plan", trace, *words, "-o", made).returncode == 0
    assert load_plan(made).alignment_bytes == 1 << 23
    for _ in range(8):
        done = run(program, options=("--plan", made, "--strict"))
        assert (done.status, done.document["refusals"]) == (0, 0), done.stderr
