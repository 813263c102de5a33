"""Linear and integer programs, solved by HiGHS."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import highspy
import numpy as np


class Solved(NamedTuple):
    """A solution. No solution of the program has an objective above `bound`."""

    values: np.ndarray
    bound: float
    is_optimal: bool


class Row(NamedTuple):
    """Coefficients of some columns; their sum is at most `right`, and at least `left`."""

    columns: np.ndarray
    values: np.ndarray
    right: float
    left: float = -np.inf


def dense(rows: Iterable[np.ndarray], rights: Iterable[float]) -> list[Row]:
    """Rows that have a number for each column."""
    found = ((row, np.flatnonzero(row), right) for row, right in zip(rows, rights, strict=True))
    return [Row(columns, row[columns], right) for row, columns, right in found]


def maximum(
    weights: np.ndarray, most: np.ndarray, rows: Sequence[Row], is_whole: bool, **options: float
) -> Solved | None:
    """Maximize `weights @ x` with 0 <= x <= `most`, and each row within its two sides.

    With `is_whole`, x is integral. `options` are HiGHS's. None if no solution was found.
    """
    columns = np.concatenate([row.columns for row in rows])
    places = np.repeat(np.arange(len(rows)), [len(row.columns) for row in rows])
    order = np.lexsort((places, columns))
    program = highspy.HighsLp()
    program.num_col_ = program.a_matrix_.num_col_ = len(weights)
    program.num_row_ = program.a_matrix_.num_row_ = len(rows)
    program.col_cost_ = -weights.astype(float)
    program.col_lower_ = np.zeros(len(most))
    program.col_upper_ = most.astype(float)
    program.row_lower_ = np.array([row.left for row in rows])
    program.row_upper_ = np.array([row.right for row in rows])
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = np.searchsorted(columns[order], np.arange(len(weights) + 1))
    program.a_matrix_.index_ = places[order]
    program.a_matrix_.value_ = np.concatenate([row.values for row in rows])[order]
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
