"""`tau report` writes one file, lists its contents, and refuses input that it cannot use.

Method: a trace of a few events is written, and the command is called on it.
"""

import base64
import json
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from tautochrone.commands import replay, report
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.plan.file import Plan, PlanClass, PlanTrace, save_plan
from tautochrone.report.heap_map import ROWS, heap_map
from tautochrone.trace.file import TraceWriter, open_trace
from testing.random_trace import write_events

REPLAY: dict[str, Any] = {
    "version": 1,
    "command": "replay",
    "systems": [
        {"name": "tlsf", "role": "ours", "completed": True, "footprint_bytes": 2000},
        {"name": "budget", "role": "planned", "completed": True, "footprint_bytes": 1500},
    ],
}


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A trace of four events with a peak of 1148 bytes."""
    path = tmp_path / "program.tau"
    with TraceWriter(path, {"command": ["./program", "--name", "a b"]}) as writer:
        writer.append(
            op=np.array([0, 0, 0, 4]),
            slot=np.array([0, 1, 2, 1]),
            size_bytes=np.array([24, 1000, 124, 0]),
            time_ns=np.array([0, 10, 20, 30]),
        )
    return path


def called(*arguments: str | Path) -> Result:
    """Call `tau report` and return its result; a TauError comes through."""
    words = [str(word) for word in arguments]
    return CliRunner().invoke(report.command, words, standalone_mode=False, catch_exceptions=False)


def test_json_says_what_the_report_holds(trace: Path, tmp_path: Path) -> None:
    plan, replay = tmp_path / "plan.toml", tmp_path / "replay.json"
    out = tmp_path / "new" / "r.html"
    classes = (PlanClass(20, 1), PlanClass(124, 2))
    save_plan(Plan(classes, 1500, "greedy", 0.0), plan, "a test")
    replay.write_text(json.dumps(REPLAY))
    done = called(trace, "--plan", plan, "--replay", replay, "-o", out, "--json")
    document = json.loads(done.stdout)
    assert document["events"] == 4 and document["peak_live_bytes"] == 1148
    assert document["panels"] == ["live-bytes", "footprints", "classes", "sizes"]
    assert "1,500 bytes" in document["verdict"] and "25 % less than plain" in document["verdict"]
    text = out.read_text()
    assert "./program --name &#x27;a b&#x27;" in text
    assert "\n24,1,1,24\n128,2,1,256\n" in text, "the classes' CSV: N and P of rounded sizes"
    assert "The small figures show the live objects of each pool; the line is N." in text


def test_plans_of_both_kinds_stand_in_one_report(trace: Path, tmp_path: Path) -> None:
    """The verdict is on the given plan; a guarantee next to it is stated and drawn."""
    replay = tmp_path / "replay.json"
    pools = {"name": "pools", "role": "planned", "completed": True, "footprint_bytes": 2400}
    replay.write_text(json.dumps({**REPLAY, "systems": [*REPLAY["systems"], pools]}))
    classes = (PlanClass(32, 1), PlanClass(1000, 2))
    recorded, guaranteed = tmp_path / "plan.toml", tmp_path / "guaranteed.toml"
    save_plan(Plan((PlanClass(20, 1),), 1500, "greedy", 0.0), recorded, "a test")
    bands = Plan(classes, 2400, "bands", 0.0, recorded_counts=(3, 2), stated_counts=(1, 0))
    save_plan(bands, guaranteed, "a test")
    said = {}
    for plan in (recorded, guaranteed):
        out = tmp_path / f"{plan.stem}.html"
        words = (trace, "--plan", plan, "--replay", replay, "-o", out, "--json")
        said[plan.stem] = json.loads(called(*words).stdout)["verdict"]
        assert "\npools,2400," in out.read_text()
    assert "1,500 bytes" in said["plan"] and "25 % less than plain TLSF" in said["plan"]
    assert said["plan"].endswith("in any order of calls, takes 2,400 B (pools).")
    assert "2,400 bytes" in said["guaranteed"] and "plain TLSF 2,000" in said["guaranteed"]
    assert "1,500" not in said["guaranteed"] and "(pools)" not in said["guaranteed"]
    limits = """sizes from,sizes up to,limit,recorded,stated by the user,this recording
1,32,1,3,1,1
33,1000,2,2,0,2
"""
    assert limits in out.read_text(), "24 is of the band of 32"
    assert "No call fails while at most 1 of up to 32 bytes" in out.read_text()


def pixels(address: str) -> np.ndarray:
    """The rows of a picture of our own writer, which uses no filter, from a data address."""
    data, made, at = base64.b64decode(address.split(",")[1]), b"", 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        made += data[at + 8 : at + 8 + length] if kind == b"IDAT" else b""
        at += length + 12
    width, height = struct.unpack(">II", data[16:24])
    rows = np.frombuffer(zlib.decompress(made), np.uint8).reshape(height, width + 1)
    assert not rows[:, 0].any()
    return rows[:, 1:]


def test_the_map_grows_upwards_with_the_heap(tmp_path: Path) -> None:
    """Twenty objects lie one above the other, and go until only the lowest is left."""
    count, size_bytes, heap_bytes = 20, 6000, 192_000
    events = [(0, slot, size_bytes, 0) for slot in range(count)]
    events += [(4, slot, 0, 0) for slot in range(count - 1, 0, -1)]
    plan = Plan((), heap_bytes, "greedy", 0.0)
    with open_trace(write_events(tmp_path / "a.tau", events)) as reader:
        panel = heap_map(reader, plan)
        assert heap_map(reader, replace(plan, heap_bytes=count * size_bytes)) is None
    assert panel is not None and panel.figure is not None
    (picture,) = panel.figure.marks
    shades, row_bytes = pixels(picture.options["address"]), heap_bytes // ROWS + 1
    tops = panel.columns["used_up_to_bytes"]
    for column, done in enumerate(panel.columns["event"]):
        used = done if done <= count else 1 + len(events) - done
        least = used * size_bytes
        # Behind the tables and before the end of the row.
        assert 0 < tops[column] - least < 6000 + row_bytes, (done, tops[column])
        drawn = np.flatnonzero(shades[:, column])
        assert drawn[0] == ROWS - -(-tops[column] // row_bytes) and drawn[-1] >= ROWS - 4
        assert shades[:, column].sum() == pytest.approx(255 * least / row_bytes, rel=0.02)


def test_a_report_is_not_overwritten_unless_told(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    out.write_text("precious")
    with pytest.raises(TauError) as raised:
        called(trace, "-o", out)
    assert raised.value.exit_code == EXIT_USAGE
    assert out.read_text() == "precious"
    called(trace, "-o", out, "--force")
    assert "precious" not in out.read_text()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"command": "plan"}',
        '{"command": "replay"}',
        '{"command": "replay", "systems": [{"name": "tlsf"}]}',
        '{"command": "replay", "systems": 3}',
    ],
)
def test_a_file_that_is_not_a_replay_is_refused(text: str, trace: Path, tmp_path: Path) -> None:
    replay, out = tmp_path / "replay.json", tmp_path / "r.html"
    replay.write_text(text)
    with pytest.raises(TauError, match="is not output of `tau replay --json`"):
        called(trace, "--replay", replay, "-o", out)
    assert not out.exists()


def test_a_trace_without_events_still_makes_a_report(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "empty.tau", {}):
        pass
    done = called(tmp_path / "empty.tau", "-o", tmp_path / "r.html", "--json")
    assert json.loads(done.stdout)["peak_live_bytes"] == 0


def test_a_report_can_go_to_stdout(trace: Path, tmp_path: Path) -> None:
    assert called(trace, "-o", "-").stdout.startswith("<!doctype html>")
    with pytest.raises(TauError) as raised:
        called(trace, "-o", "-", "--picture", tmp_path / "r.png")
    assert raised.value.exit_code == EXIT_USAGE


def test_budget_without_a_plan_is_a_usage_error(trace: Path, tmp_path: Path) -> None:
    with pytest.raises(TauError, match="budget needs a plan"):
        called(trace, "--on", "tlsf,budget", "-o", tmp_path / "r.html")


@pytest.mark.parametrize(
    "damage",
    [
        {"systems": [{**REPLAY["systems"][0], "name": 3}]},
        {"systems": [{**REPLAY["systems"][0], "role": "friend"}]},
        {"systems": [{**REPLAY["systems"][0], "role": ["ours"]}]},
        {"systems": [{**REPLAY["systems"][0], "name": "a b"}]},
        {"systems": [{**REPLAY["systems"][0], "footprint_bytes": "2000"}]},
        {"systems": [{**REPLAY["systems"][0], "footprint_bytes": float("nan")}]},
        {"systems": [{**REPLAY["systems"][0], "footprint_bytes": 2**64}]},
        {"systems": [{**REPLAY["systems"][0], "completed": "yes"}]},
        {"systems": [{**REPLAY["systems"][0], "operations": [1]}]},
        {"systems": [{**REPLAY["systems"][0], "operations": {"free": {"count": -1}}}]},
        {"systems": [{**REPLAY["systems"][0], "peak_mapped_pages": 2}]},
        {"systems": [REPLAY["systems"][0]] * 2},
        {"instructions": ["rv32"]},
        {"trace": 7},
    ],
)
def test_a_replay_of_wrong_types_is_refused(
    damage: dict[str, Any], trace: Path, tmp_path: Path
) -> None:
    replay = tmp_path / "replay.json"
    replay.write_text(json.dumps({**REPLAY, **damage}))
    expected = "is not output of `tau replay --json`: .*(expected|finite)"
    with pytest.raises(TauError, match=expected):
        called(trace, "--replay", replay, "-o", tmp_path / "r.html")


def test_a_replay_whose_counts_are_all_zero_is_drawn(trace: Path, tmp_path: Path) -> None:
    calls = {"count": 1, "max_instructions": 0, "p999_instructions": 0, "bound_instructions": None}
    systems = [{**REPLAY["systems"][0], "operations": {"malloc": calls}}]
    replay = tmp_path / "replay.json"
    replay.write_text(json.dumps({**REPLAY, "systems": systems}))
    assert called(trace, "--replay", replay, "-o", tmp_path / "r.html").exit_code == 0


def test_on_replays_and_shows_what_was_found(trace: Path, tmp_path: Path) -> None:
    done = called(trace, "--on", "tlsf,static", "-o", tmp_path / "r.html", "--json")
    systems = json.loads(done.stdout)["systems"]
    assert [one["name"] for one in systems] == ["tlsf", "static"]
    assert all(one["completed"] and one["footprint_bytes"] >= 1148 for one in systems)


def test_a_system_that_is_named_twice_is_drawn_once(
    trace: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A system is in a file of --replay and twice in --on; the library of the drawings is heard."""
    replay = tmp_path / "replay.json"
    replay.write_text(json.dumps(REPLAY))
    words = ("--replay", replay, "--on", "tlsf,tlsf", "-o", tmp_path / "r.html", "--json")
    systems = json.loads(called(trace, *words).stdout)["systems"]
    assert [one["name"] for one in systems] == ["tlsf", "budget"] and not caplog.records
    assert systems[0]["footprint_bytes"] != REPLAY["systems"][0]["footprint_bytes"]


@pytest.mark.parametrize(
    ("clock", "is_timed"),
    [
        *((None, True), ("monotonic", True), ("time-stamp counter", True)),
        *(("accesses", False), ("events", False)),
    ],
)
def test_the_time_axis_is_there_whichever_clock_told_the_time(
    clock: str | None, is_timed: bool, tmp_path: Path
) -> None:
    path, out = tmp_path / "t.tau", tmp_path / "r.html"
    with TraceWriter(path, {} if clock is None else {"clock": clock}) as writer:
        times = np.array([0, 2_500_000_000])
        writer.append(op=[0, 0], slot=[0, 1], size_bytes=[8, 8], time_ns=times)
    called(path, "-o", out)
    text = out.read_text()
    assert ("time (s),live_bytes_min" in text) == is_timed
    assert ("<dt>duration</dt><dd>2.500 s</dd>" in text) == is_timed


def test_the_headline_states_the_heap_with_its_margin(trace: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    save_plan(Plan((), 4400, "greedy", 0.0, margin=0.1), plan, "a test")
    replay = tmp_path / "replay.json"
    replay.write_text(json.dumps(REPLAY))
    done = called(trace, "--plan", plan, "--replay", replay, "-o", tmp_path / "r.html", "--json")
    verdict = json.loads(done.stdout)["verdict"]
    assert "needs a heap of 4,400 B (4,400 bytes). That is" in verdict
    assert ", its margin of 10 % included. The" in verdict
    assert "The least safe heap for this recording is 1,500 bytes: 25 % less" in verdict


def test_a_replay_of_another_trace_is_refused(trace: Path, tmp_path: Path) -> None:
    """Its heaps say nothing of this trace's peak; the count of events tells them apart."""
    replay = tmp_path / "replay.json"
    for events, is_refused in ((4, False), (5, True)):
        replay.write_text(json.dumps(REPLAY | {"trace": "other.tau", "events": events}))
        words = (trace, "--replay", replay, "-o", tmp_path / "r.html", "--force")
        if not is_refused:
            called(*words)
            continue
        with pytest.raises(TauError, match="a replay of the trace other.tau, not of") as refused:
            called(*words)
        assert str(trace) in str(refused.value.next_step)


def test_a_plan_that_is_too_small_is_said_to_be(trace: Path, tmp_path: Path) -> None:
    plan, replay = tmp_path / "plan.toml", tmp_path / "replay.json"
    save_plan(Plan((), 1496, "greedy", 0.0), plan, "a test")
    replay.write_text(json.dumps(REPLAY))
    done = called(trace, "--plan", plan, "--replay", replay, "-o", tmp_path / "r.html", "--json")
    verdict = json.loads(done.stdout)["verdict"]
    assert verdict == (
        "The plan's heap of 1,496 bytes is too small for this recording. It needs at least 1,500"
        " bytes; plan all recordings together."
    )


@pytest.mark.parametrize(
    ("duration_ns", "unit", "told"),
    [
        (900, "µs", "0.900 µs"),
        (999_999, "µs", "999.999 µs"),
        (1_000_000, "ms", "1.000 ms"),
        (1_200_000_000, "s", "1.200 s"),
    ],
)
def test_the_time_axis_has_the_unit_of_its_duration(
    duration_ns: int, unit: str, told: str, tmp_path: Path
) -> None:
    path, out = tmp_path / "t.tau", tmp_path / "r.html"
    with TraceWriter(path, {}) as writer:
        times = np.array([0, duration_ns])
        writer.append(op=[0, 0], slot=[0, 1], size_bytes=[8, 8], time_ns=times)
    called(path, "-o", out)
    assert f"time ({unit}),live_bytes_min" in out.read_text()
    assert f"<dt>duration</dt><dd>{told}</dd>" in out.read_text()


@pytest.mark.parametrize(
    ("header", "is_noted"),
    [
        ({"program": "/bin/other"}, True),
        ({"program": "/elsewhere/seq"}, False),
        ({}, False),
        ({"program": "wednesday", "recorder": "target"}, False),
    ],
)
def test_a_plan_of_another_program_is_noted(
    tmp_path: Path, header: dict[str, str], is_noted: bool
) -> None:
    """By report and replay, on stderr. A capture of a firmware has no program's name."""
    path, plan = tmp_path / "program.tau", tmp_path / "plan.toml"
    with TraceWriter(path, header) as writer:
        writer.append(op=[0, 4], slot=[0, 0], size_bytes=[24, 0])
    made_from = PlanTrace("seq.tau", "0" * 64, 2, 24, program="seq")
    save_plan(Plan((), 1500, "greedy", 0.0, traces=(made_from,)), plan, "a test")
    page = tmp_path / "r.html"
    for done in (
        called(path, "--plan", plan, "-o", page),
        CliRunner().invoke(
            replay.command,
            [str(path), "--plan", str(plan), "--on", "tlsf"],
            standalone_mode=False,
            catch_exceptions=False,
        ),
    ):
        note = f"tau: {plan}: the plan is of seq, not of other\n"
        assert (note in done.stderr) == is_noted == ("not of" in done.stderr)
        assert "not of" not in done.stdout
