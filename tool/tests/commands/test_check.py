"""`tau check`: sound files pass; each kind of damage is found and placed; plans go to plan.py."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tautochrone.commands.check import check_file, command
from tautochrone.facts import trace_format as form
from tautochrone.plan.checking import check_plan
from tautochrone.trace.checking import check_trace
from tautochrone.trace.file import TraceWriter
from tool.tests.trace import trace_forge
from tool.tests.trace import trace_model as model


def test_sound_traces_have_no_problem(tmp_path: Path) -> None:
    for count in (0, 1, 70_000):
        model.write(tmp_path / "a.tau", model.random_events(count, count))
        assert check_file(tmp_path / "a.tau") == ("trace", [])


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
    (problem,) = check_trace(path)
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
    assert check_trace(path), word


def test_a_broken_rule_is_placed(tmp_path: Path) -> None:
    """A block from another trace: all checksums fit, but the free behind it frees nothing."""
    count = form.BLOCK_EVENTS_MAX
    for name, first_ops in (
        ("kept", [model.MALLOC] + [model.REALLOC] * (count - 1)),
        ("freed", [model.MALLOC, model.FREE] * (count // 2)),
    ):
        op = np.array([*first_ops, model.FREE if name == "kept" else model.MALLOC], np.uint8)
        with TraceWriter(tmp_path / name, {}) as writer:
            zero = np.zeros(count + 1, np.uint64)
            writer.append(op=op, slot=zero, size_bytes=zero)
        assert check_trace(tmp_path / name) == []
    forged = trace_forge.replace_first_block(
        (tmp_path / "kept").read_bytes(), (tmp_path / "freed").read_bytes()
    )
    (tmp_path / "forged").write_bytes(forged)
    (problem,) = check_trace(tmp_path / "forged")
    assert problem.place == f"event {count}" and "[TRACE-26]" in problem.cause


def test_neither_trace_nor_plan(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\x7fELF\0\0\0")
    kind, problems = check_file(tmp_path / "x")
    assert kind == "unknown" and problems[0].cause == "this is neither a trace nor a plan"
    (tmp_path / "x.toml").write_text("a = ")
    kind, problems = check_file(tmp_path / "x.toml")
    assert kind == "plan" and problems


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [("a.toml", b"\0", "plan"), ("a.txt", b"x", "plan"), ("a.bin", b"\0", "unknown")],
)
def test_what_cannot_be_read_is_judged_by_its_name_and_its_bytes(
    tmp_path: Path, name: str, data: bytes, kind: str
) -> None:
    (tmp_path / name).write_bytes(data)
    assert check_plan(tmp_path / name, data)[0] == kind
