"""Bounds are sound, and exact where paths are feasible. Method: small functions counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tautochrone.code.build import Build
from tautochrone.code.bounds import (
    NEVER,
    PAYLOAD_CHARGES,
    bound_accesses,
    bound_instructions,
    bound_of_image,
)
from tautochrone.errors import TauError
from tautochrone.replay.emulator import build_image, core_image, count_calls
from testing.random_trace import random_trace
from tool.tests.replay.test_emulator import IMAGES, PLAN, counted

HEAD = {
    "rv32": "    .text\n    .globl p_init, p_malloc, p_free\np_init:\n    ret\np_free:\n    ret\n",
    "m4": "    .syntax unified\n    .thumb\n    .text\n    .globl p_init, p_malloc, p_free\n"
    "    .thumb_func\np_init:\n    bx lr\n    .thumb_func\np_free:\n    bx lr\n    .thumb_func\n",
}

# Body of p_malloc, and its longest path.
RV32 = {
    "straight": ("addi a0, a0, 1\n mul a0, a0, a1\n ret", 3),
    "diamond": ("beqz a0, 1f\n nop\n nop\n nop\n ret\n1: nop\n ret", 5),
    "long side is the jump": ("bltu a0, a1, 1f\n ret\n1: nop\n j 2f\n nop\n2: ret", 4),
    "call": ("mv s0, ra\n call p_free\n mv ra, s0\n ret", 5),
    "tail call": ("nop\n tail p_free", 3),
    "far call": (".option norelax\n mv s0, ra\n call p_free\n mv ra, s0\n ret", 6),
    "far tail call": (".option norelax\n nop\n tail p_free", 4),
    "payload call": ("mv s0, ra\n call memset\n mv ra, s0\n ret", 4 + 3),
    "payload tail call": ("tail memmove", 1 + 3),
    "jump over a shared end": ("beqz a0, 1f\n nop\n1: beqz a1, 2f\n nop\n nop\n2: ret", 6),
    "compressed and long mixed": ("li a5, 0x12345\n c.addi a5, 1\n add a0, a0, a5\n ret", 5),
    "trap": ("beqz a0, 1f\n ret\n1: nop\n nop\n ebreak", 4),
}
M4 = {
    "straight": ("adds r0, r0, #1\n mul r0, r0, r1\n bx lr", 3),
    "diamond": ("cbz r0, 1f\n nop\n nop\n nop\n bx lr\n1: nop\n bx lr", 5),
    "wide branch": ("cmp r0, r1\n bhi.w 1f\n bx lr\n1: nop\n b 2f\n nop\n2: bx lr", 5),
    "call": ("push {r4, lr}\n bl p_free\n pop {r4, pc}", 4),
    "tail call": ("nop\n b.w p_free", 3),
    "payload call": ("push {r4, lr}\n bl memcpy\n pop {r4, pc}", 3 + 3),
    "payload tail call": ("b.w memmove", 1 + 3),
    "skipped instructions count": (
        "cmp r0, #0\n itte eq\n moveq r0, r1\n nopeq\n movne r0, r2\n bx lr",
        6,
    ),
    "conditional return": ("cmp r0, #0\n it eq\n bxeq lr\n nop\n bx lr", 5),
    "conditional pop": (
        "push {r4, lr}\n cmp r0, #0\n it ne\n popne {r4, pc}\n nop\n pop {r4, pc}",
        6,
    ),
    "jump at the end of a block": (
        "cmp r0, #0\n ite eq\n moveq r0, r1\n bne 1f\n bx lr\n1: nop\n bx lr",
        6,
    ),
    "trap": ("cbz r0, 1f\n bx lr\n1: nop\n nop\n udf #0", 4),
}
REFUSED = {
    "rv32": {
        "a loop": "1: addi a0, a0, -1\n bnez a0, 1b\n ret",
        "recursion": "addi sp, sp, -16\n sw ra, 0(sp)\n call p_malloc\n lw ra, 0(sp)\n ret",
        "jumps to an unknown address": "jr a0",
        "jumps to an unknown address ": "mv s0, ra\n jalr a0\n jr s0",
        "jumps to an unknown address  ": "auipc t1, 0\n jr 8(t2)",
        "jumps to an unknown address   ": "auipc t1, 0\n nop\n jr 12(t1)",
    },
    "m4": {
        "a loop": "1: subs r0, r0, #1\n bne 1b\n bx lr",
        "recursion": "push {r4, lr}\n bl p_malloc\n pop {r4, pc}",
        "jumps to an unknown address": "bx r0",
        "jumps to an unknown address ": "push {r4, lr}\n blx r0\n pop {r4, pc}",
        "jumps to an unknown address  ": "tbb [pc, r0]\n .byte 1, 1\n bx lr",
    },
}
# Bodies of p_malloc, and the most loads and stores on a path; each instruction that accesses memory
# is there by itself.
ACCESSES = {
    **{f"{name} alone": (f"{name} a1, 1(a0)\n ret", 1) for name in ("lb", "lh", "lw", "lbu")},
    **{f"{name} alone": (f"{name} a1, 1(a0)\n ret", 1) for name in ("lhu", "sb", "sh", "sw")},
    **{f"{name} alone": (f"{name} a1, 4(a0)\n ret", 1) for name in ("c.lw", "c.sw")},
    **{f"{name} alone": (f"{name} a1, 4(sp)\n ret", 1) for name in ("c.lwsp", "c.swsp")},
    "none": ("addi a0, a0, 1\n mul a0, a0, a1\n li a5, 0x12345\n ret", 0),
    "not on the longest path": ("beqz a0, 1f\n nop\n nop\n nop\n ret\n1: sb a1, 0(a0)\n ret", 1),
    "of a called function": ("sw ra, 0(sp)\n call p_init\n lw ra, 0(sp)\n ret", 2),
    "payload is none": ("sb a1, 0(a0)\n tail memmove", 1),
}
# Bodies of p_malloc with one loop, its most rounds, the longest path and the accesses on it.
LOOPS = {
    "one round": ("1: addi a0, a0, -1\n bnez a0, 1b\n ret", 1, 3, 0),
    "many rounds": ("nop\n1: lw a1, 0(a0)\n addi a0, a0, -1\n bnez a0, 1b\n nop\n ret", 10, 33, 10),
    "test at the start": ("1: beqz a0, 2f\n sb a1, 0(a0)\n j 1b\n2: nop\n nop\n ret", 4, 13, 4),
    "a long way and a short one": (
        "1: beqz a0, 2f\n lw a1, 0(a0)\n lw a1, 0(a0)\n nop\n2: bnez a0, 1b\n ret", 7, 36, 14,
    ),
    "left in the middle": ("1: beqz a0, 2f\n nop\n bnez a1, 1b\n2: nop\n nop\n ret", 3, 12, 0),
    "two ways back": ("1: addi a0, a0, -1\n bltz a0, 1b\n nop\n bnez a0, 1b\n ret", 3, 13, 0),
    "a call within": ("1: mv s0, ra\n call p_free\n mv ra, s0\n bnez a0, 1b\n ret", 5, 26, 0),
}  # fmt: skip
CASES = [("rv32", name) for name in RV32] + [("m4", name) for name in M4]


def assembled(folder: Path, isa: str, body: str) -> Path:
    """Link p_malloc with this body and return the ELF file."""
    source = folder / "small.S"
    source.write_text(f"{HEAD[isa]}p_malloc:\n {body}\n")
    return build_image("small", isa, [source], prefix="p").elf


@pytest.mark.parametrize(("isa", "name"), CASES)
def test_the_longest_path_is_the_one_counted_by_hand(tmp_path: Path, isa: str, name: str) -> None:
    body, expected = (RV32 if isa == "rv32" else M4)[name]
    assert bound_instructions(assembled(tmp_path, isa, body), "p_malloc") == expected


@pytest.mark.parametrize("name", ACCESSES)
def test_the_most_accesses_are_those_counted_by_hand(tmp_path: Path, name: str) -> None:
    body, expected = ACCESSES[name]
    assert bound_accesses(assembled(tmp_path, "rv32", body), "p_malloc") == expected


def test_accesses_are_bounded_on_riscv_only(tmp_path: Path) -> None:
    with pytest.raises(TauError, match="RISC-V only"):
        bound_accesses(assembled(tmp_path, "m4", "ldr r0, [r0]\n bx lr"), "p_malloc")


@pytest.mark.parametrize(("isa", "cause"), [(isa, why) for isa in REFUSED for why in REFUSED[isa]])
def test_code_without_a_bound_is_refused(tmp_path: Path, isa: str, cause: str) -> None:
    elf = assembled(tmp_path, isa, REFUSED[isa][cause])
    with pytest.raises(TauError, match=cause.strip()):
        bound_instructions(elf, "p_malloc")


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_of_known_rounds_has_a_bound(tmp_path: Path, name: str) -> None:
    """[BOUND-6]. A limit for another function changes nothing."""
    body, rounds, instructions, accesses = LOOPS[name]
    elf = assembled(tmp_path, "rv32", body)
    assert bound_instructions(elf, "p_malloc", {}, {"p_malloc": rounds}) == instructions
    assert bound_accesses(elf, "p_malloc", {}, {"p_malloc": rounds}) == accesses
    with pytest.raises(TauError, match="a loop"):
        bound_instructions(elf, "p_malloc", {}, {"p_free": rounds})


@pytest.mark.parametrize(
    "body",
    [
        "1: addi a0, a0, -1\n bnez a0, 1b\n2: addi a1, a1, -1\n bnez a1, 2b\n ret",
        "1: nop\n2: addi a1, a1, -1\n bnez a1, 2b\n bnez a0, 1b\n ret",
        "addi sp, sp, -16\n sw ra, 0(sp)\n call p_malloc\n lw ra, 0(sp)\n ret",
    ],
    ids=["two loops", "nested loops", "recursion"],
)
def test_only_one_loop_can_have_a_bound(tmp_path: Path, body: str) -> None:
    with pytest.raises(TauError, match="no bound"):
        bound_instructions(assembled(tmp_path, "rv32", body), "p_malloc", {}, {"p_malloc": 5})


def test_the_hand_counted_allocator(tmp_path: Path) -> None:
    assert bound_instructions(counted("m4").elf, "p_malloc") == 12
    assert bound_instructions(counted("m4").elf, "p_realloc") == 5 + 12 + 3
    with pytest.raises(TauError, match="a loop"):
        bound_instructions(counted("rv32").elf, "p_malloc")
    assert bound_of_image(counted("rv32"), "malloc") is None


def test_calls_can_be_charged_or_left_out(tmp_path: Path) -> None:
    body = "beqz a0, 1f\n tail p_free\n1: nop\n nop\n tail memset"
    elf = assembled(tmp_path, "rv32", body)
    assert bound_instructions(elf, "p_malloc") == 1 + 2 + 1 + 3
    assert bound_instructions(elf, "p_malloc", {"p_free": 100}) == 1 + 1 + 100
    assert bound_instructions(elf, "p_malloc", {"memset": NEVER}) == 3
    with pytest.raises(TauError, match="no path"):
        bound_instructions(elf, "p_malloc", {"memset": NEVER, "p_free": NEVER})


def test_a_function_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TauError, match="no function nothing"):
        bound_instructions(counted("m4").elf, "nothing")


@pytest.mark.parametrize("isa", ["rv32", "m4"])
@pytest.mark.parametrize("system", ["tlsf", "budget"])
@pytest.mark.parametrize(
    ("check_level", "optimize"), [(0, "-O2"), (1, "-O2"), (2, "-O2"), (1, "-Os")]
)
def test_no_call_of_ours_exceeds_its_bound(
    tmp_path: Path, isa: str, system: str, check_level: int, optimize: str
) -> None:
    trace = random_trace(tmp_path / "t.tau", seed=33, events=6000, live_max=200)
    image = core_image(system, isa, Build(check_level, optimize))
    counts = count_calls(image, trace, plan=PLAN if system == "budget" else None)
    for verb in ("malloc", "calloc", "realloc", "aligned_alloc", "free"):
        bound = bound_of_image(image, verb)
        assert bound is not None, verb
        assert counts[verb].max <= bound, verb
    in_place = bound_of_image(image, "realloc", PAYLOAD_CHARGES)
    assert in_place is not None
    assert in_place < bound_of_image(image, "realloc")


def test_one_instruction_more_than_a_bound_would_be_seen() -> None:
    """The charge of the emulator and of the bound is one number."""
    header = (IMAGES.parents[2] / "native" / "replay" / "emulator.h").read_text()
    assert "#define TAU_EMULATOR_COPY_INSTRUCTIONS 3u" in header
    assert set(PAYLOAD_CHARGES.values()) == {3}
