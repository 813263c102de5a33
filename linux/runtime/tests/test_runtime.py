"""Programs behave on our heaps as on the C library's.

Method: programs that check every result themselves run without a plan, on a plan that holds them,
on one that is far too small, so that both heaps and the way between them are used, and on one of
bands.
"""

import os
import platform
import re
import secrets
import shutil
import subprocess
from pathlib import Path

import pytest

from testing.recorded import Build
from testing.runtime import MakePlan, RunProgram

ROOT = Path(__file__).resolve().parents[3]
# Names of plans: heap bytes, then classes. In the small one most objects are spilled.
PLANS = {
    "none": None,
    "roomy": (1 << 26, (64, 50), (32, 100), (1008, 20), (8192, 3)),
    "small": (100_000, (64, 3), (32, 5), (1008, 2)),
    "bands": ((64, 50), (1008, 20), (8192, 9), (300_000, 2)),
}


@pytest.fixture(params=PLANS)
def options(
    request: pytest.FixtureRequest, plan: MakePlan, bands: MakePlan
) -> tuple[object, ...]:
    """The options of `tau run` for one of PLANS."""
    sizes = PLANS[request.param]
    if request.param == "bands":
        return ("--plan", bands(*sizes))
    return () if sizes is None else ("--plan", plan(sizes[0], *sizes[1:]))


@pytest.mark.parametrize("threads", [1, 4])
def test_random_calls(
    build: Build, run: RunProgram, options: tuple[object, ...], threads: int
) -> None:
    """Objects keep content, alignment and size over random calls of the whole family."""
    seed = secrets.randbits(32) + 1
    done = run(build("runtime_random"), seed, 40_000, threads, options=options)
    assert (done.status, done.stdout) == (0, "done\n"), f"seed {seed}: {done.stderr}"
    assert done.document["threads"] == threads
    assert done.document["calls"] > 40_000 * threads / 3
    assert done.document["refusals"] == 0


def test_the_family(build: Build, run: RunProgram, options: tuple[object, ...]) -> None:
    """Results and errno are those that the same program finds with the C library's own."""
    # Compilers know that posix_memalign leaves errno alone, and would not look.
    program = build("runtime_family", "-fno-builtin", made="family")
    plain = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (plain.returncode, plain.stdout) == (0, "")
    done = run(program, options=options)
    assert (done.status, done.stdout) == (0, ""), done.stderr
    assert done.document["refusals"] > 10  # those near 2^63


def test_operators(build: Build, run: RunProgram, options: tuple[object, ...]) -> None:
    """All forms of operator new and delete, with new-handlers and exceptions."""
    program = build("runtime_operators.cpp", "-std=c++17", compiler="g++")
    done = run(program, options=options)
    assert (done.status, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize("threads", [(), ("beside",)])
def test_handlers_that_allocate(
    build: Build, run: RunProgram, options: tuple[object, ...], threads: tuple[str, ...]
) -> None:
    """A handler interrupts the allocator, allocates, frees the program's objects, and forks."""
    done = run(build("runtime_signals"), *threads, options=options)
    assert (done.status, done.stdout) == (0, "done\n"), done.stderr


def test_fork_while_others_allocate(
    build: Build, run: RunProgram, options: tuple[object, ...]
) -> None:
    """The lock is held over a fork, so that each child has whole heaps and a free lock."""
    done = run(build("runtime_fork"), options=options)
    assert (done.status, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.parametrize("kind", ["plain", "nested", "nested, alone"])
def test_a_child_has_none_of_the_queue(build: Build, kind: str) -> None:
    """Those who wait, and how often they were passed, are the parent's. A child that a handler made
    in the middle of a call owns the lock.
    """
    program = build("runtime_forked_lock", "-D_GNU_SOURCE", f"-I{ROOT}", made="forked-lock")
    assert subprocess.run([program, kind], capture_output=True, text=True).stdout == "done\n"


def test_children_with_the_thread_id_of_another(build: Build, run: RunProgram) -> None:
    """After vfork, and after a clone without fork handlers: nobody sleeps forever at the lock."""
    done = run(build("runtime_clone"))
    assert (done.status, done.stdout) == (0, "done\n"), done.stderr


def test_threads_that_meet_seldom_sleep(build: Build, run: RunProgram) -> None:
    """Few of a million calls wait in the kernel. Once one had slept, all did."""
    done = run(build("runtime_meeting"))
    assert done.status == 0 and int(done.stdout) < 20_000, done.stdout


# Who is not woken sleeps until its second is over, of which the program lets pass 600 ms at most.
WOKEN_MS = 250


@pytest.mark.parametrize("threads", [2, 8])
@pytest.mark.parametrize("kind", ["fair", "real-time", "late"])
def test_a_waiting_thread_is_passed_seldom(build: Build, threads: int, kind: str) -> None:
    """[RUN-26] It does not run while it waits, and the others do nothing but take the lock. Then
    they wait for it, unless it does not come for a second, and are woken when it is their turn. A
    real-time thread is not passed at all.
    """
    lock = (f"-I{ROOT}", ROOT / "linux/runtime/lock.c")
    program = build("runtime_turns", "-D_GNU_SOURCE", *map(str, lock))
    bounds = {"fair": (128, 128 + threads - 1), "real-time": (0, 0), "late": (10_000, 2**32)}
    least, most = bounds[kind]
    again_ms = []
    for _ in range(3):  # another program may keep the processors for some time
        done = subprocess.run([program, str(threads), kind], capture_output=True, timeout=300)
        if done.returncode == 3:
            pytest.skip("no right to SCHED_FIFO")
        assert done.returncode == 0
        while_paused, before_it, milliseconds = map(int, done.stdout.split())
        assert before_it <= most and while_paused >= least
        again_ms.append(milliseconds)
        if milliseconds < WOKEN_MS:
            return
    assert kind != "fair", again_ms


@pytest.mark.parametrize("right", ["calls", "files", "descriptors", "folder"])
def test_a_program_that_gives_up_rights(
    build: Build, run: RunProgram, plan: MakePlan, right: str
) -> None:
    """It ends as without us, and its counts and sites are still reported."""
    if right == "folder" and os.getuid() != 0:
        pytest.skip("chroot needs root")
    done = run(build("runtime_confined"), right, options=("--plan", plan(100_000)))
    assert (done.status, done.document["is_complete"]) == (7, True), done.stderr
    sites = done.document["sites"]
    assert 80 <= done.document["spilled_objects"] == sum(site["objects"] for site in sites)
    assert {site["module"] for site in sites} == {done.document["program"]}


def test_a_sparse_calloc_is_not_resident(build: Build, run: RunProgram) -> None:
    """1 GiB that was never handed out before is not cleared again; used memory is."""
    resident_kib, wrong = map(int, run(build("runtime_sparse")).stdout.split())
    assert (resident_kib < 3000, wrong) == (True, 0)


@pytest.mark.parametrize("pool", [((1 << 30, 1),), ()])
def test_a_sparse_calloc_in_a_plan(
    build: Build, run: RunProgram, plan: MakePlan, pool: tuple[tuple[int, int], ...]
) -> None:
    """The same from a pool and from the shared region."""
    options = ("--plan", plan((1 << 30) + (1 << 25), *pool))
    resident_kib, wrong = map(int, run(build("runtime_sparse"), options=options).stdout.split())
    assert (resident_kib < 3000, wrong) == (True, 0)


@pytest.mark.parametrize("size", [1 << 30, 30 << 20])
def test_a_sparse_calloc_in_a_band(
    build: Build, run: RunProgram, bands: MakePlan, size: int
) -> None:
    """Of 32 MiB or more its pages are given back instead; a smaller one is cleared."""
    options = ("--plan", bands((100_000, 9), (size, 1)), "--strict")
    done = run(build("runtime_sparse"), size, options=options)
    resident_kib, wrong = map(int, done.stdout.split())
    assert (resident_kib < 3000, wrong) == (size >= 32 << 20, 0)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="steps by the trap flag of x86-64")
@pytest.mark.parametrize("kind", ["pool", "shared", "spill", "band"])
@pytest.mark.parametrize("threads", [(), ("beside",)])
def test_calloc_is_clear_whenever_a_handler_allocates(
    build: Build,
    run: RunProgram,
    plan: MakePlan,
    bands: MakePlan,
    kind: str,
    threads: tuple[str, ...],
) -> None:
    """The handler has another mark of memory that was never handed out, at each instruction."""
    heaps = {"pool": (400_000, (6016, 1)), "shared": (400_000,), "spill": (14_464, (6000, 1))}
    made = plan(*heaps[kind]) if kind in heaps else bands((64, 4_000), (20_000, 9))
    handler = {"pool": (6016, "free"), "shared": (6000, "keep"), "spill": (6000, "free")}
    words = (20_000, *handler.get(kind, (40, "keep")), *threads)
    done = run(build("runtime_stepped"), *words, options=("--plan", made))
    assert (done.status, done.stdout) == (0, "clear\n"), done.stderr


def test_the_end_of_a_heap_is_clear(build: Build, run: RunProgram, plan: MakePlan) -> None:
    """Its last bytes were never handed out. calloc does not clear them."""
    options = ("--plan", plan(100_000), "--strict", "--preset", "none")
    done = run(build("runtime_end"), options=options)
    assert (done.status, done.stdout) == (0, "0 0\n"), done.stderr


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("twice", "already free"),
        ("resized", "already free"),
        ("stack", "no object of this allocator starts there"),
        ("inside", "no object of this allocator starts there"),
        ("misaligned", "misaligned"),
        ("resized-stack", "no object of this allocator starts there"),
    ],
)
@pytest.mark.parametrize("more", [(), ("pool",), ("beside",), ("band",)])
def test_misuse_stops_the_program(
    build: Build,
    run: RunProgram,
    plan: MakePlan,
    bands: MakePlan,
    kind: str,
    words: str,
    more: tuple[str, ...],
) -> None:
    """A pointer that is not an object: one line with the cause, and SIGABRT."""
    planned = bands((1500, 400)) if more == ("band",) else plan(1 << 20, (64, 4))
    options = ("--plan", planned)
    done = run(build("runtime_misuse"), kind, *more, options=options)
    assert (done.status, done.stdout, done.document["signal"]) == (134, "", "SIGABRT")
    assert words in done.stderr
    assert done.document["is_complete"]  # the counts are written all the same


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("twice", "already free"),
        ("twice-elsewhere", "already free"),
        ("twice-late", "already free"),
        ("resized", "already free"),
        ("stack", "no object of this allocator starts there"),
        ("inside", "no object of this allocator starts there"),
        ("misaligned", "misaligned"),
        ("overrun", "the object's header, or that of a neighbor, was overwritten"),
        ("overrun-then-malloc", "malloc: a free block was overwritten"),
        ("written-then-malloc", "malloc: a free block was overwritten"),
        ("header-then-malloc", "malloc: a free block was overwritten"),
    ],
)
@pytest.mark.parametrize("more", ["alone", "beside"])
def test_misuse_without_a_plan(
    build: Build, run: RunProgram, kind: str, words: str, more: str
) -> None:
    """The same while the freed block is in a magazine, of this thread or of another one."""
    done = run(build("runtime_misuse"), kind, more)
    assert (done.status, done.stdout, done.document["signal"]) == (134, "", "SIGABRT")
    assert words in done.stderr
    assert done.document["is_complete"]


def returned(places: list[int], most: int, units: int) -> int:
    """How many of the blocks at PLACES, newest first, go back to the heap."""
    rows = 0
    start = end = -units  # of the row, in units of 16 bytes; before any block
    for count, place in enumerate(places[:most]):
        if rows == 8:
            return count
        if place == end and rows:
            end += units
        elif place == start - units and rows:
            start = place
        else:
            rows, start, end = rows + 1, place, place + units
    return most


@pytest.mark.parametrize("step", [1, 99, 3, 51, 37])
@pytest.mark.parametrize("size", [24, 120, 200, 1000, 1048])
def test_how_a_magazine_is_filled_and_emptied(
    build: Build, run: RunProgram, size: int, step: int
) -> None:
    """[RUN-25] By the heap's peak, and by the order in which freed objects come back. Those that do
    not are in rows of free blocks, where each is still known to be free.
    """
    lines = run(build("runtime_batches"), size, step).stdout.splitlines()
    filled, freed_at, taken, freed_twice = lines
    assert freed_twice == "0"
    units = (size + 7) // 16 + 1
    most = min(64, 512 // units)
    refills = [min(1 << power, most // 2, 32) for power in range(100)]
    expected = [str(blocks) for refill in refills for blocks in [refill] + [0] * (refill - 1)]
    assert filled.split() == expected[:100]
    places = [int(place) for place in freed_at.split()]
    magazine: list[int] = []
    for freed in range(100):
        if len(magazine) == most:
            newest = [places[index] for index in magazine[::-1]]
            del magazine[-returned(newest, min(most // 2, 32), units) :]
        magazine.append(freed)
    assert [int(index) for index in taken.split()] == magazine[::-1]


def test_no_block_stays_with_a_thread_that_is_gone(
    build: Build, run: RunProgram, options: tuple[object, ...]
) -> None:
    """Threads end, free each other's objects, and are missing in a child. Each call counts once."""
    done = run(build("runtime_magazines"), *([] if options else ["kept"]), options=options)
    assert (done.status, done.stdout) == (0, "done\n"), done.stderr
    assert 1_122_000 <= done.document["calls"] < 1_123_000  # and what the C library makes


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("overrun", r"free or realloc of 0x\w+: the object's header, or that of a neighbor, was"),
        ("overrun-then-malloc", "malloc: a free block was"),
    ],
)
def test_an_overwritten_header_stops_the_program(
    build: Build, run: RunProgram, plan: MakePlan, kind: str, words: str
) -> None:
    """Whoever finds it: the free of the object before, or a request."""
    done = run(build("runtime_misuse"), kind, options=("--plan", plan(1 << 20)))
    assert (done.status, done.stdout, done.document["signal"]) == (134, "", "SIGABRT")
    assert re.search(rf"^tau run: runtime_misuse\[\d+\]: {words} overwritten$", done.stderr, re.M)


def test_an_overwritten_block_of_a_band_stops_the_program(
    build: Build, run: RunProgram, bands: MakePlan
) -> None:
    """It is not taken for a full band: the request that would get the block says so."""
    options = ("--plan", bands((992, 50), (1008, 9), (5000, 9)))
    done = run(build("runtime_misuse"), "overrun-then-malloc", options=options)
    assert (done.status, done.document["signal"]) == (134, "SIGABRT"), done.stderr
    assert "malloc: a free block was overwritten" in done.stderr
    assert done.document["guarantee"]["within_limits"] is True


@pytest.mark.parametrize("is_planned", [False, True])
@pytest.mark.parametrize("more", ["alone", "beside"])
def test_an_overwritten_control_block_loses_no_counts(
    build: Build, run: RunProgram, plan: MakePlan, is_planned: bool, more: str
) -> None:
    """The bytes before the first object are overwritten: the report reads them with care. A
    program that does not notice ends as without us.
    """
    options = ("--plan", plan(1 << 20, (64, 4))) if is_planned else ()
    for size in (48, 600, 2000):
        done = run(build("runtime_misuse"), "underrun", more, size, options=options)
        assert (done.status, done.document["signal"]) == (134, "SIGABRT"), (size, done.stderr)
        assert done.document["is_complete"] and done.document["calls"] > 0, size
        done = run(build("runtime_misuse"), "underrun-then-end", more, size, options=options)
        assert (done.status, done.document["is_complete"]) == (7, True), (size, done.stderr)


def test_a_library_bound_deeply(build: Build, run: RunProgram) -> None:
    """RTLD_DEEPBIND would have it allocate from the C library's heap, and the program free that."""
    plugin = build("plugin", "-shared", "-fPIC", made="plugin.so")
    done = run(build("loader", "-ldl"), plugin, "deep")
    assert done.status == 0, done.stderr
    assert done.document["spill_peak"] > 1_000_003


def test_a_library_in_the_folder_of_its_caller(
    build: Build, run: RunProgram, tmp_path: Path
) -> None:
    """dlopen searches the RUNPATH of its caller: ours in between must not be the caller."""
    plugin = build("plugin", "-shared", "-fPIC", made="plugin.so")
    shutil.copy(plugin, tmp_path / "libhidden.so")
    program = build("loader", "-ldl", f"-Wl,-rpath,{tmp_path}", made="loader-run")
    assert run(program, "libhidden.so", "deep").status == 0


def test_real_programs(run: RunProgram, options: tuple[object, ...]) -> None:
    """An interpreter, a shell with a pipe and a compiler work as always."""
    code = "print(sum(len(str({i: [i]})) for i in range(3000)))"
    assert run("python3", "-c", code, options=options).stdout.strip().isdigit()
    assert run("sh", "-c", "seq 1000 | sort -R | wc -l", options=options).stdout.strip() == "1000"
    assert run("perl", "-e", "print scalar keys %{{map {$_ => 1} 1..5000}}").stdout == "5000"
    assert run("gcc", "--version", options=options).stdout.startswith("gcc")
