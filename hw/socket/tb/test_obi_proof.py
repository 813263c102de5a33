"""Bounded proof that the OBI port keeps the rules of OBI, with any partners that keep theirs.

The proved properties are in formal/tau_obi_proof.sv. Each mutant must fail.
"""

import pytest

from hw.socket.tb.prove import covers, fails, holds, prove
from testing.mutants import Mutant

PORT = "hw/socket/rtl/tau_obi_port.sv"
SOURCES = ["hw/socket/rtl/tau_status_pkg.sv", PORT, "hw/socket/formal/tau_obi_proof.sv"]
TOP = "tau_obi_proof"
CYCLES = 6
COVERED = ("Translated", "Unmapped", "Refused", "LastWaits", "Waiting", "FaultBehindMemory")
MUTANTS = [
    Mutant("a fault overtakes the memory", PORT, "(head_fault ? drained :", "(head_fault ? 1'b1 :"),
    Mutant("the last translation does not wait", PORT, "is_last && !takes;", "1'b0;"),
    Mutant("granted while two wait", PORT, "(!valid_q[1] || leave);", "1'b1;"),
    Mutant("a refusal overtakes the memory", PORT, "(refuse && drained);", "refuse;"),
    Mutant("a refusal is lost", PORT, "refuse && !drained;", "1'b0;"),
    Mutant("a refusal waits alone", PORT, "core_req_i && !held_q;", "core_req_i;"),
    Mutant("a local access overtakes", PORT, "!in_window && !valid_q[0];", "!in_window;"),
    Mutant("the mode of now", PORT, "waits_q ? user_q : user_i;", "user_i;"),
]


@pytest.mark.parametrize("cycles", [CYCLES, pytest.param(CYCLES + 1, marks=pytest.mark.slow)])
def test_the_rules_of_obi(cycles: int) -> None:
    """Any requests, results, grants and answers, in any cycles."""
    holds(prove(TOP, "", SOURCES, {}, cycles, "--presat"))


def test_every_answer_arises() -> None:
    """The assumptions rule none of them out."""
    covers(prove(TOP, "", SOURCES, {}, CYCLES + 1, "-c"), TOP, COVERED)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_fail(mutant: Mutant) -> None:
    """Everything that waits has a reason."""
    fails(prove(TOP, "", SOURCES, {}, CYCLES, mutant=mutant))
