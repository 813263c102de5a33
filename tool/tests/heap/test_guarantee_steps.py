"""Messages of commands about a guaranteed plan, and the next command that each names.

Method: one recording within the limits and one beyond them go through plan, replay, verify and
check. Each printed command is run as it is.
"""

import json
import re
import shlex
from pathlib import Path

import pytest

from tautochrone.heap.guarantee import make_guarantee
from tautochrone.machine.core_build import Build
from tautochrone.plan.bounds import WITHIN_LIMITS
from tautochrone.plan.file import load_plan
from tautochrone.replay.emulator import count
from testing.command import tau
from testing.random_trace import (
    ALIGNED_ALLOC,
    CALLOC,
    FREE,
    MALLOC,
    REALLOC,
    Event,
    random_trace,
    write_events,
)

OBJECTS: list[Event] = [(MALLOC, slot, 24, 0) for slot in range(10)]
OBJECTS += [(CALLOC, slot, 100, 0) for slot in range(10, 15)]
FREES: list[Event] = [(FREE, slot, 0, 0) for slot in range(15)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two recordings of a 32-bit target in a folder, and a plan of the first with its header."""
    (tmp_path / "runs").mkdir()
    write_events(tmp_path / "runs" / "a.tau", [*OBJECTS, *FREES])
    more: list[Event] = [(MALLOC, slot, 20, 0) for slot in range(15, 18)]
    write_events(tmp_path / "runs" / "b.tau", [*OBJECTS, *more, *FREES])
    return tmp_path


PLAN = ["plan", "runs/a.tau", "--guarantee", "--layout", "32", "--margin", "0%"]
WRITTEN = ["-o", "runs/p.toml", "--header", "h.h"]


def next_of(said: str) -> list[str]:
    """The words of the last command that is named."""
    command = re.findall(r"next: (tau (?:plan|verify|replay|report) .*)", said)[-1]
    return shlex.split(command)[1:]


def test_each_command_leads_to_the_next(folder: Path) -> None:
    """From plan to a verified one; the plan that is made again from both keeps its contract."""
    said = tau(*PLAN, *WRITTEN, cwd=folder, expect=0).stdout
    assert next_of(said) == ["verify", "runs/p.toml", "runs/a.tau"]
    assert "verified; written" in tau(*next_of(said), cwd=folder, expect=0).stdout
    wrong = tau("verify", "runs/p.toml", "runs/b.tau", cwd=folder, expect=3).stdout
    checked = tau("check", "runs/p.toml", "runs", cwd=folder, expect=3).stdout
    assert "runs/a.tau: within all limits of 2 bands\n" in checked
    assert "13 objects of 1 … 24 bytes at once, the limit is 10; first at event 15\n" in checked
    for text in (wrong, checked):
        assert next_of(text)[:4] == ["plan", "runs/a.tau", "runs/b.tau", "--guarantee"]
    tau(*next_of(wrong), cwd=folder, expect=0)
    plan = load_plan(folder / "runs" / "p.toml")
    assert (plan.system, plan.margin, len(plan.traces)) == ("pools", 0.0, 2)
    assert plan.classes[0].count == 13 and "{24u, 13u}" in (folder / "h.h").read_text()
    tau("verify", "runs/p.toml", "runs", cwd=folder, expect=0)
    said = tau("replay", "runs/a.tau", "--plan", "runs/p.toml", cwd=folder, expect=0).stdout
    assert next_of(said)[:5] == ["report", "runs/a.tau", "--plan", "runs/p.toml", "--on"]
    assert next_of(said)[5] == "pools,tlsf,glibc"


def test_a_recording_beyond_a_limit_leads_to_its_limits(folder: Path) -> None:
    """Replay and report name the check; of another plan, replay names the recordings to add."""
    tau(*PLAN, *WRITTEN, cwd=folder, expect=0)
    said = tau("replay", "runs/b.tau", "--plan", "runs/p.toml", cwd=folder).stdout
    assert "next: tau check runs/p.toml runs/b.tau\n" in said
    words = ["report", "runs/b.tau", "--plan", "runs/p.toml", "--on", "pools,tlsf"]
    assert "exceeds the plan's limits" in tau(*words, cwd=folder, expect=0).stdout
    plain = [word for word in PLAN if word != "--guarantee"]
    tau(*plain, "-o", "runs/q.toml", cwd=folder, expect=0)
    large: list[Event] = [(MALLOC, 0, 5000, 0)]
    write_events(folder / "runs" / "c.tau", large)
    said = tau("replay", "runs/c.tau", "--plan", "runs/q.toml", cwd=folder).stdout
    assert next_of(said)[:3] == ["plan", "runs/a.tau", "runs/c.tau"]


def test_a_stated_limit_is_raised_in_its_file(folder: Path) -> None:
    """A plan made again with the same limits would have the same ones."""
    limits = folder / "runs" / "l.toml"
    text = 'format = "tautochrone limits"\nversion = 1\n[[limit]]\nsize_bytes = 24\ncount = 11\n'
    limits.write_text(text)
    tau(*PLAN, "--limits", limits, "-o", "runs/p.toml", cwd=folder, expect=0)
    said = tau("check", "runs/p.toml", "runs", cwd=folder, expect=3).stdout
    assert next_of(said)[-5:-1] == ["--limits", "runs/l.toml", "-o", "runs/p.toml"]
    assert "after raising the limits of these objects" in said
    limits.write_text(text.replace("11", "13"))
    tau(*next_of(said), cwd=folder, expect=0)
    tau("check", "runs/p.toml", "runs", cwd=folder, expect=0)


def test_a_recording_that_may_lack_its_end_is_named(folder: Path) -> None:
    """When it is compared with a plan, and for ever after if a plan is made of it."""
    said = "the recording may lack its end"
    tau(*PLAN, *WRITTEN, cwd=folder, expect=0)
    write_events(folder / "runs" / "c.tau", OBJECTS, ended="no end mark")
    assert said in tau("check", "runs/p.toml", "runs/c.tau", cwd=folder, expect=1).stderr
    tau("plan", "runs/c.tau", *PLAN[2:], "-o", "runs/q.toml", cwd=folder, expect=0)
    assert said in tau("check", "runs/q.toml", "runs/a.tau", cwd=folder, expect=0).stderr
    assert said in tau("check", "runs/q.toml", cwd=folder, expect=1).stdout


def test_a_file_that_is_given_to_the_wrong_option_is_answered_with_the_right_one(
    folder: Path,
) -> None:
    """--limit is bytes, --limits a file."""
    refused = tau(*PLAN, "--limit", "limits.toml", cwd=folder, expect=2)
    assert "'limits.toml' is not a number of bytes; a file goes to --limits" in refused.stderr
    assert "--guarantee --limits limits.toml" in tau("plan", "--help", expect=0).stdout


def test_pools_need_a_guaranteed_plan(folder: Path) -> None:
    refused = tau("replay", "runs/a.tau", "--on", "pools", cwd=folder, expect=2)
    assert "pools needs a plan made with --guarantee" in refused.stderr
    assert "next: tau plan runs/a.tau --guarantee -o plan.toml" in refused.stderr


def test_bounds_are_those_of_calls_within_the_limits(folder: Path) -> None:
    """Plan, header and info say so. A refused call takes longer, which does not exceed a bound."""
    said = tau(*PLAN, *WRITTEN, cwd=folder, expect=0).stdout
    bounds = {row.operation: row.bound for row in _bounds(folder) if row.target == "m4"}
    cost = rf"within the limits, m4 malloc {bounds['malloc']}, free {bounds['free']} instructions"
    assert re.search(cost + r" at most, [\d,]+ bytes of code\n", said)
    told = tau("info", "runs/p.toml", cwd=folder, expect=0).stdout.partition("[bounds]")[2]
    assert f"pools on m4 (Os-check1), instructions at most: malloc {bounds['malloc']}" in told
    assert WITHIN_LIMITS in told and f"// {WITHIN_LIMITS}\n" in (folder / "h.h").read_text()
    wrong = tau("verify", "runs/p.toml", "runs/b.tau", cwd=folder, expect=3).stdout
    assert "3 REFUSED" in wrong and "OVER" not in wrong
    refused = r"malloc +\d+ instructions, bound \d+ within the limits; one was refused\n"
    assert re.search(refused, wrong)
    document = tau("verify", "runs/p.toml", "runs/b.tau", "--json", cwd=folder, expect=3).stdout
    assert json.loads(document)["not_looked_at"][0].startswith("runs with more live objects")


def test_a_resized_object_may_lose_its_alignment(folder: Path) -> None:
    """As pools say. It is not their fault, in replay nor on the machine code."""
    aligned: list[Event] = [(ALIGNED_ALLOC, 0, 55, 7), (MALLOC, 1, 7, 0), (REALLOC, 0, 7, 0)]
    write_events(folder / "runs" / "a.tau", aligned)
    tau(*PLAN, *WRITTEN, cwd=folder, expect=0)
    assert "verified; written" in tau("verify", "runs/p.toml", cwd=folder, expect=0).stdout
    words = ["replay", "runs/a.tau", "--plan", "runs/p.toml", "--on", "pools"]
    tau(*words, "--instructions", "rv32", cwd=folder, expect=0)


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("isa", ["rv32", "m4"])
def test_a_random_recording_reaches_the_bounds(isa: str, level: int, tmp_path: Path) -> None:
    """To the instruction, within the limits; on Cortex-M4 realloc's too."""
    trace = random_trace(tmp_path / "a.tau", 3)
    plan = make_guarantee([trace], 0.0, "32").plan
    counts = count(trace, "pools", isa, plan, plan.heap_bytes, Build(level, "-O2"))
    for verb in ("malloc", "free", "aligned_alloc", *(["realloc"] if isa == "m4" else [])):
        assert counts[verb].max == counts[verb].bound, verb
    for verb in ("calloc", "realloc", "realloc_in_place"):
        assert counts[verb].max <= counts[verb].bound, verb


def _bounds(folder: Path) -> tuple:
    return load_plan(folder / "runs" / "p.toml").sections["bounds"].operations


def test_a_bound_that_is_too_small_is_still_found(folder: Path) -> None:
    """For calls within the limits, and for free in every run; the step is not a dead end."""
    tau(*PLAN, *WRITTEN, cwd=folder, expect=0)
    path = folder / "runs" / "p.toml"
    text = path.read_text()
    for operation, trace in (("malloc", "a"), ("free", "b")):
        row = rf'(operation = "{operation}", target = "m4".*bound = )\d+'
        path.write_text(re.sub(row, r"\g<1>9", text))
        words = ["verify", path, f"runs/{trace}.tau", "--target", "m4"]
        said = tau(*words, cwd=folder, expect=3).stdout
        assert re.search(rf"{operation} +\d+ instructions, bound 9  OVER", said)
        assert "the plan says 9" in said and "--guarantee" in said
