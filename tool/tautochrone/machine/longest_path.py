"""Computes a sound bound of the cost of a call of a linked function: its longest path.

    bound_instructions(elf, "tau_tlsf_malloc")   # an int; emulator.py never counts more
    bound_accesses(elf, "tau_tlsf_malloc")       # loads and stores, RISC-V only

1. capstone decodes the code from the function's first instruction, along every branch. It does not
   know Zbb, whose instructions neither jump nor access memory.
2. A jump continues at its target, so a tail call needs no special case. A call adds the longest
   path of its callee. Calls of memmove, memcpy and memset are charged as in the emulator.
3. The result is the longest path to a return. Infeasible paths count too, so the bound may be above
   every cost that occurs, but never below one.

Raises TauError for recursion, for jumps and calls through registers, and for loops, unless the
caller says how often they are carried out. As in the emulator, a conditional instruction of Thumb
counts whether or not its condition holds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

from tautochrone.machine.images import Image
from tautochrone.machine.kept_bounds import kept_bound
from tautochrone.errors import TauError
from tautochrone.installation import needed

with needed():
    import capstone
    import capstone.x86

# The charge of a call of these, without payload; as in tool/native/replay/emulator.h.
PAYLOAD_CHARGES = {
    name: 3 for name in ("memmove", "memcpy", "memset", "__aeabi_memcpy", "__aeabi_memmove")
}

RISCV_BRANCHES = {"beq", "bne", "blt", "bge", "bltu", "bgeu", "beqz", "bnez", "blez", "bgez"}
RISCV_BRANCHES |= {"bltz", "bgtz", "bgt", "ble", "bgtu", "bleu"}
RISCV_ACCESSES = {"lb", "lh", "lw", "lbu", "lhu", "sb", "sh", "sw", "lwsp", "swsp"}
RISCV_ACCESSES |= {"ld", "lwu", "sd", "ldsp", "sdsp"}  # Instructions of RV64.
X86_BYTES_MAX = 15
X86_TRAPS = {"ud2", "hlt", "int3"}
TRAPS = {"ebreak", "unimp", "udf", "bkpt"}
# Zbb's encodings: funct12 where the second operand is part of it, else funct7 and funct3.
ZBB_UNARY = {(1, 0x600), (1, 0x601), (1, 0x602), (1, 0x604), (1, 0x605), (5, 0x287), (5, 0x698)}
ZBB_BINARY = {(0x20, 4), (0x20, 6), (0x20, 7), (0x05, 4), (0x05, 5), (0x05, 6), (0x05, 7)}
ZBB_BINARY |= {(0x30, 1), (0x30, 5)}
NEVER = -(10**12)
# Functions that resize only objects with a requested alignment.
OVER_ALIGNED_FUNCTIONS = ("tau_tlsf_aligned_alloc",)
SHARED_FUNCTIONS = ("tau_tlsf_malloc", "tau_tlsf_free")
# Functions that calls within the limits of a plan never enter: they are served, and its arena has
# no memory for a heap behind the pools. A refused call takes longer.
UNUSED_FUNCTIONS = {
    "pools": (
        "pools_exceed",
        *SHARED_FUNCTIONS,
        *("tau_tlsf_aligned_alloc", "tau_tlsf_realloc", "tau_tlsf_usable_size"),
    )
}


@dataclass(frozen=True)
class Step:
    """The control flow of one instruction: the address that it calls, and where control continues.

    `accesses`: it loads or stores.
    """

    targets: tuple[int, ...]
    calls: int | None = None
    accesses: int = 0


def is_zbb(word: int) -> bool:
    """Whether the four bytes encode an instruction of Zbb (RV32, or RV64's forms for words, whose
    opcodes have bit 3 set too)."""
    funct3, funct7, funct12 = word >> 12 & 7, word >> 25, word >> 20
    opcode = word & 0x77
    if opcode == 0x13:
        return (funct3, funct12) in ZBB_UNARY or (funct3, funct7) == (5, 0x30)
    is_zext_h = (funct7, funct3, word >> 20 & 31) == (0x04, 4, 0)
    return opcode == 0x33 and ((funct7, funct3) in ZBB_BINARY or is_zext_h)


class Code:
    """Decodes the code of a linked file, instruction by instruction."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            elf = ELFFile(file)
            self.is_arm = elf["e_machine"] == "EM_ARM"
            self.is_x86 = elf["e_machine"] == "EM_X86_64"
            self.segments = [
                (segment["p_vaddr"], segment.data())
                for segment in elf.iter_segments()
                if segment["p_type"] == "PT_LOAD"
            ]
            texts = {
                section.name: (section["sh_addr"], section["sh_addr"] + section["sh_size"])
                for section in elf.iter_sections()
                if section.name.startswith(".text")
            }
            self.text = texts.get(".text", (0, 0))
            self.texts = [*texts.values()]  # with the others of code in several runs
            pairs = [
                (symbol.name, int(symbol["st_value"]) & (~1 if self.is_arm else -1))
                for symbol in elf.get_section_by_name(".symtab").iter_symbols()
                if symbol.name and symbol["st_shndx"] != "SHN_UNDEF" and symbol.name[0] != "$"
            ]
        self.symbols = dict(pairs)
        self.names = {address: name for name, address in pairs}
        self.copies = {name: {address} for name, address in self.symbols.items()}
        # In a library, several files may have functions of one name, and parts of them.
        for name, address in pairs if self.is_x86 else ():
            self.copies.setdefault(name.split(".")[0], set()).add(address)
        if self.is_x86:
            self.decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        elif self.is_arm:
            mode = capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS
            self.decoder = capstone.Cs(capstone.CS_ARCH_ARM, mode)
        else:
            mode = capstone.CS_MODE_RISCV64 if elf.elfclass == 64 else capstone.CS_MODE_RISCV32
            self.decoder = capstone.Cs(capstone.CS_ARCH_RISCV, mode | capstone.CS_MODE_RISCVC)
        self.decoder.detail = True

    def function_at(self, address: int) -> int | None:
        """The address of the symbol at or before ADDRESS."""
        return max((known for known in self.names if known <= address), default=None)

    def place(self, address: int) -> str:
        """An address as text: the symbol at or before it, plus the offset."""
        nearest = self.function_at(address)
        if nearest is None:
            return f"{address:#x}"
        return f"{self.names[nearest]}+{address - nearest:#x}"

    def bytes_at(self, address: int) -> bytes:
        """Enough bytes for one instruction; on M4 also for the IT before it (see step)."""
        most = X86_BYTES_MAX if self.is_x86 else 4
        for start, data in self.segments:
            if start <= address < start + len(data):
                return data[address - start : address - start + most]
        raise TauError(f"control leaves the code at {address:#x}")

    def step(self, address: int, condition_left: int = 0) -> tuple[Step, int]:
        """Decode one instruction.

        `condition_left` is the number of instructions left in the Thumb IT block, including this
        one. The second result is the same number for the next instruction.
        """
        # The decoder forgets an IT block between calls, so the condition is tracked here.
        encoded = self.bytes_at(address)
        decoded = list(self.decoder.disasm(encoded, address, 1))
        is_riscv = not self.is_arm and not self.is_x86
        if not decoded and is_riscv and is_zbb(int.from_bytes(encoded, "little")):
            return Step((address + 4,)), 0
        if not decoded:
            raise TauError(f"no instruction can be decoded at {self.place(address)}")
        if self.is_x86:
            return self._x86(decoded[0]), 0
        step = self._arm(decoded[0], condition_left > 0) if self.is_arm else self._riscv(decoded[0])
        name = decoded[0].mnemonic
        if self.is_arm and name.startswith("it") and set(name[2:]) <= set("te"):
            return step, len(name) - 1
        return step, max(condition_left - 1, 0)

    def _refuse(self, insn: capstone.CsInsn) -> TauError:
        place = self.place(insn.address)
        return TauError(
            f"{place}: `{insn.mnemonic} {insn.op_str}` jumps to an unknown address: no bound",
            "compile with -fno-jump-tables, and without calls through pointers",
        )

    def _riscv(self, insn: capstone.CsInsn) -> Step:
        name = insn.mnemonic.removeprefix("c.")
        following = insn.address + insn.size
        operands = insn.operands
        if name in RISCV_BRANCHES:
            return Step((following, insn.address + operands[-1].imm))
        if name == "j":
            return Step((insn.address + operands[-1].imm,))
        if name == "jal":
            # Calls of millicode link t0; all others link ra.
            return Step((following,), insn.address + operands[-1].imm)
        if name in ("jr", "jalr", "ret", "mret", "sret"):
            register = insn.reg_name(operands[0].reg) if operands else "ra"
            if name in ("ret", "mret", "sret") or (name == "jr" and register in ("ra", "t0")):
                return Step(())
            return self._far(insn)
        if name in TRAPS:
            return Step(())
        return Step((following,), accesses=1 if name in RISCV_ACCESSES else 0)

    def _far(self, insn: capstone.CsInsn) -> Step:
        """A jump or call after auipc of the same register, which compilers never part."""
        word = int.from_bytes(insn.bytes, "little")
        upper = int.from_bytes(self.bytes_at(insn.address - 4), "little")
        if insn.size != 4 or upper & 0x7F != 0x17 or upper >> 7 & 31 != word >> 15 & 31:
            raise self._refuse(insn)
        distance = (upper & ~0xFFF) + ((word >> 20) ^ 0x800) - 0x800
        target = insn.address - 4 + ((distance & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000
        links = word >> 7 & 31
        return Step((insn.address + 4,), target) if links else Step((target,))

    def _x86(self, insn: capstone.CsInsn) -> Step:
        following = insn.address + insn.size
        if insn.group(capstone.CS_GRP_RET):
            return Step(())
        if insn.mnemonic in X86_TRAPS:
            return Step(())
        is_call = insn.group(capstone.CS_GRP_CALL)
        if not is_call and not insn.group(capstone.CS_GRP_JUMP):
            return Step((following,))
        if insn.operands[0].type != capstone.x86.X86_OP_IMM:
            raise self._refuse(insn)
        target = insn.operands[0].imm
        if is_call:
            return Step((following,), target)
        return Step((target,) if insn.mnemonic == "jmp" else (following, target))

    def _arm(self, insn: capstone.CsInsn, is_conditional: bool) -> Step:
        name = insn.mnemonic.removesuffix(".w").removesuffix(".n")
        following = insn.address + insn.size
        operands = insn.operands
        stays: tuple[int, ...] = (following,) if is_conditional else ()
        if name in ("cbz", "cbnz"):
            return Step((following, operands[-1].imm))
        if name == "bl":
            return Step((following,), operands[0].imm)
        if insn.id == capstone.arm.ARM_INS_B:
            is_always = name == "b" and not is_conditional
            return Step((operands[0].imm,) if is_always else (following, operands[0].imm))
        if insn.id == capstone.arm.ARM_INS_BX and insn.reg_name(operands[0].reg) == "lr":
            return Step(stays)
        if name in TRAPS:
            return Step(())
        writes = {insn.reg_name(register) for register in insn.regs_access()[1]}
        if "pc" not in writes and name not in ("bx", "blx", "tbb", "tbh"):
            return Step((following,))
        if insn.id in (capstone.arm.ARM_INS_POP, capstone.arm.ARM_INS_LDM) or (
            name == "ldr" and "[sp" in insn.op_str
        ):
            return Step(stays)
        raise self._refuse(insn)


class LongestPath:
    """The longest paths of one file, each computed once. `charges` maps names to the cost of a
    call, `rounds` names of functions to the most rounds of their only loop.

    The charge NEVER excludes every path with this call. The length of a path is its number of
    instructions, or with `of_accesses` its number of loads and stores.
    """

    def __init__(
        self,
        code: Code,
        charges: Mapping[str, int],
        of_accesses: bool = False,
        rounds: Mapping[str, int] | None = None,
    ) -> None:
        self.code = code
        self.of_accesses = of_accesses
        self.charged = {
            address: charge
            for name, charge in charges.items()
            for address in code.copies.get(name, ())
        }
        self.rounds = {code.symbols.get(name): most for name, most in (rounds or {}).items()}
        self.heads: dict[int | None, tuple[int, int]] = {}  # For each function with a loop.
        self.back: set[tuple[tuple[int, int], tuple[int, int]]] = set()  # From a loop's end to it.
        self.known: dict[tuple[int, int], int] = {}

    def from_address(self, start: int) -> int:
        """The length of the longest path from `start` to a return, calls included."""
        # A depth-first search with its own stack; `open_nodes` are those on the current path.
        root = (start, 0)
        stack = [root]
        open_nodes: set[tuple[int, int]] = set()
        while stack:
            node = stack[-1]
            if node in self.known:
                stack.pop()
                continue
            if node[0] in self.charged:
                self.known[node] = self.charged[node[0]]
                continue
            step, condition_left = self.code.step(*node)
            if step.calls is not None and self.charged.get(step.calls) == NEVER:
                self.known[node] = NEVER  # Also if it never returns, and no code of ours follows.
                continue
            targets = [(target, condition_left) for target in step.targets]
            called = [] if step.calls is None else [(step.calls, 0)]
            open_nodes.add(node)
            for other in (*targets, *called):
                if other in open_nodes and other not in self.known:
                    self._note_loop(node, other, step)
            onward = [other for other in targets if (node, other) not in self.back]
            missing = [other for other in (*onward, *called) if other not in self.known]
            if missing:
                stack.extend(missing)
                continue
            open_nodes.discard(node)
            further = max(
                (self.length(node[0], step, other[0]) + self.known[other] for other in onward),
                default=self.length(node[0], step, None),
            )
            length = further + sum(self.known[other] for other in called)
            if node in self.heads.values():
                most = self.rounds[self.code.function_at(node[0])]
                length += (most - 1) * self._round(node)
            self.known[node] = length
        return self.known[root]

    def _note_loop(self, node: tuple[int, int], head: tuple[int, int], step: Step) -> None:
        """Control goes from NODE back to HEAD: refused unless it is the only loop, with a limit."""
        function = self.code.function_at(head[0])
        if (
            step.calls == head[0]
            or function not in self.rounds
            or self.code.function_at(node[0]) != function
            or self.heads.setdefault(function, head) != head
        ):
            raise self._refuse(node[0], head[0], step)
        self.back.add((node, head))

    def _round(self, head: tuple[int, int]) -> int:
        """The longest path from the head of a loop back to it. All that it leads to is known."""
        function = self.code.function_at(head[0])
        to_head: dict[tuple[int, int], int] = {}
        for node in (*self.known, head):  # Each after all that it leads to.
            if self.code.function_at(node[0]) != function:
                continue
            step, condition_left = self.code.step(*node)
            ways = []
            for other in ((target, condition_left) for target in step.targets):
                if (node, other) in self.back:
                    ways.append(self.length(node[0], step, other[0]))
                elif other in to_head:
                    ways.append(self.length(node[0], step, other[0]) + to_head[other])
            if ways:
                called = self.known[(step.calls, 0)] if step.calls is not None else 0
                to_head[node] = called + max(ways)
        return to_head[head]

    def length(self, address: int, step: Step, following: int | None) -> int:
        """The cost of the instruction at `address` if `following` is next, None if it returns."""
        return step.accesses if self.of_accesses else 1

    def _refuse(self, address: int, target: int, step: Step) -> TauError:
        kind = "recursion" if step.calls == target else "a loop"
        return TauError(
            f"{kind} at {self.code.place(address)}, back to {self.code.place(target)}: no bound",
            "state bounds only for code without loops and recursion",
        )


@functools.lru_cache(maxsize=16)
def _paths_of(
    path: Path,
    charges: tuple[tuple[str, int], ...],
    of_accesses: bool,
    rounds: tuple[tuple[str, int], ...],
) -> LongestPath:
    payload = dict.fromkeys(PAYLOAD_CHARGES, 0) if of_accesses else PAYLOAD_CHARGES
    return LongestPath(Code(path), {**payload, **dict(charges)}, of_accesses, dict(rounds))


def _bound(
    elf: str | Path,
    function: str,
    charges: Mapping[str, int] | None,
    of_accesses: bool,
    rounds: Mapping[str, int] | None,
) -> int:
    charged, repeated = (tuple(sorted((each or {}).items())) for each in (charges, rounds))
    paths = _paths_of(Path(elf), charged, of_accesses, repeated)
    if function not in paths.code.symbols:
        raise TauError(f"{Path(elf).name} has no function {function}")
    if of_accesses and (paths.code.is_arm or paths.code.is_x86):
        raise TauError("accesses are bounded on RISC-V only")
    bound = paths.from_address(paths.code.symbols[function])
    if bound < 0:
        raise TauError(f"{function} has no path without the excluded calls")
    return bound


def bound_instructions(
    elf: str | Path,
    function: str,
    charges: Mapping[str, int] | None = None,
    rounds: Mapping[str, int] | None = None,
) -> int:
    """The most instructions of a call of `function` over all paths, without payload.

    `charges` maps functions to a fixed cost (for example the hooks of a port), or to NEVER.
    `rounds` maps functions to the most rounds of their only loop, which the caller knows. Raises
    TauError if the code has no such bound.
    """
    return _bound(elf, function, charges, False, rounds)


def bound_accesses(
    elf: str | Path,
    function: str,
    charges: Mapping[str, int] | None = None,
    rounds: Mapping[str, int] | None = None,
) -> int:
    """The most loads and stores of a call of `function` over all paths, without payload.

    As bound_instructions. The path with the most accesses is not always the longest one.
    """
    return _bound(elf, function, charges, True, rounds)


def bound_of_image(image: Image, verb: str, without: Collection[str] = ()) -> int | None:
    """The bound of an image's operation ("malloc", …), None if its code has none.

    Paths that reach a function in `without` do not count. PAYLOAD_CHARGES keeps the paths that
    neither move nor fill payload; SHARED_FUNCTIONS keeps those that a dedicated region serves.
    """
    return _of_image(bound_instructions, image, verb, without)


def accesses_bound_of_image(image: Image, verb: str, without: Collection[str] = ()) -> int | None:
    """As bound_of_image, in loads and stores. None also on targets other than RISC-V."""
    return None if image.isa == "m4" else _of_image(bound_accesses, image, verb, without)


def _of_image(
    bound: Callable[..., int], image: Image, verb: str, without: Collection[str]
) -> int | None:
    name = image.function(verb)
    if name is None:
        return None

    def find() -> int | None:
        try:
            return bound(image.elf, name, dict.fromkeys(without, NEVER))
        except TauError:
            return None

    return kept_bound(image.elf, " ".join((bound.__name__, name, *sorted(without))), find)
