"""Proofs, for ever, that the load of a table leaves nothing of the past in the composable unit.

Of the unit with the tile's ports in front of it: what holds of one at all times
(formal/tau_composable_copy.sv), and of two with any two pasts (formal/tau_composable_proof.sv), in
steps. Of the lines alone: what they answer (formal/tau_composable_lines_proof.sv). All are
inductions. Each mutant must fail where it says.
"""

import pytest

from hw.socket.tb.prove import does_not_last, fails, holds, holds_for_ever, induct, prove
from testing.mutants import Mutant

UNIT = "hw/composable/rtl/tau_composable.sv"
PORT = "hw/composable/rtl/tau_composable_port.sv"
LOAD = "hw/composable/rtl/tau_composable_load.sv"
TABLE = "hw/composable/rtl/tau_composable_table.sv"
LINES = "hw/composable/rtl/tau_composable_lines.sv"
TILE_PORT = "hw/tile/rtl/tau_tile_port.sv"
COPY_TOP = "tau_composable_copy"
PROOF_TOP = "tau_composable_proof"
LINES_TOP = "tau_composable_lines_proof"
FORMAL = [f"hw/composable/formal/{top}.sv" for top in (COPY_TOP, PROOF_TOP)]
SOURCES = ["hw/socket/rtl/tau_status_pkg.sv", UNIT, PORT, LOAD, TABLE, LINES, TILE_PORT, *FORMAL]
LINES_SOURCES = [LINES, f"hw/composable/formal/{LINES_TOP}.sv"]
SMALL = {"PageBits": 9, "FrameBits": 4, "Entries": 2}
NAMES = ("one unit", "loads", "tables", "states and lines", "answers")

FORGETS = "end else if (forget_i) begin\n      valid_q <= '0;\n      next_q <= '0;\n"
AGAIN = "      found_q <= 1'b0;\n      place_q <= '0;\n"
DATA_FORGETS = (
    "(forget),\n    .loading_i      (loading),\n    .event_hit_o    (event_hit_o[1]),"
)
LAST_READ = "if (page_rvalid_i && read_q == 6'(Last)) loading_q"
KEEPS = "if (write && place"
ENDS = "rows_q == RowBits'(Rows - 1);"
WRITES = "write_o = page_rvalid_i;"
COUNTS = "asking_q <= 1'b1;\n      doubtful_q <= '0;\n"
COPY, LOADS, TABLES, STATES, ANSWERS = range(5)


# And the run that fails: of one unit, or that step of two.
MUTANTS = [
    (
        COPY,
        Mutant("a local access overtakes", TILE_PORT, "!in_window && !valid_q[0];", "!in_window;"),
    ),
    (
        COPY,
        Mutant("one port forgets", UNIT, DATA_FORGETS, DATA_FORGETS.replace("(forget)", "(1'b0)")),
    ),
    (
        COPY,
        Mutant("a load is a cycle short", LOAD, LAST_READ, LAST_READ.replace("Last", "Last - 1")),
    ),
    (COPY, Mutant("a load interrupts another", UNIT, "LoadWord && !loading &&", "LoadWord &&")),
    (
        COPY,
        Mutant("an old entry stays", TABLE, KEEPS, KEEPS.replace("place", "place != 0 && place")),
    ),
    (
        COPY,
        Mutant("doubtful ones keep a page", LOAD, WRITES, WRITES[:-1] + " && (sound || !wanted);"),
    ),
    (
        COPY,
        Mutant("the TLB is not forgotten", PORT, FORGETS, FORGETS.replace("valid_q <= '0;", "")),
    ),
    (COPY, Mutant("replacement goes on", PORT, FORGETS, FORGETS.replace("next_q <= '0;", ""))),
    (
        COPY,
        Mutant("a hit outlives the load", PORT, FORGETS, FORGETS.replace("forget_i", "loading_i")),
    ),
    (COPY, Mutant("a search takes no place", PORT, "valid_q[next_q] <= 1'b0;", "")),
    (COPY, Mutant("a search keeps its place", PORT, AGAIN, AGAIN.replace("place_q <= '0;", ""))),
    (COPY, Mutant("a search remembers", PORT, "found_q <= hit;", "if (hit) found_q <= hit;")),
    (
        COPY,
        Mutant("a search ends with the table", PORT, ENDS, "row_i == '1;"),
    ),
    (COPY, Mutant("the row that comes first", PORT, "|| row_i < row_found_q);", ");")),
    (COPY, Mutant("a line is not cleared", LINES, "{!clear_i, ", "{1'b1, ")),
    (COPY, Mutant("a load clears no line", LINES, "if (clear_i || fill_i)", "if (fill_i)")),
    (LOADS, Mutant("doubtful ones add up", LOAD, COUNTS, COUNTS.replace("doubtful_q <= '0;", ""))),
    (STATES, Mutant("replacement by the row", PORT, "next_q + 1'b1;", "next_q + row_i[0];")),
    (
        ANSWERS,
        Mutant("a register tells the past", UNIT, "{31'd0, loading};", "{31'd0, refused_q[0]};"),
    ),
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
    Mutant("blocks of one line alike", LINES, "^ (LineBits'(page", "& (LineBits'(page"),
]
NAMED = [f"{NAMES[where]}: {change.name}" for where, change in MUTANTS]


def proof(where: int, sizes: dict[str, int], change: Mutant | None = None):
    """What the solver says of one unit, or of that step of two."""
    if where == COPY:
        return induct(COPY_TOP, SOURCES, sizes, mutant=change)
    sizes = sizes | {"Step": where, "Ports": int(where != TABLES)}
    return induct(PROOF_TOP, SOURCES, sizes, are_parts_proved=True, mutant=change)


def lines_induction(mutant: Mutant | None = None):
    """Claims about lines."""
    return prove(LINES_TOP, "", LINES_SOURCES, {}, 2, "-i", mutant=mutant)


def test_what_holds_of_one_unit() -> None:
    """At all times, in front of any core."""
    holds_for_ever(proof(COPY, SMALL))


def test_the_beginning_of_lines() -> None:
    """They keep nothing of the past from reset on."""
    holds(prove(LINES_TOP, "", LINES_SOURCES, {}, 2, "--presat"))


@pytest.mark.slow  # a minute
@pytest.mark.parametrize("where", range(5), ids=NAMES)
def test_a_switch_leaves_nothing_of_the_past(where: int) -> None:
    """At full size: the same requests get the same answers, for ever."""
    holds_for_ever(proof(where, {}))


@pytest.mark.slow  # most of a minute
def test_what_lines_answer() -> None:
    """From any state to the next."""
    holds(lines_induction())


@pytest.mark.slow
@pytest.mark.parametrize("where, change", MUTANTS, ids=NAMED)
def test_all_mutants_fail(where: int, change: Mutant) -> None:
    """Each thing that a load forgets, and that it waits for."""
    does_not_last(proof(where, SMALL, change))


@pytest.mark.slow
@pytest.mark.parametrize("change", LINES_MUTANTS, ids=lambda change: change.name)
def test_all_lines_mutants_fail(change: Mutant) -> None:
    """Each thing that an answer depends on."""
    fails(lines_induction(change))
