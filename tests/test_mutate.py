"""The operators make the wrong changes that they name, and the counter of mutants counts right."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testing import mutate
from testing.operators import changes_of

C = """\
/* a < b */
#if A < 2
int f(int a, int b) {
    TAU_ASSERT(a < b);
    if (a < b && a != 0x0f) {
        total = a + 1;
        g(a, b);
    }
    return "a < b"[0];
}
"""
C_CHANGES = {
    ("negated condition", "if (a < b && a != 0x0f)", "if (!(a < b && a != 0x0f))"),
    ("comparison", "<", "<="),
    ("logic", "&&", "||"),
    ("comparison", "!=", "=="),
    ("bound", "0x0f", "0x10"),
    ("dropped store", "total = a + 1;", ";"),
    ("sign", "+", "-"),
    ("bound", "1", "2"),
    ("dropped call", "g(a, b);", ";"),
    ("swapped arguments", "a, b", "b, a"),
    ("bound", "0", "1"),
}
VERILOG = """\
  always_ff @(posedge clk_i) begin
    count_q <= count_q + 2'b01;
    if (count_q <= 3) full_q <= 1'b0;
  end
"""
VERILOG_CHANGES = {
    ("dropped store", "count_q <= count_q + 2'b01;", ";"),
    ("sign", "+", "-"),
    ("bound", "2'b01", "2'b10"),
    ("comparison", "<=", "<"),
    ("bound", "3", "4"),
    ("bound", "1'b0", "1'b1"),
}
PYTHON = '''\
def f(a: int | None, b: int = 3) -> None:
    """Not a < b."""
    for i in range(a):
        if a < b and b in c:
            self.d = a - 1
            g(a, b)
'''
PYTHON_CHANGES = {
    ("negated condition", "a < b and b in c", "not (a < b and b in c)"),
    ("comparison", "<", "<="),
    ("logic", "and", "or"),
    ("logic", "in", "not in"),
    ("dropped store", "self.d = a - 1", "pass"),
    ("sign", "-", "+"),
    ("bound", "1", "2"),
    ("dropped call", "g(a, b)", "pass"),
    ("swapped arguments", "a, b", "b, a"),
}


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [("a.c", C, C_CHANGES), ("a.sv", VERILOG, VERILOG_CHANGES), ("a.py", PYTHON, PYTHON_CHANGES)],
)
def test_operators(name: str, text: str, expected: set[object], tmp_path: Path) -> None:
    """Comments, texts, asserts and declarations stay; each operator finds its place."""
    (tmp_path / name).write_text(text)
    found = {(each.operator, each.old, each.new) for each in changes_of(tmp_path / name)}
    assert found >= expected and len(found - expected) <= 2, found ^ expected
    for each in changes_of(tmp_path / name):
        assert each.made(text) != text and each.old in each.described(text)


def test_a_language_without_operators(tmp_path: Path) -> None:
    """It is refused, instead of having no mutants."""
    with pytest.raises(ValueError, match="no operators"):
        changes_of(tmp_path / "a.toml" if (tmp_path / "a.toml").write_text("") == 0 else tmp_path)


def test_equivalents_are_in_their_files() -> None:
    """An entry whose line changed is stale: its reason must be read again."""
    for file, line, old, _ in mutate.known_equivalents():
        lines = [each.strip() for each in (mutate.ROOT / file).read_text().splitlines()]
        assert line in lines and old in line, f"{file}: {line!r} with {old!r} is not there"


def test_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """A command that notices comparisons only kills these; what does not compile is not counted."""
    (tmp_path / "a.py").write_text("def f(a, b):\n    if a < b:\n        return 1\n    return 2\n")
    (tmp_path / ".venv").symlink_to(Path(sys.prefix))
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    monkeypatch.setattr(mutate, "SECONDS_MIN", 5.0)
    command = [shutil.which("python3"), "-c", "import a; assert not a.f(2, 2) == 1"]
    assert mutate.main(["a.py", "--sample", "9", "--", *command]) == 0
    said = capsys.readouterr().out
    assert "killed 2 of 4" in said and said.count("lives: a.py") == 2
    assert mutate.main(["a.py", "--", shutil.which("false")]) == 1
    refused = ["a.py", "--build", "python3 -c 'import a; assert a.f(1, 2) == 1'", "--", "true"]
    assert mutate.main(refused) == 0
    assert "not compiled 2" in capsys.readouterr().out
