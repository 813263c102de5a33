"""`tau check`: sound files pass; each kind of damage is found and placed; plans go to plan.py."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tautochrone import unseen
from tautochrone.commands.check import check_file, command
from tautochrone.console import output
from tautochrone.errors import TauError
from tautochrone.facts import trace_format as form
from tautochrone.plan.bounds import Bound, Bounds
from tautochrone.plan.checking import check_plan
from tautochrone.plan.file import Plan, PlanClass, save_plan
from tautochrone.trace.checking import check_trace
from tautochrone.trace.file import TraceWriter, open_trace
from tool.tests.trace import trace_forge
from tool.tests.trace import trace_model as model


def test_sound_traces_have_no_problem(tmp_path: Path) -> None:
    for count in (0, 1, 70_000):
        model.write(tmp_path / "a.tau", model.random_events(count, count))
        kind, checked = check_file(tmp_path / "a.tau")
        others = [one for one in checked.problems if "does not hold every" not in one.cause]
        assert kind == "trace" and not others


def test_exit_status_and_json(tmp_path: Path) -> None:
    path = tmp_path / "a.tau"
    model.write(path, model.random_events(1, 100))
    result = CliRunner().invoke(command, [str(path), "--json"], standalone_mode=False)
    assert result.return_value == 0 and json.loads(result.stdout)["sound"] is True
    path.write_bytes(path.read_bytes()[:-1])
    result = CliRunner().invoke(command, [str(path), "--json"], standalone_mode=False)
    document = json.loads(result.stdout)
    assert result.return_value == 1 and document["sound"] is False
    assert document["problems"][0]["place"] == "footer"
    result = CliRunner().invoke(command, [str(path)], standalone_mode=False)
    assert "footer: the footer is damaged; every event was recovered" in result.stdout


def test_a_damaged_block_is_placed(tmp_path: Path) -> None:
    path = tmp_path / "a.tau"
    model.write(path, model.random_events(1, 3 * form.BLOCK_EVENTS_MAX))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    (problem,) = check_trace(path).problems
    assert problem.place == f"block 1, from event {form.BLOCK_EVENTS_MAX}"
    assert "damaged" in problem.cause


@pytest.mark.parametrize("word", range(23))
def test_a_forged_total_is_found(tmp_path: Path, word: int) -> None:
    """Checksums that fit do not help a footer that lies: each of its totals in turn."""
    path = tmp_path / "a.tau"
    model.write(path, model.random_events(1, 2000))
    data = bytearray(path.read_bytes())
    footer = int.from_bytes(data[-form.TRAILER_BYTES :][:8], "little")
    at = footer + form.CHUNK_HEADER_BYTES + 8 * word
    data[at] ^= 1
    trace_forge.seal_chunk(data, footer)
    path.write_bytes(data)
    assert check_trace(path).problems, word


def test_a_broken_rule_is_placed(tmp_path: Path) -> None:
    """A block from another trace: all checksums fit, but the free after it frees nothing."""
    count = form.BLOCK_EVENTS_MAX
    for name, first_ops in (
        ("kept", [model.MALLOC] + [model.REALLOC] * (count - 1)),
        ("freed", [model.MALLOC, model.FREE] * (count // 2)),
    ):
        op = np.array([*first_ops, model.FREE if name == "kept" else model.MALLOC], np.uint8)
        with TraceWriter(tmp_path / name, {}) as writer:
            zero = np.zeros(count + 1, np.uint64)
            writer.append(op=op, slot=zero, size_bytes=zero)
        assert check_trace(tmp_path / name).problems == []
    forged = trace_forge.replace_first_block(
        (tmp_path / "kept").read_bytes(), (tmp_path / "freed").read_bytes()
    )
    (tmp_path / "forged").write_bytes(forged)
    (problem,) = check_trace(tmp_path / "forged").problems
    assert problem.place == f"event {count}" and "[TRACE-26]" in problem.cause


def test_neither_trace_nor_plan(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\x7fELF\0\0\0")
    kind, checked = check_file(tmp_path / "x")
    assert kind == "unknown" and checked.problems[0].cause == "this is neither a trace nor a plan"
    (tmp_path / "x.csv").write_text("op,id,size\nmalloc,1,24\n")
    result = CliRunner().invoke(command, [str(tmp_path / "x.csv")], standalone_mode=False)
    assert result.return_value == 1
    assert "next: `tau import FILE" in result.stdout and "not looked at" not in result.stdout
    (tmp_path / "x.toml").write_text("a = ")
    kind, checked = check_file(tmp_path / "x.toml")
    assert kind == "plan" and checked.problems


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [("a.toml", b"\0", "plan"), ("a.txt", b"x", "unknown"), ("a.bin", b"\0", "unknown")],
)
def test_what_cannot_be_read_is_judged_by_its_name_and_its_bytes(
    tmp_path: Path, name: str, data: bytes, kind: str
) -> None:
    (tmp_path / name).write_bytes(data)
    assert check_plan(tmp_path / name, data)[0] == kind


def test_the_first_misuse_of_each_kind_is_told(tmp_path: Path) -> None:
    """With the event, the object if its slot is known, and the place of the call."""
    path = tmp_path / "a.tau"
    with TraceWriter(path, {}) as writer:
        site = writer.site("/bin/program", 0x4A)
        writer.append(
            op=[0, 4, 4, 4, 4],
            slot=[0, 0, 0, form.SLOT_NONE, form.SLOT_NONE],
            size_bytes=[24, 0, 0, 0, 0],
            flags=[0, 0, form.FLAG_DOUBLE_FREE, form.FLAG_UNKNOWN, form.FLAG_DOUBLE_FREE],
            site=[0, 0, site, 0, 0],
            time_ns=[0, 1, 2, 3, 4],
        )
    result = CliRunner().invoke(command, [str(path)], standalone_mode=False)
    assert result.return_value == 1
    told = result.stdout.splitlines()
    assert told == [
        f"{path}: recording: it does not hold every allocation: a free is of an object that it does"
        " not know",
        f"{path}: event 3: free of an object that the trace never allocated",
        f"{path}: event 2: free of an object that was already freed (slot 0), called at"
        " /bin/program+0x4a",
        f"{path}: trace, 1 problem",
        unseen.told(unseen.CHECKED["trace"]),
        "next: record again so that every allocation is seen",
    ]
    result = CliRunner().invoke(command, [str(path), "--json"], standalone_mode=False)
    assert [one["place"] for one in json.loads(result.stdout)["misuse"]] == ["event 3", "event 2"]


def test_misuse_of_a_program_is_not_a_problem_of_its_trace(tmp_path: Path) -> None:
    """Double frees alone: the recorder saw every allocation."""
    path = tmp_path / "a.tau"
    with TraceWriter(path, {}) as writer:
        flags = [0, 0, form.FLAG_DOUBLE_FREE]
        writer.append(op=[0, 4, 4], slot=[0, 0, 0], size_bytes=[24, 0, 0], flags=flags,
                      site=[0, 0, 0], time_ns=[0, 1, 2])  # fmt: skip
    result = CliRunner().invoke(command, [str(path)], standalone_mode=False)
    assert result.return_value == 0
    assert "no problems; the program misused its heap, see above" in result.stdout
    # A firmware's recorder may have missed another object at that address in between.
    with TraceWriter(path, {"recorder": "target"}) as writer:
        writer.append(op=[0, 4, 4], slot=[0, 0, 0], size_bytes=[24, 0, 0], flags=flags,
                      site=[0, 0, 0], time_ns=[0, 1, 2])  # fmt: skip
    result = CliRunner().invoke(command, [str(path)], standalone_mode=False)
    assert result.return_value == 1
    assert "it does not hold every allocation: a free is" in result.stdout
    assert "record_wrap.c" in result.stdout and "misused" not in result.stdout


def test_a_file_of_another_kind_is_told_by_its_kind(tmp_path: Path) -> None:
    source, plan = tmp_path / "x.c", tmp_path / "plan.toml"
    source.write_text("int main(void) { return 0; }\n")
    kind, checked = check_file(source)
    (problem,) = checked.problems
    assert (kind, problem.cause) == ("unknown", "this is neither a trace nor a plan")
    save_plan(Plan((), 64, "greedy", 0.0), plan, "a test")
    with pytest.raises(TauError, match="is a plan, not a trace"):
        open_trace(plan)


def test_bounds_that_a_plan_lacks_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A plan may lack all of them. If it lacks some, or has others, a new plan is the next step."""
    plan = Plan((PlanClass(24, 4),), 6400, "greedy", 0.0)
    save_plan(plan, tmp_path / "none.toml", "a test")
    output.configure(color="auto", quiet=False)
    check_plan(tmp_path / "none.toml", b"")
    assert "it has no [bounds]" in capsys.readouterr().err
    rows = (Bound("tlsf", "malloc", "m4", "Os-check1", "instructions", 9),)
    some = replace(plan, sections={"bounds": Bounds("0" * 64, rows)})
    save_plan(some, tmp_path / "some.toml", "a test")
    result = CliRunner().invoke(command, [str(tmp_path / "some.toml")], standalone_mode=False)
    assert "bounds: the plan has no bound of budget on rv32\n" in result.stdout
    assert result.stdout.endswith(f"next: tau plan -o {tmp_path / 'some.toml'} --force\n")
