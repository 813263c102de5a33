"""What the kernel and its applications need: bytes, entries, pages [P2-15, P2-25, P2-26]."""

from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

from repro.composable.applications import base, decoder, kernel, pipeline
from repro.composable.figure9 import FULL, with_pipeline
from tautochrone.compose import code, pages
from tautochrone.compose.bounds import os_slot_bound_cycles
from tautochrone.compose.system import pages_of
from tautochrone.facts import compose_format as facts

EXAMPLES_KIB = (17, 15)  # the paper's


def loaded_bytes(executable: Path) -> dict[str, int]:
    """Bytes that the file loads into memory, and bytes that are only reserved there."""
    with open(executable, "rb") as file:
        segments = [
            (each["p_filesz"], each["p_memsz"])
            for each in ELFFile(file).iter_segments()
            if each["p_type"] == "PT_LOAD"
        ]
    loaded = sum(size for size, _ in segments)
    return {"loaded": loaded, "reserved": sum(size for _, size in segments) - loaded}


def state_bytes() -> int:
    """The kernel's state for one application: its part of tau_kernel and its table."""
    with open(kernel(), "rb") as file:
        symbols = ELFFile(file).get_section_by_name(".symtab")
        (whole,) = symbols.get_symbol_by_name("tau_kernel")
    return whole["st_size"] // facts.LIMIT_APPLICATIONS + 4 * facts.SIZE_TABLE_WORDS


def measure() -> dict[str, Any]:
    """The kernel, the base code, and the two applications on the paper's two tiles."""
    system = with_pipeline(FULL, ())
    result: dict[str, Any] = {
        "kernel": loaded_bytes(kernel()),
        "base_bytes": len(code.base_bytes(base())),
        "state_per_application_bytes": state_bytes(),
        "limit_entries": facts.LIMIT_ENTRIES,
        "os_slot_bound_cycles": os_slot_bound_cycles(kernel()),
        "applications": {},
        "examples": {},
    }
    for application in (decoder(FULL.image), pipeline()):
        lists = [pages_of(system, application, tile) for tile in (0, 1)]
        result["applications"][application.name] = {
            **loaded_bytes(application.executable), "entries": [len(each) for each in lists]
        }
    result["entries_most"] = max(
        entry for row in result["applications"].values() for entry in row["entries"]
    )
    for size in EXAMPLES_KIB:
        segment = pages.Segment(facts.ADDRESS_APPLICATION, size * 1024, pages.READ)
        orders = [page.order for page in pages.pages_for(segment, pages.ORDER_MAX)]
        result["examples"][str(size)] = [4**order for order in orders]
    return result


quick = measure
