"""The tests of the core notice every one of some dozens of small wrong changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.tests.mutants.mutate import MUTANTS, Mutant, survives


def test_every_mutant_applies() -> None:
    """Each text is in the core exactly once, so that the slow test cannot rot unseen."""
    for mutant in MUTANTS:
        assert mutant.text()


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_no_mutant_survives(mutant: Mutant, tmp_path: Path) -> None:
    """At least one C test fails."""
    assert not survives(mutant, tmp_path), f"no test notices: {mutant}"
