"""`tau verify`: every recorded call on the compiled heap of a target, and its certificate.

Method: random traces, planned as a user plans them, are verified on emulated machine code of each
build. Failures are provoked: a smaller heap, a longer path, a changed recording.
"""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

from tautochrone.machine.core_build import Build
from tautochrone.errors import EXIT_USAGE
from tautochrone.plan.file import load_plan, plan_text
from tautochrone.heap.recordings import ReplayedRecording
from tautochrone.replay.run import completes
from testing.command import tau_done as tau
from testing.random_trace import random_events, write_events
from tool.tests.plan.plan_traces import come_and_go

TARGETS = ("m4", "rv32")


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording for which pools save memory; one object has no bytes."""
    events = come_and_go(7, [200, 72, 24], 12, 1200)
    slot = 1 + max(slot for _, slot, _, _ in events)
    return write_events(tmp_path / "program.tau", [*events, (0, slot, 0, 0)], abi="arm")


# Any two of pools, level and optimization meet in every second one; `make check-all` has the rest.
BUILDS = [
    pytest.param(*each, marks=pytest.mark.slow if number % 2 else ())
    for number, each in enumerate(
        (pools, level, optimize)
        for pools, optimizers in (("always", ("-O2", "-Os")), ("never", ("-Os", "-O2")))
        for level in (0, 1, 2)
        for optimize in (optimizers if level % 2 == 0 else optimizers[::-1])
    )
]


@pytest.mark.parametrize(("pools", "level", "optimize"), BUILDS)
def test_a_plan_holds_on_the_machine_code_of_its_build(
    tmp_path: Path, recording: Path, pools: str, level: int, optimize: str
) -> None:
    """Nothing is refused in exactly the planned bytes, within the header's bounds."""
    build, plan = tmp_path / "build.toml", tmp_path / "plan.toml"
    build.write_text(f'check_level = {level}\noptimize = "{optimize}"\n')
    tau("plan", recording, "-o", plan, "--build", build, "--pools", pools)
    document = json.loads(tau("verify", plan, recording, "--json").stdout)
    assert document["held"] and document["heap_bytes"] == load_plan(plan).heap_bytes
    assert [run["target"] for run in document["runs"]] == list(TARGETS)
    for run in document["runs"]:
        assert run["refusals"] == 0 and run["calls"] == 1201
        assert 0 <= run["stack_bytes"] < 2048
        operations = {row["operation"]: row for row in run["operations"]}
        assert {"malloc", "free"} <= operations.keys()
        for row in operations.values():
            assert 0 < row["instructions_max"] <= row["bound"], row
    assert "plan, no problems\n" in tau("check", plan).stdout


def test_a_smaller_heap_is_refused_and_gets_no_certificate(tmp_path: Path, recording: Path) -> None:
    plan = tmp_path / "plan.toml"
    tau("plan", recording, "-o", plan, "--pools", "never")
    whole = plan.read_text()
    heap = load_plan(plan).heap_bytes
    smaller = heap - heap // 4 // 8 * 8
    plan.write_text(re.sub(rf"\b{heap}\b", str(smaller), whole))
    said = tau("verify", plan, recording, expect=3)
    assert re.search(r"REFUSED, the first at event [\d,]+: \w+ of [\d,]+ bytes", said.stdout)
    assert f"next: tau plan {recording} --planner" in said.stdout
    assert f"--pools never -o {plan} --force" in said.stdout
    assert "[verified]" not in plan.read_text()
    document = json.loads(tau("verify", plan, recording, "--json", expect=3).stdout)
    first = document["runs"][0]["first_refusal"]
    refused = document["runs"][0]["refused"]
    assert refused["event"] == first and refused["size_bytes"] > 0
    native = ReplayedRecording(recording, "32").completed((), smaller)
    assert first == native, "the emulated heap refuses what the native one refuses"
    assert document["runs"][0]["refusals"] > 1, "replay goes on behind the first"


def test_a_plan_on_a_descriptor_is_refused_before_any_work(tmp_path: Path) -> None:
    """It could be read there, but no certificate written; the missing trace is not looked for."""
    (tmp_path / "plan.toml").write_text("")
    with open(tmp_path / "plan.toml") as plan:
        words = ("verify", "/dev/stdin", "missing.tau")
        done = tau(*words, stdin=plan.fileno(), expect=EXIT_USAGE)
    assert "/dev/stdin is a stream, but the certificate is written" in done.stderr


def test_a_folder_stands_for_its_recordings(tmp_path: Path, recording: Path) -> None:
    """What `tau record --runs` and the planner call a folder of runs, verify takes too."""
    runs = tmp_path / "runs"
    runs.mkdir()
    for name in ("1.tau", "2.tau"):
        (runs / name).write_bytes(recording.read_bytes())
    plan = tmp_path / "plan.toml"
    said = tau("plan", runs, "-o", plan).stdout
    assert "they say nothing about runs with other inputs" in said
    document = json.loads(tau("verify", plan, runs, "--target", "m4", "--json").stdout)
    assert [run["trace"] for run in document["runs"]] == ["1.tau", "2.tau"]
    assert "or their folder" in tau("verify", plan, expect=1).stderr


def test_an_object_stays_when_its_realloc_is_refused(tmp_path: Path) -> None:
    """Its content is checked when it is freed after the refusal."""
    small = [(0, 0, 1000, 0), (4, 0, 0, 0)]
    planned = write_events(tmp_path / "planned.tau", small, abi="arm")
    tau("plan", planned, "-o", tmp_path / "plan.toml", "--pools", "never")
    grown = [small[0], (2, 0, 50_000, 0), (2, 0, 900, 0), small[1]]
    recording = write_events(tmp_path / "grown.tau", grown, abi="arm")
    said = tau("verify", tmp_path / "plan.toml", recording, "--json", expect=3).stdout
    for run in json.loads(said)["runs"]:
        assert (run["refusals"], run["first_refusal"], run["calls"]) == (1, 1, 4), run
        assert "realloc" in {row["operation"] for row in run["operations"]}


@pytest.mark.parametrize(("asked_log2", "stated"), [(0, 8), (2, 8), (7, 128)])
def test_the_heap_is_as_aligned_as_what_was_asked_for(
    tmp_path: Path, asked_log2: int, stated: int
) -> None:
    events = [(3, 0, 40, asked_log2), (4, 0, 0, 0)]
    recording = write_events(tmp_path / "program.tau", events, abi="arm")
    words = ("-o", tmp_path / "plan.toml", "--header", tmp_path / "plan.h")
    tau("plan", recording, *words)
    assert load_plan(tmp_path / "plan.toml").alignment_bytes == stated
    assert f"#define TAU_PLAN_ALIGNMENT {stated}u" in (tmp_path / "plan.h").read_text()


def test_a_bound_that_is_too_small_is_exceeded(tmp_path: Path, recording: Path) -> None:
    plan = tmp_path / "plan.toml"
    tau("plan", recording, "-o", plan)
    text = plan.read_text()
    row = re.search(r'operation = "free", target = "m4".*bound = (\d+)', text)
    assert row
    plan.write_text(text.replace(row[0], row[0].replace(f"bound = {row[1]}", "bound = 9")))
    said = tau("verify", plan, recording, "--target", "m4", expect=3)
    assert re.search(r"free +\d+ instructions, bound 9  OVER", said.stdout)
    assert plan.read_text().count("[verified]") == 0


def test_check_compares_a_certificate(tmp_path: Path, recording: Path) -> None:
    """A changed recording next to the plan, and other machine code, are problems."""
    plan = tmp_path / "plan.toml"
    tau("plan", recording, "-o", plan)
    comments = [line for line in plan.read_text().splitlines() if line.startswith("#")]
    tau("verify", plan)  # the recordings next to it
    text = plan.read_text()
    assert [line for line in text.splitlines() if line.startswith("#")] == comments
    hashed = re.search(r'elf_sha256 = "([0-9a-f]{64})"', text)
    assert hashed
    plan.write_text(text.replace(hashed[1], "0" * 64))
    said = tau("check", plan, expect=1).stdout
    assert "the machine code for m4 differs from the verified code" in said
    plan.write_text(text)
    write_events(recording, random_events(3, 100), abi="arm")
    said = tau("check", plan, expect=1).stdout
    assert "is not the recording that the plan was made from" in said


def test_targets_are_certified_one_after_another(tmp_path: Path, recording: Path) -> None:
    plan = tmp_path / "plan.toml"
    tau("plan", recording, "-o", plan)
    for target in (*TARGETS, "m4"):
        tau("verify", plan, recording, "--target", target)
    runs = load_plan(plan).sections["verified"].runs
    assert sorted(run.target for run in runs) == sorted(TARGETS)
    assert "verified on m4: 1 recording, 1,201 calls, none refused" in tau("info", plan).stdout
    other = write_events(tmp_path / "other.tau", [(0, 0, 40, 0), (4, 0, 0, 0)], abi="arm")
    tau("verify", plan, other, "--target", "m4")
    assert "verified on m4: 2 recordings, 1,203 calls, none refused" in tau("info", plan).stdout


def test_what_says_nothing_about_a_target_is_refused(tmp_path: Path, recording: Path) -> None:
    host = write_events(tmp_path / "host.tau", random_events(5, 500), abi="x86-64")
    estimate, exact = tmp_path / "estimate.toml", tmp_path / "exact.toml"
    tau("plan", host, "-o", estimate, "--layout", "32")
    assert "nothing to verify: the plan is an estimate" in tau(
        "verify", estimate, host, expect=1
    ).stderr
    tau("plan", recording, "-o", exact)
    assert "recorded on x86-64" in tau("verify", exact, host, expect=1).stderr
    tau("plan", host, "-o", tmp_path / "host.toml")
    assert "for this machine" in tau("verify", tmp_path / "host.toml", host, expect=2).stderr
    recording.unlink()
    assert "not there" in tau("verify", exact, expect=1).stderr


def test_sizes_hold_from_the_planned_one_on(tmp_path: Path) -> None:
    """[PLAN-6] Every larger heap of a fine grid holds, too, pools or not."""
    for seed in range(6):
        path = write_events(tmp_path / f"{seed}.tau", random_events(seed, 3000))
        plan = tmp_path / f"{seed}.toml"
        tau("plan", path, "-o", plan, "--pools", ("always", "never")[seed % 2])
        made = load_plan(plan)
        failed = [
            size
            for size in range(made.heap_bytes, made.heap_bytes + 24 * 8 + 1, 8)
            if not completes(path, "budget", size, made)
        ]
        assert not failed, (seed, made.heap_bytes, failed)


def test_a_build_changes_the_bytes_and_the_name(tmp_path: Path) -> None:
    """Check level 1 has bits that level 0 lacks, level 2 a canary after each block."""
    recording = write_events(tmp_path / "program.tau", come_and_go(7, [60, 28], 40, 1200))
    heaps = {}
    for level, pools in itertools.product((0, 1, 2), ("always", "never")):
        (tmp_path / "build.toml").write_text(f"check_level = {level}\n")
        words = ("--build", tmp_path / "build.toml", "--pools", pools, "--force")
        tau("plan", recording, "-o", tmp_path / "plan.toml", *words)
        plan = load_plan(tmp_path / "plan.toml")
        heaps[level, pools] = plan.heap_bytes
        assert f'build = "Os-check{level}"' in plan_text(plan, "")
    assert heaps[0, "always"] < heaps[1, "always"] and heaps[1, "never"] < heaps[2, "never"]
    assert heaps[0, "never"] == heaps[1, "never"]
    assert Build(2, "-O3").symbol(32) == "tau_tlsf_built_word32_check2_fill0_speed"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("check_level = 3\n", "check_level is 3, expected an integer from 0 to 2"),
        ('optimize = "-Ofast"\n', "expected one of -O0"),
        ('flags = ["-wrapper"]\n', "flags[0] is '-wrapper', expected a flag such as"),
        ('flags = ["-fplugin=x.so"]\n', "expected a flag such as -fno-inline"),
        ('flags = ["-fopt-info-all=notes.txt"]\n', "expected a flag such as -fno-inline"),
        ('flags = ["-B/tmp"]\n', "expected a flag such as -fno-inline"),
        ('flags = ["@file"]\n', "expected a flag such as -fno-inline"),
        ("level = 1\n", "level is unknown; is check_level meant?"),
        ("check_level = \n", "not a build"),
    ],
)
def test_a_file_that_is_not_a_build_is_refused(
    tmp_path: Path, recording: Path, text: str, cause: str
) -> None:
    (tmp_path / "build.toml").write_text(text)
    said = tau("plan", recording, "--build", tmp_path / "build.toml", expect=1).stderr
    assert cause in said and "next:" in said


def test_a_plan_whose_build_was_changed_by_hand_is_refused(
    tmp_path: Path, recording: Path
) -> None:
    """Its bounds are those of the other build."""
    plan = tmp_path / "plan.toml"
    tau("plan", recording, "-o", plan, expect=0)
    plan.write_text(plan.read_text().replace('optimize = "-Os"', 'optimize = "-O2"'))
    said = tau("verify", plan, recording, expect=1).stderr
    assert "bounds are for Os-check1, its [build] says O2-check1" in said and "--build" in said
    assert "[verified]" not in plan.read_text()
