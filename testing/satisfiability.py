"""Formulas for a solver: programs whose work is random, and the same for a seed."""

import random
from pathlib import Path


def formula(path: Path, variables: int, seed: int) -> Path:
    """Write a random 3-SAT formula with 4.26 clauses a variable, the hardest mixture."""
    source = random.Random(seed)
    clauses = int(4.26 * variables)
    lines = [f"p cnf {variables} {clauses}"]
    for _ in range(clauses):
        three = source.sample(range(1, variables + 1), 3)
        lines.append(" ".join(str(n * source.choice((1, -1))) for n in three) + " 0")
    path.write_text("\n".join(lines) + "\n")
    return path
