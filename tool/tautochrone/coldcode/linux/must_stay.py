"""Refuses a linked kernel in which code is cold that must stay in RAM:

- Code of the fault path: loading a page must not need a page.
- Code that is patched while the kernel runs, or used by its physical address. When its page was
  given away, such a write or jump reaches the memory of somebody else.
- Code that switches to page tables that may lack cold code.

    check(read_kernel(Path("vmlinux")))     # TauError names the function, and why
"""

from collections.abc import Iterator, Mapping

import numpy as np

from tautochrone.coldcode.kernel import RELINK, Kernel
from tautochrone.coldcode.linux import flash
from tautochrone.coldcode.resident import Paths, Walk, check_resident
from tautochrone.errors import TauError
from tautochrone.files import elf_file

# The fault path begins at ENTRY, which calls HANDLER through a register.
ENTRY, HANDLER = "handle_exception", "do_page_fault"
# Called for interrupts, and for faults that were not at cold code.
BEYOND = frozenset({"do_irq", "irqentry_enter", "handle_page_fault", "irqentry_exit"})
# The ends of tables of places that are patched while the kernel runs.
TABLES = (
    ("__start___jump_table", "__stop___jump_table"),
    ("__start_static_call_sites", "__stop_static_call_sites"),
    ("__start_mcount_loc", "__stop_mcount_loc"),
)
# They write code by its physical address; of others, these call them only while the kernel boots.
PATCHERS = ("patch_insn_write", "patch_insn_set", "patch_text_nosync", "patch_text_set_nosync")
PATCHERS += ("patch_text",)
WHILE_BOOTING = ("riscv_alternative_fix_offsets",)
# Tables of programs have the kernel's half, cold code too.
SWITCHES = ("switch_mm", "set_mm", "set_mm_asid", "set_mm_noasid", "__switch_mm")
# Firmware, or code without translation, jumps there.
BY_PHYSICAL_ADDRESS = ("_start", "_start_kernel", "relocate_enable_mmu", "secondary_start_sbi")
BY_PHYSICAL_ADDRESS += ("secondary_start_common", "__cpu_resume_enter", "riscv_kexec_relocate")
BY_PHYSICAL_ADDRESS += ("riscv_kexec_norelocate", "hibernate_core_restore_code")
# struct alt_entry: where the old code is, from here; the new code, vendor, size, and for what.
ALTERNATIVE = np.dtype([("old", "<i4"), ("rest", "V12")])
KEEP = "leave that function out of the cold code, with --keep, and link again"
EXCLUDE = "exclude the option that patches code: docs/design/code_pager.md lists some"
CSR_SATP = 0x180
OPERATION_CSR, OPERATION_JAL, OPERATION_AUIPC, OPERATION_JALR = 0x73, 0x6F, 0x17, 0x67


def check(kernel: Kernel) -> None:
    """Raise TauError if any such code is cold in a linked kernel."""
    walk_fault_path(kernel)
    refuse_patched(kernel, {name: place.address for name, place in kernel.places.items()})


def walk_fault_path(kernel: Kernel) -> Walk:
    """Walk from the entry of traps to the pager and back. Raises TauError if any of it is cold."""
    cold = flash.cold_range(kernel)
    paths = Paths([ENTRY], {ENTRY: [HANDLER]}, BEYOND)
    return check_resident(kernel, paths, [(cold.start, cold.stop)])


def refuse_patched(kernel: Kernel, addresses: Mapping[str, int]) -> None:
    """Raise TauError for patched code, other page tables and physical addresses. ADDRESSES has all
    symbols."""
    cold = range(addresses["tau_cold_start"], addresses["tau_cold_end"])
    for first, behind in TABLES:
        size = addresses.get(behind, 0) - addresses.get(first, 0)
        if size:
            cause = f"the kernel patches code while it runs: {size:,} bytes from {first} on"
            raise TauError(cause, EXCLUDE)
    boot = range(addresses["__init_begin"], addresses["__init_end"])
    patchers = [addresses[name] for name in PATCHERS if name in addresses]
    for place, name in _callers(kernel, patchers):
        if place not in boot and name not in (*PATCHERS, *WHILE_BOOTING):
            raise TauError(f"the kernel patches code while it runs: {name} does", EXCLUDE)
    for place, name in _writers_of_satp(kernel):
        if place in cold and name not in SWITCHES:
            cause = f"{name} must stay in RAM: it switches to other page tables"
            raise TauError(cause, KEEP)
    for name in BY_PHYSICAL_ADDRESS:
        if addresses.get(name, 0) in cold:
            cause = f"{name} must stay in RAM: it is reached by its physical address"
            raise TauError(cause, KEEP)


def patched_while_booting(kernel: Kernel) -> tuple[str, ...]:
    """The functions that the kernel may patch while it boots, by its table of alternatives.

    Were they cold, their pages would differ from flash, and stay in RAM as a whole.
    """
    with elf_file.opened(kernel.path, RELINK) as elf:
        section = elf.get_section_by_name(".alternative")
        if section is None:
            return ()
        start, rows = section["sh_addr"], np.frombuffer(section.data(), ALTERNATIVE)
    places = (
        start + number * ALTERNATIVE.itemsize + int(old) for number, old in enumerate(rows["old"])
    )
    names = dict.fromkeys(_name_at(kernel, place) for place in places)
    return tuple(name for name in names if name)


def _name_at(kernel: Kernel, address: int) -> str:
    """The function that holds ADDRESS; empty if there is none."""
    number = _number_at(kernel, address)
    return "" if number is None else kernel.functions.names[number]


def _number_at(kernel: Kernel, address: int) -> int | None:
    functions = kernel.functions
    number = int(np.searchsorted(functions.starts, np.uint64(address), side="right")) - 1
    if number < 0 or address >= int(functions.starts[number]) + int(functions.sizes_bytes[number]):
        return None
    return number


def _is_instruction(kernel: Kernel, address: int) -> bool:
    """Whether an instruction starts at ADDRESS, as decoded from the start of its function. Where
    no function is, it may be one."""
    number = _number_at(kernel, address)
    place = address if number is None else int(kernel.functions.starts[number])
    while place < address:  # Bound: the instructions of the function.
        is_compressed = kernel.code_at(place, 1)[0] & 3 != 3
        place += 2 if is_compressed else 4
    return place == address


def _words(kernel: Kernel) -> Iterator[tuple[int, np.ndarray]]:
    """Each section's address, and the four bytes at each place where an instruction may be."""
    for section in kernel.sections:
        halves = np.frombuffer(section.content[: len(section.content) // 2 * 2], "<u2")
        yield section.start, halves[:-1].astype(np.int64) | halves[1:].astype(np.int64) << 16


def _writers_of_satp(kernel: Kernel) -> Iterator[tuple[int, str]]:
    """The places of instructions that write satp, each with its function."""
    for start, words in _words(kernel):
        is_csr = (words & 0x7F == OPERATION_CSR) & (words >> 20 == CSR_SATP)
        # csrrs and csrrc of x0 only read.
        kind, source = words >> 12 & 7, words >> 15 & 31
        is_write = (kind & 3 == 1) | ((kind & 3 > 1) & (source != 0))
        yield from _named(kernel, start, is_csr & is_write)


def _callers(kernel: Kernel, targets: list[int]) -> Iterator[tuple[int, str]]:
    """The places of direct calls of, and jumps to, one of TARGETS, each with its function."""
    wanted = np.array(targets, np.uint64).astype(np.int64)
    for start, words in _words(kernel):
        # As signed numbers, as which addresses of a kernel are small.
        places = np.int64(start - 2**64 if start >> 63 else start) + 2 * np.arange(len(words))
        near = (words >> 31 << 20) | (words >> 12 & 0xFF) << 12 | (words >> 20 & 1) << 11
        near |= (words >> 21 & 0x3FF) << 1
        near = (near ^ 1 << 20) - (1 << 20)
        is_near = (words & 0x7F == OPERATION_JAL) & np.isin(places + near, wanted)
        behind = np.zeros_like(words)
        behind[:-2] = words[2:]
        upper = ((words >> 12 ^ 1 << 19) - (1 << 19)) << 12
        far = places + upper + ((behind >> 20 ^ 1 << 11) - (1 << 11))
        is_far = (words & 0x7F == OPERATION_AUIPC) & (behind & 0x7F == OPERATION_JALR)
        is_far &= (words >> 7 & 31 == behind >> 15 & 31) & np.isin(far, wanted)
        yield from _named(kernel, start, is_near | is_far)


def _named(kernel: Kernel, start: int, is_wanted: np.ndarray) -> Iterator[tuple[int, str]]:
    """Those of the places from START on that are wanted, if an instruction is there."""
    for half in np.flatnonzero(is_wanted).tolist():
        address = start + 2 * half
        if _is_instruction(kernel, address):
            yield address, _name_at(kernel, address)
