"""What must not be cold although no fault executes it: each kind is found in machine code, and
named; and the functions that a kernel patches while it boots.
"""

import subprocess
from pathlib import Path

import pytest

from tautochrone.coldcode.kernel import Kernel, read_kernel
from tautochrone.coldcode.linux import must_stay
from tautochrone.errors import TauError
from tautochrone.targets.build import TARGETS, compiler_of

# Both ways to call, all ways to read and write satp, and an alternative to the code of `patched`.
SOURCE = """
    .macro function name
        .globl \\name
        .type \\name, @function
    \\name:
    .endm
    .text
    function boots
        jal patch_insn_write
        ret
    function calls_near
        jal patch_insn_write
        ret
    function calls_far
        1: auipc t0, %pcrel_hi(patch_insn_write)
        jalr ra, %pcrel_lo(1b)(t0)
        ret
    function patch_insn_write
        ret
    function reads
        csrr a0, satp
        csrrs a0, satp, x0
        csrrci a0, satp, 0
        ret
    function writes
        csrw satp, a0
        ret
    function sets
        csrrsi x0, satp, 1
        ret
    function switch_mm
        csrrw a0, satp, a0
        ret
    # The last half of the first instruction and the second one look like csrw satp, a0.
    function seems_to_write
        .4byte 0x107302b7
        .2byte 0x1805
        ret
    function secondary_start_sbi
        ret
    function patched
        nop
        old: nop
        ret
    function end
        ret
    .section .alternative, "a"
    table:
        .4byte old - table, 0, 0, 0
        .4byte old - table - 16 + 2, 0, 0, 0
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    """The linked code."""
    folder = tmp_path_factory.mktemp("patching")
    (folder / "kernel.s").write_text(SOURCE)
    command = [compiler_of("sv39"), *TARGETS["sv39"].machine, "-nostdlib", "-static", "-mno-relax"]
    command += ["-Wl,-e,0", "-Wl,-Ttext=0x80200000", "kernel.s", "-o", "kernel.elf"]
    subprocess.run(command, cwd=folder, check=True)
    return read_kernel(folder / "kernel.elf")


def addresses(
    kernel: Kernel, cold: tuple[str, str], boot: tuple[str, str], **others: int
) -> dict[str, int]:
    """All symbols; cold code and init code are from one function to before another one."""
    at = {name: place.address for name, place in kernel.places.items()}
    ends = {"tau_cold_start": at[cold[0]], "tau_cold_end": at[cold[1]]}
    return at | ends | {"__init_begin": at[boot[0]], "__init_end": at[boot[1]]} | others


CALLERS = ("boots", "patch_insn_write")


def test_resident_code_may_be_patched_while_booting(kernel: Kernel) -> None:
    must_stay.refuse_patched(kernel, addresses(kernel, ("reads", "writes"), CALLERS))


@pytest.mark.parametrize(
    ("name", "boot"),
    [("calls_near", ("boots", "calls_near")), ("calls_far", ("boots", "calls_far"))],
)
def test_who_patches_while_the_kernel_runs_is_named(
    kernel: Kernel, name: str, boot: tuple[str, str]
) -> None:
    with pytest.raises(TauError, match=f"patches code while it runs: {name} does"):
        must_stay.refuse_patched(kernel, addresses(kernel, ("reads", "reads"), boot))


@pytest.mark.parametrize(("first", "behind"), must_stay.TABLES)
def test_a_table_of_patched_places_is_refused(kernel: Kernel, first: str, behind: str) -> None:
    at = addresses(kernel, ("reads", "writes"), CALLERS, **{first: 4096, behind: 4096})
    must_stay.refuse_patched(kernel, at)
    with pytest.raises(TauError, match=f"16 bytes from {first} on"):
        must_stay.refuse_patched(kernel, at | {behind: 4112})


@pytest.mark.parametrize(
    ("cold", "named"),
    [
        (("reads", "writes"), None),
        (("writes", "sets"), "writes"),
        (("sets", "switch_mm"), "sets"),
        (("switch_mm", "seems_to_write"), None),
        (("seems_to_write", "secondary_start_sbi"), None),
    ],
)
def test_cold_code_that_changes_tables_is_named(
    kernel: Kernel, cold: tuple[str, str], named: str | None
) -> None:
    at = addresses(kernel, cold, CALLERS)
    if named is None:
        must_stay.refuse_patched(kernel, at)
        return
    with pytest.raises(TauError, match=f"{named} must stay in RAM: it switches to other"):
        must_stay.refuse_patched(kernel, at)


def test_cold_code_that_is_used_by_its_physical_address_is_named(kernel: Kernel) -> None:
    at = addresses(kernel, ("secondary_start_sbi", "patched"), CALLERS)
    with pytest.raises(
        TauError, match="secondary_start_sbi must stay in RAM: it is reached by its"
    ):
        must_stay.refuse_patched(kernel, at)


def test_what_boot_patches_is_known(kernel: Kernel, tmp_path: Path) -> None:
    assert must_stay.patched_while_booting(kernel) == ("patched",)
    stripped = tmp_path / "kernel.elf"
    command = ["riscv64-unknown-elf-objcopy", "--remove-section=.alternative"]
    subprocess.run([*command, str(kernel.path), str(stripped)], check=True)
    assert must_stay.patched_while_booting(read_kernel(stripped)) == ()
