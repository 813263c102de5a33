"""The demo shows the tile where its simulators can be built, and goes on without it elsewhere.

Method: the steps answer with what `tau` would print; only the building of simulators fails or not.
"""

import json
from pathlib import Path
from typing import Any

import demo
import pytest

from tautochrone.errors import TauError


def system(name: str, unit: str, bound: int | None) -> dict[str, Any]:
    """An entry of "systems"."""
    cost = {f"max_{unit}": 429, f"bound_{unit}": bound}
    return {
        "name": name,
        "peak_mapped_pages": 581,
        "operations": {"malloc": cost, "free": cost, "load": {"max_cycles": 3}},
    }


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The systems of each replay, in order, of a demo whose steps are played."""
    done: list[str] = []

    def step(_text: str, verb: str, *words: str, shows: bool = False) -> dict[str, Any]:
        if verb == "record":
            return {"trace": {"program": "cc1", "events": 9}}
        if "--guarantee" in words:
            sizes = {"heap_bytes": 9000, "measured_heap_bytes": 8000}
            return {**sizes, "pools": [{}, {}], "margin": 0.15}
        if verb == "plan":
            return {"classes": [], "dedicated_bytes": 1, "shared_bytes": 2}
        if verb == "report":
            return {"sentences": ["With the plan, it holds."]}
        done.append(words[words.index("--on") + 1])
        assert shows == ("tile" in done[-1])
        unit = "cycles" if "tile" in done[-1] else "instructions"
        return {"systems": [system(name, unit, 613) for name in done[-1].split(",")]}

    monkeypatch.setattr(demo, "ROOT", tmp_path)
    monkeypatch.setattr(demo.output, "configure", lambda *_, **__: None)  # other tests print notes
    monkeypatch.setattr(demo, "step", step)
    monkeypatch.setattr(demo.demo_firmware, "on_its_plan", lambda *_: "It runs on its plan.")
    monkeypatch.setattr(demo, "installed_systems", lambda: "tlsf,budget")
    return done


def test_the_tile_is_shown(
    steps: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(demo.tile_systems, "simulator", lambda system: Path("simulator"))
    demo.main()
    assert steps == ["tlsf,budget", "pools", "rtvm,conventional", "tile:rtmmu,tile:pagetable"]
    said = capsys.readouterr().out
    assert "in any order of calls: 9,000 bytes for 2 pools" in said
    assert "limits have a margin of 15 % (8,000 bytes without that)" in said
    shown = json.loads((tmp_path / demo.OUT / "replay.json").read_text(encoding="utf-8"))
    assert [each["name"] for each in shown["systems"]] == ["tlsf", "budget", "pools"]
    assert "the slowest free takes 429 cycles (bound 613) instead of 429" in said
    assert "at most 3 with either" in said


def test_a_firmware_runs_on_its_plan(tmp_path: Path) -> None:
    """Each step is done: recorded in QEMU, planned, built in as the tutorial says, verified."""
    said = demo.demo_firmware.on_its_plan(demo.step, tmp_path)
    assert ": 0 failed mallocs, " in said and " calls verified as it is linked" in said


def test_without_simulators_it_says_why_and_goes_on(
    steps: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_system: object) -> Path:
        raise TauError("g++ is missing", "apt install g++")

    monkeypatch.setattr(demo.tile_systems, "simulator", refuse)
    demo.main()
    assert steps == ["tlsf,budget", "pools", "rtvm,conventional"]
    said = capsys.readouterr()
    assert "going on without the tile: g++ is missing; next: apt install g++" in said.err
    assert "On pages, gcc -O1 core/frames.c: " in said.out and "On the tile" not in said.out
    assert "The report: out/demo/report.html" in said.out
