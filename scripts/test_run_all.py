"""`make bench` runs each question once and says which failed, without stopping there."""

from pathlib import Path

from run_all import run_all


def test_a_failure_is_named_and_does_not_stop_the_rest(tmp_path: Path) -> None:
    for name, text in (("a", "raise SystemExit(1)"), ("b", "open({!r}, 'w')"), ("c", "")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.py").write_text(text.format(str(tmp_path / "ran")))
    assert run_all(tmp_path) == [f"{tmp_path.name}/a"]
    assert (tmp_path / "ran").exists()


def test_a_side_with_a_runner_is_run_by_it(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "run.py").write_text("raise SystemExit(1)")
    (tmp_path / "__main__.py").write_text("import sys; sys.exit(sys.argv[1:] != ['a'])")
    assert run_all(tmp_path) == []
