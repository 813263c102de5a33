"""Bounded proofs of the RTMMU's units on a small space, for every content of their tables.

The proved properties are in formal/tau_rtmmu_proof.sv and formal/tau_rtmmu_tlb_proof.sv. That the
two lookups are equal is proved by induction, so without a bound (formal/tau_rtmmu_fixed_proof.sv).
Each mutant must fail: a proof that holds of everything says nothing.
"""

import subprocess
from dataclasses import dataclass

import pytest

from hw.socket.tb.prove import covers, fails, holds, prove
from testing.mutants import Mutant

LOOKUP = "hw/rtmmu/rtl/tau_rtmmu_any_lookup.sv"
DELAY = "hw/rtmmu/rtl/tau_rtmmu_delay.sv"
FIXED = "hw/rtmmu/rtl/tau_rtmmu_fixed_lookup.sv"
LOOKUPS = [LOOKUP, DELAY, FIXED, "hw/rtmmu/rtl/tau_rtmmu_lookup.sv"]
UNIT = "hw/rtmmu/rtl/tau_rtmmu.sv"
TLB = "hw/rtmmu/rtl/tau_rtmmu_tlb.sv"
PROOF = "hw/rtmmu/formal/tau_rtmmu_proof.sv"
TLB_PROOF = "hw/rtmmu/formal/tau_rtmmu_tlb_proof.sv"
FIXED_PROOF = "hw/rtmmu/formal/tau_rtmmu_fixed_proof.sv"
TOP = "tau_rtmmu_proof"
FIXED_TOP = "tau_rtmmu_fixed_proof"
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
    Mutant("not mapped after denied", UNIT, "!(mapped && granted);", "!granted;"),
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
FIXED_MUTANTS = [
    Mutant("page 0 starts a region", FIXED, "start1 != '0 &&", ""),
    Mutant("c above b", FIXED, "start1 <= page1 &&", ""),
    Mutant("h below c", FIXED, "&& start1 <= place1;", ";"),
    Mutant("c outside", FIXED, "(table_rdata_i[0] >> PageBits) == '0 &&", ""),
    Mutant("h outside", FIXED, "(table_rdata_i[1] >> PageBits) == '0 &&", ""),
    Mutant("h = sp refused", FIXED, "[NumberBits-1:0] <", "[NumberBits-1:0] <="),
    Mutant("state counts as part of the top", FIXED, "[NumberBits-1:0] < N", " < N"),
    Mutant("only low bits of the stack", FIXED, "[4] != 32'(page2)", "[4][PageBits-1:0] != page2"),
    Mutant("s not compared", FIXED, "table_rdata_i[4] != 32'(page2) ||", ""),
    Mutant("the page of now", FIXED, "!= 32'(page2)", "!= 32'(page1)"),
    Mutant("c and h not compared", FIXED, "|| !ok2);", ");"),
    Mutant("even word second", FIXED, "{start1, 1'b1}", "{start1, 1'b0}"),
    Mutant("second read always", FIXED, "{2{valid1}}", "2'b11"),
    Mutant("data too late", FIXED, ".Cycles(Cycles - D)", ".Cycles(Cycles - D + 1)"),
    Mutant("result too late", FIXED, ".Cycles(Cycles - 2 * L)", ".Cycles(Cycles - 2 * L + 1)"),
    Mutant("reset keeps lookups", DELAY, "<= '0;", "<= value_q;"),
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
    fixed: bool = False  # the unit has the lookup for these latencies

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
        sources = [*LOOKUPS, TLB, TLB_PROOF] if self.tlb else [*LOOKUPS, UNIT, PROOF]
        defines = "-DTAU_PROOF_LEMMA" if self.lemma else ""
        unit = "tau_rtmmu_tlb .Entries(2)" if self.tlb else "tau_rtmmu"
        if self.fixed:
            validity, page_table = f"({self.latency})", f"({self.latency2})"
            unit += f" .Latency0{validity},.Latency1{validity},.Latency2{page_table}"
        given = (self.top, unit, sources, self.sizes, self.cycles)
        return prove(*given, *words, defines=defines, mutant=mutant)


@pytest.mark.parametrize("latency2", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_definition_and_cycles(latency2: int) -> None:
    """Any tables at all: the definition's answer, in two cycles; pipelined and parallel."""
    holds(Instance(lemma=False, latency2=latency2).prove("--presat"))


@pytest.mark.slow
@pytest.mark.parametrize("latency2", [1, 2])
def test_definition_with_the_fixed_lookup(latency2: int) -> None:
    """The unit selects it by its parameters."""
    holds(Instance(lemma=False, latency2=latency2, fixed=True).prove("--presat"))


def equal(latency: int, latency2: int, *words: str, mutant: Mutant | None = None, bits: int = 4):
    """What smtbmc says of the two lookups: reset, the cycles of a lookup, and a look at its end."""
    cycles = max(2 * latency, latency2)
    sizes = {"Latency": latency, "Latency2": latency2, "PageBits": bits}
    sizes["SlotBits"] = cycles.bit_length()
    sources = [*LOOKUPS[:-1], FIXED_PROOF]
    return prove(FIXED_TOP, "", sources, sizes, cycles + 3, *words, mutant=mutant)


@pytest.mark.parametrize(
    "latencies, bits",
    [
        ((1, 1), 4),
        ((1, 2), 4),
        ((1, 2), 18),
        *(pytest.param(each, 4, marks=pytest.mark.slow) for each in ((1, 3), (2, 1), (2, 4))),
    ],
)
def test_the_two_lookups_are_equal(latencies: tuple[int, int], bits: int) -> None:
    """For ever: from reset on, and from every cycle to the next."""
    holds(equal(*latencies, "--presat", bits=bits))
    holds(equal(*latencies, "-i", bits=bits))


def test_equal_lookups_translate_and_refuse() -> None:
    """With a lookup in every cycle; the assumptions rule neither out."""
    covers(equal(1, 2, "-c"), FIXED_TOP, ("Translated", "Refused"))


@pytest.mark.parametrize("mutant", FIXED_MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_are_not_equal(mutant: Mutant) -> None:
    """Data and validity are kept only if the other one is slower."""
    fails(equal(1, 1 if mutant.name == "data too late" else 2, mutant=mutant))


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
