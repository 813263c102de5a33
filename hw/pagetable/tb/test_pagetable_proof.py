"""Bounded proof of the page table unit on a small space, for every content of its table.

The proved properties are in formal/tau_pagetable_proof.sv. Each mutant must fail.
"""

import pytest

from hw.socket.tb.prove import covers, fails, holds, prove
from testing.mutants import Mutant

UNIT = "hw/pagetable/rtl/tau_pagetable.sv"
PROOF = "hw/pagetable/formal/tau_pagetable_proof.sv"
TOP = "tau_pagetable_proof"
MODULE = "tau_pagetable"
CYCLES = 8
KINDS = ("Mapped", "Unmapped", "Denied")
COVERED = [f"{port}{kind}" for port in ("Instr", "Data") for kind in KINDS]
MUTANTS = [
    Mutant("0 is a frame", UNIT, "absent = table_rdata_i[2] == '0", "absent = 1'b0"),
    Mutant("rights of nothing", UNIT, "~table_rdata_i[2][29:27]", "~table_rdata_i[2][28:26]"),
    Mutant("another's access", UNIT, "access_q[head_q] &", "access_q[tail_q] &"),
    Mutant("port forgotten", UNIT, "is_data = port_q[head_q]", "is_data = data_lookup_valid_i"),
    Mutant("both are taken", UNIT, "= !is_full && !data_lookup_valid_i", "= 1'b1"),
    Mutant("fetches first", UNIT, "<= data_lookup_valid_i;", "<= !instr_lookup_valid_i;"),
]


@pytest.mark.parametrize("latency", [1, 2, 3])
def test_definition_and_cycles(latency: int) -> None:
    """The word's answer, as many cycles later as the memory takes, no more and no less."""
    holds(prove(TOP, MODULE, [UNIT, PROOF], {"Latency": latency}, CYCLES, "--presat"))


def test_every_answer_arises() -> None:
    """Each cause on each port, and a lookup in every cycle."""
    done = prove(TOP, MODULE, [UNIT, PROOF], {"Latency": 2}, CYCLES, "-c")
    covers(done, TOP, [*COVERED, "EveryCycle"])


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_fail(mutant: Mutant) -> None:
    """Every part of the unit is needed."""
    fails(prove(TOP, MODULE, [UNIT, PROOF], {"Latency": 2}, CYCLES, mutant=mutant))
