"""What a plan promises: code that is read as data counts, and `tau tlb run` finds broken promises.

Method: random plans against the golden model; programs on the simulated tile, in this process.
"""

import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tautochrone.errors import EXIT_LIMIT_EXCEEDED, TauError
from tautochrone.tlb.checking import broken_rule
from tautochrone.tlb.compared import EVICTIONS, MISSES, refuse
from tautochrone.tlb.partition import (
    CODE,
    GLOBALS,
    PARTS,
    STACK,
    Partition,
    Principal,
    Run,
    roles_of,
)
from tautochrone.tlb.planning.planner import plan_partition
from tautochrone.tlb.promise import Promise, broken, promises_of, told
from tautochrone.tlb.run import Choice, run, show
from tautochrone.tlb.tasks import read_tasks
from tautochrone.tlb.tile.shape import parsed
from tautochrone.tlb.tile.simulation import Fault, Job, Records, builder
from tautochrone.tlb.tile.system import System, TileTask
from testing.modelled import model_geometry, model_partition
from tool.tests.tlb import task_files
from tool.tests.tlb.task_files import ON_TILE, PAGE, pages_of
from tool.tests.tlb.test_planner import SEED, TILE, check_with_model, planned
from tool.tests.tlb.test_run_checks import SHAPE, ran, task


def live_entries(found: Partition, number: int) -> Counter[tuple[int, int]]:
    """By the golden model: the most entries of a principal's pages in each set, if it also reads
    its code as data. Data and code of one page have one entry in an array."""
    geometry = model_geometry(found.geometry)
    entries = {
        (each.array, each.index(address // PAGE), each.page_bytes, address // each.page_bytes)
        for part in PARTS
        for role in (roles_of(CODE, is_read=True) if part == CODE else roles_of(part))
        for address in pages_of(found, number, part)
        for each in geometry.translating(PAGE, role)
        if geometry.arrays[each.array].sets > 1
    }
    return Counter((array, index) for array, index, _, _ in entries)


@pytest.mark.parametrize("is_told", [True, False])
def test_code_that_is_read_as_data_stays_within_the_safe_ways(
    tmp_path: Path, is_told: bool
) -> None:
    """Random tasks without a miss: with reads_code each set holds what they read, or they are
    refused. Without it some sets do not hold that: on the tile such a task is stopped."""
    print(f"seed {SEED}")
    dice = random.Random(SEED)
    plans = exceeded = refused = 0
    while plans < 35:
        tables = [
            task_files.task(
                f"t{number}",
                f"heap_bytes = {dice.choice([0, 1, 2, 4]) * PAGE}",
                f"reads_code = {'true' if is_told else 'false'}",
                globals=dice.choice([0, PAGE, 2 * PAGE]),
                code=dice.choice([PAGE, 2 * PAGE]),
            )
            for number in range(dice.randrange(1, 5))
        ]
        found = planned(tmp_path, dice.choice(TILE), *tables)
        check_with_model(found.partition)
        plans += 1
        refused += len(found.misfits)
        arrays = found.partition.geometry.arrays
        exceeded += any(
            count > arrays[array].safe_ways
            for number in range(len(found.partition.principals))
            for (array, _), count in live_entries(found.partition, number).items()
        )
    print(f"{exceeded} of {plans} plans hold less than their tasks read; {refused} tasks refused")
    assert (exceeded == 0) == is_told


CONSTANTS = """\
__attribute__((section(".text.table"))) static const uint32_t table[4] = {1, 2, 3, 4};
static volatile uint32_t sum;
"""


def test_code_that_is_read_needs_to_be_told(tmp_path: Path) -> None:
    """Constants in code, as compilers for ARM place them. A task that reads them is stopped, and
    the cause is said; the other one goes on. With the key the sets hold them: each page misses
    once."""
    loop = "for (uint32_t i = 0; i < 9; i++) sum += table[i % 4];"
    reading = {"before": CONSTANTS, "job": loop}
    other = task(tmp_path, "other")
    found = ran(tmp_path, task(tmp_path, "reader", **reading), other)
    (stopped,) = found["stopped"]
    assert stopped["task"] == "reader" and found["exceeded"] == []
    assert stopped["why"].endswith("execute: if these are constants, give it reads_code = true")
    heap, read = "heap_bytes = 0", "heap_bytes = 8192\nreads_code = true"
    found = ran(tmp_path, task(tmp_path, "reader", **reading).replace(heap, read), other)
    assert found["stopped"] == found["exceeded"] == []
    promised = [each for each in found["promises"] if each["name"] == "reader"]
    assert {each["tlb"]: each["misses"] for each in promised} == {"instructions": 1, "data": 5}
    misses = [job["misses_by_tlb"]["data"] for job in found["jobs"] if job["task"] == "reader"]
    assert sum(misses) == 2 and len(misses) > 2  # its globals and its code


def test_a_promise_that_does_not_hold_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A plan for another index, whose check is left out: the counters say what it broke. By the
    true index nothing was promised but who may evict whom, and that holds."""
    path = tmp_path / "tasks.toml"
    job = "volatile uint32_t own = sum++; own++;"
    use = {"before": "static volatile uint32_t sum;", "job": job}
    tables = [task(tmp_path, f"t{number}", 10_000 + 999 * number, **use) for number in range(6)]
    path.write_text(ON_TILE + "".join(tables), encoding="utf-8")
    tasks, true = read_tasks(path), SHAPE.geometry()
    wrong = tuple(
        replace(each, rows=tuple(row << 4 for row in each.rows)) for each in true.structures
    )
    partition = plan_partition(tasks, replace(true, structures=wrong)).partition
    (tmp_path / "made").mkdir()
    building, choice = builder(tmp_path / "made"), Choice(run_cycles=50_000)
    found = run(tasks, partition, SHAPE, choice, building)
    misses = [row for row in found["exceeded"] if row["figure"] == MISSES]
    evictions = [row for row in found["exceeded"] if row["figure"] == EVICTIONS]
    assert {row["tlb"] for row in misses} == {"data", "instructions"}
    assert all(row["measured"] > row["given"] > 0 and row["job"] > 0 for row in misses)
    assert {row["by"] for row in evictions} >= {"t1", "t2"}
    assert found["evictions"]["cross"] == sum(row["measured"] for row in evictions)
    with pytest.raises(TauError, match="missed .* times .* promised at most 2") as error:
        refuse(found["exceeded"])
    assert error.value.exit_code == EXIT_LIMIT_EXCEEDED
    assert "evicted entries of t1" in error.value.message
    show(found)
    assert "promised: t0, t1, t2, t3, t4, t5: one miss per page" in capsys.readouterr().out
    found = run(tasks, replace(partition, geometry=true), SHAPE, choice, building)
    assert found["exceeded"] == [] and found["evictions"]["cross"] > 0
    show(found)
    assert re.search(r"^promised: .*t2.*: evicted by .*t1.* only", capsys.readouterr().out, re.M)


SHARED = 'mode = "no-miss"\nshares_sets_with = "{}"'


def test_tasks_of_equal_releases_use_the_same_sets_in_turn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Eighteen tasks on sixteen sets, the kernel included. On the tile, three in turn reload each
    page once per job, which is promised, and no bound is exceeded; a task apart never misses."""
    walks = "".join(
        task_files.task(f"t{number}", more=SHARED.format("t0") if number in (1, 2) else "")
        for number in range(17)
    )
    found = planned(tmp_path, TILE[1], task_files.KERNEL, walks)
    assert found.misfits == () and found.shares_free == 0
    assert broken_rule(found.partition) == "" and model_partition(found.partition).check() == "OK"
    loop = "for (uint32_t i = 0; i < 50; i++) { own++; sum++; }"
    use = {"before": "static volatile uint32_t sum;", "job": f"volatile uint32_t own = 0; {loop}"}
    cost = "cost_cycles = 3000\n"
    tables = [
        task(tmp_path, name, 30_000, cost + SHARED.format("a") * (name != "a"), **use)
        for name in ("a", "b", "c")
    ]
    found = ran(tmp_path, *tables, task(tmp_path, "apart", 15_000, cost, **use))
    later = [job for job in found["jobs"] if job["number"] > 0]
    by_task = {name: {job["misses"] for job in later if job["task"] == name} for name in "abc"}
    assert by_task == dict.fromkeys("abc", {2})
    assert {job["misses"] for job in later if job["task"] == "apart"} == {0}
    assert found["exceeded"] == [] and None not in {job["bound_cycles"] for job in later}
    show(found)
    assert "b: one miss per page, TLB and job, after a, c;" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('shares_sets_with = "b"', "no task before it is called b and has sets of its own"),
        ('shares_sets_with = "a"\nphase_cycles = 1', "a has other releases"),
        ('shares_sets_with = "a"\nsets = [{ array = "data", count = 1 }]', "sets of its own, too"),
    ],
)
def test_who_cannot_share_sets(tmp_path: Path, more: str, said: str) -> None:
    """Itself, one with other releases, and one that asks for sets."""
    with pytest.raises(TauError, match=re.escape(said)):
        task_files.task_set(tmp_path, task_files.task("a"), task_files.task("b", more=more))


def placed(name: str, follows: str | None = None, **sets: str) -> TileTask:
    """A task with a page of its own in each of the sets that a part names by digits."""
    digits = [(part, int(digit)) for part in sets for digit in sets[part]]
    runs = tuple(
        Run(part, (digit + 4 * (ord(name) * 16 + turn)) * PAGE, PAGE)
        for turn, (part, digit) in enumerate(digits)
    )
    place = Principal(name, "", (), (), 0, 0, 0, runs, 0, shares_sets_with=follows)
    return TileTask(name, 1000, 0, Path(name), (), place)


# Sets 0 to 3 of two ways, of data and of code; the kernel's two pages are in set 0. A row: tasks,
# then what is promised to one: misses of the run and of a job, and who evicts, for data and code.
LAST_NOT_IN_TURN = [placed("a", globals="1"), placed("b", globals="1"), placed("c", globals="1")]
IN_TURN = [placed("a", globals="13"), *(placed(n, "a", globals="1", code="2") for n in "bc")]
PROMISES = [
    ([placed("a", globals="1", stack="1", code="22")], "a", (2, 2, ""), (2, 2, "")),
    ([placed("a", globals="12", stack="3")], "a", (3, 3, ""), (0, 0, "")),
    ([placed("a", globals="1", stack="0")], "a", (None, None, "a kernel"), (0, 0, "")),
    ([placed("a", globals="1", stack="0")], "kernel", (None, None, "a kernel"), (0, 0, "")),
    ([placed("a", globals="1")], "kernel", (2, 2, ""), (0, 0, "")),
    (LAST_NOT_IN_TURN, "c", (None, None, "a b c"), (0, 0, "")),
    (IN_TURN, "a", (None, 2, "a b c"), (0, 0, "")),
    (IN_TURN, "c", (None, 1, "a b c"), (1, 1, "")),
    ([placed("a", globals="111")], "a", (None, None, "a"), (0, 0, "")),
    ([placed("a", code="3333", stack="3")], "a", (1, 1, ""), (None, None, "a")),
]


@pytest.mark.parametrize(("tasks", "name", "data", "code"), PROMISES)
def test_what_places_promise(
    tasks: list[TileTask],
    name: str,
    data: tuple[int | None, int | None, str],
    code: tuple[int | None, int | None, str],
) -> None:
    """By hand: only who has an entry in a crowded set is promised less, and only in turn a job is
    promised its entries."""
    system = System(parsed("4x2").geometry(), tuple(tasks), 0x100000, 0x104000, 1000)
    found = {each.tlb: each for each in promises_of(system, ["data", "code"]) if each.name == name}
    for tlb, (misses, job_misses, evictors) in (("data", data), ("code", code)):
        order = tuple(found[tlb].evictors)
        assert sorted(order) == sorted(evictors.split())
        assert found[tlb][2:4] == (misses, job_misses)


def test_a_promise_to_shared_data_counts_for_all_who_use_it() -> None:
    """Data of b in set 1, beside two pages of a: only b's promise is affected if a is apart."""
    mail = Principal("mail", "", (), (), 0, 0, 0, (Run(GLOBALS, 0x9000, PAGE),), 0, used_by=("b",))
    tasks = placed("a", globals="2"), placed("b", globals="1"), placed("c", globals="1")
    system = System(parsed("4x2").geometry(), tasks, 0x100000, 0x104000, 1000, shared=(mail,))
    found = {each.name: each for each in promises_of(system, ["data"])}
    assert found["a"][2:] == (1, 1, ())
    assert found["b"][2:] == (None, None, ("b", "c"))


@pytest.mark.parametrize(
    ("promises", "line"),
    [
        ([], "promised: nothing, since no TLB has sets"),
        ([Promise("kernel", "data", 1, 1, ())], "promised: nothing, since no TLB has sets"),
        ([Promise("a", "data", 1, 1, ())], "promised: a: one miss per page and TLB"),
        (
            [Promise("a", "data", None, 1, ("a", "c", "b")), Promise("a", "code", 1, 1, ())],
            "promised: a: one miss per page, TLB and job, after b, c",
        ),
        (
            [Promise("a", "data", None, None, ("a",)), Promise("b", "data", None, None, ("c",))],
            "promised: a: evicted by nobody else; b: evicted by c only",
        ),
    ],
)
def test_promises_in_a_line(promises: list[Promise], line: str) -> None:
    """What `tau tlb run` prints."""
    assert told(promises) == line


PROMISED = [
    Promise("a", "data", 3, 3, ()),
    Promise("b", "data", None, None, ("b", "kernel")),
    Promise("kernel", "data", 2, None, ("a",)),
]
MISSING = [Job(0, 0, 9, 9, (0, 3, 0), 0), Job(0, 1, 9, 9, (0, 1, 0), 0)]


@pytest.mark.parametrize(
    ("records", "rows"),
    [
        ({"jobs": MISSING[:1]}, []),
        ({"jobs": MISSING}, [("a", MISSES, 3, 1, 4)]),
        ({"jobs": [replace(MISSING[0], misses=(9, 4, 9))]}, [("a", MISSES, 3, 0, 4)]),
        ({"jobs": MISSING, "faults": [Fault(0, 5, 0, 0)]}, []),
        ({"jobs": MISSING, "faults": [Fault(1, 5, 0, 0)]}, [("a", MISSES, 3, 1, 4)]),
        ({"unfinished": [replace(MISSING[0], misses=(0, 4, 0))]}, [("a", MISSES, 3, 0, 4)]),
        ({"evictions": {("data", 2, 2): 5, ("data", 0, 2): 1, ("data", 1, 0): 7}}, []),
        ({"evictions": {("data", 1, 2): 5}}, [("b", EVICTIONS, 0, None, 5)]),
        ({"evictions": {("data", 2, 0): 6}}, [("kernel", EVICTIONS, 0, None, 6)]),
        ({"evictions": {("instructions", 2, 1): 6}}, []),
        ({"evictions": {("data", 1, 1): 2}}, [("a", EVICTIONS, 0, None, 2)]),
        ({"evictions": {("data", 1, 1): 2}, "faults": [Fault(0, 5, 0, 0)]}, []),
        (
            {"evictions": {("data", 2, 1): 2}, "faults": [Fault(0, 5, 0, 0)]},
            [("a", EVICTIONS, 0, None, 2)],
        ),
    ],
)
def test_what_records_break(records: dict[str, object], rows: list[tuple[object, ...]]) -> None:
    """By hand: misses of a run and of a job, evictions by whom, and what a stop excuses."""
    found = broken(PROMISED, ["a", "b"], Records(**records))  # type: ignore[arg-type]
    assert [each[:5] for each in found] == rows


MAILBOX = '[[shared]]\nname = "mail-box"\nbytes = 4096\ntasks = ["one", "two"]\n'


def test_shared_data_has_sets_of_its_own(tmp_path: Path) -> None:
    """Two tasks pass a number through it, and each misses once per page: the page is counted once,
    for none of them. A third task's program has no such name. Without sets it counts, too."""
    before = "extern volatile uint32_t tau_shared_mail_box[1024]; static uint32_t done;"
    put = {"before": before, "job": "tau_shared_mail_box[7] = ++done;"}
    get = {"before": before, "job": "done = tau_shared_mail_box[7]; tau_task_wait(done);"}
    cost = "cost_cycles = 3000\n"
    rows = ("one", 20_000, put), ("two", 40_000, get)
    tables = [task(tmp_path, name, period, cost, **use) for name, period, use in rows]
    found = ran(tmp_path, *tables, MAILBOX)
    assert max(job["value"] for job in found["jobs"] if job["task"] == "two") > 2
    assert found["exceeded"] == [] and found["evictions"] == {"own": 0, "cross": 0}
    promised = {each["name"]: each["misses"] for each in found["promises"] if each["tlb"] == "data"}
    assert promised == {"one": 3, "two": 3, "kernel": 2}
    assert all(job["response_cycles"] <= job["bound_cycles"] for job in found["jobs"][2:])
    partition = planned(tmp_path, TILE[0], *map(task_files.task, ("one", "two")), MAILBOX).partition
    check_with_model(partition)
    first, second, mail = partition.principals
    assert mail.used_by == ("one", "two")
    assert mail.sets[0] not in (first.sets[0], second.sets[0])
    assert partition.entries_of("one").total() == partition.entries(first.runs).total() + 1
    with pytest.raises(TauError, match="no source and no library .* defines tau_shared_mail_box"):
        ran(tmp_path, *tables, task(tmp_path, "three", **put), MAILBOX + "open_to_all = true\n")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"mail-box"', '"One"', "the name One is taken"),
        ('"two"', '"three"', "three is not a task"),
        ('"two"', '"one"', "one is there twice"),
        (', "two"', "", "two is not among them, and could reach the data"),
    ],
)
def test_shared_data_of_whom(tmp_path: Path, old: str, new: str, said: str) -> None:
    """Names are names of tasks, once, and its own is nobody's."""
    with pytest.raises(TauError, match=said):
        task_files.task_set(
            tmp_path, *map(task_files.task, ("one", "two")), MAILBOX.replace(old, new)
        )
