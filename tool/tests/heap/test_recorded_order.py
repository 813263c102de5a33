"""What `tau plan --guarantee` says of heaps that hold the recorded order only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tautochrone.errors import TauError
from tautochrone.heap import recorded_order
from tautochrone.heap.guarantee import make_guarantee
from tautochrone.heap.plan import Wanted
from tautochrone.replay.run import completes
from testing.command import tau
from testing.random_trace import random_trace

LAYOUT = ("--layout", "32")


def test_the_plan_without_a_guarantee_stands_beside_it(tmp_path: Path) -> None:
    """Both are safe heaps; the one of a plan is searched only if asked for."""
    shape = {"events": 2000, "live_max": 80}
    traces = [random_trace(tmp_path / f"{seed}.tau", seed, **shape) for seed in (1, 2)]
    words = ["plan", *traces, *LAYOUT]
    plain = json.loads(tau(*words, "--margin", "0%", "--json", expect=0).stdout)
    compared = json.loads(tau(*words, "--guarantee", "--compare", "--json", expect=0).stdout)
    others = json.loads(tau(*words, "--guarantee", "--json", expect=0).stdout)["others"]
    assert others == {**compared["others"], "plan_bytes": None}
    tlsf, plan = others["tlsf_bytes"], compared["others"]["plan_bytes"]
    assert compared["peak_live_bytes"] < plan <= tlsf < others["any_order_bytes"]
    assert plan <= plain["heap_bytes"] and all(completes(each, "tlsf", tlsf) for each in traces)
    assert not all(completes(each, "tlsf", tlsf - 8) for each in traces)
    said = tau(*words, "--guarantee", expect=0).stdout
    assert f"plain TLSF       {tlsf:>14,} bytes" in said and "add --compare" in said
    said = tau(*words, "--guarantee", "--compare", expect=0).stdout
    assert f"recorded plan    {plan:>14,} bytes" in said
    assert "--compare needs --guarantee" in tau(*words, "--compare", expect=2).stderr


def test_recordings_that_no_heap_holds_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guarantee stands; TLSF's line says why it has no number."""
    made = make_guarantee([random_trace(tmp_path / "a.tau", 1, events=200, live_max=20)], 0.0, "32")

    def none(*_: object) -> int:
        raise TauError("too large")

    monkeypatch.setattr(recorded_order, "safe_heap", none)
    order = recorded_order.recorded_order(made, Wanted(layout="32"), False)
    assert order == (None, None)
    assert recorded_order.told(order)[0].endswith("holds them in no heap")
