"""The planner: its plans against the golden model, and each reason for which a task has no
place."""

import random
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from model.tlb_color.simulator import ADVERSARIAL, LRU, Simulator
from tautochrone.errors import EXIT_LIMIT_EXCEEDED, TauError
from tautochrone.facts import tile_format
from tautochrone.facts import trace_format as form
from tautochrone.tlb.checking import broken_rule
from tautochrone.tlb.geometry import (
    CODE, DATA, DIRECTORY, Array, Geometry, Structure, known_geometry, known_names
)
from tautochrone.tlb.partition import GLOBALS, HEAP, PARTS, STACK, UNCOLORED, Partition, roles_of
from tautochrone.tlb.planning.demand import Call, RunHeap, demands_of
from tautochrone.tlb.planning.placement import runs_in
from tautochrone.tlb.planning.planner import Planned, plan_partition, refuse_misfits
from tautochrone.tlb.planning.shares import PageRange, divide
from tautochrone.trace.file import TraceWriter
from testing.modelled import model_geometry, model_partition
from tool.tests.tlb.task_files import KERNEL, PAGE, pages_of, task, task_set

TILE = ("tile-16x4", "tile-16x4-128x4", "tile-16x4-128x4-xor")
SEED = 21
RANDOM_SETS = 12


def planned(folder: Path, geometry: str | Geometry, *tables: str) -> Planned:
    """The planner's result for the tasks of these tables."""
    known = known_geometry(geometry) if isinstance(geometry, str) else geometry
    return plan_partition(task_set(folder, *tables), known)


def check_with_model(partition: Partition) -> None:
    """Every rule that there is, by the golden model: sets, windows, each page, each heap."""
    assert broken_rule(partition) == ""
    golden = model_partition(partition)
    assert golden.check() == "OK"
    geometry = golden.geometry
    for number, each in enumerate(partition.principals):
        if each.mode == UNCOLORED:
            continue
        heap = pages_of(partition, number)
        if heap:
            assert golden.heap(number, 0, len(heap), each.mode) == ("OK", heap)
        for part in PARTS:
            roles = (DATA,) if part == HEAP else (DATA, CODE)
            for address in pages_of(partition, number, part):
                for role in roles:
                    for structure in geometry.translating(PAGE, role):
                        index = structure.index(address // PAGE)
                        is_owned = index in each.sets[structure.array]
                        assert is_owned or geometry.arrays[structure.array].sets == 1
    everything = [
        {page for part in PARTS for page in pages_of(partition, number, part)}
        for number in range(len(partition.principals))
    ]
    assert not any(one & other for one, other in combinations(everything, 2))


@pytest.mark.parametrize("name", TILE)
def test_fifteen_tasks_and_their_kernel_share_the_tile(tmp_path: Path, name: str) -> None:
    """A set each of the first level: stack, globals, code and two pages of heap."""
    found = planned(tmp_path, name, KERNEL, *(task(f"t{number}") for number in range(15)))
    assert found.misfits == () and found.shares_free == 0
    partition = found.partition
    check_with_model(partition)
    assert len(partition.principals) == 16
    first = min(each.window_start for each in partition.principals)
    assert first > tile_format.ADDRESS_WINDOW  # no page 0
    for each in partition.principals:
        assert [len(sets) for sets in each.sets] == [1, 1, 8][: len(each.sets)]
        assert each.mode == "no-miss"
    # The kernel's two pages of data are in two runs, since a set has no adjacent pages.
    assert len(partition.principals[-1].runs_of(GLOBALS)) == 2


def test_zen4_holds_eight_tasks(tmp_path: Path) -> None:
    """100 pages of heap each, both halves of the sets for each, directory entries included."""
    tables = [task(f"t{number}", f"heap_bytes = {100 * PAGE}") for number in range(8)]
    found = planned(tmp_path, "zen4", *tables)
    assert found.misfits == ()
    check_with_model(found.partition)
    for each in found.partition.principals:
        assert {index % 2 for index in each.sets[1]} == {0, 1}
        entries = found.partition.entries(each.runs)
        assert {array for array, _ in entries} == {1}  # the first level is uncolorable


@pytest.mark.parametrize("mode", ["isolated", "no-miss"])
@pytest.mark.parametrize("name", known_names())
def test_each_known_geometry(tmp_path: Path, name: str, mode: str) -> None:
    """Eight tasks. Where one way is safe, no-miss is for tasks without a heap."""
    one_safe = any(
        each.safe_ways == 1 and each.is_colorable for each in known_geometry(name).arrays
    )
    heap = 0 if one_safe and mode == "no-miss" else 3 * PAGE
    tables = [task(f"t{number}", f"heap_bytes = {heap}", f'mode = "{mode}"') for number in range(8)]
    found = planned(tmp_path, name, *tables)
    assert found.misfits == ()
    check_with_model(found.partition)


def test_random_tasks_on_all_geometries(tmp_path: Path) -> None:
    """Whatever fits is right by the model; what does not has a reason."""
    print(f"seed {SEED}")
    dice = random.Random(SEED)
    fitted = 0
    for _ in range(RANDOM_SETS):
        tables = [
            task(
                f"t{number}",
                f"heap_bytes = {dice.choice([0, 1, 5, 20]) * PAGE}",
                f'mode = "{dice.choice(["isolated", "no-miss"])}"',
                stack=dice.choice([256, PAGE, 2 * PAGE]),
                globals=dice.choice([0, 100, 3 * PAGE]),
                code=dice.choice([0, PAGE, 6 * PAGE]),
            )
            for number in range(dice.randrange(1, 10))
        ]
        kernel = [KERNEL.replace("true", dice.choice(["true", "false"]))] * dice.randrange(2)
        found = planned(tmp_path, dice.choice(known_names()), *kernel, *tables)
        check_with_model(found.partition)
        fitted += len(found.partition.principals)
        assert all(misfit.cause for misfit in found.misfits)
        assert len(found.partition.principals) + len(found.misfits) == len(tables) + len(kernel)
    assert fitted > 2 * RANDOM_SETS


def random_geometry(dice: random.Random) -> Geometry:
    """Up to three arrays whose rows are hashed at random."""
    arrays: list[Array] = []
    structures: list[Structure] = []
    for number in range(dice.randrange(1, 4)):
        bits, ways = dice.randrange(0, 6), dice.randrange(1, 9)
        arrays.append(Array(f"array {number}", 1 << bits, ways, dice.randrange(1, ways + 1)))
        for role, size in ((DATA, PAGE), (CODE, PAGE), (DIRECTORY, 64 * PAGE)):
            if role == DATA or dice.random() < 0.5:
                first = (size // PAGE).bit_length() - 1 + dice.randrange(3)
                rows = [1 << first + bit for bit in range(bits)]
                for bit in range(bits):  # each keeps a lowest bit that no other has
                    rows[bit] |= dice.getrandbits(4) << first + bits
                structures.append(
                    Structure(role, size, number, tuple(rows), dice.getrandbits(8) % (1 << bits))
                )
    return Geometry("random", PAGE, "user", "", None, tuple(arrays), tuple(structures))


def test_random_geometries(tmp_path: Path) -> None:
    """A plan that is right by the model, or a reason."""
    print(f"seed {SEED}")
    dice = random.Random(SEED)
    fitted = refused = 0
    window = "[window]\nstart = 0x4000000\nsize_bytes = 0x4000000\n"
    for _ in range(40):
        mode = dice.choice(["isolated", "no-miss"])
        tables = [task(f"t{number}", more=f'mode = "{mode}"') for number in range(3)]
        try:
            found = planned(tmp_path, random_geometry(dice), window, *tables)
        except TauError as error:
            assert "nothing can be owned" in error.message
            refused += 1
            continue
        check_with_model(found.partition)
        fitted += len(found.partition.principals)
    assert fitted > 30 and refused < 20


def test_a_large_heap(tmp_path: Path) -> None:
    """256 MiB and another task, which takes the planner seconds."""
    window = "[window]\nstart = 0x100000000\nsize_bytes = 0x100000000\nword_bytes = 8\n"
    tables = [task("a", f"heap_bytes = {1 << 28}", 'mode = "isolated"'), task("b")]
    found = planned(tmp_path, "zen4", window, *tables)
    assert found.misfits == ()
    check_with_model(found.partition)


@pytest.mark.parametrize("name", [*TILE, "zen4"])
def test_nobody_evicts_anybody(tmp_path: Path, name: str) -> None:
    """Every task sweeps its pages in turns: with LRU no miss after the first turn, and whatever
    the policy, none evicts another's entry. Without sets some do, unless hashing scatters them."""
    tables = [KERNEL, *(task(f"t{number}") for number in range(7))]
    tasks = task_set(tmp_path, *tables)
    for policy in (LRU, ADVERSARIAL):
        for is_uncolored in (False, True):
            found = plan_partition(tasks, known_geometry(name), is_uncolored)
            partition = found.partition
            simulator = Simulator(model_geometry(partition.geometry), policy, SEED)
            for turn in range(4):
                if turn == 1:
                    simulator.misses.clear()
                for number in range(len(partition.principals)):
                    for part in PARTS:
                        for address in pages_of(partition, number, part):
                            simulator.access(number, address, PAGE, *roles_of(part))
            if not is_uncolored:
                assert simulator.cross_count == 0
                uncolorable = any(not each.is_colorable for each in partition.geometry.arrays)
                assert policy != LRU or uncolorable or simulator.misses.total() == 0
            elif policy == ADVERSARIAL and name in TILE[:2]:
                assert simulator.cross_count > 0


def test_parts_do_not_meet_in_a_set_if_they_need_not(tmp_path: Path) -> None:
    """Stack and globals in two sets; their code in the other array."""
    own = 'sets = [{ array = "data", count = 2 }]'
    found = planned(tmp_path, "tile-16x4", task("a", "heap_bytes = 0", own))
    check_with_model(found.partition)
    assert found.partition.principals[0].taken == (1, 1)


def test_uncolored_tasks_have_the_lowest_pages_of_their_windows(tmp_path: Path) -> None:
    tasks = task_set(tmp_path, KERNEL, task("a"), task("b", "heap_bytes = 20000"))
    partition = plan_partition(tasks, known_geometry("tile-16x4"), is_uncolored=True).partition
    check_with_model(partition)
    assert {each.mode for each in partition.principals} == {UNCOLORED}
    for number, each in enumerate(partition.principals[:2]):
        assert pages_of(partition, number)[0] == each.window_start
        assert len(each.runs) == 4


def test_the_kernel_may_stay_uncolored(tmp_path: Path) -> None:
    """It then has pages, and nobody else's window has them."""
    found = planned(tmp_path, "tile-16x4", KERNEL.replace("true", "false"), task("a"))
    check_with_model(found.partition)
    kernel = found.partition.principals[-1]
    assert (kernel.name, kernel.mode, kernel.sets) == ("kernel", UNCOLORED, ((), ()))


def test_the_page_table_has_the_pages_with_entries_in_use(tmp_path: Path) -> None:
    """Each is a page of entries of four bytes: 4 MiB of addresses."""
    partition = planned(tmp_path, "tile-16x4", task("a")).partition
    assert partition.page_table_bytes == PAGE
    assert partition.mapped_bytes == 5 * PAGE
    assert partition.address_space_bytes == partition.principals[0].window_bytes


COSTS = Path(__file__).resolve().parents[3] / "docs/design/tlb_color.md"


@pytest.mark.parametrize(
    ("name", "heap"), [("tile-16x4", 2), ("tile-16x4", 64), ("skylake", 64), ("zen4", 64)]
)
def test_what_own_sets_cost_in_memory(tmp_path: Path, name: str, heap: int) -> None:
    """The design's table: the same pages, but more addresses and page tables, and less in a row."""
    own = f"heap_bytes = {heap * PAGE}", 'mode = "isolated"'
    tasks = task_set(tmp_path, KERNEL, *(task(f"t{number}", *own) for number in range(8)))
    colored, uncolored = (
        plan_partition(tasks, known_geometry(name), is_uncolored).partition
        for is_uncolored in (False, True)
    )
    assert colored.mapped_bytes == uncolored.mapped_bytes
    pairs = [
        (each.address_space_bytes >> 10, each.page_table_bytes // PAGE,
         each.principals[0].largest_object_bytes)
        for each in (colored, uncolored)
    ]  # fmt: skip
    cells = [f"{mine:,}; {others:,}" for mine, others in zip(*pairs, strict=True)]
    row = f"| {name} | {heap} | {colored.mapped_bytes // PAGE} | {' | '.join(cells)} |"
    assert row in COSTS.read_text(encoding="utf-8").splitlines(), row


# ---- sets that the user fixes -------------------------------------------------------------------


def test_shares_of_two_arrays_are_of_the_same_pages() -> None:
    """Constants included: a page's sets in both have one share."""
    geometry = Geometry(
        *("constants", PAGE, "user", "", None),
        (Array("first", 4, 4, 4), Array("second", 16, 4, 4)),
        (Structure(DATA, PAGE, 0, (1, 2), 1), Structure(DATA, PAGE, 1, (1, 2, 4, 8), 6)),
    )
    pages = PageRange(geometry, 0, 64)
    shares = divide(pages)
    first, second = (shares.share_of[each.array][sets] for each, sets in pages.sets.items())
    assert shares.count == 4 and (first == second).all()


def test_shares_have_the_longest_runs() -> None:
    """The main TLB of Cortex-A53 in blocks of 8 sets."""
    pages = PageRange(known_geometry("cortex-a53"), 0, 1 << 14)
    admissible = divide(pages).admissible(pages, 0, 1, [DATA])
    assert max(length for _, length in runs_in(np.flatnonzero(admissible))) == 8


def test_fixed_sets_are_given(tmp_path: Path) -> None:
    more = 'sets = [{ array = "second level", count = 16 }]'
    first = 'sets = [{ array = "data", count = 4, first = 6 }]'
    found = planned(tmp_path, "tile-16x4-128x4", task("a", more=more), task("b", more=first))
    check_with_model(found.partition)
    a, b = found.partition.principals
    assert a.sets[0] == (0, 1) and len(a.sets[2]) == 16
    assert b.sets[0] == (6, 7, 8, 9) and len(b.sets[2]) == 32


def test_hashed_sets_are_given_in_aligned_ranges(tmp_path: Path) -> None:
    """Set 1 is free, but a range of two would not have whole runs from there on."""
    first = 'sets = [{ array = "data", count = 1, first = 0 }]'
    two = 'sets = [{ array = "data", count = 2 }]'
    found = planned(tmp_path, "tile-16x4-128x4-xor", task("a", more=first), task("b", more=two))
    check_with_model(found.partition)
    assert [each.sets[0] for each in found.partition.principals] == [(0,), (2, 3)]


SETS = [
    ('{ array = "date", count = 2 }', "task[1].sets[0].array: tile-16x4-128x4 has no array date"),
    ('{ array = "data", count = 17 }', "data: it asks for set 16, but there are 16"),
    ('{ array = "data", count = 2, first = 15 }', "data: it asks for set 16, but there are 16"),
    ('{ array = "second level", count = 4 }', "4 sets of second level are not a multiple of 8"),
    ('{ array = "second level", count = 8, first = 0 }', "sets 0 to 7 of second level are no"),
    ('{ array = "data", count = 2, first = 1 }', "task[1].sets: a owns some of these sets, too"),
    ('{ array = "data", count = 2 }, { array = "instructions", count = 3 }', "gets other shares"),
]


@pytest.mark.parametrize(("sets", "said"), SETS, ids=[each[1] for each in SETS])
def test_wrong_sets_are_refused(tmp_path: Path, sets: str, said: str) -> None:
    """With the line, the cause and the next step."""
    first = 'sets = [{ array = "data", count = 2, first = 0 }]'
    tables = task("a", more=first), task("b", more=f"sets = [{sets}]")
    with pytest.raises(TauError) as caught:
        planned(tmp_path, "tile-16x4-128x4", *tables)
    assert said in caught.value.message and "tasks.toml:" in caught.value.message
    assert caught.value.next_step


def test_nobody_owns_a_part_of_a_fully_associative_array(tmp_path: Path) -> None:
    more = 'sets = [{ array = "first level", count = 1 }]'
    with pytest.raises(TauError, match="nobody can own sets of first level") as caught:
        planned(tmp_path, "zen4", task("a", more=more))
    assert caught.value.next_step == "use one of second level"
    alone = Geometry(
        *("full", PAGE, "user", "", None),
        (Array("all", 1, 8, 8),),
        (Structure(DATA, PAGE, 0, (), 0),),
    )
    with pytest.raises(TauError, match="nothing can be owned"):
        planned(tmp_path, alone, task("a"))


# ---- who does not fit, and why ------------------------------------------------------------------

FEW = 'mode = "isolated"\nsets = [{ array = "data", count = 2 }]'
MISFITS = [
    ("tile-16x4", task("a", "heap_bytes = 300000"),
     "take 76 entries of data, but all 16 sets with 4 safe ways hold 64"),
    ("tile-16x4", task("a", "heap_bytes = 30000", FEW.replace("isolated", "no-miss")),
     "take 10 entries of data, but its 2 sets with 4 safe ways hold 8"),
    ("tile-16x4", task("a", f"heap_bytes = {60 * PAGE}"),
     "live entries, more than its 4 safe ways"),
    ("tile-16x4", task("a", f"heap_bytes = {1 << 30}", 'mode = "isolated"'),
     "too few pages for it"),
    ("tile-16x4", task("a", f"heap_bytes = {60 * PAGE}\nlargest_object_bytes = 9000", FEW),
     "an object of 9,000 bytes does not fit: the largest in a run of its sets has 8,172"),
    ("tile-16x4", task("a", more=FEW, stack=3 * PAGE),
     "3 adjacent pages of its stack are needed, but the longest run of its sets has 2"),
    ("tile-16x4", task("a", more=f"{FEW}\nglobals_run_bytes = 8193", globals=4 * PAGE),
     "3 adjacent pages of its globals are needed, but the longest run of its sets has 2"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "table", "cause"), MISFITS, ids=[each[2] for each in MISFITS])
def test_a_misfit_has_its_reason(tmp_path: Path, name: str, table: str, cause: str) -> None:
    """The other task still gets its place, and the error names the one that does not."""
    found = planned(tmp_path, name, table, task("other"))
    assert [each.name for each in found.partition.principals] == ["other"]
    (misfit,) = found.misfits
    assert misfit.name == "a" and cause in misfit.cause
    with pytest.raises(TauError, match="a does not fit: ") as caught:
        refuse_misfits(found)
    assert caught.value.exit_code == EXIT_LIMIT_EXCEEDED and caught.value.next_step


def test_seventeen_tasks_are_too_many_for_sixteen_sets(tmp_path: Path) -> None:
    found = planned(tmp_path, "tile-16x4", *(task(f"t{number}") for number in range(17)))
    (misfit,) = found.misfits
    assert misfit.name == "t16"
    owners = "t0 1, t1 1, t2 1, ..."
    assert misfit.cause == f"it needs 1 share of sets in a row; 0 of 16 are free ({owners})"


def test_a_small_window_is_full(tmp_path: Path) -> None:
    window = "[window]\nstart = 0x90000000\nsize_bytes = 0x100000\n"
    tables = [task(f"t{number}") for number in range(8)]
    found = planned(tmp_path, "tile-16x4", window, *tables)
    check_with_model(found.partition)
    assert len(found.partition.principals) >= 3
    assert found.misfits and all("free" in each.cause for each in found.misfits)


@pytest.mark.parametrize(("size", "said"), [("0x2000", "fewer than four pages"),
                                            ("0x200000000", "too many to search")])  # fmt: skip
def test_windows_have_limits(tmp_path: Path, size: str, said: str) -> None:
    window = f"[window]\nstart = 0\nsize_bytes = {size}\n"
    with pytest.raises(TauError, match=said) as caught:
        planned(tmp_path, "tile-16x4", window, task("a"))
    assert "window.size_bytes" in caught.value.message and caught.value.next_step


def test_nobody_gets_address_0(tmp_path: Path) -> None:
    """The core has no object there."""
    window = "[window]\nstart = 0\nsize_bytes = 0x1000000\n"
    partition = planned(tmp_path, "tile-16x4", window, task("a"), task("b")).partition
    check_with_model(partition)
    assert min(each.window_start for each in partition.principals) > 0
    first = replace(partition.principals[0], window_start=0)
    assert "has address 0" in broken_rule(replace(partition, principals=(first,)))


def test_pages_of_code_alone_are_refused(tmp_path: Path) -> None:
    """The core has no heap there."""
    rows = tuple(1 << bit for bit in range(4))
    code = Geometry(
        *("code", PAGE, "user", "", None),
        (Array("all", 16, 8, 8),),
        (Structure(CODE, PAGE, 0, rows, 0), Structure(DATA, PAGE << 4, 0, (16, 32, 64, 128), 0)),
    )
    with pytest.raises(TauError, match="no structure of role data translates pages of 4096"):
        planned(tmp_path, code, task("a"))


# ---- heaps from recordings ----------------------------------------------------------------------


def recording(path: Path, sizes: dict[int, list[int]]) -> None:
    """A trace in which each thread allocates objects of these sizes, and frees every other."""
    rows = [(0, size, thread) for thread, given in sizes.items() for size in given]
    columns = [(0, slot, size, thread) for slot, (_, size, thread) in enumerate(rows)]
    columns += [(4, slot, 0, thread) for _, slot, _, thread in columns[::2]]
    ops, slots, lengths, threads = (np.array(column) for column in zip(*columns, strict=True))
    with TraceWriter(path, {}) as writer:
        writer.append(op=ops, slot=slots, size_bytes=lengths, thread=threads)


def test_a_heap_holds_its_recordings(tmp_path: Path) -> None:
    """The pages suffice by replay; of one thread fewer do; a large object needs adjacent pages."""
    recording(tmp_path / "a.tau", {0: [100] * 300, 1: [1000] * 40 + [7000]})
    heap = 'recordings = ["a.tau"]'
    found = planned(tmp_path, "tile-16x4", task("a", heap, 'mode = "isolated"'))
    both = found.partition
    check_with_model(both)
    assert both.principals[0].largest_object_bytes >= 7000
    own = f"{heap}\nthread = 0"
    one_set = 'mode = "isolated"\nsets = [{ array = "data", count = 1 }]'
    small = planned(tmp_path, "tile-16x4", task("a", own, one_set)).partition
    check_with_model(small)
    assert len(pages_of(small, 0)) < len(pages_of(both, 0))
    assert len(pages_of(small, 0)) * PAGE >= 300 * 100
    assert small.principals[0].largest_object_bytes < 7000


def test_a_heap_has_the_objects_of_its_thread(tmp_path: Path) -> None:
    """[CLR-25] Whoever resizes and frees them; a slot that is taken again is another object."""
    nobody = 0xFFFFFFFF
    rows = [  # operation, slot, bytes, thread, flags
        (form.OP_MALLOC, 0, 100, 0, 0),
        (form.OP_MALLOC, 1, 200, 1, 0),
        (form.OP_REALLOC, nobody, 400, 0, form.FLAG_INHERITED),
        (form.OP_REALLOC, 0, 300, 1, 0),
        (form.OP_REALLOC, 1, 250, 0, 0),
        (form.OP_FREE, 0, 0, 1, 0),
        (form.OP_FREE, nobody, 0, 0, form.FLAG_DOUBLE_FREE),
        (form.OP_MALLOC, 0, 500, 1, 0),
    ]
    ops, slots, sizes, threads, flags = (np.array(column) for column in zip(*rows, strict=True))
    with TraceWriter(tmp_path / "a.tau", {}) as writer:
        writer.append(op=ops, slot=slots, size_bytes=sizes, thread=threads, flags=flags)
    tasks = task_set(tmp_path, task("a", 'recordings = ["a.tau"]\nthread = 0'))
    (demand,) = demands_of(tasks, PAGE)
    (calls,) = demand.calls
    assert [call[:3] for call in calls] == [
        (form.OP_MALLOC, 0, 100),
        (form.OP_REALLOC, 0, 300),
        (form.OP_FREE, 0, 0),
    ]
    assert demand.object_bytes == 300


def test_a_heap_may_have_all_pages_that_there_are(tmp_path: Path) -> None:
    """126 of the 127 in its set, one object in each; the step before them is more than one."""
    recording(tmp_path / "a.tau", {0: [3000] * 126})
    window = "[window]\nstart = 0x90000000\nsize_bytes = 0x1000000\n"
    own = 'mode = "isolated"\nsets = [{ array = "data", count = 1, first = 15 }]'
    found = planned(tmp_path, "tile-16x4", window, task("a", 'recordings = ["a.tau"]', own))
    assert found.misfits == ()
    check_with_model(found.partition)
    assert len(pages_of(found.partition, 0)) in (126, 127)


def test_recordings_without_a_call_of_the_thread_are_refused(tmp_path: Path) -> None:
    recording(tmp_path / "a.tau", {0: [100], 1: [50]})
    heap = 'recordings = ["a.tau"]\nthread = 7'
    with pytest.raises(TauError, match=r"no allocation of thread 7") as caught:
        planned(tmp_path, "tile-16x4", task("a", heap))
    assert "task[0].thread" in caught.value.message
    assert caught.value.next_step == "use one of 0, 1"
    with pytest.raises(TauError, match="no such file"):
        planned(tmp_path, "tile-16x4", task("a", 'recordings = ["b.tau"]'))


@pytest.mark.parametrize("word_bytes", [4, 8])
def test_the_largest_object_can_be_had(word_bytes: int) -> None:
    """It is a run less the overhead, unless the control block is in the same run."""
    one = RunHeap([(0, PAGE)], word_bytes).largest_object_bytes()
    two = RunHeap([(0, PAGE), (1 << 20, PAGE)], word_bytes).largest_object_bytes()
    long = RunHeap([(0, PAGE), (1 << 20, 4 * PAGE)], word_bytes).largest_object_bytes()
    assert one < two < PAGE and long == two + 3 * PAGE
    assert two == PAGE - {4: 20, 8: 40}[word_bytes]
    assert not RunHeap([(0, 128)], word_bytes).is_started
    alike = [(number << 20, pages * PAGE) for number, pages in enumerate((1, 1, 66, 65, 1))]
    for runs in ([(0, PAGE)], alike):  # blocks of 65 and 66 pages have one class
        largest = RunHeap(runs, word_bytes).largest_object_bytes()
        served = [
            RunHeap(runs, word_bytes).completes([Call(form.OP_MALLOC, 0, size, 1)])
            for size in (largest, largest + 1)
        ]
        assert served == [True, False]


# ---- the checker finds wrong plans --------------------------------------------------------------


def broken(partition: Partition, number: int = 0, **changed: object) -> str:
    """The rule that a changed principal breaks."""
    principals = list(partition.principals)
    principals[number] = replace(principals[number], **changed)  # type: ignore[arg-type]
    return broken_rule(replace(partition, principals=tuple(principals)))


def test_each_broken_rule_is_named(tmp_path: Path) -> None:
    partition = planned(tmp_path, "tile-16x4", task("a"), task("b")).partition
    a, _ = partition.principals
    stack, globals_, *_ = a.runs
    heap = a.runs_of(HEAP)
    start, size = a.window_start, a.window_bytes
    others = tuple(run for run in a.runs if run.part != STACK)
    pages = {
        "inside": (replace(stack, start=start + size - PAGE), *others),
        "whole": (replace(stack, size_bytes=100), *others),
        "overlap": (replace(globals_, part=STACK), *others),
        "beside": (*a.runs, replace(stack, part=GLOBALS, start=stack.start + PAGE)),
        "several": (*a.runs, replace(stack, start=stack.start + 16 * PAGE + 2 * 16 * PAGE)),
        "others": (replace(stack, start=stack.start + PAGE), *others),
        "leaves": tuple(run for run in a.runs if run != heap[0]),
    }
    for said, found in (
        ("two principals are called b", broken(partition, name="b")),
        ("set 1 of data belongs to a and to b", broken(partition, sets=((0, 1), (0,)))),
        ("a owns set 16 of data, which has 16", broken(partition, sets=((16,), (0,)))),
        ("a owns sets of data, but can own none", broken(partition, mode=UNCOLORED)),
        ("a's window is not an aligned power of two", broken(partition, window_bytes=size + PAGE)),
        ("the windows of a and b overlap", broken(partition, 1, window_start=start)),
        ("the window of a's heap is not a power", broken(partition, heap_window_bytes=3 * PAGE)),
        ("a has a heap without a window", broken(partition, heap_window_bytes=0)),
        ("is not inside its window", broken(partition, runs=pages["inside"])),
        ("is not of whole pages", broken(partition, runs=pages["whole"])),
        ("two runs of a overlap", broken(partition, runs=pages["overlap"])),
        ("a run of a's globals follows another one", broken(partition, runs=pages["beside"])),
        ("a's stack is in several runs", broken(partition, runs=pages["several"])),
        ("needs sets of others", broken(partition, runs=pages["others"])),
        ("needs sets of others", broken(partition, sets=((0,), (5,)))),  # as code
        ("a's heap leaves out the page", broken(partition, runs=pages["leaves"])),
        ("take 2 entries of a set of data, not 1", broken(partition, taken=(1, 1))),
    ):
        assert said in found, (said, found)
    more = replace(stack, part=GLOBALS, start=stack.start + 3 * 16 * PAGE)
    crowded = broken(partition, runs=(*a.runs, more), taken=(3, 1))
    assert crowded == "a has up to 5 live entries in a set of data, more than its 4 safe ways"
