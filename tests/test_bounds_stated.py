"""The bounds that SPEC.md states are the longest paths of the linked code, to the instruction.

`python tests/test_bounds_stated.py` prints the table.
"""

from __future__ import annotations

from pathlib import Path

from tautochrone.bounds import OVER_ALIGNED_FUNCTIONS, SHARED_FUNCTIONS, bound_of_image
from tautochrone.images import core_image

SPECIFICATION = Path(__file__).resolve().parent.parent / "SPEC.md"
COPIES = ("tau_tlsf_malloc", "tau_tlsf_aligned_alloc", "tau_tlsf_free")
# What the row is called, the system, the operation, and the calls that its paths do not make.
ROWS = (
    ("`tau_tlsf_malloc`", "tlsf", "malloc", ()),
    ("`tau_tlsf_free`", "tlsf", "free", ()),
    ("`tau_tlsf_aligned_alloc`", "tlsf", "aligned_alloc", ()),
    ("`tau_tlsf_realloc`, in place", "tlsf", "realloc", COPIES),
    ("`tau_tlsf_realloc`", "tlsf", "realloc", OVER_ALIGNED_FUNCTIONS),
    ("`tau_tlsf_realloc`, object asked with an alignment", "tlsf", "realloc", ()),
    ("`tau_budget_malloc`, served by a bucket", "budget", "malloc", SHARED_FUNCTIONS),
    ("`tau_budget_free`, of a bucket", "budget", "free", SHARED_FUNCTIONS),
    ("`tau_budget_malloc`", "budget", "malloc", ()),
    ("`tau_budget_free`", "budget", "free", ()),
)
COLUMNS = tuple((isa, level) for isa in ("rv32", "m4") for level in (0, 1, 2))


def table() -> list[str]:
    """The table's lines, measured."""
    titles = {"rv32": "RV32IMC", "m4": "Cortex-M4"}
    heads = [f"{titles[isa]} level {level}" for isa, level in COLUMNS]
    lines = [f"| call | {' | '.join(heads)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for name, system, verb, without in ROWS:
        bounds = [
            bound_of_image(core_image(system, isa, check_level=level), verb, without)
            for isa, level in COLUMNS
        ]
        assert None not in bounds, f"{name} has no bound"
        lines.append(f"| {name} | {' | '.join(map(str, bounds))} |")
    return lines


def test_the_specifications_bounds_are_those_of_the_code() -> None:
    text = SPECIFICATION.read_text()
    for line in table():
        assert line in text


if __name__ == "__main__":
    print("\n".join(table()))
