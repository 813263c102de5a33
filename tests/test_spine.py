"""The spine from end to end on a real program: record, info, check, plan, replay, report, export.

Method: the installed command is called as a user calls it; what one step says must agree with what
the next one says, and within stated limits.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Tau

from testing.command import tau_started

# Systems that count instructions have the layout of a 32-bit target.
IN_32_BITS = ("--layout", "32", "--pools", "always")


@pytest.fixture(scope="module")
def plan(tau: Tau, recorded: Path) -> Path:
    """The plan of the recording."""
    path = recorded.with_name("plan.toml")
    tau("plan", recorded, "-o", path, *IN_32_BITS)
    return path


@pytest.fixture(scope="module")
def planned(tau: Tau, recorded: Path) -> dict[str, Any]:
    """What `tau plan --json` says of the recording."""
    return tau.json("plan", recorded, "-o", recorded.with_name("second.toml"), *IN_32_BITS)


@pytest.fixture(scope="module")
def replayed(tau: Tau, recorded: Path, plan: Path) -> dict[str, Any]:
    """What `tau replay --json` says of the plan on its own recording."""
    systems = "tlsf,budget,kingsley,static,glibc"
    return tau.json(
        "replay", recorded, "--on", systems, "--plan", plan, "--instructions", "rv32"
    )


def by_name(replayed: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The systems of a replay by name."""
    return {system["name"]: system for system in replayed["systems"]}


def test_every_document_has_its_version_and_command(
    tau: Tau, recorded: Path, planned: dict[str, Any], replayed: dict[str, Any]
) -> None:
    documents = {"plan": planned, "replay": replayed, "info": tau.json("info", recorded)}
    for command, document in documents.items():
        assert (document["version"], document["command"]) == (1, command)


def test_info_agrees_with_replay(tau: Tau, recorded: Path, replayed: dict[str, Any]) -> None:
    info = tau.json("info", recorded)
    assert info["events"] > 2000
    counts = by_name(replayed)["tlsf"]["operations"].values()
    assert sum(one["count"] for one in counts) == info["events"]
    tlsf = by_name(replayed)["tlsf"]
    assert tlsf["footprint_ratio"] == pytest.approx(
        tlsf["footprint_bytes"] / info["peak_live_bytes"]
    )


def test_the_plan_adds_up(planned: dict[str, Any]) -> None:
    rounded = sum((one["size_bytes"] + 7) // 8 * 8 * one["count"] for one in planned["classes"])
    assert planned["dedicated_bytes"] == rounded
    assert planned["heap_bytes"] == planned["dedicated_bytes"] + planned["shared_bytes"]
    assert 0 <= planned["optimal_within"] <= 1


def test_the_plan_is_never_above_plain_tlsf(
    planned: dict[str, Any], replayed: dict[str, Any]
) -> None:
    systems = by_name(replayed)
    assert systems["budget"]["completed"] and systems["budget"]["plan_holds"]
    assert systems["budget"]["footprint_bytes"] <= systems["tlsf"]["footprint_bytes"]
    assert systems["budget"]["footprint_bytes"] <= planned["heap_bytes"]


def test_no_call_takes_more_instructions_than_its_bound(replayed: dict[str, Any]) -> None:
    for name in ("tlsf", "budget"):
        for operation in ("malloc", "free", "realloc"):
            counted = by_name(replayed)[name]["operations"][operation]
            assert counted["p999_instructions"] <= counted["max_instructions"], (name, operation)
            assert counted["max_instructions"] <= counted["bound_instructions"], (name, operation)


def test_the_same_call_prints_the_same_bytes(tau: Tau, recorded: Path, plan: Path) -> None:
    """Also with another seed of hashes."""
    words = ("replay", recorded, "--on", "tlsf,budget,kingsley,static", "--plan", plan, "--json")
    assert tau(*words).stdout == tau_started(*words).stdout


def test_the_report_holds_every_panel(
    tau: Tau, recorded: Path, plan: Path, replayed: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "replay.json").write_text(json.dumps(replayed))
    words = ("--plan", plan, "--replay", tmp_path / "replay.json", "-o", tmp_path / "r.html")
    said = tau.json("report", recorded, *words)
    heaps = ["live-bytes", "footprints", "heap-parts", "heap-map"]
    assert said["panels"] == [*heaps, "instructions", "classes", "sizes"]
    assert "sqlite3" in (tmp_path / "r.html").read_text()


def test_check_accepts_what_was_made(tau: Tau, recorded: Path, plan: Path) -> None:
    tau("check", recorded)
    tau("check", plan)


def test_export_and_import_keep_every_event(tau: Tau, recorded: Path, tmp_path: Path) -> None:
    tau("export", recorded, "-o", tmp_path / "events.csv")
    tau("import", tmp_path / "events.csv", "-o", tmp_path / "again.tau")
    before, after = (tau.json("info", path) for path in (recorded, tmp_path / "again.tau"))
    for name in ("events", "peak_live_bytes", "sizes"):
        assert before[name] == after[name]


def test_errors_say_the_cause_and_the_next_step(tau: Tau, tmp_path: Path) -> None:
    (tmp_path / "bad.tau").write_bytes(b"no trace at all")
    for words in (("info",), ("plan",), ("replay", "--on", "tlsf"), ("report",)):
        done = tau(words[0], tmp_path / "bad.tau", *words[1:], expect=1)
        assert done.stdout == ""
        assert "bad.tau" in done.stderr and "next:" in done.stderr, words
    assert "next: `tau --help`" in tau("nonsense", expect=2).stderr
