"""The bound of a fault, on a pager whose instructions are counted by hand."""

import subprocess
from pathlib import Path

import pytest

from tautochrone.coldcode.fault_bound import FaultBound, fault_bound
from tautochrone.coldcode.kernel import Kernel, read_kernel
from tautochrone.targets.build import TARGETS, compiler_of

# Links are not kept: nothing is executed.
SOURCE = """
    .macro function name
        .globl \\name
        .type \\name, @function
    \\name:
    .endm
    .text
    function tau_cold_fault
        beqz a0, 1f
        jal tau_sv39_code_visit
    1:  jal tau_cold_read_page
        ret
    function tau_sv39_code_visit
        nop
        nop
        ret
    function tau_cold_read_page
        beqz a0, 1f
        jal tau_cold_read_packed
        ret
    1:  jal tau_sv39_code_read
        beqz a0, 2f
        jal tau_cold_wait
    2:  ret
    function tau_cold_read_packed
        nop
        j tau_cold_read_packed
    function tau_cold_wait
        nop
        j tau_cold_wait
    function tau_sv39_code_read
    1:  nop
        bnez a0, 1b
        ret
"""
BESIDE = 3  # branch, call, return
VISIT = 1 + 3
READING = 1 + 1 + 1 + 1 + 32 * 2 + 1  # tau_cold_read_page, then the copy


def linked(folder: Path, source: str) -> Kernel:
    """A program with this code."""
    (folder / "kernel.s").write_text(source)
    command = [compiler_of("sv39"), *TARGETS["sv39"].machine, "-nostdlib", "-static"]
    command += ["-Wl,-e,0", "-Wl,-Ttext=0x80200000", "kernel.s", "-o", "kernel.elf"]
    subprocess.run(command, cwd=folder, check=True)
    return read_kernel(folder / "kernel.elf")


@pytest.mark.parametrize("policy", ["round-robin", "random", "nru", "aging"])
def test_a_bound_counts_what_its_policy_executes(tmp_path: Path, policy: str) -> None:
    """From flash, without a delay: packed pages and waiting are left out."""
    visit = VISIT if policy in ("nru", "aging") else 0
    expected = FaultBound(BESIDE + visit, BESIDE + visit + READING)
    assert fault_bound(linked(tmp_path, SOURCE), policy) == expected


def test_a_kernel_without_the_pager_has_no_bound(tmp_path: Path) -> None:
    other = SOURCE.replace("tau_cold_fault", "somebody_elses_fault")
    assert fault_bound(linked(tmp_path, other), "nru") is None
