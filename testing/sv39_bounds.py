"""Longest paths of the linked Sv39 port: tautochrone.bounds for 64-bit code."""

from __future__ import annotations

from pathlib import Path

import capstone

from tautochrone.code import bounds

ACCESSES_64 = {"ld", "sd", "lwu", "ldsp", "sdsp"}


class Code64(bounds.Code):
    """The code of a file for RV64."""

    def __init__(self, path: Path) -> None:
        """Decode with the wider instructions."""
        super().__init__(path)
        mode = capstone.CS_MODE_RISCV64 | capstone.CS_MODE_RISCVC
        self.decoder = capstone.Cs(capstone.CS_ARCH_RISCV, mode)
        self.decoder.detail = True

    def _riscv(self, insn: capstone.CsInsn) -> bounds.Step:
        step = super()._riscv(insn)
        is_wide = insn.mnemonic.removeprefix("c.") in ACCESSES_64
        return bounds.Step(step.targets, step.calls, 1 if is_wide else step.accesses)


def bound(elf: Path, name: str, with_zeroing: bool, of_accesses: bool = False) -> int:
    """Return the longest path of tau_sv39_NAME in `elf`, bytes that are zeroed apart.

    Without zeroing, paths that zero a frame are left out.
    """
    charges = {"memset": 0} if with_zeroing else {"tau_frames_clean_one": bounds.NEVER}
    code = Code64(elf)
    paths = bounds.LongestPath(code, charges, of_accesses)
    return paths.from_address(code.symbols[f"tau_sv39_{name}"])
