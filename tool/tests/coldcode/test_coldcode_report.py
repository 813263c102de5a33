"""`tau report` of a kernel's code: its content, alone and with a program, and its refusals.

Method: a made kernel of some functions and recordings of it from a seed, without QEMU.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

from tautochrone.coldcode.linux import must_stay
from tautochrone.commands import coldcode, report
from tautochrone.errors import TauError
from tautochrone.plan.file import Plan, PlanClass, load_any_plan, save_plan
from tautochrone.trace.file import TraceWriter
from tool.tests.coldcode import made_kernel
from tool.tests.report.test_report_page import faults, load

BY_POLICY = ["code-policies", "code-policies-time"]
PANELS = ["code-ram", "code-footprint", "code-faults", "code-time", *BY_POLICY]
PLANNERS = {"replayed", "link-order"}
FRAMES = 4


@dataclass(frozen=True)
class Made:
    """Two recordings of a kernel, and a plan that was made from the first one."""

    folder: Path
    kernel: Path
    recording: Path
    other: Path
    plan: Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The kernel, recorded and planned."""
    folder = tmp_path_factory.mktemp("kernel")
    kernel, link_map = made_kernel.build(folder)
    recordings = [made_kernel.record(kernel, folder / f"{seed}.taucode", seed) for seed in (1, 2)]
    plan = folder / "plan.toml"
    words = [recordings[0], "--kernel", kernel.path, "--map", link_map, "--threshold", "0.9"]
    called(coldcode.command, "plan", *words, "--frames", str(FRAMES), "-o", plan)
    return Made(folder, kernel.path, *recordings, plan)


def called(command: click.Command, *words: str | Path) -> Result:
    """Call a command and return its result; a TauError or a UsageError comes through."""
    given = [str(word) for word in words]
    return CliRunner().invoke(command, given, standalone_mode=False, catch_exceptions=False)


def document_of(*words: str | Path) -> dict[str, Any]:
    """What `tau report` prints with --json."""
    document: dict[str, Any] = json.loads(called(report.command, *words, "--json").stdout)
    return document


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A trace of a program."""
    path = tmp_path / "program.tau"
    with TraceWriter(path, {"command": ["./program"]}) as writer:
        writer.append(op=[0, 0], slot=[0, 1], size_bytes=[24, 1000], time_ns=np.array([0, 10]))
    return path


def test_a_report_shows_every_placement_on_one_axis(made: Made, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    document = document_of(made.recording, "--plan", made.plan, "-o", out)
    assert document["panels"] == PANELS
    code = document["code"]
    assert {point["planner"] for point in code["points"]} == PLANNERS
    assert {point["policy"] for point in code["points"]} == {"round-robin"}
    replay = called(
        coldcode.command, "replay", made.recording, "--plan", made.plan, "--json"
    ).stdout
    assert code["plan"]["faults"] == json.loads(replay)["replays"][0]["loads"]
    assert f"This recording has {code['plan']['faults']} faults" in document["verdict"]
    (same,) = [
        point
        for point in code["points"]
        if (point["planner"], point["threshold"], point["frames"]) == ("replayed", 0.9, FRAMES)
    ]
    assert (same["ram_bytes"], same["faults"]) == (
        code["plan"]["ram_bytes"],
        code["plan"]["faults"],
    )
    text = out.read_text()
    assert "placement,threshold,frames,policy,ram_bytes,faults\n" in text
    assert "plan: replayed,0.9,4,round-robin," in text and "lower bound,,,," in text


@pytest.mark.parametrize("name", ["plan.lds", "kernel.map", "kernel.elf"])
def test_a_report_replaces_nothing_that_it_read(made: Made, name: str) -> None:
    """The output is the plan's fragment, or a file to which only the recording leads."""
    before = (made.folder / name).read_bytes()
    words = (made.recording, "--plan", made.plan, "--threshold", "0.9", "--force", "--picture")
    with pytest.raises(TauError, match=f"{name} and .*{name} are the same file"):
        called(report.command, *words[:-1], "-o", made.folder / name)
    with pytest.raises(TauError, match=f"{name} and .*{name} are the same file"):
        called(report.command, *words, made.folder / name, "-o", made.folder / "r.html")
    assert (made.folder / name).read_bytes() == before


def test_no_placement_is_below_the_drawn_bound(made: Made, tmp_path: Path) -> None:
    code = document_of(made.recording, "-o", tmp_path / "r.html")["code"]
    floor = [(row["ram_bytes"], row["faults"]) for row in code["lower_bound"]]
    assert len(floor) > 10 and floor[0][1] > 0 == floor[-1][1]
    assert all(after[1] <= before[1] for before, after in zip(floor, floor[1:], strict=False))
    for point in [*code["points"], *code["policies"]]:
        # So much RAM has every plan from here on; the step before has less.
        more = [faults for ram_bytes, faults in floor if ram_bytes >= point["ram_bytes"]]
        assert not more or point["faults"] >= more[0]


def test_a_footprint_falls_with_the_threshold(made: Made, tmp_path: Path) -> None:
    code = document_of(made.recording, "-o", tmp_path / "r.html")["code"]
    sizes = [row["resident_bytes"] for row in code["footprints"]]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] < code["code_bytes"]
    parts = [row["threshold"] for row in code["footprints"]]
    assert parts[0] == 1.0 and parts[-1] == 0.5


def test_thresholds_and_the_time_of_a_load_are_asked_for(made: Made, tmp_path: Path) -> None:
    words = ("--plan", made.plan, "--threshold", "0.95", "-o", tmp_path / "r.html", "--force")
    document = document_of(made.recording, *words, "--delay", "40")
    assert {point["threshold"] for point in document["code"]["points"]} == {0.95, 0.9}
    assert "At 40 µs per load" in document["verdict"]
    assert "At 442 µs per load" in document_of(made.recording, *words)["verdict"]


def test_a_recording_that_was_held_out_is_said_to_be(made: Made, tmp_path: Path) -> None:
    document = document_of(made.other, "--plan", made.plan, "-o", tmp_path / "r.html")
    assert document["remarks"] == [f"{made.plan} was made from other recordings than these"]
    assert "replayed" in document["sentences"][-1], "ours, planned from it, is compared with, too"


def test_other_placements_keep_what_boot_patches_as_the_plan_does(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(must_stay, "patched_while_booting", lambda _: ("large",))
    plan = tmp_path / "plan.toml"
    words = [made.recording, "--kernel", made.kernel, "--map", made.kernel.with_suffix(".map")]
    called(coldcode.command, "plan", *words, "--threshold", "0.9", "--frames", "4", "-o", plan)
    document = document_of(made.recording, "--plan", plan, "-o", tmp_path / "r.html")
    assert document["remarks"] == []


def test_a_program_and_a_kernel_share_a_report(made: Made, trace: Path, tmp_path: Path) -> None:
    """The plan has both sections, which are both optional."""
    plan, heap, out = tmp_path / "both.toml", tmp_path / "heap.toml", tmp_path / "r.html"
    save_plan(Plan((PlanClass(24, 1),), 1500, "greedy", 0.0), heap, "a test")
    named = ("--kernel", made.kernel, "--map", made.kernel.with_suffix(".map"))
    called(coldcode.command, "plan", made.recording, *named, "--with", heap, "-o", plan)
    both = load_any_plan(plan)
    assert both.has_heap and both.heap_bytes == 1500 and list(both.sections) == ["code"]
    document = document_of(trace, made.recording, "--plan", plan, "-o", out)
    assert document["panels"] == ["live-bytes", "heap-map", "classes", "sizes", *PANELS]
    assert document["trace"] == str(trace)
    assert document["code"]["recordings"] == [str(made.recording)]
    assert load(tmp_path, out.read_text())["drawn"] == len(document["panels"])
    alone = document_of(trace, "--plan", plan, "-o", out, "--force")
    assert "code" not in alone
    assert document_of(made.recording, "--plan", plan, "-o", out, "--force")["panels"] == PANELS


def test_the_report_asks_nobody_and_cuts_nothing_off(made: Made, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    called(coldcode.command, "report", made.recording, "--plan", made.plan, "-o", out)
    seen = load(tmp_path, out.read_text())
    assert seen == {"drawn": len(PANELS), "failed": False, "requests": [], "errors": []}
    assert faults(tmp_path, out.read_text()) == []


# ---- Missing and refused input


def test_without_the_kernel_the_plan_is_shown_alone(made: Made, tmp_path: Path) -> None:
    recording, out = tmp_path / "alone.taucode", tmp_path / "r.html"
    shutil.copy(made.recording, recording)
    document = document_of(recording, "--plan", made.plan, "-o", out)
    assert document["panels"] == BY_POLICY
    assert "so that other placements are not planned" in document["remarks"][0]
    with pytest.raises(TauError, match="or its map is gone") as refused:
        called(report.command, recording, "-o", tmp_path / "no.html")
    assert "--kernel" in str(refused.value.next_step)
    words = ("--kernel", made.kernel, "-o", tmp_path / "named.html")
    assert document_of(recording, *words)["panels"] == PANELS


def test_a_kernel_that_was_built_again_is_not_planned(made: Made, tmp_path: Path) -> None:
    recording = tmp_path / "alone.taucode"
    shutil.copy(made.recording, recording)
    fragment = made.plan.with_suffix(".lds").read_text()
    kernel, _ = made_kernel.build(tmp_path, fragment)
    document = document_of(recording, "--plan", made.plan, "-o", tmp_path / "r.html")
    assert document["panels"] == BY_POLICY
    assert "is no longer the kernel that was recorded" in document["remarks"][0]
    with pytest.raises(TauError, match="recorded on another kernel"):
        called(report.command, recording, "--kernel", kernel.path, "-o", tmp_path / "no.html")


def test_a_plan_without_code_is_refused(made: Made, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    save_plan(Plan((), 1500, "greedy", 0.0), plan, "a test")
    with pytest.raises(TauError, match=r"has no \[code\]"):
        called(report.command, made.recording, "--plan", plan, "-o", tmp_path / "r.html")


def test_what_is_useless_together_is_refused(made: Made, trace: Path, tmp_path: Path) -> None:
    out = ("-o", tmp_path / "r.html")
    for words in (
        (made.recording, "--on", "tlsf"),
        (made.recording, "--events", "1"),
        (trace, "--kernel", made.kernel),
        (trace, "--threshold", "0.9"),
        (trace, trace),
    ):
        with pytest.raises(click.UsageError):
            called(report.command, *words, *out)
    assert not (tmp_path / "r.html").exists()
