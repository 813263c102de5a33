"""`tau tlb check`: tasks beside a hostile neighbor, with and without a leak."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tautochrone.commands.tlb import check
from tautochrone.errors import EXIT_DONE, EXIT_LIMIT_EXCEEDED

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
