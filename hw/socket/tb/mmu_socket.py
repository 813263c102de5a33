"""The socket's other side for cocotb: a core with two lookup ports, table memories, software.

It runs one `cycle` at a time. Inputs are set while the clock is low, outputs are read when they
have settled, then the clock rises. It reads only the unit's ports.
"""

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cocotb.triggers import Timer

PORTS = ("instr", "data")
# Which memory a table port reads.
MEMORY_OF_PORT = (0, 1, 2, 0, 1)
CYCLES_TO_ANSWER_MAX = 2000


@dataclass(frozen=True)
class Lookup:
    """What a port asks."""

    page: int
    access: int


@dataclass(frozen=True)
class Result:
    """The answer to a lookup: a fault, or the frame."""

    fault: bool
    cause: int
    frame: int | None


@dataclass
class Asked:
    """A lookup on its way. `allowed`: the results that are right; empty: the test looks itself."""

    lookup: Lookup
    cycle: int
    allowed: set[Result]
    from_cycle: int  # The cycle of the offer.


@dataclass
class Answer:
    """A lookup's end, `cycles` after it was taken; `waited` of them before it was taken."""

    port: str
    lookup: Lookup
    result: Result
    cycles: int
    waited: int


@dataclass
class TablePort:
    """Answers in order, each `latency` cycles after its request and now and then later."""

    memory: list[int]
    latency: int
    stall: float
    waiting: deque[tuple[int, int]] = field(default_factory=deque)

    def ask(self, cycle: int, address: int) -> None:
        """A request: it reads what the memory holds now."""
        self.waiting.append((cycle + self.latency, self.memory[address]))

    def answer(self, cycle: int, chance: random.Random) -> int | None:
        """The word that comes back in this cycle, if one does."""
        if not self.waiting or self.waiting[0][0] > cycle:
            return None
        if self.stall and chance.random() < self.stall:
            return None
        return self.waiting.popleft()[1]


def packed(values: Sequence[int], bits: int) -> int:
    """The value of a packed array of elements of so many bits."""
    return sum(value << number * bits for number, value in enumerate(values))


def address_bits(dut: Any) -> int:
    """The bits of an address of a table."""
    return len(dut.table_addr_o.value) // len(MEMORY_OF_PORT)


class Socket:
    """A unit under test and its surroundings.

    MEMORIES are the socket's: 2 N, 2 N and N words, which the test may change between
    cycles. LATENCIES has one number a memory; STALL is the chance that an answer that is due stays
    away for a cycle.
    """

    def __init__(
        self,
        dut: Any,
        memories: tuple[list[int], list[int], list[int]],
        latencies: tuple[int, int, int] = (1, 1, 1),
        stall: float = 0.0,
        seed: int = 1,
    ) -> None:
        self.dut = dut
        self.chance = random.Random(seed)
        self.tables = [
            TablePort(memories[memory], latencies[memory], stall) for memory in MEMORY_OF_PORT
        ]
        self.now = 0
        self.offers: dict[str, Asked | None] = dict.fromkeys(PORTS)
        self.asked: dict[str, deque[Asked]] = {port: deque() for port in PORTS}
        self.register_write: tuple[int, int] | None = None  # Word and value, in the next cycle.
        # The right result for a lookup that was offered without one, asked when it is taken.
        self.expects: Callable[[Lookup], set[Result]] | None = None
        self.events = [0, 0]  # Results of the ports that were hits, misses.
        self._driven: dict[str, int] = {}

    def _drive(self, name: str, value: int) -> None:
        if self._driven.get(name) != value:
            self._driven[name] = value
            getattr(self.dut, name).value = value

    def _read(self, name: str) -> int:
        return int(getattr(self.dut, name).value)

    async def reset(self) -> None:
        """A real falling edge of the reset, some cycles, and up again; nothing is on its way."""
        for name in ("clk_i", "reg_req_i", "reg_write_i", "reg_addr_i", "reg_wdata_i"):
            self._drive(name, 0)
        for port in PORTS:
            for part in ("valid", "page", "access", "user"):
                self._drive(f"{port}_lookup_{part}_i", 0)
            self.offers[port] = None
            self.asked[port].clear()
        for table in self.tables:
            table.waiting.clear()
        self._drive("table_rvalid_i", 0)
        self._drive("table_rdata_i", 0)
        self._drive("rst_ni", 1)
        await Timer(1, "ns")
        for level in (0, 0, 1):
            self._drive("rst_ni", level)
            await self.clock()

    async def clock(self) -> None:
        """A clock cycle with the inputs as they are."""
        await Timer(1, "ns")
        self._drive("clk_i", 1)
        await Timer(1, "ns")
        self._drive("clk_i", 0)

    def offer(self, port: str, lookup: Lookup | None, allowed: set[Result] | None = None) -> None:
        """Ask LOOKUP on PORT from now on, or nothing; only an untaken lookup may be replaced."""
        if lookup is None:
            self.offers[port] = None
        else:
            self.offers[port] = Asked(lookup, -1, allowed if allowed else set(), self.now)

    async def cycle(self) -> list[Answer]:
        """One cycle; return the results that left in it. Raises AssertionError for a wrong one."""
        for port in PORTS:
            offer = self.offers[port]
            self._drive(f"{port}_lookup_valid_i", int(offer is not None))
            if offer is not None:
                self._drive(f"{port}_lookup_page_i", offer.lookup.page)
                self._drive(f"{port}_lookup_access_i", offer.lookup.access)
        valid, words = [], []
        for table in self.tables:
            word = table.answer(self.now, self.chance)
            valid.append(int(word is not None))
            # What comes without `valid` must not matter.
            words.append(self.chance.getrandbits(32) if word is None else word)
        self._drive("table_rvalid_i", packed(valid, 1))
        self._drive("table_rdata_i", packed(words, 32))
        write = self.register_write
        self.register_write = None
        self._drive("reg_req_i", int(write is not None))
        self._drive("reg_write_i", int(write is not None))
        if write is not None:
            self._drive("reg_addr_i", write[0])
            self._drive("reg_wdata_i", write[1])
        await Timer(1, "ns")
        answers = self._look()
        self._drive("clk_i", 1)
        await Timer(1, "ns")
        self._drive("clk_i", 0)
        self.now += 1
        return answers

    def _look(self) -> list[Answer]:
        requests, addresses = self._read("table_req_o"), self._read("table_addr_o")
        bits = address_bits(self.dut)
        for number, table in enumerate(self.tables):
            if requests >> number & 1:
                table.ask(self.now, addresses >> number * bits & (1 << bits) - 1)
        answers = [answer for port in PORTS if (answer := self._result(port))]
        for port in PORTS:
            offer = self.offers[port]
            if offer is not None and self._read(f"{port}_lookup_ready_o"):
                offer.cycle = self.now
                if self.expects is not None and not offer.allowed:
                    offer.allowed = self.expects(offer.lookup)
                self.asked[port].append(offer)
                self.offers[port] = None
        hits, misses = self._read("event_hit_o"), self._read("event_miss_o")
        answered = sum(1 << PORTS.index(answer.port) for answer in answers)
        assert hits | misses == answered and not hits & misses, "an event is not a result"
        self.events[0] += hits.bit_count()
        self.events[1] += misses.bit_count()
        return answers

    def _result(self, port: str) -> Answer | None:
        if not self._read(f"{port}_result_valid_o"):
            assert not self.asked[port] or self.now - self.asked[port][0].cycle < (
                CYCLES_TO_ANSWER_MAX
            ), f"{port}: no answer"
            return None
        assert self.asked[port], f"{port}: a result that nobody asked for in cycle {self.now}"
        asked = self.asked[port].popleft()
        fault = bool(self._read(f"{port}_result_fault_o"))
        cause = self._read(f"{port}_result_cause_o")
        frame = None if fault else self._read(f"{port}_result_frame_o")
        result = Result(fault, cause, frame)
        assert not asked.allowed or result in asked.allowed, (
            f"{port} {asked.lookup}, taken in cycle {asked.cycle}, now {self.now}: {result},"
            f" not in {asked.allowed}"
        )
        waited = asked.cycle - asked.from_cycle
        return Answer(port, asked.lookup, result, self.now - asked.cycle, waited)

    @property
    def is_busy(self) -> bool:
        """Whether something is offered or on its way."""
        return any(self.offers.values()) or any(self.asked.values())

    async def drain(self) -> list[Answer]:
        """Cycles until all lookups are answered."""
        answers = []
        while self.is_busy:
            answers += await self.cycle()
        return answers
