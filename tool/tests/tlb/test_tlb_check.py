"""`tau tlb check`: tasks beside a hostile neighbor, with and without a leak."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tautochrone.commands.tlb import check
from tautochrone.errors import EXIT_DONE, EXIT_LIMIT_EXCEEDED, TauError
from tautochrone.tlb.check import Found

TWO = Path(__file__).resolve().parents[3] / "kernel/systems/tasks/two.toml"


def checked(*words: object) -> tuple[int, dict[str, Any]]:
    """The status and the document of the command."""
    line = [str(TWO), "--on", "16x4", "--cycles", "200000", "--json", *map(str, words)]
    done = CliRunner().invoke(check.command, line, standalone_mode=False)
    assert done.exception is None, done.exception
    return done.return_value, json.loads(done.stdout)


def test_a_hostile_neighbor_changes_nothing() -> None:
    """It runs at each priority, and tries what is not its own."""
    status, found = checked()
    assert status == EXIT_DONE and found["differences"] == []
    assert found["runs"] == 3 and found["jobs_compared"] > 10
    assert found["neighbor_jobs"] > 5 and found["neighbor_faults"] > 0


@pytest.mark.parametrize(
    ("leak", "who", "what"),
    [("uncolored", "control", "misses"), ("owner", "~neighbor", "reached pages of others")],
)
def test_each_leak_is_found(leak: str, who: str, what: str) -> None:
    """By what it lets through."""
    status, found = checked("--leak", leak, "--seeds", 2)
    assert status == EXIT_LIMIT_EXCEEDED
    assert (who, what) in {(each["task"], each["what"]) for each in found["differences"]}


@pytest.mark.parametrize(("leak", "bits"), [((), 0), (("--leak", "uncolored"), 1)])
def test_a_channel_by_entries_is_measured(leak: tuple[str, ...], bits: int) -> None:
    """Nothing between sets of their own; nearly a bit per job without."""
    line = ["--on", "16x4", "--channel", "150", "--json", *leak]
    done = CliRunner().invoke(check.command, line, standalone_mode=False)
    assert done.exception is None, done.exception
    found = json.loads(done.stdout)
    assert done.return_value == (EXIT_LIMIT_EXCEEDED if bits else EXIT_DONE)
    assert found["uses"] >= 150 and abs(found["bits"] - bits) < 0.05
    assert (found["observations"] > 1) == bool(bits)


def test_a_leak_of_rights_is_not_a_channel() -> None:
    """Refused with the reason; and neither tasks nor a channel is a mistake of the user."""
    for words, said in (
        (["--channel", "64", "--leak", "owner"], "moves no entries by itself"),
        ([], "no file of tasks is given"),
    ):
        line = ["--on", "16x4", *words]
        error = CliRunner().invoke(check.command, line, standalone_mode=False).exception
        assert isinstance(error, TauError) and said in str(error)


def test_a_neighbor_that_tries_nothing_shows_nothing() -> None:
    """Its job ends before it tries a page of others."""
    assert Found(None, 3, 20, 9, 1, ()).failure is None
    assert "tried no page" in (Found(None, 3, 20, 9, 0, ()).failure or "")
    assert "too few" in (Found(None, 3, 20, 0, 0, ()).failure or "")
