"""`make bench` runs each question once and says which failed, without stopping there."""

from pathlib import Path

from run_all import run_all


def test_a_failure_is_named_and_does_not_stop_the_rest(tmp_path: Path) -> None:
    for name, file in (("a", "run.py"), ("b", "run.py"), ("c", "reasons.toml")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("")
    ran = f"open('{tmp_path}/' + sys.argv[1] + '.ran', 'w')"
    code = f"import sys; {ran}; sys.exit(sys.argv[1] == 'a')"
    (tmp_path / "__main__.py").write_text(code)
    assert run_all(tmp_path) == [f"{tmp_path.name}/a"]
    assert len([*tmp_path.glob("*.ran")]) == 3
    assert run_all(tmp_path, "c") == []
    assert run_all(tmp_path, "d") == [f"{tmp_path.name}/d: not found"]
