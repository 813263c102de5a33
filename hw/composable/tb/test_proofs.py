"""Proofs, for ever and at full size, that a load leaves nothing of the past in the composable unit.

The proved properties are in formal/tau_composable_table_proof.sv, and of a port, on rows that are
the same, in formal/tau_composable_port_proof.sv. Both are inductions. Each mutant must fail.
"""

import pytest

from hw.socket.tb.prove import does_not_last, fails, holds, holds_for_ever, induct, prove
from testing.mutants import Mutant

PORT = "hw/composable/rtl/tau_composable_port.sv"
LOAD = "hw/composable/rtl/tau_composable_load.sv"
TABLE = "hw/composable/rtl/tau_composable_table.sv"
PORT_TOP = "tau_composable_port_proof"
TABLE_TOP = "tau_composable_table_proof"
PORT_SOURCES = [PORT, f"hw/composable/formal/{PORT_TOP}.sv"]
TABLE_SOURCES = [LOAD, TABLE, f"hw/composable/formal/{TABLE_TOP}.sv"]
CYCLES = 2  # an assertion is judged a cycle after it is looked at

FORGETS = (
    "end else if (forget_i) begin\n      valid_q <= '0;\n      next_q <= '0;\n      last_q <= '0;\n"
)
AGAIN = "      found_q <= 1'b0;\n      place_q <= '0;\n"
LAST = "last_q <= '0;"
PORT_MUTANTS = [
    Mutant("the TLB is not forgotten", PORT, FORGETS, FORGETS.replace("valid_q <= '0;", "")),
    Mutant("no last is forgotten", PORT, FORGETS, FORGETS.replace(LAST, "")),
    Mutant("the last of stores stays", PORT, FORGETS, FORGETS.replace(LAST, "last_q[0] <= '0;")),
    Mutant("the last of loads stays", PORT, FORGETS, FORGETS.replace(LAST, "last_q[1] <= '0;")),
    Mutant("a search takes no place", PORT, "valid_q[next_q] <= 1'b0;", ""),
    Mutant("a search keeps its place", PORT, AGAIN, AGAIN.replace("place_q <= '0;", "")),
    Mutant("an empty place is the last", PORT, "valid_q[last_place] && ", ""),
    Mutant("replacement goes on", PORT, FORGETS, FORGETS.replace("next_q <= '0;", "")),
    Mutant("a search remembers", PORT, "found_q <= hit;", "if (hit) found_q <= hit;"),
    Mutant("a hit outlives the load", PORT, FORGETS, FORGETS.replace("forget_i", "loading_i")),
]
TABLE_MUTANTS = [
    Mutant("rows go on", TABLE, "start_i || loading ? '0 : row_q + 1'b1;", "row_q + 1'b1;"),
    Mutant(
        "an old entry stays",
        TABLE,
        "if (write && place[1:0]",
        "if (write && place[5:0] != 0 && place[1:0]",
    ),
    Mutant(
        "doubtful ones keep a page",
        LOAD,
        "write_o = page_rvalid_i;",
        "write_o = page_rvalid_i && (sound || !wanted);",
    ),
]
QUICK = 1


def table_induction(mutant: Mutant | None = None):
    """Claims about the table."""
    return prove(TABLE_TOP, "", TABLE_SOURCES, {}, CYCLES, "-i", mutant=mutant)


def test_a_port_keeps_nothing_of_the_past() -> None:
    """Two of them with any two pasts are alike for ever."""
    holds_for_ever(induct(PORT_TOP, PORT_SOURCES))


def test_the_table_keeps_nothing_of_the_past() -> None:
    """From reset on, and from any state to the next."""
    holds(prove(TABLE_TOP, "", TABLE_SOURCES, {}, CYCLES, "--presat"))
    holds(table_induction())


@pytest.mark.parametrize("mutant", PORT_MUTANTS[:QUICK], ids=lambda mutant: mutant.name)
def test_port_mutants_fail(mutant: Mutant) -> None:
    """One of them; the slow test tries all others."""
    does_not_last(induct(PORT_TOP, PORT_SOURCES, mutant))


@pytest.mark.slow
@pytest.mark.parametrize("mutant", PORT_MUTANTS[QUICK:], ids=lambda mutant: mutant.name)
def test_all_port_mutants_fail(mutant: Mutant) -> None:
    """Each thing that a port forgets."""
    does_not_last(induct(PORT_TOP, PORT_SOURCES, mutant))


@pytest.mark.parametrize("mutant", TABLE_MUTANTS[:QUICK], ids=lambda mutant: mutant.name)
def test_table_mutants_fail(mutant: Mutant) -> None:
    """One of them; the slow test tries all others."""
    fails(table_induction(mutant))


@pytest.mark.slow
@pytest.mark.parametrize("mutant", TABLE_MUTANTS[QUICK:], ids=lambda mutant: mutant.name)
def test_all_table_mutants_fail(mutant: Mutant) -> None:
    """Each thing that a load writes."""
    fails(table_induction(mutant))
