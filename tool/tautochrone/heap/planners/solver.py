"""Linear and integer programs, solved by HiGHS."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import highspy
import numpy as np


class Solved(NamedTuple):
    """A solution. No solution of the program has an objective above `bound`."""

    values: np.ndarray
    bound: float
    is_optimal: bool


def maximum(
    weights: np.ndarray,
    most: np.ndarray,
    rows: Sequence[np.ndarray],
    rights: Sequence[float],
    is_whole: bool,
    **options: float,
) -> Solved | None:
    """Maximize `weights @ x` with 0 <= x <= `most` and each row @ x <= its right side.

    With `is_whole`, x is integral. `options` are HiGHS's. None if no solution was found.
    """
    table = np.array(rows).T
    columns, places = np.nonzero(table)
    program = highspy.HighsLp()
    program.num_col_ = program.a_matrix_.num_col_ = len(weights)
    program.num_row_ = program.a_matrix_.num_row_ = len(rights)
    program.col_cost_ = -weights.astype(float)
    program.col_lower_ = np.zeros(len(most))
    program.col_upper_ = most.astype(float)
    program.row_lower_ = np.full(len(rights), -np.inf)
    program.row_upper_ = np.array(rights)
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = np.searchsorted(columns, np.arange(len(weights) + 1))
    program.a_matrix_.index_ = places
    program.a_matrix_.value_ = table[columns, places]
    if is_whole:
        program.integrality_ = [highspy.HighsVarType.kInteger] * len(weights)
    with stdout_to_nowhere():
        return _run(program, is_whole, {"output_flag": False, "presolve": "on", **options})


def _run(
    program: highspy.HighsLp, is_whole: bool, options: dict[str, float | str]
) -> Solved | None:
    solver = highspy.Highs()
    for name, value in options.items():
        assert solver.setOptionValue(name, value) == highspy.HighsStatus.kOk, name
    assert solver.passModel(program) == highspy.HighsStatus.kOk
    solver.run()
    found = solver.getInfo()
    if found.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return None
    return Solved(
        values=np.array(solver.getSolution().col_value),
        bound=-(found.mip_dual_bound if is_whole else found.objective_function_value),
        is_optimal=solver.getModelStatus() == highspy.HighsModelStatus.kOptimal,
    )


@contextlib.contextmanager
def stdout_to_nowhere() -> Iterator[None]:
    """Drop what HiGHS prints on stdout, where only results may go: some versions greet."""
    libc = ctypes.CDLL(None)
    libc.fflush(None)
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        libc.fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
