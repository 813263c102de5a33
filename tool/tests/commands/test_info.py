"""`tau info`: its JSON against the model, its text, and that it reads the footer only."""

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from tautochrone.commands.info import command
from tautochrone.errors import TauError
from tautochrone.facts import trace_format as form
from tautochrone.plan.bounds import Bound, Bounds
from tautochrone.plan.file import Plan, PlanClass, PlanTrace, save_plan
from testing.random_trace import MALLOC, write_events
from tool.tests.trace import trace_model as model


def run(path: Path, *options: str) -> str:
    result = CliRunner().invoke(command, [str(path), *options], standalone_mode=False)
    if result.exception:
        raise result.exception
    return result.stdout


def test_a_plan_with_a_heap(tmp_path: Path) -> None:
    """Its heap, its recordings and its sections."""
    path = tmp_path / "plan.toml"
    trace = PlanTrace("t.tau", "00" * 32, 77, 600, program="server")
    rows = (Bound("run", "malloc", "x86-64", "O3-check1", "instructions", 333),)
    sections = {"bounds": Bounds("00" * 32, rows)}
    plan = Plan((PlanClass(24, 4),), 6400, "greedy", 0.0, 0.1, "host", "exact", (trace,), sections)
    save_plan(plan, path, "a test")
    text = run(path)
    assert "6,400 bytes, layout host, margin 10 %: 128 in 1 pool, 6,272 shared" in text
    assert "from t.tau of server: 77 events, 600 bytes live at the peak" in text
    assert "[bounds]" in text and "malloc 333" in text
    document = json.loads(run(path, "--json"))
    assert document["heap"]["classes"] == [{"size_bytes": 24, "count": 4}]
    assert document["heap"]["traces"][0]["program"] == "server"
    assert document["sections"]["bounds"]["bounds"][0]["bound"] == 333


def test_json_holds_what_the_model_computes(tmp_path: Path) -> None:
    seed = time.time_ns() % 2**32
    print("seed", seed)
    events = model.random_events(seed, 5000)
    model.write(tmp_path / "a.tau", events, command=["x", "--y z"])
    document = json.loads(run(tmp_path / "a.tau", "--json"))
    wanted = model.totals_of(events)
    assert document["version"] == 1 and document["command"] == "info"
    assert document["events"] == 5000
    assert document["peak_live_bytes"] == wanted["peak_live_bytes"]
    assert tuple(document["operations"].values()) == wanted["events_of_op"]
    assert [tuple(size.values()) for size in document["sizes"]] == wanted["sizes"]
    assert document["misuse"]["unknown_frees"] == wanted["unknown_count"]
    assert document["misuse"]["double_frees"] == wanted["double_free_count"]
    assert document["header"]["command"] == ["x", "--y z"]


def test_text_tells_who_how_much_and_what_next(tmp_path: Path) -> None:
    events = model.random_events(3, 5000)
    model.write(
        tmp_path / "a.tau", events, command=["x", "--y z"], started_unix_ns=1_700_000_000 * 10**9
    )
    text = run(tmp_path / "a.tau")
    for part in ("x '--y z'", "2023-11-1", "5,000", "objects that it does not know",
                 "the first is event", "every allocation is seen",
                 "double frees", f"{model.totals_of(events)['peak_live_objects']:,} objects",
                 f"next: tau check {tmp_path / 'a.tau'}"):  # fmt: skip
        assert part in text, part
    assert "recovered" not in text
    sizes = len(json.loads(run(tmp_path / "a.tau", "--json"))["sizes"])
    assert sizes > 10 and f"… {sizes - 10} more; --json has all" in text


def test_a_recording_of_accesses_tells_them_and_its_clock(tmp_path: Path) -> None:
    events = model.random_events(3, 5000)
    accesses = {"heap_loads": 7000, "heap_stores": 800, "other_loads": 90, "other_stores": 1}
    model.write(tmp_path / "a.tau", events, clock="accesses", accesses=accesses)
    document = json.loads(run(tmp_path / "a.tau", "--json"))
    touched = model.totals_of(events)["touched_granules"]
    assert document["touched_granules"] == touched > 0
    assert document["clock"] == "accesses" and document["accesses"] == accesses
    text = run(tmp_path / "a.tau")
    touches = document["operations"]["touch"]
    assert f"in {document['duration_ns']:,} heap accesses" in text
    assert "7,800 of the heap, 91 of other" in text
    assert f"{touches:,} touch" in text and f"{16 * touched:,} bytes" in text


def test_an_empty_and_a_recovered_trace(tmp_path: Path) -> None:
    path = tmp_path / "a.tau"
    model.write(path, model.random_events(3, 0))
    assert json.loads(run(path, "--json"))["events"] == 0
    run(path)
    model.write(path, model.random_events(3, 100))
    path.write_bytes(path.read_bytes()[:-1])
    document = json.loads(run(path, "--json"))
    assert document["recovered"] is True and document["events"] == 100
    assert "the footer is damaged; every event was recovered" in run(path)


def test_blocks_are_not_read(tmp_path: Path) -> None:
    """Damage in a block does not disturb `info`: so its time does not depend on the events."""
    path = tmp_path / "a.tau"
    model.write(path, model.random_events(3, form.BLOCK_EVENTS_MAX))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert json.loads(run(path, "--json"))["events"] == form.BLOCK_EVENTS_MAX


def test_no_trace(tmp_path: Path) -> None:
    (tmp_path / "a.tau").write_text("hello, this is not a trace")
    with pytest.raises(TauError, match="not a trace"):
        run(tmp_path / "a.tau")


def test_one_is_not_told_in_the_plural(tmp_path: Path) -> None:
    path = write_events(tmp_path / "a.tau", [(MALLOC, 0, 24, 0)])
    text = run(path)
    assert "peak         24 bytes; at most 1 object at once" in text
    assert "never freed  24 bytes, 1 object\n" in text
    assert f"next: tau plan {path} -o plan.toml" in text
