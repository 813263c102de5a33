"""`tau plan` as a user calls it: its output, its files and its exit status."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tautochrone.commands.plan import printing
from tautochrone.console.output import percent
from tautochrone.heap.recordings import ReplayedRecording
from tautochrone.heap.safe import safe_heap
from tautochrone.plan.file import Plan, PlanTrace, load_plan
from tautochrone.replay.run import completes
from testing.command import tau, tau_started
from testing.random_trace import FREE, MALLOC, write_events
from tool.tests.plan.plan_traces import come_and_go
from tool.tests.trace import trace_forge

UNKNOWN = 1
SLOT_NONE = 0xFFFFFFFF


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A small recording in which classes gain."""
    return write_events(tmp_path / "program.tau", come_and_go(1, [2048, 1024, 56, 24], 10, 1500))


def test_json_holds_what_others_build_on(tmp_path: Path, recording: Path) -> None:
    done = tau("plan", recording, "-o", tmp_path / "plan.toml", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["version"], result["command"], result["planner"]) == (1, "plan", "replayed")
    dedicated = sum(item["size_bytes"] * item["count"] for item in result["classes"])
    assert result["dedicated_bytes"] == dedicated > 0
    assert result["heap_bytes"] == result["dedicated_bytes"] + result["shared_bytes"]
    assert result["heap_bytes"] <= result["plain_heap_bytes"]
    assert 0 <= result["optimal_within"] < 1
    plan = load_plan(tmp_path / "plan.toml")
    assert plan.heap_bytes == result["heap_bytes"]
    assert [{"size_bytes": s, "count": c} for s, c in plan.classes] == result["classes"]


def test_people_are_told_the_gain_and_the_next_command(tmp_path: Path, recording: Path) -> None:
    plan = tmp_path / "plan.toml"
    done = tau("plan", recording, "-o", plan, "--margin", "10%", "--header", tmp_path / "plan.h")
    assert done.returncode == 0, done.stderr
    for text in ("without pools", "with pools", "(+10 %)", "plan.h", "next: tau verify"):
        assert text in done.stdout
    assert "Next: tau verify" in plan.read_text()
    assert "# optimal_within: the most of the measured heap that any other" in plan.read_text()
    measured = json.loads(tau("plan", recording, "--json").stdout)["measured_heap_bytes"]
    least = int(re.search(r"smaller than ([\d,]+) bytes", done.stdout)[1].replace(",", ""))
    above = percent(measured / least - 1)
    assert f"the plan without its margin is at most {above} above the optimum" in done.stdout
    assert f": this is at most {above} above" in tau("plan", recording, "--margin", "0%").stdout
    assert "TAU_PLAN_HEAP_BYTES" in (tmp_path / "plan.h").read_text()
    assert "next: keep it with -o" in tau("plan", recording).stdout


PAIRS = [(17, 25), (22, 24)]  # seeds of come_and_go


@pytest.mark.parametrize("margin", ["0%", "1%"])
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_every_recording_completes_in_what_is_printed(
    tmp_path: Path, first: int, second: int, margin: str
) -> None:
    """The output matches the file, and each recording is replayed in the plan."""
    paths = [
        write_events(
            tmp_path / f"{seed}.tau", come_and_go(seed, [2048, 1024, 56, 24], 4 + seed % 4, 300)
        )
        for seed in (first, second)
    ]
    out = tmp_path / "plan.toml"
    words = [*paths, "--classes-max", 0, "--margin", margin, "-o", out, "--force"]
    done = tau("plan", *words)
    assert done.returncode == 0, done.stderr
    plain, printed = (
        int(re.search(rf"{who} +([0-9,]+) bytes", done.stdout)[1].replace(",", ""))
        for who in ("without pools", "heap" if margin != "0%" else "without pools")
    )
    plan = load_plan(out)
    assert printed == plan.heap_bytes
    alone = [safe_heap([ReplayedRecording(path, "32")], ()) for path in paths]
    assert plain == max(alone)
    for path in paths:
        assert completes(path, "tlsf", printed) and completes(path, "tlsf", plain)
    result = json.loads(tau("plan", *words, "--json").stdout)
    assert result["heap_bytes"] == printed and result["plain_heap_bytes"] == plain
    assert result["measured_heap_bytes"] + result["margin_bytes"] == printed
    assert all(completes(path, "tlsf", result["measured_heap_bytes"]) for path in paths)
    named = re.search(r"of which ([0-9,]+) are margin", done.stdout)
    assert int(named[1].replace(",", "")) == result["margin_bytes"] if named else margin == "0%"


def test_the_next_command_names_a_folder_and_quotes_it(tmp_path: Path) -> None:
    folder = tmp_path / "my runs"
    folder.mkdir()
    paths = [write_events(folder / f"{i}.tau", [(MALLOC, 0, 24 + i, 0)], abi="arm") for i in (1, 2)]
    plan = tmp_path / "plan.toml"
    for given, named in (([folder], f"'{folder}'"), (paths[:1], f"'{paths[0]}'")):
        told = tau("plan", *given, "-o", plan, "--force").stdout
        assert told.endswith(f"next: tau verify {plan} {named}\n")


def test_info_and_plan_state_the_same_peak(tmp_path: Path) -> None:
    """As the program asked for it, whatever sizes are rounded to; so does the plan file."""
    path = write_events(tmp_path / "odd.tau", [(MALLOC, slot, 21, 0) for slot in range(100)])
    out = tmp_path / "plan.toml"
    told = tau("plan", path, "-o", out).stdout
    assert "2,100 bytes live at the peak" in told and "2,100 bytes" in tau("info", path).stdout
    assert load_plan(out).traces[0].peak_live_bytes == 2100
    result, info = (json.loads(tau(verb, path, "--json").stdout) for verb in ("plan", "info"))
    assert result["traces"][0]["peak_live_bytes"] == info["peak_live_bytes"] == 2100


def test_the_search_says_what_it_cost_but_the_plan_does_not(
    tmp_path: Path, recording: Path
) -> None:
    plan = tmp_path / "plan.toml"
    done = tau("plan", recording, "-o", plan, "--json")
    result = json.loads(done.stdout)
    told = re.search(r"search: ([\d,]+) replays, ([\d.]+) s\n", done.stderr)
    assert told is not None and told[1] == f"{result['replays']:,}"
    assert float(told[2]) == pytest.approx(result["search_seconds"], abs=0.06)  # both are rounded
    assert result["replays"] > 0 and result["search_seconds"] > 0
    assert {"prefixes", "greedy", "no classes"} <= {start["name"] for start in result["starts"]}
    assert "search" not in plan.read_text()
    quiet = tau("-q", "plan", recording)
    assert "search:" not in quiet.stderr + quiet.stdout


def test_a_plan_without_pools_says_what_to_do(tmp_path: Path) -> None:
    path, plan = tmp_path / "t.tau", tmp_path / "plan.toml"
    write_events(path, [(MALLOC, 0, 100, 0), (FREE, 0, 0, 0)])
    none = "no pools: no pool saves anything"
    assert none in tau("plan", path, "-o", plan, "--classes-max", 0).stdout.splitlines()
    assert "# No pools: no pool saves anything.\n" in plan.read_text()


def test_recordings_that_differ_widely_are_told_apart(tmp_path: Path) -> None:
    """Their programs are named, and so is the way out of a margin that nobody wants."""
    for name, count in (("small", 10), ("large", 100)):
        write_events(tmp_path / f"{name}.tau", [(MALLOC, slot, 100, 0) for slot in range(count)])
    told = tau("plan", *tmp_path.glob("*.tau")).stdout
    assert "if no run is larger than the largest of these, give --margin 8%" in told
    assert "--margin 8%" not in tau("plan", *tmp_path.glob("*.tau"), "--margin", "8%").stdout
    runs = {name: PlanTrace("x.tau", "", 7, 9, program=name) for name in ("lists", "leak")}
    assert printing._recorded([*runs.values()]).startswith("2 recordings of leak, lists: 7 events")
    assert printing._recorded([runs["leak"]] * 2).startswith("2 recordings: 7 events")


def test_fixed_input_takes_what_is_refused_as_a_bet(tmp_path: Path) -> None:
    sizes = sorted(random.Random(21).sample(range(8, 4000, 8), 18))
    path = write_events(tmp_path / "t.tau", come_and_go(21, sizes, 10, 1500))
    usual = tau("plan", path, "--json")
    advice = "(if the program always runs the same, add --fixed-input)"
    told = rf"^not taken: the pools of greedy, .* {re.escape(advice)}$"
    assert re.search(told, usual.stderr, re.M)
    plan = tmp_path / "plan.toml"
    fixed = tau("plan", path, "--fixed-input", "-o", plan, "--json")
    assert "dropped" not in fixed.stderr
    assert json.loads(fixed.stdout)["heap_bytes"] < json.loads(usual.stdout)["heap_bytes"]
    assert "--fixed-input" in plan.read_text()


def test_equal_calls_write_equal_bytes(tmp_path: Path, recording: Path) -> None:
    """Also with another seed of hashes."""
    for call, name in ((tau, "a"), (tau_started, "b")):
        (tmp_path / name).mkdir()
        outputs = ["-o", tmp_path / name / "p.toml", "--header", tmp_path / name / "p.h"]
        assert call("plan", recording, *outputs).returncode == 0
    for written in ("p.toml", "p.h"):
        assert (tmp_path / "a" / written).read_bytes() == (tmp_path / "b" / written).read_bytes()


def test_a_plan_can_go_to_stdout(recording: Path, tmp_path: Path) -> None:
    done = tau("plan", recording, "-o", "-")
    (tmp_path / "plan.toml").write_text(done.stdout)
    assert load_plan(tmp_path / "plan.toml").classes
    both = tau("plan", recording, "-o", "-", "--json")
    assert (both.returncode, both.stdout) == (2, "")


def test_a_limit_that_is_exceeded_is_exit_3(tmp_path: Path, recording: Path) -> None:
    plan = tmp_path / "plan.toml"
    done = tau("plan", recording, "-o", plan, "--limit", 5000, "--json")
    assert done.returncode == 3
    assert "the limit is 5,000" in done.stderr
    assert "bytes are missing" in done.stderr
    assert json.loads(done.stdout)["within_limit"] is False
    assert plan.exists(), "the plan is written, so that it can be looked at"
    assert tau("plan", recording, "--limit", 10_000_000).returncode == 0


def test_recordings_that_cannot_be_planned_are_told(tmp_path: Path) -> None:
    missing = tmp_path / "none.tau"
    done = tau("plan", missing)
    assert done.returncode == 1 and done.stderr == tau("info", missing).stderr
    assert f"tau record -o {missing} -- PROGRAM" in done.stderr
    huge = write_events(tmp_path / "huge.tau", [(MALLOC, 0, 2**63, 0)])
    events = [(MALLOC, 0, 24, 0), (FREE, SLOT_NONE, 0, 0), (MALLOC, 1, 24, 0)]
    misused = write_events(tmp_path / "bad.tau", events, [0, UNKNOWN, 0])
    for path, event in ((huge, 0), (misused, 1)):
        done = tau("plan", path)
        assert done.returncode == 1 and f"event {event}" in done.stderr
    assert tau("plan", misused, "--skip-misuse").returncode == 0


@pytest.mark.parametrize("margin", ["10", "-1%", "x", "1001%", "1/0"])
def test_margins_that_are_unclear_are_usage_errors(recording: Path, margin: str) -> None:
    done = tau("plan", recording, f"--margin={margin}")
    assert done.returncode == 2
    assert "margin" in done.stderr


@pytest.mark.parametrize("planner", ["greedy", "exact", "exhaustive"])
def test_every_planner_has_the_same_document(recording: Path, planner: str) -> None:
    replayed = json.loads(tau("plan", recording, "--json").stdout)
    other = tau("plan", recording, "--planner", planner, "--json")
    if planner == "exhaustive":
        assert other.returncode in (0, 1)
    if other.returncode == 0:
        assert json.loads(other.stdout).keys() == replayed.keys()
    else:
        assert "--planner exact" in other.stderr


def test_a_recording_is_never_overwritten(recording: Path) -> None:
    before = recording.read_bytes()
    done = tau("plan", recording, "-o", recording)
    assert done.returncode == 2
    assert recording.read_bytes() == before


def test_a_trace_cut_before_its_first_event_is_refused(tmp_path: Path, recording: Path) -> None:
    data = recording.read_bytes()
    whole, cut = tmp_path / "whole.tau", tmp_path / "cut.tau"
    whole.write_bytes(data)
    cut.write_bytes(data[: trace_forge.chunks(data)[0][1] - 1])
    for paths in ((cut,), (whole, cut)):
        done = tau("plan", *paths, "-o", tmp_path / "plan.toml")
        assert done.returncode == 1 and not (tmp_path / "plan.toml").exists()
        assert done.stderr == f"tau: {cut}: no event could be recovered\n  next: record again\n"


def test_a_plan_that_another_recording_does_not_fit_leads_to_one_of_all(
    tmp_path: Path, recording: Path
) -> None:
    plan = tmp_path / "plan.toml"
    assert tau("plan", recording, "-o", plan).returncode == 0
    larger = write_events(tmp_path / "larger.tau", [(MALLOC, slot, 900, 0) for slot in range(300)])
    done = tau("replay", larger, "--on", "budget", "--plan", plan)
    assert "does not hold the trace in the plan's" in done.stdout
    assert f" {larger} --planner " in done.stdout and done.stdout.endswith(f"-o {plan} --force\n")
    done = tau("replay", recording, "--plan", recording)
    assert done.stderr.startswith(f"tau: {recording} is a trace, not a plan\n  next: tau plan")


def test_what_a_32_bit_heap_cannot_hold_is_told(tmp_path: Path) -> None:
    """Of the live bytes alone, or with the headers and the rounding of TLSF."""
    live, none = (8, 2**28, "2,147,483,648 live bytes"), (1, 2**30 - 8, "no heap up to")
    for count, size_bytes, said in live, none:
        events = [(MALLOC, slot, size_bytes, 0) for slot in range(count)]
        refused = tau("plan", write_events(tmp_path / f"{count}.tau", events))
        assert refused.returncode == 1
        assert said in refused.stderr and "--layout host" in refused.stderr


# Runs `tau plan` and interrupts it, as Ctrl-C does, so many replays after the start.
INTERRUPTED = """
import os, signal, sys
from tautochrone.heap import recordings

counted, run = 0, recordings.Meter.run


def counting(*given):
    global counted
    counted += 1
    if counted in AFTER:
        os.kill(os.getpid(), signal.SIGINT)
    return run(*given)


recordings.Meter.run = counting
from tautochrone.cli import main

main()
"""


def interrupted(after: tuple[int, ...], *words: object) -> subprocess.CompletedProcess[str]:
    """A run of `tau plan` with Ctrl-C before these replays of its search."""
    program = INTERRUPTED.replace("AFTER", repr(after))
    command = [sys.executable, "-c", program, "plan", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("after", [1, 40])
def test_an_interrupted_search_keeps_its_best_plan_and_says_so(
    after: int, tmp_path: Path, recording: Path
) -> None:
    path = tmp_path / "plan.toml"
    done = interrupted((after,), recording, "-o", path)
    assert done.returncode == 0, done.stderr
    assert "Ctrl-C again writes nothing" in done.stderr
    assert "this plan is the best so far" in done.stderr
    assert "no pool saves anything" not in done.stdout, "not known"
    assert "# The search was interrupted" in path.read_text()
    plan = load_plan(path)
    assert completes(recording, "budget", plan.heap_bytes, plan)
    assert plan.heap_bytes >= plan_of_whole_search(tmp_path, recording).heap_bytes


def plan_of_whole_search(folder: Path, recording: Path) -> Plan:
    """The plan of the same command without an interruption."""
    path = folder / "whole.toml"
    assert tau("plan", recording, "-o", path).returncode == 0
    assert "interrupted" not in path.read_text()
    return load_plan(path)


def test_a_second_interruption_writes_nothing(tmp_path: Path, recording: Path) -> None:
    path = tmp_path / "plan.toml"
    done = interrupted((40, 41), recording, "-o", path)
    assert done.returncode == 130, done.stderr
    assert list(tmp_path.glob("plan*")) == []
