"""Bounded proofs of the RTMMU's units on a small space, for every content of their tables.

The proved properties are in formal/tau_rtmmu_proof.sv and formal/tau_rtmmu_tlb_proof.sv. Each
mutant must fail: a proof that holds of everything says nothing.
"""

import subprocess
from dataclasses import dataclass

import pytest

from hw.socket.tb.prove import covers, fails, holds, prove
from testing.mutants import Mutant

LOOKUP = "hw/rtmmu/rtl/tau_rtmmu_lookup.sv"
UNIT = "hw/rtmmu/rtl/tau_rtmmu.sv"
TLB = "hw/rtmmu/rtl/tau_rtmmu_tlb.sv"
PROOF = "hw/rtmmu/formal/tau_rtmmu_proof.sv"
TLB_PROOF = "hw/rtmmu/formal/tau_rtmmu_tlb_proof.sv"
TOP = "tau_rtmmu_proof"
COVERED = ("Case1", "Case21", "Case221", "Case222NotMapped", "Case222Mapped", "Translated")

MUTANTS = [
    Mutant("page 0 starts a region", LOOKUP, "start != '0 && start <=", "start <="),
    Mutant("c above b", LOOKUP, "start <= page_q[at0_q];", "1'b1;"),
    Mutant("h below c", LOOKUP, "start_q[head_q] <= place_q[head_q] &&", "1'b1 &&"),
    Mutant("h above sp", LOOKUP, "(place_q[head_q] <= top || top_outside)", "1'b1"),
    Mutant("h = sp refused", LOOKUP, "(place_q[head_q] <= top ||", "(place_q[head_q] < top ||"),
    Mutant("s not compared", LOOKUP, "place_ok_q[head_q] && page_ok &&", "place_ok_q[head_q] &&"),
    Mutant("h outside", LOOKUP, "place_ok_q[head_q] && page_ok", "page_ok"),
    Mutant("c outside", LOOKUP, "(table_rdata_i[0] >> PageBits) == '0 && start !=", "start !="),
    Mutant(
        "odd word first", LOOKUP, "table_addr_o[1] = {lookup_page_i, 1'b0}", "table_addr_o[1] = '0"
    ),
    Mutant("not mapped after denied", UNIT, "!mapped || denied != '0;", "denied != '0;"),
    Mutant("rights of nothing", UNIT, "access & ~data[29:27]", "access & ~data[28:26]"),
    Mutant("both are taken", UNIT, "ready && !data_lookup_valid_i;", "ready;"),
    Mutant("idle results", UNIT, "data_result_valid_o = valid &&", "data_result_valid_o = 1 ||"),
]
TLB_MUTANTS = [
    Mutant("kept at the write", TLB, "!forget_region && !forget_all;", "1'b1;"),
    Mutant("forgets a page", TLB, "wdata_i == 32'(start_q[i])", "wdata_i == 32'(page_q[i])"),
    Mutant("out of order", TLB, "data_held_q && data_misses_q == '0;", "data_held_q;"),
    Mutant("old miss kept", TLB, "old_q == '0 &&", "1'b1 &&"),
]
QUICK_NAMES = ("s not compared", "h above sp")
QUICK_MUTANTS = [mutant for mutant in MUTANTS if mutant.name in QUICK_NAMES]
SLOW_MUTANTS = [mutant for mutant in MUTANTS if mutant.name not in QUICK_NAMES]


@dataclass(frozen=True)
class Instance:
    """A space of 2^page_bits pages, the memories' latencies, and how many cycles are looked at."""

    page_bits: int = 2
    latency: int = 1
    latency2: int = 1
    cycles: int = 6
    lemma: bool = True
    tlb: bool = False

    @property
    def top(self) -> str:
        """The proof's module."""
        return "tau_rtmmu_tlb_proof" if self.tlb else TOP

    @property
    def sizes(self) -> dict[str, int]:
        """Parameters of the proof's module."""
        return {"PageBits": self.page_bits, "Latency": self.latency, "Latency2": self.latency2}

    def prove(
        self, *words: str, mutant: Mutant | None = None
    ) -> subprocess.CompletedProcess[str]:
        """What smtbmc says; WORDS are for it."""
        sources = [LOOKUP, TLB, TLB_PROOF] if self.tlb else [LOOKUP, UNIT, PROOF]
        defines = "-DTAU_PROOF_LEMMA" if self.lemma else ""
        unit = "tau_rtmmu_tlb .Entries(2)" if self.tlb else "tau_rtmmu"
        given = (self.top, unit, sources, self.sizes, self.cycles)
        return prove(*given, *words, defines=defines, mutant=mutant)


@pytest.mark.parametrize("latency2", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_definition_and_cycles(latency2: int) -> None:
    """Any tables at all: the definition's answer, in two cycles; pipelined and parallel."""
    holds(Instance(lemma=False, latency2=latency2).prove("--presat"))


def test_lemma_1() -> None:
    """sp right and anything else arbitrary: translated if and only if mapped."""
    holds(Instance().prove("--presat"))


def test_every_case_of_lemma_1_arises() -> None:
    """The assumptions rule none of them out."""
    covers(Instance().prove("-c"), TOP, COVERED)


@pytest.mark.parametrize("mutant", QUICK_MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_fail(mutant: Mutant) -> None:
    """Two of them; the slow tests try all."""
    fails(Instance(lemma=False).prove(mutant=mutant))


@pytest.mark.slow
@pytest.mark.parametrize("mutant", SLOW_MUTANTS, ids=lambda mutant: mutant.name)
def test_all_mutants_fail(mutant: Mutant) -> None:
    """Every comparison of the lookup is needed."""
    fails(Instance(lemma=False).prove(mutant=mutant))


@pytest.mark.slow
@pytest.mark.parametrize(
    "instance",
    [
        Instance(latency2=2, cycles=8),
        Instance(latency2=3, cycles=7),
        Instance(page_bits=3, cycles=5),
        Instance(cycles=9),
    ],
    ids=str,
)
def test_other_instances(instance: Instance) -> None:
    """Parallel memories, a slower page table, eight pages, more cycles."""
    holds(instance.prove("--presat"))


TLB_INSTANCES = [
    Instance(lemma=False, tlb=True, cycles=8),
    Instance(lemma=False, tlb=True, cycles=9, latency2=3),
    Instance(lemma=False, tlb=True, cycles=8, latency2=2),
]


@pytest.mark.slow
@pytest.mark.parametrize("instance", TLB_INSTANCES, ids=str)
def test_tlb_forgets(instance: Instance) -> None:
    """An unmap in any cycle and its write in any later one, and any lookup."""
    holds(instance.prove("--presat"))


@pytest.mark.slow
@pytest.mark.parametrize("mutant", TLB_MUTANTS, ids=lambda mutant: mutant.name)
def test_tlb_mutants_fail(mutant: Mutant) -> None:
    """A miss can be on its way after the write only if the page table is the slow one."""
    instance = TLB_INSTANCES[mutant.name == "old miss kept"]
    fails(instance.prove(mutant=mutant))
