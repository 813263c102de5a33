"""The linked port, one instruction a step, on a hart that keeps everything that it may keep.

The hart may keep an entry of a table from when it was written until its address is flushed, and a
word of code from when it was in memory until the next fence.i. After each instruction, whatever of
that it uses, it must execute a page's own code or fault [SVC-4].
"""

from __future__ import annotations

import struct
import subprocess
from collections import defaultdict
from pathlib import Path

import unicorn
from elftools.elf.elffile import ELFFile
from unicorn import riscv_const

from core.tests.sv39_code.firmware import ROOT
from model.code_cache import AGE_BITS, POLICIES, RETRY, CodeCache, Visits
from tautochrone.facts import status_format
from tautochrone.targets.build import TARGETS, compiler_of
from tautochrone.targets.sources import CORE_FILES

PAGE_BYTES, WORD_BYTES, ENTRIES = 4096, 8, 512
READ, WRITE, EXECUTE = 1 << 27, 1 << 28, 1 << 29
CODE, STACK, RETURN, DATA, MEMORY_BYTES = 0x10000, 0x80000, 0x90000, 0x100000, 4 << 20
FIRST = 0x401FD000  # three pages before a level-0 table ends
ENTRY_CODE, ACCESSED = 0x6B, 0x40
USED_OFFSET = 76  # the used flags in struct tau_code_cache; the ages follow
SFENCE, SFENCE_MASK, FENCE_I = 0x12000073, 0xFE007FFF, 0x0000100F
A0 = riscv_const.UC_RISCV_REG_A0
PERIODS = 4  # a period of the test is so many faults


class StaleCode(Exception):
    """The hart may execute code that is not the page's."""


def build_port(made: Path, root: Path = ROOT, optimize: str = "-O2") -> Path:
    """Link the port and the code cache alone; ROOT may be a copy with a changed core."""
    recipe = TARGETS["sv39"]
    command = [compiler_of("sv39"), *recipe.machine, *recipe.flags, optimize, f"-I{root}"]
    command += ["-nostdlib", "-Wl,-e,0", f"-Wl,-Ttext={CODE:#x}", "-o", str(made)]
    command += [str(root / name) for name in CORE_FILES["sv39_code"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return made


class Hart:
    """A cache of PAGES pages in FRAMES frames, all pages still in memory since boot.

    `most` has the most instructions of each call. `read_instructions` counts the latest call's
    instructions in tau_sv39_code_read.
    """

    def __init__(self, elf: Path, pages: int, frames: int, policy: int, seed: int = 1) -> None:
        """Load ELF, and call init."""
        self.pages, self.frames = pages, frames
        self.model = CodeCache(pages, frames, 4, POLICIES[policy], seed)
        self.visits = Visits(self.model)
        self.uc = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV64)
        self.uc.mem_map(PAGE_BYTES, MEMORY_BYTES - PAGE_BYTES)  # NULL is nothing
        self.uc.mem_map(FIRST, pages * PAGE_BYTES)
        with elf.open("rb") as file:
            image = ELFFile(file)
            for segment in image.iter_segments("PT_LOAD"):
                self.uc.mem_write(segment["p_vaddr"], segment.data())
            table = image.get_section_by_name(".symtab")
            self.symbols = {
                each.name: (each["st_value"], each["st_size"]) for each in table.iter_symbols()
            }
        self.free = DATA
        self.tables = [self.reserve(PAGE_BYTES), self.reserve(PAGE_BYTES)]
        self.memory = self.reserve(frames * PAGE_BYTES)
        self.store = self.reserve(pages * PAGE_BYTES)
        self.boot = self.reserve(pages * PAGE_BYTES)
        self.code, self.load = self.reserve(4096), self.reserve(16)
        self.most: dict[str, int] = defaultdict(int)
        self.content = [self._content(page) for page in range(pages)]
        for page, content in enumerate(self.content):
            for place in (self.store, self.boot, FIRST):
                self.uc.mem_write(place + page * PAGE_BYTES, content)
            self._write(self.entry_at(page), (self.boot >> 12) + page << 10 | ENTRY_CODE)
        # Entries that the hart may have kept, and the content of memory.
        self.kept = [{self.entry(page)} for page in range(pages)]
        self.fetched: dict[int, set[int]] = defaultdict(set)  # by address of a word
        self.page_of_entry = {self.entry_at(page): page for page in range(pages)}
        self.words: dict[int, int] = {}  # instructions, by address
        self.is_watched = False
        self.uc.hook_add(unicorn.UC_HOOK_CODE, self._step)
        self.uc.hook_add(unicorn.UC_HOOK_MEM_WRITE, self._written)
        assert self.init() == "OK"

    @staticmethod
    def _content(page: int) -> bytes:
        return b"".join(struct.pack("<II", page, 0x9E3779B1 * n % 2**32) for n in range(ENTRIES))

    def reserve(self, size_bytes: int) -> int:
        """Memory of the test's, on a page."""
        start, self.free = self.free, self.free + -(-size_bytes // PAGE_BYTES) * PAGE_BYTES
        return start

    def _write(self, address: int, *words: int) -> None:
        self.uc.mem_write(address, struct.pack(f"<{len(words)}Q", *words))

    def word(self, address: int) -> int:
        """The 8 bytes there."""
        return struct.unpack("<Q", self.uc.mem_read(address, WORD_BYTES))[0]

    def entry_at(self, page: int) -> int:
        """Where a page's entry is."""
        place = FIRST // PAGE_BYTES % ENTRIES + page
        return self.tables[place // ENTRIES] + place % ENTRIES * WORD_BYTES

    def entry(self, page: int) -> int:
        """A page's entry."""
        return self.word(self.entry_at(page))

    # ---- Calls

    def call(self, name: str, *arguments: int) -> int:
        """Call a function of the port, one instruction per step; return its result."""
        for number, value in enumerate(arguments):
            self.uc.reg_write(A0 + number, value)
        self.uc.reg_write(riscv_const.UC_RISCV_REG_SP, STACK)
        self.uc.reg_write(riscv_const.UC_RISCV_REG_RA, RETURN)
        self.instructions = self.read_instructions = 0
        self.stale: StaleCode | None = None
        self.is_watched = True
        self.uc.emu_start(self.symbols[f"tau_sv39_code_{name}"][0], RETURN)
        self.is_watched = False
        self.most[name] = max(self.most[name], self.instructions)
        self.most[f"{name} without reading"] = max(
            self.most[f"{name} without reading"], self.instructions - self.read_instructions
        )
        if self.stale:
            raise self.stale
        return self.uc.reg_read(A0) & 0xFFFFFFFF

    def init(self, **changes: int) -> str:
        """Call init with CHANGES to valid arguments."""
        wanted = {"pages": self.pages, "frames": self.frames, "least": 4, "first": FIRST}
        wanted |= {"policy": POLICIES.index(self.model.policy), "seed": self.model.seed}
        wanted |= {"store": self.store, "memory": self.memory, "number": self.memory >> 12}
        settings, place, tables, rows, bytes_ = (self.reserve(4096) for _ in range(5))
        wanted |= {"tables": tables, "rows": rows, "page_frames": bytes_} | changes
        words = [wanted[name] for name in ("pages", "frames", "least", "policy", "seed")]
        self.uc.mem_write(settings, struct.pack("<5I", *words))
        self._write(tables, *self.tables)
        self._write(place, *(wanted[name] for name in ("first", "tables", "store", "rows")))
        for frame in range(self.frames):
            row = (wanted["memory"] + frame * PAGE_BYTES, wanted["number"] + frame)
            self._write(rows + 16 * frame, *row)
        status = self.call("init", self.code, settings, place, wanted["page_frames"])
        return status_format.NAMES[status]

    def release(self, page: int) -> str:
        """Release a page, and reuse its frame if that is allowed."""
        place = self.store + page * PAGE_BYTES
        status = status_format.NAMES[self.call("release_page", self.code, page, place)]
        if status == "OK":
            assert self.kept[page] == {0}, "the frame can still be reached"
            self.uc.mem_write(self.boot + page * PAGE_BYTES, b"\xff" * PAGE_BYTES)
            self.uc.mem_write(FIRST + page * PAGE_BYTES, b"\xff" * PAGE_BYTES)
        elif status == "PAGE_PINNED":
            self.model.pin(page)
        return status

    def fault(self, page: int, access: int = EXECUTE, in_steps: bool = False) -> str:
        """A fault of the hart, served by one call or in steps; the model has it too."""
        address = FIRST + page * PAGE_BYTES + 0x7FE
        if access == WRITE and page < self.pages:
            expected, answer = "ACCESS_DENIED", None
        else:
            expected, answer = self.model.fault(page)
        if in_steps:
            status = status_format.NAMES[self.call("begin", self.code, address, access, self.load)]
            if status == "OK":
                is_needed = bool(self.uc.mem_read(self.load + 8, 1)[0])
                assert is_needed == (answer.action != RETRY)
                if is_needed:
                    self.call("read", self.code, self.load)
                self.call("end", self.code, self.load)
        else:
            status = status_format.NAMES[self.call("fault", self.code, address, access)]
        assert status == expected, (status, expected)
        if answer is not None:
            assert in_steps or bool(self.read_instructions) == (answer.action != RETRY)
            assert self.kept[page] == {self.entry(page)}, "the page may fault again"
            assert self.entry(page) == (self.memory >> 12) + answer.frame << 10 | ENTRY_CODE
        return status

    def cancel(self, page: int) -> None:
        """A load whose page cannot be read."""
        _, answer = self.model.fault(page)
        assert self.model.drop(answer.frame) == "OK"
        assert self.call("begin", self.code, FIRST + page * PAGE_BYTES, READ, self.load) == 0
        self.call("cancel", self.code, self.load)

    def use(self, is_period_end: bool) -> None:
        """The end of a period, or only reading the accessed bits."""
        holds = enumerate(self.model.holds)
        self.model.use({frame for frame, p in holds if p is not None and self.is_accessed(p)})
        self.call("age" if is_period_end else "use", self.code)
        if is_period_end:
            self.model.age()
            for page in range(self.pages):
                assert not any(kept & ACCESSED for kept in self.kept[page] if page in self.held)

    def visit(self) -> None:
        """Reading the accessed bits of some frames, which are then clear."""
        holds = enumerate(self.model.holds)
        accessed = {frame for frame, p in holds if p is not None and self.is_accessed(p)}
        before = set(accessed)
        self.visits.visit(accessed)
        self.call("visit", self.code)
        for frame in before - accessed:
            assert not any(kept & ACCESSED for kept in self.kept[self.model.holds[frame]])

    @property
    def held(self) -> set[int]:
        """The pages in frames, by the model."""
        return {page for page in self.model.holds if page is not None}

    def is_accessed(self, page: int) -> bool:
        """The accessed bit of a page's entry."""
        return bool(self.entry(page) & ACCESSED)

    def access(self, page: int) -> None:
        """The hart executes a page that is mapped."""
        self._write(self.entry_at(page), self.entry(page) | ACCESSED)
        self.kept[page] = {kept | ACCESSED if kept else 0 for kept in self.kept[page]}

    def walk(self) -> None:
        """Every entry is what the model says; nothing else was written."""
        for page in range(self.pages):
            entry = self.entry(page) & ~ACCESSED
            if page in self.held:
                number = (self.memory >> 12) + self.model.holds.index(page)
                assert entry == number << 10 | ENTRY_CODE & ~ACCESSED, f"entry of page {page}"
            elif entry:
                assert entry >> 10 == (self.boot >> 12) + page, f"entry of page {page}"
            kept = bytes(self.uc.mem_read(self.store + page * PAGE_BYTES, PAGE_BYTES))
            assert kept == self.content[page], "the store was written"
        flags = self.uc.mem_read(self.code + USED_OFFSET, (1 + AGE_BITS) * WORD_BYTES)
        used, *ages = struct.unpack(f"<{1 + AGE_BITS}Q", flags)
        for frame in range(self.frames):
            assert bool(used >> frame & 1) == self.model.used[frame], f"used flag of {frame}"
            age = sum((bits >> frame & 1) << place for place, bits in enumerate(ages))
            if self.model.policy == "aging":  # no other policy keeps them
                assert age == self.model.ages[frame], f"age of {frame}"
        assert self.call("invariants_hold", self.code) & 0xFF == 1

    # ---- What the hart may do after each instruction

    def _step(self, uc: unicorn.Uc, address: int, _size: int, _data: object) -> None:
        self.instructions += 1
        start, size = self.symbols["tau_sv39_code_read"]
        self.read_instructions += start <= address < start + size
        if address not in self.words:
            self.words[address] = struct.unpack("<I", uc.mem_read(address, 4))[0]
        word = self.words[address]
        if word == FENCE_I:
            self.fetched.clear()
        elif word & SFENCE_MASK == SFENCE and word >> 20 & 31 == 0:  # for all address spaces
            register = word >> 15 & 31
            flushed = uc.reg_read(riscv_const.UC_RISCV_REG_X0 + register) if register else None
            for page in range(self.pages):
                if flushed is None or flushed >> 12 == FIRST // PAGE_BYTES + page:
                    self.kept[page] = {self.entry(page)}

    def _written(
        self, _uc: unicorn.Uc, _kind: int, address: int, size: int, value: int, _data: object
    ) -> None:
        if not self.is_watched or self.stale:
            return
        page = self.page_of_entry.get(address)
        if page is not None:
            self.kept[page].add(value % 2**64)
            self.check(page, {})
        elif self.memory <= address < self.memory + self.frames * PAGE_BYTES:
            assert size == WORD_BYTES, "not a whole word at once"
            self.fetched[address].add(self.word(address))
            number = address >> 12
            for other, kept in enumerate(self.kept):
                if any(entry >> 10 == number for entry in kept):
                    self.check(other, {address: value % 2**64})

    def check(self, page: int, written: dict[int, int]) -> None:
        """Note if PAGE may lead to other code than its own; WRITTEN is not in memory yet."""
        for number in {entry >> 10 for entry in self.kept[page] if entry & 1}:
            start = number << 12
            if not self.memory <= start < self.memory + self.frames * PAGE_BYTES:
                continue  # where it was since boot
            here = self.uc.mem_read(start, PAGE_BYTES)
            words = struct.unpack(f"<{ENTRIES}Q", self.content[page])
            for place, found in enumerate(struct.unpack(f"<{ENTRIES}Q", here)):
                address = start + place * WORD_BYTES
                may_be = {written.get(address, found), *self.fetched.get(address, ())}
                if may_be != {words[place]}:
                    self.stale = StaleCode(f"page {page} leads to a frame with other code")


REFUSALS = (
    ({"first": FIRST + 8}, "BAD_ARGUMENT"),
    ({"first": 2**64 - PAGE_BYTES}, "BAD_ARGUMENT"),
    ({"tables": 0}, "BAD_ARGUMENT"),
    ({"rows": 0}, "BAD_ARGUMENT"),
    ({"store": DATA + 4}, "BAD_ARGUMENT"),
    ({"memory": DATA + 8}, "BAD_ARGUMENT"),
    ({"memory": 0}, "BAD_ARGUMENT"),
    ({"number": 1 << 44}, "BAD_ARGUMENT"),
    ({"frames": 65}, "BAD_ARGUMENT"),
    ({"policy": 4}, "BAD_ARGUMENT"),
    ({"page_frames": 0}, "BAD_ARGUMENT"),
    ({"least": 5, "frames": 4}, "FRAMES_TOO_FEW"),
)


def refuse_all(hart: Hart) -> None:
    """Each reason of init to refuse, with nothing changed; and a fault without a store."""
    code = bytes(hart.uc.mem_read(hart.code, PAGE_BYTES))
    for changes, expected in REFUSALS:
        free = hart.free
        status = hart.init(**changes)
        hart.free = free
        assert status == expected, (changes, status)
        assert bytes(hart.uc.mem_read(hart.code, PAGE_BYTES)) == code, changes
    last = {"first": 2**64 - hart.pages * PAGE_BYTES, "store": 0}
    assert hart.init(**last) == "OK"
    assert status_format.NAMES[hart.call("fault", hart.code, 2**64 - 1, EXECUTE)] == "BAD_ARGUMENT"
    assert hart.init() == "OK"


def fault_by_hand(hart: Hart) -> None:
    """The invariants find an entry that the port did not write."""
    assert hart.release(0) == "OK" and hart.fault(0) == "OK"
    for page in range(1, hart.frames):
        assert hart.release(page) == "OK" and hart.fault(page) == "OK"
    assert hart.call("invariants_hold", hart.code) & 0xFF == 1
    entry = hart.entry(0)
    hart._write(hart.entry_at(0), entry + (1 << 10))
    assert hart.call("invariants_hold", hart.code) & 0xFF == 0
    hart._write(hart.entry_at(0), entry)
    assert hart.call("invariants_hold", hart.code) & 0xFF == 1


def run_all(hart: Hart, faults_count: int, choose: object) -> None:
    """Release the pages, one of them patched; then faults, each way to serve them, uses, periods.

    CHOOSE is a random.Random.
    """
    hart.uc.mem_write(FIRST + 5 * PAGE_BYTES + 0xFF8, b"patched!")
    for page in range(hart.pages):
        assert hart.release(page) == ("PAGE_PINNED" if page == 5 else "OK")
        hart.walk()
    assert hart.release(5) == "PAGE_PINNED" and hart.release(6) == "FRAME_FREE"
    assert hart.release(hart.pages) == "PAGE_OUTSIDE"
    for number in range(faults_count):
        page = choose.randrange(hart.pages + 1)
        access = choose.choice((EXECUTE, EXECUTE, READ, WRITE))
        if number % 19 == 18 and page not in (5, hart.pages) and page not in hart.held:
            hart.cancel(page)
        else:
            hart.fault(page, access, in_steps=number % 3 == 0)
        for used in sorted(hart.held):
            if choose.random() < 0.2:
                hart.access(used)
        if number % 2:
            hart.visit()
        else:
            hart.use(is_period_end=number % PERIODS == 0)
        hart.walk()
    if hart.held:
        assert hart.release(min(hart.held)) == "PAGE_MAPPED"
