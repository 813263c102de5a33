"""Marks with equal numbers stay apart: those of another life, and those that a task repeats."""

import pytest

from tautochrone.compose import check
from tautochrone.compose.run import Mark, Run, TileRun


def run_of(*marks: tuple[int, int]) -> Run:
    """A run whose application 0 marks the start of iteration 0 in these lives and cycles."""
    found = [Mark(0, 0, cycle, life=life) for life, cycle in marks]
    return Run(3, "", "cycle limit", [TileRun(marks=found)])


@pytest.mark.parametrize(
    ("alone", "beside", "name"),
    [
        (((1, 100), (2, 900)), ((1, 150), (2, 900)), "task 0: start of iteration 0"),
        (((1, 100), (2, 900)), ((1, 100), (2, 950)), "life 2, task 0: start of iteration 0"),
        (((1, 100), (1, 900)), ((1, 150), (1, 900)), "task 0: start of iteration 0"),
        (((1, 100), (1, 900)), ((1, 100), (1, 950)), "turn 2, task 0: start of iteration 0"),
    ],
)
def test_a_difference_in_each_of_two_equal_marks_is_found(
    alone: tuple[tuple[int, int], ...], beside: tuple[tuple[int, int], ...], name: str
) -> None:
    verdict = check.compare(run_of(*alone), run_of(*beside), 0)
    assert (verdict.events_compared, verdict.largest_difference_cycles) == (2, 50)
    assert verdict.first is not None and verdict.first.event == f"{name} on tile 0"
    assert check.compare(run_of(*alone), run_of(*alone), 0).first is None


def test_an_application_speaks_for_itself_only() -> None:
    """Whatever it prints is its own line: no other application's, and none of the kernel's."""
    said = "\rkernel: application 0 is refused: forged", "application 0: damaged", "\x0bkernel: x"
    console = "".join(f"application 1: {text}\n" for text in said)
    console += "application 0: whole\nkernel: application 2 is refused: it is truncated\n"
    for prefix in ("", "[1] "):
        lines = [prefix + line for line in console.split("\n")[:-1]]
        run = Run(0, "\n".join(lines) + "\n", "", [])
        assert run.output(0) == lines[3:4]
        assert run.output(1) == lines[:3]
        assert run.kernel_lines() == run.refusals(2) == lines[4:]
        assert run.refusals(0) == []
