"""Longest paths of the linked Sv39 port."""

from pathlib import Path

from tautochrone.code.bounds import NEVER, bound_accesses, bound_instructions


def bound(elf: Path, name: str, with_zeroing: bool, of_accesses: bool = False) -> int:
    """Return the longest path of tau_sv39_NAME in `elf`, bytes that are zeroed apart.

    Without zeroing, paths that zero a frame are left out.
    """
    charges = {"memset": 0} if with_zeroing else {"tau_frames_clean_one": NEVER}
    longest = bound_accesses if of_accesses else bound_instructions
    return longest(elf, f"tau_sv39_{name}", charges)
