"""What names no file is wrong usage; what one command cannot parse never costs more than a message.

Method: each output option of each command is given names that name no file.
"""

from pathlib import Path

import pytest

from testing.command import tau
from testing.random_trace import random_trace

OUTPUTS = {
    "import": (["events.csv", "--force", "-o"],),
    "export": (["a.tau", "--force", "-o"],),
    "plan": (["a.tau", "-o"], ["a.tau", "--header"]),
    "report": (["a.tau", "--force", "-o"], ["a.tau", "--force", "--picture"]),
}


@pytest.mark.parametrize("verb", OUTPUTS)
@pytest.mark.parametrize("name", ["", ".", "folder/", "/"])
def test_an_output_that_names_no_file_is_wrong_usage(
    verb: str, name: str, tmp_path: Path
) -> None:
    random_trace(tmp_path / "a.tau", 1, events=10)
    (tmp_path / "events.csv").write_text("op,id,size\nmalloc,a,1\n")
    for words in OUTPUTS[verb]:
        done = tau(verb, *words, name, cwd=tmp_path)
        assert done.returncode == 2 and "names no file" in done.stderr, (words, done.stderr)


@pytest.mark.parametrize("margin", ["1e999999999%", "9" * 5000, "nan", "1/0"])
def test_a_margin_beyond_reason_is_wrong_usage(margin: str, tmp_path: Path) -> None:
    random_trace(tmp_path / "a.tau", 1, events=10)
    done = tau("plan", "a.tau", "--margin", margin, cwd=tmp_path)
    assert done.returncode == 2 and "is not a margin" in done.stderr
