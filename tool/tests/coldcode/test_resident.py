"""The walk of the fault path finds every way into cold code, and says it [G-9].

Method: small assembled programs whose paths are known by hand; the decoder against capstone.
"""

import itertools
import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import capstone
import pytest

from tautochrone.coldcode import control_flow, resident
from tautochrone.coldcode.kernel import Kernel, read_kernel
from tautochrone.errors import TauError
from tautochrone.targets.build import TARGETS, compiler_of

CODE_ADDRESS = 0x80000000
SEED = 20261123


@dataclass(frozen=True)
class Program:
    """Bodies of functions, in order; the input of the walk from `entry`; its expected result.

    `expected` is the functions that are reached, or a text of the refusal. Functions whose names
    begin with cold_ are cold.
    """

    bodies: dict[str, str]
    expected: set[str] | str
    indirect: dict[str, list[str]] = field(default_factory=dict)
    beyond: tuple[str, ...] = ()


RET = "ret"
FAR = "1: auipc {0}, %pcrel_hi(cold_far)\n jalr {1}, %pcrel_lo(1b)({0})"
PROGRAMS = {
    "nothing is cold": Program(
        {"entry": "jal one\n ret", "one": "nop\n ret", "cold_one": RET}, {"entry", "one"}
    ),
    "a call": Program({"entry": "jal cold_one\n ret", "cold_one": RET}, "entry -> cold_one"),
    "a call of a call": Program(
        {"entry": "nop\n jal one\n ret", "one": "jal cold_one\n ret", "cold_one": RET},
        "entry+0x4 -> one -> cold_one",
    ),
    "a tail call": Program({"entry": "j cold_one", "cold_one": RET}, "entry -> cold_one"),
    "a branch taken": Program(
        {"entry": "beqz a0, cold_one\n ret", "cold_one": RET}, "entry -> cold_one"
    ),
    "a short branch taken": Program(
        {"entry": "c.bnez a0, cold_one\n ret", "cold_one": RET}, "entry -> cold_one"
    ),
    "a branch not taken": Program(
        {"entry": "beqz a0, 1f\n jal cold_one\n1: ret", "cold_one": RET}, "entry+0x4 -> cold_one"
    ),
    "a short jump": Program({"entry": "c.j cold_one", "cold_one": RET}, "entry -> cold_one"),
    "a jump backward": Program(
        {"cold_one": "ret", "entry": "beqz a0, 1f\n ret\n1: j cold_one"}, " -> cold_one"
    ),
    "a far call": Program(
        {"entry": FAR.format("ra", "ra") + "\n ret", "cold_far": RET}, "entry+0x4 -> cold_far"
    ),
    "a far call forward": Program(
        {"entry": FAR.format("ra", "ra") + "\n ret", "gap": ".zero 8192", "cold_far": RET},
        "entry+0x4 -> cold_far",
    ),
    "a far call backward": Program(
        {"cold_far": RET, "gap": ".zero 8192", "entry": FAR.format("ra", "ra") + "\n ret"},
        "entry+0x4 -> cold_far",
    ),
    "a far jump": Program(
        {"entry": FAR.format("t1", "x0"), "cold_far": RET}, "entry+0x4 -> cold_far"
    ),
    "into the middle": Program(
        {"entry": "j .Linside", "cold_one": "nop\n.Linside: nop\n ret"}, "entry -> cold_one+0x4"
    ),
    "falling through": Program({"entry": "nop", "cold_one": RET}, "entry -> cold_one"),
    "after a loop": Program(
        {"entry": "1: addi a0, a0, -1\n bnez a0, 1b\n j cold_one", "cold_one": RET},
        "entry+0x8 -> cold_one",
    ),
    "recursion": Program({"entry": "beqz a0, 1f\n jal entry\n1: ret", "cold_one": RET}, {"entry"}),
    "a return from a trap": Program({"entry": "csrr a0, sepc\n sret", "cold_one": RET}, {"entry"}),
    "a call that does not return": Program(
        {"entry": "jal one", "cold_one": RET, "one": RET}, {"entry", "one"}
    ),
    "a trap at the end": Program({"entry": "ebreak", "cold_one": RET}, {"entry"}),
    "a short trap at the end": Program({"entry": "nop\n c.ebreak", "cold_one": RET}, {"entry"}),
    "a trap that goes on": Program(
        {"entry": "ebreak\n jal cold_one\n ret", "cold_one": RET}, "entry+0x4 -> cold_one"
    ),
    "a call through a register": Program({"entry": "jalr a5\n ret"}, "entry (0x80000000) calls"),
    "a jump through a register": Program({"entry": "nop\n jr t0"}, "entry+0x4 (0x80000004) jumps"),
    "a short one": Program({"entry": "c.jalr a5\n ret"}, "entry (0x80000000) calls through"),
    "a short jump through one": Program({"entry": "c.jr a5"}, "entry (0x80000000) jumps through"),
    "a return to elsewhere": Program({"entry": "jalr x0, 8(ra)"}, "entry (0x80000000) jumps"),
    "auipc of another register": Program(
        {"entry": "auipc t1, 0\n jalr ra, 0(t2)\n ret"}, "entry+0x4 (0x80000004) calls"
    ),
    "auipc on one of two ways": Program(
        {"entry": "beqz a0, 1f\n auipc t1, 0\n1: jalr ra, 12(t1)\n ret"},
        "entry+0x8 (0x80000008) calls",
    ),
    "auipc on the way walked first": Program(
        {"entry": "beqz a0, 1f\n j 2f\n1: auipc t1, 0\n2: jalr ra, 8(t1)\n ret"},
        "entry+0xc (0x8000000c) calls",
    ),
    "a listed call": Program(
        {"entry": "jalr a5\n ret", "one": RET, "two": RET, "cold_one": RET},
        {"entry", "one", "two"},
        {"entry": ["one", "two"]},
    ),
    "a listed call of cold code": Program(
        {"entry": "jalr a5\n ret", "one": RET, "cold_one": RET},
        "entry -> cold_one",
        {"entry": ["one", "cold_one"]},
    ),
    "a listed jump to itself": Program(
        {"entry": "jr a5", "cold_one": RET}, {"entry"}, {"entry": ["entry"]}
    ),
    "listed for another function": Program(
        {"entry": "jal one\n ret", "one": "jalr a5\n ret"},
        "entry -> one (0x80000008) calls",
        {"entry": ["one"]},
    ),
    "beyond the path": Program(
        {"entry": "jal one\n jal cold_one\n ret", "one": "j cold_one", "cold_one": RET},
        {"entry", "one"},
        beyond=("cold_one",),
    ),
    "beyond, but fallen into": Program(
        {"entry": "nop", "cold_one": RET}, {"entry"}, beyond=("cold_one",)
    ),
    "no instruction": Program({"entry": ".4byte 0"}, "no instruction is there"),
    "the end of all code": Program({"entry": "nop"}, "no instruction is there"),
}


def assembled(folder: Path, program: Program) -> Kernel:
    """Link the program; uncompressed but for what asks for it."""
    lines = [".text", ".option norvc"]
    for name, body in program.bodies.items():
        for mnemonic in ("c.j ", "c.jr ", "c.jalr ", "c.bnez ", "c.ebreak"):
            body = body.replace(mnemonic, f".option rvc\n {mnemonic}")
        lines += [f".globl {name}", f".type {name}, @function", f"{name}:", f" {body}"]
        lines += [f".size {name}, . - {name}", ".option norvc"]
    source, made = folder / "program.S", folder / "program.elf"
    source.write_text("\n".join(lines) + "\n")
    command = [compiler_of("sv39"), *TARGETS["sv39"].machine, "-nostdlib", "-static", "-Wl,-e,0"]
    command += [f"-Wl,-Ttext={CODE_ADDRESS:#x}", "-Wl,--no-relax", str(source), "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return read_kernel(made)


def cold_ranges(kernel: Kernel) -> list[tuple[int, int]]:
    """The functions whose names say that they are cold."""
    known = zip(
        kernel.functions.names,
        kernel.functions.starts.tolist(),
        kernel.functions.sizes_bytes.tolist(),
        strict=True,
    )
    return [(start, start + size) for name, start, size in known if name.startswith("cold_")]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_walk_by_hand(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    kernel = assembled(tmp_path, program)
    paths = resident.Paths(["entry"], program.indirect, program.beyond)
    try:
        walk = resident.check_resident(kernel, paths, cold_ranges(kernel))
    except TauError as refusal:
        assert isinstance(program.expected, str), refusal.message
        assert program.expected in refusal.message, refusal.message
        assert refusal.next_step
    else:
        assert set(walk.functions) == program.expected
        assert walk.functions[0] == "entry" and walk.instructions_count > 0


def test_a_root_that_is_not_there(tmp_path: Path) -> None:
    kernel = assembled(tmp_path, PROGRAMS["a call"])
    for paths in (
        resident.Paths(["nowhere"]),
        resident.Paths(["entry"], beyond=["nowhere"]),
    ):
        with pytest.raises(TauError, match="has no function nowhere"):
            resident.check_resident(kernel, paths, [])


def test_a_root_that_is_cold(tmp_path: Path) -> None:
    kernel = assembled(tmp_path, PROGRAMS["a call"])
    with pytest.raises(TauError, match="cold: entry "):
        resident.check_resident(kernel, resident.Paths(["entry"]), [(CODE_ADDRESS, 2**64)])


# ---- The decoder

BRANCHES = {"beq", "bne", "blt", "bge", "bltu", "bgeu", "beqz", "bnez", "blez", "bgez"}
BRANCHES |= {"bltz", "bgtz"}


def by_capstone(insn: capstone.CsInsn) -> tuple[set[int], int | None, bool]:
    """The targets, the callee, and whether it goes through a register, by capstone."""
    name, end = insn.mnemonic.removeprefix("c."), insn.address + insn.size
    operands = insn.operands
    if name in BRANCHES:
        return {end, insn.address + operands[-1].imm}, None, False
    if name in ("j", "jal"):
        target = insn.address + operands[-1].imm
        return ({target}, None, False) if name == "j" else ({end}, target, False)
    if name in ("ret", "mret", "sret"):
        return set(), None, False
    if name in ("jr", "jalr"):
        if name == "jr" and insn.reg_name(operands[0].reg) == "ra" and "(" not in insn.op_str:
            return set(), None, False
        links = name == "jalr" and (len(operands) < 3 or insn.reg_name(operands[0].reg) != "zero")
        return ({end} if links else set()), None, True
    return {end}, None, False


def encodings() -> itertools.chain[bytes]:
    """Every compressed instruction, and random ones of each operation that changes control."""
    choose = random.Random(SEED)
    compressed = (half.to_bytes(2, "little") for half in range(1, 1 << 16) if half & 3 != 3)
    operations = (0x6F, 0x67, 0x63, 0x17, 0x73, 0x13, 0x03, 0x23, 0x33, 0x37)
    words = (choose.getrandbits(25) << 7 | choose.choice(operations) for _ in range(40_000))
    special = (0x00100073, 0x10200073, 0x30200073, 0x00008067, 0x00028067, 0x00000073)
    return itertools.chain(
        compressed, (word.to_bytes(4, "little") for word in itertools.chain(words, special))
    )


def test_the_decoder_agrees_with_capstone() -> None:
    """On all encodings that capstone can decode."""
    decoder = capstone.Cs(
        capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV64 | capstone.CS_MODE_RISCVC
    )
    decoder.detail = True
    compared = 0
    for encoded in encodings():
        found = next(decoder.disasm(encoded, CODE_ADDRESS, 1), None)
        if found is None:
            continue
        ours = control_flow.decode(CODE_ADDRESS, encoded)
        expected = by_capstone(found)
        is_through = ours.through is not None
        got = (set(ours.targets), ours.calls, is_through)
        assert got == expected, f"{encoded.hex()}: {found.mnemonic} {found.op_str}"
        assert ours.size == found.size
        compared += 1
    assert compared > 60_000


def test_words_that_are_not_instructions() -> None:
    for encoded in (b"", b"\0\0", b"\0\0\0\0", b"\x13", b"\x13\x05"):
        assert control_flow.decode(CODE_ADDRESS, encoded) is None
