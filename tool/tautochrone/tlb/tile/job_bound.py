"""The bound of a job: the most cycles that the linked program of a task takes from one call of the
kernel to the next, where all translations hit and all accesses are aligned.

    job_cycles(elf, [LoopMax(12, function="filter")])   # C of the response-time analysis

Functions are followed from the task's start; those that may call the kernel as if they were inlined
at each call, the others once, for the worst that may be in flight when they begin. Each state of
the prefetch buffer (tile/fetching.py) is a node of its own. Loops end by notes of the source
(kernel/tasks/loops.h) or by the user's figures. [TASK-30] ... [TASK-33] are the rules.
"""

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from elftools.elf.elffile import ELFFile

from tautochrone.errors import TauError
from tautochrone.machine.longest_flow import (
    END,
    START,
    BegunBeforeError,
    Edge,
    EndlessError,
    Limit,
    most,
)
from tautochrone.machine.longest_path import RISCV_BRANCHES, TRAPS, Code
from tautochrone.tile.fetching import ANY, BRANCH, JUMP, Fetches, after
from tautochrone.tlb.tasks import LoopMax
from tautochrone.tlb.tile.entry_bound import EntryPaths
from tautochrone.tlb.tile.loop_notes import Notes, notes_of

CALL = "ecall"
ENTRY = "tau_task_start"
JUMPS = "j", "jr", "jalr"


class Node(NamedTuple):
    """An instruction that begins, what is being fetched then, and where its callers go on."""

    address: int
    state: Fetches
    callers: tuple[int, ...] = ()


class Way(NamedTuple):
    """From one node to another: the cycles in between, and a function that is called there."""

    end: Node
    cycles: int
    called: int | None = None


@dataclass(frozen=True)
class Region:
    """What is reached from some nodes up to a call of the kernel, or the return of a function."""

    begins: tuple[Way, ...]
    ways: dict[Node, tuple[Way, ...]]  # none where the region ends


def job_cycles(elf: Path, loops: Sequence[LoopMax] = (), restarts: bool = False) -> int:
    """The most cycles of a job, which may begin at the task's start if it RESTARTS.

    Raises TauError, which names what has no bound.
    """
    return _job_cycles(elf, elf.read_bytes(), tuple(loops), restarts)


@functools.lru_cache(maxsize=64)
def _job_cycles(elf: Path, _content: bytes, loops: tuple[LoopMax, ...], restarts: bool) -> int:
    """The same program with the same figures has the same bound."""
    return JobPaths(elf, loops).most(restarts)


class JobPaths:
    """The paths of a linked task."""

    def __init__(self, elf: Path, loops: Sequence[LoopMax]) -> None:
        self.elf, self.code, self.loops = elf, Code(elf), loops
        self.cycles = EntryPaths(self.code)
        self.notes: Notes = notes_of(elf)
        self.costs: dict[int, int | None] = {}  # of functions; None while it is being computed
        self.calling = self._calling()
        self._check_names()

    def most(self, restarts: bool = False) -> int:
        """The bound of a job."""
        start = [Way(Node(self.code.symbols[ENTRY], state), 0) for state in ANY]
        waits: dict[Node, None] = {}  # where the kernel is called
        begins = start
        while begins:
            found = [node for node in self._region(begins).ways if self._is_call(node.address)]
            new = [node for node in found if node not in waits]
            waits.update(dict.fromkeys(new))
            begins = [way for node in new for way in self._resumed(node)]
        jobs = {way.end: way for node in waits for way in self._resumed(node)}
        if not jobs:
            raise TauError("the program never calls tau_task_wait", "let each job end with it")
        return self._most_in(self._region([*jobs.values(), *(start if restarts else ())]))

    def _resumed(self, node: Node) -> Iterator[Way]:
        """The instruction after a call of the kernel; K has the time until it begins. A task whose
        main function returns calls for its end."""
        if self._is_in(node.address, self.code.symbols[ENTRY]):
            return iter(())
        return (Way(Node(node.address + 4, state, node.callers), 0) for state in ANY)

    # ---- the graph ----

    def _region(self, begins: Sequence[Way]) -> Region:
        ways: dict[Node, tuple[Way, ...]] = {}
        waiting = [way.end for way in begins]
        while waiting:
            node = waiting.pop()
            if node not in ways:
                ways[node] = tuple(self._ways(node))
                waiting += [way.end for way in ways[node]]
        return Region(tuple(begins), ways)

    def _ways(self, node: Node) -> Iterator[Way]:
        address, state, callers = node
        insn = self.cycles.instruction(address)
        step, _ = self.code.step(address)
        name = insn.mnemonic.removeprefix("c.")
        following = address + insn.size
        if name == CALL or name in TRAPS:
            return
        if step.calls is not None:
            yield from self._called(node, step.calls, following)
        elif not step.targets:
            if callers:
                yield self._to(callers[-1], callers[:-1], JUMP.after(state, *self._at(callers[-1])))
        elif name in RISCV_BRANCHES:
            for target in dict.fromkeys(step.targets):
                if target == following:
                    yield self._to(target, callers, after(state, 1, *self._at(target)))
                if target == step.targets[-1]:
                    yield self._to(target, callers, BRANCH.after(state, *self._at(target)))
        elif name in JUMPS:
            (target,) = step.targets
            yield self._to(target, callers, JUMP.after(state, *self._at(target)))
        else:
            cycles = self.cycles.length(address, step, following)
            yield self._to(following, callers, after(state, cycles, *self._at(following)))

    def _called(self, node: Node, called: int, following: int) -> Iterator[Way]:
        if called in self.calling:
            if following in node.callers:
                raise self._refuse("recursion", node.address)
            callers = (*node.callers, following)
            yield self._to(called, callers, JUMP.after(node.state, *self._at(called)))
            return
        for state in ANY:
            cycles, then = JUMP.after(state, *self._at(following))
            yield Way(Node(following, then, node.callers), cycles, called)

    def _to(self, address: int, callers: tuple[int, ...], step: tuple[int, Fetches]) -> Way:
        return Way(Node(address, step[1], callers), step[0])

    def _at(self, address: int) -> tuple[int, int]:
        """An instruction's address and size."""
        return address, self.cycles.instruction(address).size

    def _is_call(self, address: int) -> bool:
        return self.cycles.instruction(address).mnemonic == CALL

    def _instructions(self, address: int, end: int) -> Iterator[int]:
        while address < end:
            yield address
            address += 4 if self.code.bytes_at(address)[0] & 3 == 3 else 2

    def _calling(self) -> set[int]:
        """The functions from which the kernel may be called, by their addresses."""
        uses: dict[int, set[int]] = {}
        found = set()
        for address in (at for text in self.code.texts for at in self._instructions(*text)):
            function = self.code.function_at(address) or 0
            try:
                step = self.code.step(address)[0]
            except TauError:  # refused if a path leads here
                step = None
            if step is not None:
                if self._is_call(address):
                    found.add(function)
                for target in (*step.targets, *(() if step.calls is None else (step.calls,))):
                    uses.setdefault(self.code.function_at(target) or 0, set()).add(function)
        waiting = [*found]
        while waiting:
            new = uses.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        return found

    # ---- its longest path ----

    def function(self, address: int, call: Node) -> int:
        """The most cycles of a call of a function, up to its return's jump."""
        if address in self.costs and self.costs[address] is None:
            raise self._refuse("recursion", call.address)
        if address not in self.costs:
            self.costs[address] = None
            begins = []
            for state in ANY:
                cycles, then = JUMP.after(state, *self._at(address))
                begins.append(Way(Node(address, then), cycles))
            self.costs[address] = self._most_in(self._region(begins))
        return self.costs[address] or 0

    def _most_in(self, region: Region) -> int:
        edges = [Edge(START, way.end, way.cycles) for way in region.begins]
        for node, ways in region.ways.items():
            if not ways:
                edges.append(Edge(node, END, 0))
            for way in ways:
                cost = 0 if way.called is None else self.function(way.called, node)
                edges.append(Edge(node, way.end, way.cycles + cost))
        try:
            return most(edges, self._limits(region, edges))
        except EndlessError as error:
            raise self._refuse("a loop", error.node.address) from error
        except BegunBeforeError as error:
            raise TauError(
                f"the loop {error.name} goes on when a job begins, or begins within itself",
                "put TAU_LOOP before the loop, behind tau_task_wait",
            ) from error

    def _limits(self, region: Region, edges: Sequence[Edge]) -> list[Limit]:
        entering: dict[int, list[int]] = {}
        for place, edge in enumerate(edges):
            if edge.end != END:
                entering.setdefault(edge.end.address, []).append(place)
        found = [*self._limits_of_notes(entering)]
        return [*found, *self._limits_of_functions(region, edges, entering)]

    def _limits_of_notes(self, entering: dict[int, list[int]]) -> Iterator[Limit]:
        given = {each.name: each.rounds_max for each in self.loops if each.name is not None}
        for key, addresses in self.notes.rounds.items():
            limited = [place for each in addresses for place in entering.get(each, ())]
            if not limited:
                continue
            notes = self.notes.begins.get(key, ())
            if key.name not in given and any(note.rounds_max == 0 for note in notes):
                step = f'give the task loops = [{{ name = "{key.name}", rounds_max = … }}]'
                raise TauError(f"the loop {key.name} has no bound", step)
            begins = {
                place: given.get(key.name, note.rounds_max)
                for note in notes
                for place in entering.get(note.address, ())
            }
            yield Limit(key.name, frozenset(limited), begins)

    def _limits_of_functions(
        self, region: Region, edges: Sequence[Edge], entering: dict[int, list[int]]
    ) -> Iterator[Limit]:
        functions: dict[str, list[int]] = {}
        for each in self.loops:
            if each.function is not None:
                functions.setdefault(each.function, []).append(each.rounds_max)
        for name, given in functions.items():
            bodies = self._loops_of(name, region)
            if not bodies:  # of another region, or none
                continue
            if len(bodies) != len(given):
                places = ", ".join(self._place(head) for head in sorted(bodies))
                raise TauError(
                    f"loops has {len(given)} of {name}, which has {len(bodies)}: {places}",
                    "give one for each, in this order",
                )
            for (head, body), rounds_max in zip(sorted(bodies.items()), given, strict=True):
                outside = {
                    place
                    for address in body
                    for place in entering.get(address, ())
                    if edges[place].begin == START or edges[place].begin.address not in body
                }
                back = frozenset(entering[head]) - outside
                limit = dict.fromkeys(outside, rounds_max)
                yield Limit(f"at {self._place(head)}", back, limit)

    def _loops_of(self, name: str, region: Region) -> dict[int, set[int]]:
        """The loops of a function within a region: where each begins, and the addresses of its
        instructions."""
        if name not in self.code.symbols:
            raise TauError(f"loops names the function {name}, which the program lacks")
        function = self.code.symbols[name]
        here = {node.address for node in region.ways if self._is_in(node.address, function)}
        roots = [way.end.address for way in region.begins if way.end.address in here]
        roots += [function] if function in here else []
        before: dict[int, set[int]] = {}
        heads: dict[int, set[int]] = {}
        open_, seen = set[int](), set[int]()
        stack: list[tuple[int, list[int]]] = []
        for root in roots:
            if root not in seen:
                stack.append((root, self._onward(root, here)))
            while stack:
                address, left = stack[-1]
                seen.add(address)
                open_.add(address)
                if not left:
                    open_.discard(stack.pop()[0])
                    continue
                target = left.pop()
                before.setdefault(target, set()).add(address)
                if target in open_:
                    heads.setdefault(target, set()).add(address)
                elif target not in seen:
                    stack.append((target, self._onward(target, here)))
        return {head: _body(head, ends, before) for head, ends in heads.items()}

    def _is_in(self, address: int, function: int) -> bool:
        return self.code.function_at(address) == function

    def _onward(self, address: int, here: set[int]) -> list[int]:
        """Where control goes on within HERE; nowhere behind a call of the kernel."""
        if self._is_call(address):
            return []
        return [each for each in self.code.step(address)[0].targets if each in here]

    # ---- words ----

    def _check_names(self) -> None:
        names = {key.name for key in self.notes.rounds}
        for each in self.loops:
            if each.name is not None and each.name not in names:
                raise TauError(f"loops names {each.name}, which no TAU_ROUND of the program has")

    def _place(self, address: int) -> str:
        line = line_of(self.elf, address)
        return self.code.place(address) + (f" ({line})" if line else "")

    def _refuse(self, kind: str, address: int) -> TauError:
        return TauError(
            f"{kind} at {self._place(address)}: no bound",
            "state the most rounds of loops (docs/spec/tasks.md), and avoid recursion",
        )


def _body(head: int, ends: set[int], before: dict[int, set[int]]) -> set[int]:
    """The instructions of a loop: those from which its ends are reached without its head."""
    found, waiting = {head}, [*ends]
    while waiting:
        address = waiting.pop()
        if address not in found:
            found.add(address)
            waiting += before.get(address, ())
    return found


def line_of(elf: Path, address: int) -> str:
    """File and line of an instruction; empty if the program does not know."""
    with elf.open("rb") as file:
        dwarf = ELFFile(file).get_dwarf_info()
        for unit in dwarf.iter_CUs():
            program = dwarf.line_program_for_CU(unit)
            states = [entry.state for entry in program.get_entries() if entry.state]
            for state, following in itertools.pairwise(states):
                if state.address <= address < following.address and not state.end_sequence:
                    files = program["file_entry"]
                    name = files[state.file - (program["version"] < 5)].name
                    return f"{name.decode(errors='replace')}:{state.line}"
    return ""
