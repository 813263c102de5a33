"""The ABI of a recorded program: which machine code asked for the sizes in a trace.

Structures with pointers have other sizes on other ABIs. A plan for a target is exact only if its
recordings were made on an ABI that lays structures out as the target does (facts/abi.toml).
A trace's header has `abi`, a name of NAMES, or an empty one if nobody stated it: CSV and
heaptrack's files know no machine. It has `build_id` of the recorded program, empty if it has none.
`translated` says that `tau translate` computed the sizes for that ABI from another one's.
"""

import platform
from collections.abc import Mapping
from typing import Any

from tautochrone.facts import abi_format

NAMES = tuple(abi_format.NUMBER)
NAME_OF_NUMBER = {number: name for name, number in abi_format.NUMBER.items()}
LAYOUT_OF_POINTER = {4: "32", 8: "host"}
HOST = {"x86_64": "x86-64", "aarch64": "aarch64", "riscv64": "riscv64"}


def of_host() -> str:
    """The ABI of programs of this machine; empty if it is none of NAMES."""
    return HOST.get(platform.machine(), "")


def of_header(header: Mapping[str, Any]) -> str:
    """The ABI that a trace's header names; empty if it is not stated, or none of NAMES."""
    name = header.get("abi")
    return name if isinstance(name, str) and name in abi_format.NUMBER else ""


def translated_from(header: Mapping[str, Any]) -> str:
    """The ABI that a trace's sizes were translated from; empty if they were recorded."""
    translated = header.get("translated")
    name = translated.get("from") if isinstance(translated, dict) else None
    return name if isinstance(name, str) and name in abi_format.NUMBER else ""


def has_words_of(abi: str, layout: str) -> bool:
    """Whether an ABI's pointers have a layout's words."""
    return LAYOUT_OF_POINTER[abi_format.POINTER_BYTES[abi]] == layout


def own_layout(header: Mapping[str, Any]) -> str:
    """The layout of the ABI that a trace's header names; a 32-bit target's if it names none."""
    name = of_header(header)
    return LAYOUT_OF_POINTER[abi_format.POINTER_BYTES[name]] if name else "32"


def estimate(header: Mapping[str, Any], layout: str) -> str:
    """A sentence if a trace's sizes are of another ABI than a layout's; else empty."""
    name = of_header(header)
    return estimate_of(name, layout) if name and not fits(name, layout) else ""


def estimate_of(abis: str, layout: str) -> str:
    """The sentence on sizes of other ABIs than the layout's."""
    target = "a 32-bit target" if layout == "32" else "a 64-bit machine"
    return f"an estimate for {target}: the sizes were recorded on {abis}"


def fits(abi: str, layout: str) -> bool:
    """Whether structures of an ABI have the sizes that they have on targets of a layout.

    i386 has pointers of 4 bytes, but aligns members of 8 bytes to 4.
    """
    return has_words_of(abi, layout) and abi_format.WIDE_ALIGNMENT[abi] == 8
