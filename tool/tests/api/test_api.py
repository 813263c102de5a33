"""The functions for Python give what the commands print. Method: both on the same recordings."""

import json
from pathlib import Path
from typing import Any

import pytest

from tautochrone import api
from tautochrone.errors import TauError
from tautochrone.plan.file import load_plan
from tautochrone.trace.file import OPS
from testing.command import tau
from testing.random_trace import random_trace

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def traces(tmp_path: Path) -> list[Path]:
    return [random_trace(tmp_path / f"{seed}.tau", seed, events=400) for seed in (1, 2)]


def said(*words: str | Path) -> dict[str, object]:
    """The JSON of a command that must succeed."""
    done = tau(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_events_are_those_of_the_trace(traces: list[Path]) -> None:
    events, info = api.read(traces[0]), said("info", traces[0])
    counts = events["op"].value_counts()
    assert {op: int(counts[op]) for op in OPS} == info["operations"]
    assert events.attrs["header"] == info["header"] and events.attrs["ending"] == info["ending"]
    assert len(events) == info["events"]


def test_a_plan_is_that_of_the_command(traces: list[Path], tmp_path: Path) -> None:
    said("plan", *traces, "-o", tmp_path / "plan.toml")
    made = api.plan(traces)
    assert made == load_plan(tmp_path / "plan.toml")
    assert api.plan(traces, margin=0.5).heap_bytes > made.heap_bytes


def test_a_replay_is_that_of_the_command(traces: list[Path]) -> None:
    names, made = ["tlsf", "budget"], api.plan(traces)
    systems = api.replay(traces[0], names, plan=made)
    assert list(systems.index) == names
    expected = said("replay", traces[0], "--on", "tlsf", "--layout", made.layout)["systems"][0]
    for key in ("footprint_bytes", "completed", "events"):
        assert systems.loc["tlsf", key] == expected[key]
    count = expected["operations"]["malloc"]["count"]
    assert systems.loc["tlsf", "operations.malloc.count"] == count
    assert not api.replay(traces[0], heap_bytes=64).loc["tlsf", "completed"]


def test_failures_are_ours(tmp_path: Path) -> None:
    for call in (api.read, api.replay, lambda path: api.plan([path])):
        with pytest.raises(TauError, match="no such file"):
            call(tmp_path / "missing.tau")


def test_one_trace_or_system_needs_no_list(traces: list[Path]) -> None:
    assert api.plan(traces[0], margin=0) == api.plan(str(traces[0]), margin=0)
    assert list(api.replay(traces[0], "tlsf").index) == ["tlsf"]


@pytest.mark.parametrize(
    "wrong",
    [{"margin": -1}, {"margin": float("nan")}, {"margin": float("inf")}, {"margin": "10%"}]
    + [{"classes_max": -1}, {"classes_max": 1 << 40}, {"planner": "bands"}, {"planner": "nope"}]
    + [{"pools": None}, {"layout": "nope"}],
    ids=str,
)
def test_an_option_that_no_plan_can_have_is_refused(
    traces: list[Path], wrong: dict[str, Any]
) -> None:
    """With its name, before a trace is read."""
    (name,) = wrong
    with pytest.raises(TauError, match=name):
        api.plan(traces, **wrong)


def test_none_is_refused(traces: list[Path]) -> None:
    with pytest.raises(TauError, match="no recording is given"):
        api.plan([])
    with pytest.raises(TauError, match="no system is given"):
        api.replay(traces[0], [])


def test_the_notebook_runs_and_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cells, in their order, in one namespace; its live bytes are those that `tau` counts."""
    notebook = json.loads((ROOT / "docs/tutorials/data-frames.ipynb").read_text())
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    peak_bytes = said("info", tmp_path / "run.tau")["peak_live_bytes"]
    assert names["live_bytes"].max() == peak_bytes > 0
    assert names["made"].heap_bytes >= peak_bytes and names["systems"]["completed"].all()
