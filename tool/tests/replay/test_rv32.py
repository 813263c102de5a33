"""Our RV32 processor against unicorn, instruction by instruction, and Zbb against QEMU."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tautochrone.code.build import Build
from tautochrone.code.bounds import bound_accesses, bound_instructions, is_zbb
from tautochrone.code.calls import Machine, core_code
from tautochrone.code.images import CODE_ADDRESS, Image
from tautochrone.errors import TauError
from tautochrone.replay import emulator
from tautochrone.replay.emulator import core_image, count, count_calls
from testing.random_trace import random_trace

IMAGES = Path(__file__).parent / "image"
BARE = ["riscv64-unknown-elf-gcc", "-mabi=ilp32", "-O2", "-nostdlib", "-ffreestanding"]
REGISTERS = "t0 t1 t2 a0 a1 a2 a3 a4 a5 a6 a7 t3 t4 t5 t6 s1".split()
BINARY = "add sub sll slt sltu xor srl sra or and mul mulh mulhsu mulhu div divu rem remu".split()
IMMEDIATE = "addi slti sltiu xori ori andi".split()
SHIFTS = "slli srli srai".split()
BRANCHES = "beq bne blt bge bltu bgeu".split()
INTERESTING = [0, 1, 2, 31, 32, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFF80, 0x8000, 0x12345678]


def random_program(seed: int, length: int = 400) -> str:
    """Assembly of a function that computes, branches forward, loads and stores at random.

    a0 is its scratch memory of 256 bytes, kept in s0; what it returns mixes all registers.
    """
    source = random.Random(seed)

    def register() -> str:
        return source.choice(REGISTERS)

    lines = [".globl p_mix", "p_mix:", "addi sp, sp, -16", "sw s0, 12(sp)", "sw s1, 8(sp)"]
    lines += ["mv s0, a0", *(f"li {name}, {source.choice(INTERESTING)}" for name in REGISTERS)]
    for number in range(length):
        kind = source.random()
        if kind < 0.45:
            lines.append(f"{source.choice(BINARY)} {register()}, {register()}, {register()}")
        elif kind < 0.6:
            value = source.randint(-2048, 2047)
            lines.append(f"{source.choice(IMMEDIATE)} {register()}, {register()}, {value}")
        elif kind < 0.68:
            lines.append(
                f"{source.choice(SHIFTS)} {register()}, {register()}, {source.randrange(32)}"
            )
        elif kind < 0.72:
            lines.append(f"li {register()}, {source.choice(INTERESTING)}")
        elif kind < 0.74:
            lines.append(f"auipc {register()}, {source.randrange(1 << 20)}")
        elif kind < 0.84:
            name, size = source.choice([("lw", 4), ("lh", 2), ("lhu", 2), ("lb", 1), ("lbu", 1)])
            lines.append(f"{name} {register()}, {source.randrange(256 // size) * size}(s0)")
        elif kind < 0.93:
            name, size = source.choice([("sw", 4), ("sh", 2), ("sb", 1)])
            lines.append(f"{name} {register()}, {source.randrange(256 // size) * size}(s0)")
        else:
            lines.append(f"{source.choice(BRANCHES)} {register()}, {register()}, skip{number}")
            lines.append(f"addi {register()}, {register()}, {source.randint(-32, 31)}")
            lines.append(f"skip{number}:")
    for name in REGISTERS[:3] + REGISTERS[4:]:
        lines += ["slli a0, a0, 1", f"xor a0, a0, {name}"]
    lines += ["lw s1, 8(sp)", "lw s0, 12(sp)", "addi sp, sp, 16", "ret"]
    return "\n".join(lines) + "\n"


def on_unicorn(image: Image, function: str, argument: int) -> tuple[int, int, int]:
    """Run a function on unicorn: its result, and what hooks on each event counted."""
    import unicorn
    from unicorn import riscv_const as riscv

    machine = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)
    machine.mem_map(0x10000, 4 << 20)
    machine.mem_map(0x40000000, 1 << 20)
    machine.mem_write(CODE_ADDRESS, image.code)
    counted = {"instructions": 0, "accesses": 0}

    def on_code(*_: object) -> None:
        counted["instructions"] += 1

    def on_memory(*_: object) -> None:
        counted["accesses"] += 1

    machine.hook_add(unicorn.UC_HOOK_CODE, on_code)
    machine.hook_add(unicorn.UC_HOOK_MEM_READ | unicorn.UC_HOOK_MEM_WRITE, on_memory)
    until = 0x400000
    machine.reg_write(riscv.UC_RISCV_REG_SP, 0x3F0000)
    machine.reg_write(riscv.UC_RISCV_REG_RA, until)
    machine.reg_write(riscv.UC_RISCV_REG_A0, argument)
    machine.emu_start(image.symbols[function], until)
    return machine.reg_read(riscv.UC_RISCV_REG_A0), counted["instructions"], counted["accesses"]


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_do_the_same_on_unicorn(tmp_path: Path, seed: int) -> None:
    print(f"seed {seed}")
    source = tmp_path / "mix.S"
    source.write_text(random_program(seed))
    image = core_code(f"mix{seed}", "rv32", [source], ["p_mix"])
    with Machine(image, 1 << 20) as machine:
        done = machine.call("p_mix", 0x40000000)
    assert (done.result, done.instructions, done.accesses) == on_unicorn(image, "p_mix", 0x40000000)
    assert done.accesses > 50
    assert done.instructions <= bound_instructions(image.elf, "p_mix")
    assert done.accesses <= bound_accesses(image.elf, "p_mix")


def test_operands_at_the_edges_give_the_same_on_unicorn(tmp_path: Path) -> None:
    """Every arithmetic instruction on all pairs, the least number over minus one among them."""
    lines = [".globl p_edges", "p_edges:", "li t6, 16777619"]
    for first in INTERESTING:
        for second in INTERESTING:
            lines += [f"li t0, {first}", f"li t1, {second}"]
            for name in BINARY:
                lines += [f"{name} t2, t0, t1", "mul a0, a0, t6", "add a0, a0, t2"]
    source = tmp_path / "edges.S"
    source.write_text("\n".join([*lines, "ret"]) + "\n")
    image = core_code("edges", "rv32", [source], ["p_edges"])
    with Machine(image, 4096) as machine:
        done = machine.call("p_edges", 1)
    assert (done.result, done.instructions, done.accesses) == on_unicorn(image, "p_edges", 1)


@pytest.mark.parametrize("system", ["tlsf", "budget"])
def test_the_core_takes_the_same_on_unicorn_and_here(tmp_path: Path, system: str) -> None:
    from types import SimpleNamespace

    trace = random_trace(tmp_path / "t.tau", 77, events=4000)
    plan = SimpleNamespace(classes=[(24, 10), (104, 7)]) if system == "budget" else None
    image = core_image(system, "rv32", Build(1, "-O2"))
    on_unicorn_counts = count_calls(image, trace, plan=plan)
    here = count_calls(image, trace, plan=plan, ours=True)
    assert here == on_unicorn_counts
    assert here.placement_hash == on_unicorn_counts.placement_hash
    assert here.payload_bytes == on_unicorn_counts.payload_bytes
    assert here["malloc"].max_accesses


def test_code_with_zbb_places_alike_and_takes_less(tmp_path: Path) -> None:
    trace = random_trace(tmp_path / "t.tau", 78, events=4000)
    plain, with_zbb = count(trace, "tlsf", "rv32"), count(trace, "tlsf", "rv32zbb")
    assert with_zbb.placement_hash == plain.placement_hash
    for name, calls in with_zbb.items():
        assert calls.max <= plain[name].max
        assert calls.bound is None or calls.max <= calls.bound
        assert calls.bound_accesses is None or calls.max_accesses <= calls.bound_accesses
    assert with_zbb["malloc"].max < plain["malloc"].max


def test_accesses_are_not_counted_on_m4(tmp_path: Path) -> None:
    trace = random_trace(tmp_path / "t.tau", 79, events=300)
    calls = count(trace, "tlsf", "m4")["malloc"]
    assert (calls.max_accesses, calls.accesses_histogram, calls.bound_accesses) == (None,) * 3
    with pytest.raises(TauError, match="RV32"):
        count_calls(core_image("tlsf", "m4"), trace, ours=True)


# ---- Zbb ----


def digest_source() -> Path:
    """A function that mixes what each instruction of Zbb makes of many values."""
    return IMAGES / "zbb.c"


def test_zbb_does_what_qemu_says(tmp_path: Path) -> None:
    image = core_code("zbb", "rv32zbb", [digest_source()], ["zbb_digest"])
    with Machine(image, 1 << 20) as machine:
        here = machine.call("zbb_digest").result
    elf = tmp_path / "zbb.elf"
    subprocess.run(
        [*BARE, "-march=rv32imc_zbb", "-DZBB_BARE", "-Wl,-Ttext=0x80000000", "-Wl,--build-id=none"]
        + ["-o", str(elf), str(digest_source())],
        check=True,
    )
    done = subprocess.run(
        ["qemu-system-riscv32", "-M", "virt", "-cpu", "rv32,zbb=true", "-bios", "none"]
        + ["-display", "none", "-serial", "stdio", "-monitor", "none", "-kernel", str(elf)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip() == f"{here:08x}"


def test_zbb_is_illegal_where_the_image_has_none(tmp_path: Path) -> None:
    source = tmp_path / "clz.S"
    source.write_text(".globl p_clz\np_clz:\n.word 0x60051513\nret\n")
    with Machine(core_code("clz", "rv32zbb", [source], ["p_clz"]), 4096) as machine:
        assert machine.call("p_clz", 0x00010000).result == 15
    with Machine(core_code("clz", "rv32", [source], ["p_clz"]), 4096) as machine:
        with pytest.raises(TauError, match="does not have"):
            machine.call("p_clz", 1)


def test_the_bound_knows_the_instructions_of_zbb() -> None:
    image = core_code("zbb", "rv32zbb", [digest_source()], ["zbb_step"])
    with Machine(image, 4096) as machine:
        done = machine.call("zbb_step", 5, 7)
    assert bound_instructions(image.elf, "zbb_step") == done.instructions
    assert is_zbb(0x60051513) and is_zbb(0x40B57533)  # clz a0, a0; andn a0, a0, a1
    assert is_zbb(0x6015151B)  # ctzw a0, a0
    assert not is_zbb(0x00B57533) and not is_zbb(0x40B50533)  # and; sub


# ---- calls ----


def small(tmp_path: Path, text: str) -> Image:
    source = tmp_path / "small.S"
    source.write_text(f".globl p_f\np_f:\n{text}\n")
    return core_code("small", "rv32", [source], ["p_f"])


def test_calls_count_and_keep_memory(tmp_path: Path) -> None:
    image = small(tmp_path, "lw a2, 0(a0)\nadd a2, a2, a1\nsw a2, 0(a0)\nmv a0, a2\nret")
    with Machine(image, 1 << 16) as machine:
        where = machine.reserve(4)
        rows = np.array([[where, 5], [where, -2], [where, 4]])
        done = machine.call_many("p_f", rows)
        assert done.result.tolist() == [5, 3, 7]
        assert done.instructions.tolist() == [5, 5, 5]
        assert done.accesses.tolist() == [2, 2, 2]
        assert machine.words(where, 1)[0] == 7
        machine.words(where, 1)[0] = 40
        assert machine.call("p_f", where, 2).result == 42


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("lw a0, 0(zero)\nret", "left its code or its memory"),
        ("lw a0, 1(sp)\nret", "misaligned"),
        ("jr zero", "left its code"),
        ("ebreak", "trapped"),
        ("1: j 1b", "more instructions than allowed"),
        (".word 0x30200073", "trapped"),
        (".word 0x00002573", "does not have"),  # csrr
        (".word 0xffffffff", "does not have"),
    ],
)
def test_what_goes_wrong_is_named(tmp_path: Path, text: str, cause: str) -> None:
    with Machine(small(tmp_path, text), 4096) as machine:
        with pytest.raises(TauError, match=cause):
            machine.call_many("p_f", np.zeros((2, 1), dtype=int), instructions_max=1000)


def test_bad_requests_are_refused(tmp_path: Path) -> None:
    with Machine(small(tmp_path, "ret"), 4096) as machine:
        with pytest.raises(TauError, match="no function"):
            machine.call("p_other")
        with pytest.raises(TauError, match="eight words"):
            machine.call("p_f", *range(9))
        with pytest.raises(TauError, match="memory has left"):
            machine.reserve(4097)
        with pytest.raises(TauError, match="no memory"):
            machine.view(0x40000000, 4097)
    with pytest.raises(TauError, match="built for m4"):
        Machine(core_image("tlsf", "m4"))
    assert emulator.ISAS["rv32zbb"].start == emulator.ISAS["rv32"].start
