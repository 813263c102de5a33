"""Linux programs answer under `tau run` as without it.

Method: rows of the bench's table, both ways; the fast suite runs some that once differed, or would.
"""

import json

import pytest

from bench.commands import OUT
from bench.runtime import answers


@pytest.mark.parametrize("name", ["php", "sqlite", "python-subprocess", "descriptors"])
def test_a_program_answers_as_without(name: str) -> None:
    """php opens its extensions with RTLD_DEEPBIND: it died of it."""
    (one,) = (one for one in answers.programs() if one.name == name)
    if not one.is_here:
        pytest.skip(f"{one.needs} are not installed")
    assert answers.differs(one) == ""


def test_another_answer_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    """One that prints LD_PRELOAD is not the same under `tau run`."""
    words = ["sh", "-c", "echo $LD_PRELOAD; exit 3"]
    found = answers.differs(answers.Program("preloaded", words, {}, ["sh"]))
    assert found.startswith("status 3 for 3") and "libtau_run.so" in found


@pytest.mark.slow
def test_all_programs_answer_as_without() -> None:
    """All programs that are installed."""
    assert answers.BENCH.main([]) == 0
    found = json.loads((OUT / "runtime_answers.json").read_text())
    assert found["same"] + len(found["skipped"]) >= answers.LEAST
