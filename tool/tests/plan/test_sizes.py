"""Whose sizes a plan has: recordings of the target's ABI, of another one, of none [PLAN-20]."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tautochrone.plan.file import load_plan
from tautochrone.trace import abi
from testing.command import tau_done as tau
from testing.random_trace import write_events
from tool.tests.plan.plan_traces import come_and_go

EVENTS = come_and_go(1, [2048, 1024, 56, 24], 10, 1500)


@pytest.mark.parametrize(
    ("name", "layout", "sizes"),
    [
        ("arm", "32", "exact"),
        ("riscv32", "32", "exact"),
        ("x86-64", "host", "exact"),
        ("aarch64", "host", "exact"),
        ("", "32", "stated"),
        ("i386", "32", "estimate"),
    ],
)
def test_the_layout_is_that_of_the_recording(
    tmp_path: Path, name: str, layout: str, sizes: str
) -> None:
    path = write_events(tmp_path / "program.tau", EVENTS, abi=name)
    result = json.loads(tau("plan", path, "-o", tmp_path / "plan.toml", "--json").stdout)
    assert (result["layout"], result["sizes"]) == (layout, sizes)
    plan = load_plan(tmp_path / "plan.toml")
    assert (plan.layout, plan.sizes, plan.traces[0].abi) == (layout, sizes, name)


def test_a_plan_from_another_abi_is_an_estimate(tmp_path: Path) -> None:
    """It says so everywhere; no header is written from it, and the ways to a real one are named."""
    path = write_events(tmp_path / "program.tau", EVENTS, abi="x86-64")
    plan, header = tmp_path / "plan.toml", tmp_path / "heap_plan.h"
    said = tau("plan", path, "--layout", "32", "-o", plan, "--header", header, expect=1).stderr
    assert "no header is written: this is an estimate" in said
    ways = ("core/ports/record_wrap.c", "--target armhf", "tau translate", "--sizes-as-recorded")
    for way in ways:
        assert way in said
    assert not header.exists() and not plan.exists()
    tau("plan", path, "--layout", "32", "-o", plan)
    estimate = "an estimate for a 32-bit target: the sizes were recorded on x86-64"
    assert estimate in plan.read_text() and estimate in tau("info", plan).stdout
    assert estimate in tau("replay", path, "--plan", plan, "--on", "tlsf").stderr
    report = tau("report", path, "--plan", plan, "-o", tmp_path / "r.html")
    assert estimate in report.stdout + report.stderr + (tmp_path / "r.html").read_text()


def test_a_replay_has_the_layout_of_the_recording_or_says_estimate(tmp_path: Path) -> None:
    """Without a plan, and where the instructions of a target are counted."""
    path = write_events(tmp_path / "program.tau", EVENTS, abi="x86-64")

    def replayed(*words: str) -> dict[str, tuple[str, bool]]:
        systems = json.loads(tau("replay", path, *words, "--json").stdout)["systems"]
        return {each["name"]: (each["layout"], bool(each["estimate"])) for each in systems}

    own = {"tlsf": ("host", False), "kingsley": ("32", True), "glibc": ("host", False)}
    assert replayed("--on", ",".join(own)) == own
    for words in (("--layout", "32"), ("--instructions", "rv32")):
        assert replayed(*words) == {"tlsf": ("32", True)}
    estimate = "an estimate for a 32-bit target: the sizes were recorded on x86-64"
    words = ("--on", "tlsf,kingsley")
    assert f"\nkingsley: {estimate}\n" in tau("replay", path, *words).stdout
    said = tau("report", path, *words, "-o", tmp_path / "r.html").stderr
    assert f"kingsley: {estimate}" in said and "tlsf" not in said
    arm = write_events(tmp_path / "arm.tau", EVENTS, abi="arm")
    assert "glibc: an estimate for a 64-bit machine" in tau("replay", arm, "--on", "glibc").stdout


def test_sizes_can_be_taken_as_they_are_recorded_without_pools(tmp_path: Path) -> None:
    path = write_events(tmp_path / "program.tau", EVENTS, abi="x86-64")
    plan, header = tmp_path / "plan.toml", tmp_path / "heap_plan.h"
    words = ("--layout", "32", "--sizes-as-recorded", "--pools", "always")
    tau("plan", path, *words, "-o", plan, "--header", header)
    made = load_plan(plan)
    assert made.sizes == "as-recorded" and made.classes == ()
    assert "TAU_PLAN_CLASSES_COUNT 0u" in header.read_text()
    assert "sizes recorded on x86-64 are taken as they are" in header.read_text()


def test_a_header_for_this_machine_is_exact(tmp_path: Path) -> None:
    path = write_events(tmp_path / "program.tau", EVENTS, abi="x86-64")
    header = tmp_path / "heap_plan.h"
    tau("plan", path, "-o", tmp_path / "plan.toml", "--header", header)
    assert "TAU_WORD_BITS == 64" in header.read_text()


def test_recordings_of_several_abis_are_refused(tmp_path: Path) -> None:
    abis = ("arm", "riscv32")
    paths = [write_events(tmp_path / f"{name}.tau", EVENTS, abi=name) for name in abis]
    said = tau("plan", *paths, expect=2).stderr
    assert "recordings of several ABIs: arm.tau arm, riscv32.tau riscv32" in said
    stated = write_events(tmp_path / "stated.tau", EVENTS)
    tau("plan", paths[0], stated, "-o", tmp_path / "plan.toml")
    assert load_plan(tmp_path / "plan.toml").sizes == "stated"


def test_every_abi_has_its_facts() -> None:
    """[TRACE-49] The ABIs that fit no layout of ours are those that pack members of 8 bytes."""
    layouts = {
        name: [layout for layout in ("32", "host") if abi.fits(name, layout)] for name in abi.NAMES
    }
    assert {name for name, fitting in layouts.items() if not fitting} == {"i386"}
    assert all(len(fitting) <= 1 for fitting in layouts.values())
    assert abi.of_header({"abi": 7}) == abi.of_header({"abi": "vax"}) == abi.of_header({}) == ""
