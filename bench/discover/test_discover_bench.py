"""The bench of discovery at small size, and that it complains."""

from typing import Any

from bench.discover import run

TRUTH = ([(), (1, 2)], [512])


def row(**changed: Any) -> dict[str, Any]:
    """A run that is right."""
    isolation = {"name": "isolation", "is_passed": True}
    good = {
        "rows": [("first", ()), ("second", (1, 2))],
        "directory": [512],
        "is_verified": True,
        "cpu_seconds": 2.0,
        "isolation": isolation,
    }
    return {**good, **changed}


def judged(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    """With verdicts."""
    run.judge(list(rows), TRUTH)
    return list(rows)


def test_what_is_wrong_unknown_or_slow_is_named() -> None:
    assert run.complaints(judged(row(), row())) == []
    wrong = judged(row(), row(rows=[("first", ()), ("second", (1, 4))]))
    assert run.complaints(wrong) == ["index_verdict {'right': 1, 'wrong': 1}"]
    unknown = judged(row(), row(rows=[("first", ()), None]))
    assert run.complaints(unknown) == ["index_verdict {'right': 1, 'unknown': 1}"]
    claimed = judged(row(), row(directory=[]))
    assert run.complaints(claimed) == ["directory_verdict {'right': 1, 'wrong': 1}"]
    assert run.complaints(judged(row(cpu_seconds=7.0))) == ["7.0 CPU seconds"]
    failed = {"name": "isolation", "is_passed": False}
    assert "isolation" in run.complaints(judged(row(isolation=failed)))[0]


def test_one_unknown_of_many_is_allowed() -> None:
    rows = [row() for _ in range(18)]
    unknown = [row(rows=[("first", ()), None], directory=None) for _ in range(2)]
    assert run.complaints(judged(*rows, *unknown)) == []


def test_a_processor_whose_directories_cannot_be_told_is_skipped() -> None:
    """Unless a run claims something."""
    blind = [row(directory=None, is_verified=False, isolation=None) for _ in range(3)]
    assert run.complaints(judged(*blind)) == []
    claimed = judged(*blind, row(directory=[], is_verified=False))
    assert run.complaints(claimed) == ["directory_verdict {'unknown': 3, 'wrong': 1}"]


def test_the_truth_is_what_most_runs_found() -> None:
    rows = [row(), row(), row(directory=[1024])]
    assert run.truth_of(None, rows) == ([(), (1, 2)], [512])
    data, directory = run.truth_of("zen4", [])
    assert data[0] == () and len(data[1]) == len(directory) == 8
