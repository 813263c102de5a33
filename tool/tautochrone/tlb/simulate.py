"""Tasks on simulated TLBs: `tau tlb simulate`, which shows who evicts whom.

The work is done in tool/native/tlb. docs/spec/tlb_color.md, [CLR-14] to [CLR-19], defines the TLBs,
the tasks' pages and their accesses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from tautochrone import native, unseen
from tautochrone.declarations import Library
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import geometry_format
from tautochrone.tlb.geometry import CODE, DATA, Array, Geometry, Structure, geometry_of
from tautochrone.tlb.in_c import ROLES, geometry_row
from tautochrone.tlb.planning.shares import sets_of

PAGE_BYTES = 4096
SHAPE = re.compile(r"(\d+)x(\d+)(:\w+)?", re.ASCII)
NEXT_STEP = "a shape is SETSxWAYS, as 16x4, or SETSxWAYS:xor"


def geometry_or_shape(text: str) -> Geometry:
    """Return a known geometry, a file's, or a shape's. Raises TauError."""
    return _shape(text) if SHAPE.fullmatch(text) else geometry_of(text)


def _shape(text: str) -> Geometry:
    """One array for data and code; safe for one live entry of a set, as with any replacement.

    `:xor` is the exclusive or of the two lowest fields of the page number.
    """
    matched = SHAPE.fullmatch(text)
    assert matched is not None
    sets, ways = (_limited(text, key, matched[place]) for place, key in ((1, "sets"), (2, "ways")))
    if sets.bit_count() != 1:
        raise TauError(f"{text}: {sets} sets are not a power of two", NEXT_STEP, EXIT_USAGE)
    if matched[3] not in (None, ":xor"):
        raise TauError(f"{text}: unknown index {matched[3][1:]}", NEXT_STEP, EXIT_USAGE)
    bits = sets.bit_length() - 1
    mask = 1 | (1 << bits if matched[3] else 0)
    rows = tuple(mask << bit for bit in range(bits))
    structures = tuple(Structure(role, PAGE_BYTES, 0, rows, 0) for role in (DATA, CODE))
    array = Array(text, sets, ways, 1)
    return Geometry(text, PAGE_BYTES, "user", "named by its shape", None, (array,), structures)


def _limited(text: str, key: str, digits: str) -> int:
    limits = geometry_format.DOCUMENT["array"][key]
    least, most = limits["least"], limits["most"]
    if len(digits) > len(str(most)) or not least <= int(digits) <= most:
        cause = f"{text}: {key} are {digits}, expected an integer from {least} to {most}"
        raise TauError(cause, NEXT_STEP, EXIT_USAGE)
    return int(digits)


POLICIES = ("lru", "plru", "nru", "random", "adversarial")  # enum tau_tlb_policy
SEED_MAX = 0xFFFF
ENTRIES_MAX = 1 << 22
Numbers = npt.NDArray[np.uint64]


class Simulator:
    """TLBs of a geometry, empty at first. Owners are 0 ... owners − 1; 1 ≤ seed ≤ SEED_MAX.

    The caller closes it, or uses it as a context.
    """

    def __init__(
        self,
        geometry: Geometry,
        policy: str,
        seed: int,
        owners: int,
        library: Library | None = None,
    ) -> None:
        entries = sum(array.sets * array.ways for array in geometry.arrays)
        if entries > ENTRIES_MAX:
            raise TauError(
                f"{geometry.name} has {entries:,} entries; at most {ENTRIES_MAX:,} are simulated",
                "simulate smaller arrays",
            )
        self.geometry, self.owners = geometry, owners
        self._library = library or native.library()
        numbers = POLICIES.index(policy), seed, owners
        self._handle = self._library.tau_tlb_simulator_new(
            self._library.struct("tau_tlb_color_geometry")(*geometry_row(geometry)), *numbers
        )
        if not self._handle:
            raise TauError("not enough memory for these TLBs", "simulate smaller arrays")

    def __enter__(self) -> Simulator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give its memory back."""
        self._library.tau_tlb_simulator_delete(self._handle)
        self._handle = None

    def run(
        self,
        owners: npt.ArrayLike,
        addresses: npt.ArrayLike,
        page_bytes: int | None = None,
        role: str = DATA,
    ) -> None:
        """Access the pages at `addresses` in order, each by its owner."""
        by = np.ascontiguousarray(owners, np.uint32)
        at = np.ascontiguousarray(addresses, np.uint64)
        assert by.shape == at.shape
        page_log2 = (page_bytes or self.geometry.page_bytes).bit_length() - 1
        accesses = self._library.struct("tau_tlb_accesses")(
            *(by, at, by.size, ROLES.index(role), page_log2)
        )
        is_run = self._library.tau_tlb_simulator_run(self._handle, accesses)
        assert is_run, "an unknown owner, or pages that no structure translates"

    def misses(self) -> Numbers:
        """The walks of each owner so far."""
        counts = self._library.tau_tlb_simulator_misses(self._handle)
        return np.ctypeslib.as_array(counts, (self.owners,)).copy()

    def lookups(self) -> Numbers:
        """[structure, 0]: lookups that hit so far; [structure, 1]: those that missed."""
        counts = self._library.tau_tlb_simulator_lookups(self._handle)
        return np.ctypeslib.as_array(counts, (len(self.geometry.structures), 2)).copy()

    def evictions(self) -> Numbers:
        """[by, of]: evictions so far, in arrays that have sets to own."""
        counts = self._library.tau_tlb_simulator_evictions(self._handle)
        return np.ctypeslib.as_array(counts, (self.owners, self.owners)).copy()


HOSTILE = 0  # the task that walks through all its pages
TASK_PAGES = 24  # of any other task, if its window is that large
TURN_ACCESSES = 25
WINDOW_PAGES_LOG2, LARGE_PAGES_LOG2 = 18, 12  # a task's window, in base pages and in own ones
ADDRESS_BITS = 64
Addresses = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Accesses:
    """Accesses in order: by which task, and to which address."""

    owners: npt.NDArray[np.uint32]
    addresses: Addresses


def page_bytes_of(geometry: Geometry) -> int:
    """The smallest pages of data. Raises TauError if there are none."""
    sizes = [each.page_bytes for each in geometry.structures if each.role == DATA]
    if not sizes:
        raise TauError(
            f"{geometry.name} has no structure of role data, so nothing translates a task's pages",
            "add such a structure, or choose another geometry",
            EXIT_USAGE,
        )
    return min(sizes)


def pages_of_tasks(geometry: Geometry, tasks: int, is_colored: bool) -> list[Addresses]:
    """The addresses of each task's pages. Raises TauError if there are too many tasks."""
    page_bytes = page_bytes_of(geometry)
    window_bytes = max(geometry.page_bytes << WINDOW_PAGES_LOG2, page_bytes << LARGE_PAGES_LOG2)
    if (tasks + 1) * window_bytes >= 1 << ADDRESS_BITS:
        raise TauError(
            f"{tasks} tasks with pages of {page_bytes:,} bytes do not fit in {ADDRESS_BITS} bits",
            "give fewer tasks, or a structure for smaller pages",
            EXIT_USAGE,
        )
    own_sets = _equal_shares(geometry, tasks)
    found = []
    for task in range(tasks):
        start = (task + 1) * window_bytes
        searched = window_bytes if task == HOSTILE else min(window_bytes, _period_bytes(geometry))
        end = start + max(searched, page_bytes << LARGE_PAGES_LOG2)
        window = np.arange(start, end, page_bytes, dtype=np.uint64)
        owned = [shares == task for shares in own_sets]
        colored = _admissible(geometry, owned, window, page_bytes)
        if task != HOSTILE:
            colored = colored[:TASK_PAGES]
        if colored.size == 0:
            raise TauError(
                f"{geometry.name} has no page whose sets are all of one task if it is shared by"
                f" {tasks} tasks",
                "give fewer tasks, best a power of two",
                EXIT_USAGE,
            )
        found.append(colored if is_colored else window[: colored.size])
    return found


def accesses_of(pages: list[Addresses], accesses: int, seed: int) -> Accesses:
    """Turns of TURN_ACCESSES: the hostile task's and, of the others, one at random's."""
    dice = np.random.default_rng(seed)
    turns = -(-accesses // TURN_ACCESSES)
    runners = dice.integers(1, len(pages), turns, np.uint32)
    runners[1::2] = HOSTILE
    owners = np.repeat(runners, TURN_ACCESSES)[:accesses]
    addresses = np.empty(accesses, np.uint64)
    for task, own in enumerate(pages):
        mine = owners == task
        count = int(mine.sum())
        swept = np.arange(count) % own.size
        addresses[mine] = own[swept if task == HOSTILE else dice.integers(0, own.size, count)]
    return Accesses(owners, addresses)


def _period_bytes(geometry: Geometry) -> int:
    """After which all indices repeat."""
    bits = max(row.bit_length() for each in geometry.structures for row in (*each.rows, 0))
    return geometry.page_bytes << bits


def _equal_shares(geometry: Geometry, tasks: int) -> list[npt.NDArray[np.int64]]:
    """Per array the task that owns each set.

    Who has set s of the smallest array has all sets of the others that equal s modulo its sets.
    """
    colorable = [array.sets for array in geometry.arrays if array.is_colorable]
    if not colorable:
        raise TauError(
            f"{geometry.name} is fully associative: it has one set, of which nobody can own a part",
            "choose a geometry that has sets",
            EXIT_USAGE,
        )
    least = min(colorable)
    if tasks > least:
        raise TauError(
            f"{tasks} tasks are too many for the {least} sets of the smallest array of"
            f" {geometry.name}",
            f"give at most {least} tasks",
            EXIT_USAGE,
        )
    return [np.arange(array.sets) % least * tasks // least for array in geometry.arrays]


def _admissible(
    geometry: Geometry,
    owned: list[npt.NDArray[np.bool_]],
    pages: Addresses,
    page_bytes: int,
) -> Addresses:
    """The pages of a window whose entries all lie in owned sets; never the last page."""
    numbers = pages[:-1] // np.uint64(geometry.page_bytes)
    is_admissible = np.ones(numbers.size, np.bool_)
    for structure in geometry.translating(page_bytes):
        if geometry.arrays[structure.array].is_colorable:
            is_admissible &= owned[structure.array][sets_of(numbers, structure)]
    return pages[:-1][is_admissible]


def simulate(
    geometry: Geometry, policy: str, tasks: int, accesses: int, seed: int, is_colored: bool
) -> dict[str, Any]:
    """Run the accesses; return the document of the command. Raises TauError."""
    pages = pages_of_tasks(geometry, tasks, is_colored)
    done = accesses_of(pages, accesses, seed)
    with Simulator(geometry, policy, 1 + seed % SEED_MAX, tasks) as simulator:
        simulator.run(done.owners, done.addresses, page_bytes_of(geometry))
        misses, evictions = simulator.misses(), simulator.evictions()
    own = int(np.trace(evictions))
    counts = np.bincount(done.owners, minlength=tasks)
    return {
        "geometry": geometry.name,
        "geometry_sha256": geometry.digest(),
        "policy": policy,
        "seed": seed,
        "is_colored": is_colored,
        "accesses": accesses,
        "uncolorable_arrays": [each.name for each in geometry.arrays if not each.is_colorable],
        "tasks": [
            {
                "task": task,
                "is_hostile": task == HOSTILE,
                "pages": int(pages[task].size),
                "accesses": int(counts[task]),
                "misses": int(misses[task]),
                "evicted_by_others": int(evictions[:, task].sum() - evictions[task, task]),
            }
            for task in range(tasks)
        ],
        "evictions": {"own": own, "cross": int(evictions.sum()) - own},
        unseen.KEY: list(unseen.TLB_SIMULATION),
    }


def show(found: dict[str, Any]) -> None:
    """Print for people."""
    print(f"{'task':<12} {'pages':>7} {'accesses':>12} {'misses':>12} {'evicted by others':>18}")
    for each in found["tasks"]:
        name = f"{each['task']} (hostile)" if each["is_hostile"] else str(each["task"])
        print(
            f"{name:<12} {each['pages']:>7,} {each['accesses']:>12,} {each['misses']:>12,}"
            f" {each['evicted_by_others']:>18,}"
        )
    evictions = found["evictions"]
    print(f"evictions: {evictions['own']:,} own, {evictions['cross']:,} cross")
    print(unseen.told(unseen.TLB_SIMULATION))
