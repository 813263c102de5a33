"""The naive model of a code recording: a kernel on an emulated processor, one instruction a step.

It counts each instruction by address, and writes each change of function after the marker.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import unicorn
from elftools.elf.elffile import ELFFile
from unicorn import riscv_const as riscv

from tautochrone.coldcode.kernel import Kernel

MEMORY, MEMORY_BYTES = 0x80000000, 1 << 20
POWER_OFF, DEVICE_BYTES = 0x100000, 0x1000
END = "stopped"  # the function after the store that ends QEMU


@dataclass
class Model:
    """The execution: instructions by address in each phase, and (function, time) in order."""

    boot: Counter[int] = field(default_factory=Counter)
    steady: Counter[int] = field(default_factory=Counter)
    touches: list[tuple[str, int]] = field(default_factory=list)
    time: int = 0
    marker_time: int | None = None
    latest: int = 0  # address of the latest instruction


def run(kernel: Kernel, marker: int | None, touches_max: int) -> Model:
    """Carry the kernel out until it powers off."""
    functions = list(
        zip(
            kernel.functions.starts.tolist(),
            kernel.functions.sizes_bytes.tolist(),
            kernel.functions.names,
            strict=True,
        )
    )
    model, touched = Model(), Counter[str]()
    if marker is None:
        model.marker_time = 0
    machine = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV64)
    machine.mem_map(MEMORY, MEMORY_BYTES)
    machine.mem_map(POWER_OFF, DEVICE_BYTES)
    with open(kernel.path, "rb") as file:
        for segment in ELFFile(file).iter_segments():
            if segment["p_type"] == "PT_LOAD":
                machine.mem_write(segment["p_paddr"], segment.data())

    def step(_machine: Any, address: int, _size: int, _data: Any) -> None:
        if address == marker and model.marker_time is None:
            model.marker_time = model.time
        for start, size, name in functions:
            if start <= address < start + size:
                is_steady = model.marker_time is not None
                (model.steady if is_steady else model.boot)[address] += 1
                is_same = bool(model.touches) and model.touches[-1][0] == name
                if is_steady and not is_same and touched[name] < touches_max:
                    touched[name] += 1
                    model.touches.append((name, model.time))
                model.time += 1
        model.latest = address

    def trapped(_machine: Any, _cause: int, _data: Any) -> None:
        machine.reg_write(riscv.UC_RISCV_REG_MEPC, model.latest)
        machine.reg_write(riscv.UC_RISCV_REG_PC, machine.reg_read(riscv.UC_RISCV_REG_MTVEC))

    machine.hook_add(unicorn.UC_HOOK_CODE, step)
    machine.hook_add(unicorn.UC_HOOK_INTR, trapped)
    machine.emu_start(MEMORY, kernel.address_of(END))
    return model
