"""Proofs, for ever and at full size, that a load leaves nothing of the past in the composable unit.

The proved properties are in formal/tau_composable_table_proof.sv, of a port, on rows that are the
same, in formal/tau_composable_port_proof.sv, and of lines that are filled alike in
formal/tau_composable_lines_proof.sv. All are inductions. Each mutant must fail.
"""

import pytest

from hw.socket.tb.prove import does_not_last, fails, holds, holds_for_ever, induct, prove
from testing.mutants import Mutant

PORT = "hw/composable/rtl/tau_composable_port.sv"
LOAD = "hw/composable/rtl/tau_composable_load.sv"
TABLE = "hw/composable/rtl/tau_composable_table.sv"
LINES = "hw/composable/rtl/tau_composable_lines.sv"
PORT_TOP = "tau_composable_port_proof"
LINES_TOP = "tau_composable_lines_proof"
TABLE_TOP = "tau_composable_table_proof"
PORT_SOURCES = [PORT, f"hw/composable/formal/{PORT_TOP}.sv"]
LINES_SOURCES = [LINES, f"hw/composable/formal/{LINES_TOP}.sv"]
TABLE_SOURCES = [LOAD, TABLE, f"hw/composable/formal/{TABLE_TOP}.sv"]
CYCLES = 2  # an assertion is judged a cycle after it is looked at

FORGETS = "end else if (forget_i) begin\n      valid_q <= '0;\n      next_q <= '0;\n"
AGAIN = "      found_q <= 1'b0;\n      place_q <= '0;\n"
PORT_MUTANTS = [
    Mutant("the TLB is not forgotten", PORT, FORGETS, FORGETS.replace("valid_q <= '0;", "")),
    Mutant("a search takes no place", PORT, "valid_q[next_q] <= 1'b0;", ""),
    Mutant("a search keeps its place", PORT, AGAIN, AGAIN.replace("place_q <= '0;", "")),
    Mutant("replacement goes on", PORT, FORGETS, FORGETS.replace("next_q <= '0;", "")),
    Mutant("a search remembers", PORT, "found_q <= hit;", "if (hit) found_q <= hit;"),
    Mutant("a hit outlives the load", PORT, FORGETS, FORGETS.replace("forget_i", "loading_i")),
]
ABOVE = "above == page_i[PageBits-1-:AboveBits] &&"
LINES_MUTANTS = [
    Mutant("a line is not cleared", LINES, "{!clear_i, ", "{1'b1, "),
    Mutant("a load clears no line", LINES, "if (clear_i || fill_i)", "if (fill_i)"),
    Mutant("an empty line answers", LINES, "may_answer_i && valid &&", "may_answer_i &&"),
    Mutant("other blocks of a line", LINES, ABOVE, ""),
    Mutant("other pages of a block", LINES, "(!is_one || one == page_i[1:0]) &&", ""),
    Mutant("rights do not count", LINES, "&& (access_i & ~rights) == '0;", ";"),
    Mutant("a line's first page", LINES, "frame[1:0] : page_i[1:0]};", "frame[1:0] : 2'd0};"),
    Mutant("blocks of one line alike", LINES, "^ (LineBits'((page", "& (LineBits'((page"),
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


def lines_induction(mutant: Mutant | None = None):
    """Claims about lines."""
    return prove(LINES_TOP, "", LINES_SOURCES, {}, CYCLES, "-i", mutant=mutant)


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


def test_lines_keep_nothing_of_the_past_from_reset() -> None:
    """The beginning of the induction."""
    holds(prove(LINES_TOP, "", LINES_SOURCES, {}, CYCLES, "--presat"))


@pytest.mark.slow  # most of a minute
def test_lines_keep_nothing_of_the_past() -> None:
    """From any state to the next."""
    holds(lines_induction())


@pytest.mark.parametrize("mutant", LINES_MUTANTS[:QUICK], ids=lambda mutant: mutant.name)
def test_lines_mutants_fail(mutant: Mutant) -> None:
    """One of them; the slow test tries all others."""
    fails(lines_induction(mutant))


@pytest.mark.slow
@pytest.mark.parametrize("mutant", LINES_MUTANTS[QUICK:], ids=lambda mutant: mutant.name)
def test_all_lines_mutants_fail(mutant: Mutant) -> None:
    """Each thing that an answer depends on."""
    fails(lines_induction(mutant))


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
