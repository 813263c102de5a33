"""`make bench` runs each question once and says which failed, without stopping there."""

from __future__ import annotations

from pathlib import Path

from run_all import run_all


def test_a_failure_is_named_and_does_not_stop_the_rest(tmp_path: Path) -> None:
    for name, text in (("a", "raise SystemExit(1)"), ("b", "open({!r}, 'w')"), ("c", "")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.py").write_text(text.format(str(tmp_path / "ran")))
    assert run_all(tmp_path) == [f"{tmp_path.name}/a"]
    assert (tmp_path / "ran").exists()
