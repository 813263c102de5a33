"""Every command that reads a trace says when events are missing from it, in its text and its JSON.

Method: traces that end too early for each reason there is are given to each command. Its text must
be the property of the opened trace, whose sentences are pinned here.
"""

import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner, Result

from tautochrone.commands.check import check_file
from tautochrone.errors import EXIT_FAILED
from tautochrone.facts import trace_format as form
from tautochrone.plan.file import load_plan
from tautochrone.trace.ending import BEGINNING, LOST, NO_END, NO_EXIT, RECOVERED, STOPPED
from tautochrone.trace.file import TraceWriter, open_trace
from tautochrone.trace.prefix import first_events
from tool.tests.trace import trace_forge

EVENTS = form.BLOCK_EVENTS_MAX + 100


def write(path: Path, **header: object) -> Path:
    """A trace of two blocks: objects of 40 bytes that come and go."""
    events = np.arange(EVENTS)
    with TraceWriter(path, {"command": ["x"], "ended": "exit", **header}) as writer:
        writer.append(
            op=np.where(events % 2, form.OP_FREE, form.OP_MALLOC),
            slot=np.zeros(EVENTS),
            size_bytes=np.where(events % 2, 0, 40),
            time_ns=events * 1000,
        )
    return path


def cut(path: Path, length: Callable[[bytes], int]) -> Path:
    """The same trace, but its file ends at `length`."""
    data = write(path).read_bytes()
    path.write_bytes(data[: length(data)])
    return path


def of_whole(path: Path, whole: Path) -> Path:
    first_events(whole, 1000, path)
    return path


def copied(path: Path) -> Path:
    """All events of a cut trace, in a file that was closed well."""
    whole = cut(path.with_name("cut.tau"), lambda data: trace_forge.chunks(data)[0][1])
    first_events(whole, EVENTS, path)
    return path


BLOCK = f"{form.BLOCK_EVENTS_MAX:,}"
# How the trace is made, the remark's kind, words of it, whether events are or may be missing.
ENDINGS: dict[str, tuple[Callable[[Path], Path], str, str, bool]] = {
    "cut in a block": (
        lambda path: cut(path, lambda data: trace_forge.chunks(data)[1][1] - 9),
        *(RECOVERED, f"recovered up to event {BLOCK}; "),
        True,
    ),
    "cut between blocks": (
        lambda path: cut(path, lambda data: trace_forge.chunks(data)[0][1]),
        *(RECOVERED, f"recovered up to event {BLOCK}; later events are lost"),
        True,
    ),
    "cut in the footer": (
        lambda path: cut(path, lambda data: trace_forge.chunks(data)[2][1] - 1),
        *(RECOVERED, f"recovered up to event {EVENTS:,}; "),
        True,
    ),
    "cut in the trailer": (
        lambda path: cut(path, lambda data: len(data) - 1),
        *(RECOVERED, "the footer is damaged; every event was recovered"),
        False,
    ),
    "copy of a cut one": (
        copied,
        *(RECOVERED, f"it is a copy of a trace in which the footer is missing or damaged: "
        f"recovered up to event {BLOCK}"),
        True,
    ),
    "disk full": (
        lambda path: write(path, truncated=True, truncated_reason="No space left on device"),
        *(STOPPED, f"stopped early, after event {EVENTS:,}: No space left on device"),
        True,
    ),
    "stopped without a reason": (
        lambda path: write(path, truncated=True),
        *(STOPPED, f"stopped early, after event {EVENTS:,}: no reason is given"),
        True,
    ),
    "a beginning": (
        lambda path: of_whole(path, write(path.with_name("whole.tau"))),
        *(BEGINNING, f"only the first 1,000 of {EVENTS:,} events"),
        True,
    ),
    "blocks lost": (
        lambda path: write(path, lost={"lost_blocks": 3, "dropped_rows": 0}),
        *(LOST, "3 blocks of the target's stream were lost in transfer"),
        True,
    ),
    "no end mark": (
        lambda path: write(path, ended="no end mark"),
        *(NO_END, "may lack its end: the target's stream has no end mark"),
        True,
    ),
    "killed": (
        lambda path: write(path, ended="killed by SIGKILL"),
        *(NO_EXIT, "the program did not run to its exit: killed by SIGKILL"),
        False,
    ),
}  # fmt: skip


@pytest.fixture(params=ENDINGS)
def ended(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str, str, bool]:
    """A trace with its remark's kind, words of it, and whether it is a gap."""
    make, kind, words, is_gap = ENDINGS[request.param]
    return make(tmp_path / "t.tau"), kind, words, is_gap


def tau(verb: str, *words: object) -> Result:
    """Run a command of `tau` in this process."""
    command = importlib.import_module(f"tautochrone.commands.{verb}").command
    done = CliRunner().invoke(command, [str(word) for word in words], standalone_mode=False)
    if done.exception:
        raise done.exception
    return done


def test_the_property_says_how_it_ended(ended: tuple[Path, str, str, bool]) -> None:
    path, kind, words, is_gap = ended
    with open_trace(path) as reader:
        ending = reader.ending
    (remark,) = ending.remarks
    assert (remark.kind, remark.is_gap, ending.is_complete) == (kind, is_gap, not is_gap)
    assert words in remark.cause and (ending.gaps == (remark.cause if is_gap else ""))


def test_a_complete_trace_has_no_remark(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tau")
    with open_trace(path) as reader:
        assert reader.ending.is_complete and not reader.ending.remarks
    kind, checked = check_file(path)
    assert kind == "trace" and not checked.problems
    for verb in ("info", "replay"):
        assert json.loads(tau(verb, path, "--json").stdout)["ending"]["remarks"] == []


@pytest.mark.parametrize(
    "header",
    [
        {"lost": 3, "ended": 7, "first_events": "a", "truncated_reason": 1},
        {"lost": {"x": "y", "z": -1, "v": True}, "recovered": {}, "whole_events": []},
    ],
)
def test_what_a_header_says_wrongly_is_passed_over(tmp_path: Path, header: dict) -> None:
    path = write(tmp_path / "t.tau", **header)
    with open_trace(path) as reader:
        assert reader.ending.remarks == ()


def test_info_says_it(ended: tuple[Path, str, str, bool]) -> None:
    path, kind, words, is_gap = ended
    assert words in tau("info", path).stdout
    (remark,) = json.loads(tau("info", path, "--json").stdout)["ending"]["remarks"]
    assert (remark["kind"], remark["gap"]) == (kind, is_gap) and words in remark["cause"]


def test_plan_says_it_and_so_does_the_plan(
    ended: tuple[Path, str, str, bool], tmp_path: Path
) -> None:
    path, _, words, is_gap = ended
    plan = tmp_path / "plan.toml"
    done = tau("plan", path, "--classes-max", 0, "-o", plan, "--json")
    assert words in done.stderr
    (recording,) = json.loads(done.stdout)["traces"]
    assert recording["ending"]["complete"] is not is_gap
    assert words in recording["ending"]["remarks"][0]["cause"]
    assert (words in load_plan(plan).traces[0].incomplete) == is_gap
    kind, checked = check_file(plan)
    assert kind == "plan" and (words in "".join(one.cause for one in checked.problems)) == is_gap
    assert words in tau("plan", path, "--classes-max", 0).stderr


def test_replay_says_it(ended: tuple[Path, str, str, bool]) -> None:
    path, _, words, is_gap = ended
    done = tau("replay", path, "--on", "tlsf", "--json")
    assert words in done.stderr
    document = json.loads(done.stdout)
    assert document["ending"]["complete"] is not is_gap
    assert words in document["ending"]["remarks"][0]["cause"]
    assert words in tau("replay", path, "--on", "tlsf").stderr


def test_report_says_it_where_it_is_seen(
    ended: tuple[Path, str, str, bool], tmp_path: Path
) -> None:
    path, _, words, is_gap = ended
    done = tau("report", path, "-o", tmp_path / "r.html", "--json")
    document = json.loads(done.stdout)
    assert words in done.stderr and words in document["remarks"][0]
    assert document["ending"]["complete"] is not is_gap
    header = (tmp_path / "r.html").read_text().partition("<header>")[2].partition("</header>")[0]
    assert words.replace("'", "&#x27;") in header and 'class="remark"' in header


def test_export_says_it(ended: tuple[Path, str, str, bool], tmp_path: Path) -> None:
    path, _, words, is_gap = ended
    assert words in tau("export", path, "-o", tmp_path / "told.csv").stderr
    for name in ("t.csv", "t.parquet"):
        done = tau("export", path, "-o", tmp_path / name, "--json")
        assert words in done.stderr
        assert json.loads(done.stdout)["ending"]["complete"] is not is_gap
    metadata = parquet.read_schema(tmp_path / "t.parquet").metadata
    assert words in json.loads(metadata[b"ending"])["remarks"][0]["cause"]


def test_export_to_a_pipe_says_it_next_to_the_events(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tau", truncated=True, truncated_reason="File too large")
    command = [sys.executable, "-m", "tautochrone", "export", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert "File too large" in done.stderr and "File too large" not in done.stdout
    assert len(done.stdout.splitlines()) == EVENTS + 1


def test_check_calls_it_a_problem(ended: tuple[Path, str, str, bool]) -> None:
    """Missing events are one; a killed program is not, if all of its events are there."""
    path, kind, words, is_gap = ended
    done = tau("check", path, "--json")
    document = json.loads(done.stdout)
    is_problem = is_gap or kind == RECOVERED
    assert (done.return_value == EXIT_FAILED) == is_problem != document["sound"]
    assert (words in "".join(one["cause"] for one in document["problems"])) == is_problem
    assert document["ending"]["complete"] is not is_gap
    told = tau("check", path)
    assert words in (told.stdout if is_problem else told.stderr)


def test_a_replayed_beginning_is_said_to_be_one(tmp_path: Path) -> None:
    """By `replay --events`, and by the report of its output."""
    path, replayed = write(tmp_path / "t.tau"), tmp_path / "replay.json"
    done = tau("replay", path, "--on", "tlsf", "--events", 500, "--json")
    words = f"only the first 500 of {EVENTS:,} events"
    assert words in done.stderr and str(path) in done.stderr
    assert words in json.loads(done.stdout)["ending"]["remarks"][0]["cause"]
    replayed.write_text(done.stdout)
    done = tau("report", path, "--replay", replayed, "-o", tmp_path / "r.html", "--json")
    (remark,) = json.loads(done.stdout)["remarks"]
    assert words in remark and str(replayed) in remark
    assert words in (tmp_path / "r.html").read_text()
    tau("replay", path, "--on", "tlsf", "--events", EVENTS, "--json")


def test_a_plan_of_an_incomplete_recording_is_told_where_it_is_used(tmp_path: Path) -> None:
    stopped = write(tmp_path / "s.tau", truncated=True, truncated_reason="File too large")
    plan, whole = tmp_path / "plan.toml", write(tmp_path / "t.tau")
    tau("plan", stopped, "--classes-max", 0, "-o", plan)
    words = "made from s.tau, which is incomplete: the recorder stopped early"
    assert words in tau("replay", whole, "--plan", plan).stderr
    done = tau("report", whole, "--plan", plan, "-o", tmp_path / "r.html", "--json")
    assert words in done.stderr and words in (tmp_path / "r.html").read_text()
