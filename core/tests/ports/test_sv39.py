"""Regions on Sv39 tables against model/sv39.py: here with sanitizers, on QEMU with real loads,
stores, fetches and page faults. TAU_TEST_SEED repeats a run."""

from __future__ import annotations

import itertools
import os
import random
from pathlib import Path

import pytest

from core.tests.ports import script_sv39
from model import sv39
from testing.sv39 import build as sv39_build

READ, WRITE, EXECUTE = sv39.READ, sv39.WRITE, sv39.EXECUTE
SMALL, LARGE, SPACE = sv39.SMALL_PAGES, sv39.LARGE_PAGES, sv39.SPACE_PAGES
# Spaces, frames for pages, frames for tables only (None: tables come from the pages' pool).
POOLS = ((3, 600, None), (3, 24, None), (2, 30, 20), (4, 100, 19), (3, 6, 60), (1, 2000, 2000))
QEMU_SEEDS_COUNT = 3


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program for this machine."""
    return sv39_build.build_host(tmp_path_factory.mktemp("sv39") / "host")


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program for QEMU, as it is shipped: without asserts."""
    return sv39_build.build_qemu(tmp_path_factory.mktemp("sv39") / "qemu.elf")


def first_seed() -> int:
    """The seed of this run's first script."""
    return int(os.environ.get("TAU_TEST_SEED") or random.randrange(1 << 32))


def carry_out(script: script_sv39.Script, program: Path, folder: Path) -> str:
    """Run a script where the program runs; return its output. Fails on anything unexpected."""
    path = folder / "script.bin"
    path.write_bytes(script.data())
    run = sv39_build.run_qemu if program.suffix == ".elf" else sv39_build.run_host
    is_right, said = run(program, path)
    assert is_right, said
    return said


def random_script(seed: int, operations: int) -> script_sv39.Script:
    """A script with the pools that `seed` stands for."""
    spaces, frames, tables = POOLS[seed % len(POOLS)]
    script = script_sv39.Script(seed, spaces, frames, tables)
    script.fuzz(operations)
    return script


def boundary_script() -> script_sv39.Script:
    """Every status, every class of size at the borders of slots, both unmaps, reuse of tables."""
    script = script_sv39.Script(1, 2, 1500, 40)
    both = READ | WRITE

    def expect(status: str, wanted: str) -> None:
        assert status == wanted, (status, wanted)
        script.counts(0)
        script.walk()

    # Bad input, each with its own reason, in the header's order.
    for rights in (0, WRITE, WRITE | EXECUTE, 8, 16 | READ):
        expect(script.map_region(0, 0, 5, rights), "BAD_ARGUMENT")
    expect(script.map_region(0, 1000, 0, READ), "BAD_ARGUMENT")
    expect(script.map_region(0, 0, 0xFFFFFFFF, READ), "PAGE_ZERO")
    for page in (SPACE, SPACE + 1, 0xFFFFFFFF):
        expect(script.map_region(0, page, 1, READ), "PAGE_OUTSIDE")
        expect(script.map_page(0, page, READ), "PAGE_OUTSIDE")
        expect(script.unmap_region(0, page), "PAGE_OUTSIDE")
    for start, pages in ((1, LARGE), (LARGE, LARGE + 1), (SPACE - 1, 2), (5, 0xFFFFFFFF)):
        expect(script.map_region(0, start, pages, READ), "REGION_TOO_LARGE")
    for unmap in ("UNMAP_REGION", "UNMAP_LINEAR"):
        expect(script.unmap_region(0, 0, unmap), "PAGE_ZERO")
        expect(script.unmap_region(0, 999, unmap), "NOT_A_REGION")
        expect(script.unmap_region(0, 7 * LARGE, unmap), "NOT_A_REGION")
    expect(script.map_page(0, 0, READ), "PAGE_ZERO")
    # Overlaps: with a small region, with a large one, with its slot.
    expect(script.map_region(0, LARGE + 5, 3, READ), "OK")
    expect(script.map_region(0, LARGE + 5, 3, READ), "REGION_OVERLAPS")
    expect(script.map_region(0, LARGE + 100, 1, READ), "REGION_OVERLAPS")
    expect(script.map_region(0, LARGE + 600, 5000, READ), "REGION_OVERLAPS")
    expect(script.map_page(0, LARGE + 4, READ), "NOT_IN_REGION")
    expect(script.map_page(0, LARGE + 8, READ), "NOT_IN_REGION")
    expect(script.map_page(0, LARGE + 5, WRITE), "ACCESS_DENIED")
    expect(script.unmap_region(0, LARGE + 6), "NOT_A_REGION")
    # The shared table that is left serves a large region, which leaves none.
    expect(script.unmap_region(0, LARGE + 5), "OK")
    expect(script.map_region(0, LARGE, LARGE, both), "OK")
    for page in (LARGE, LARGE + 511, LARGE + 512, 2 * LARGE - 1):
        expect(script.access(0, page, 4088, WRITE, page), "OK")
        expect(script.map_page(0, page, READ), "PAGE_MAPPED")
    expect(script.map_region(0, 2 * LARGE - 1, 1, READ), "REGION_OVERLAPS")
    expect(script.unmap_region(0, LARGE + 512), "NOT_A_REGION")
    expect(script.unmap_region(0, LARGE), "OK")
    for page in (LARGE, LARGE + 511, LARGE + 512, 2 * LARGE - 1):
        expect(script.access(0, page, 4088, READ), "NOT_IN_REGION")
    # Every page of a 2 MiB slot, of one across a border, and the last page of the space.
    for start, pages in ((LARGE + SMALL, SMALL), (3 * LARGE - 400, 400), (9 * LARGE + 300, 512)):
        for unmap in ("UNMAP_REGION", "UNMAP_LINEAR"):
            expect(script.map_region(0, start, pages, both | EXECUTE), "OK")
            for page in range(start, start + pages):
                script.access(0, page, 8 * (page % 512), WRITE, page)
                script.access(1, page, 8 * (page % 512), READ)
            for page in range(start, start + pages, 7):
                script.access(0, page, 8 * (page % 512), READ)
            expect(script.access(0, start + pages, 0, READ), "NOT_IN_REGION")
            expect(script.unmap_region(0, start, unmap), "OK")
            expect(script.access(0, start, 0, READ), "NOT_IN_REGION")
    expect(script.map_region(0, SPACE - 1, 1, both), "OK")
    expect(script.access(0, SPACE - 1, 4088, WRITE, 77), "OK")
    expect(script.access(0, SPACE, 0, READ), "PAGE_OUTSIDE")
    return script


def rights_script() -> script_sv39.Script:
    """Each kind of access to each kind of region, before the page is mapped and after."""
    script = script_sv39.Script(2, 2, 200, None)
    for number, (rights, space) in enumerate(itertools.product(sv39.RIGHTS, (0, 1))):
        start = (number + 1) * LARGE + SMALL
        script.map_region(space, start, 700 if number % 2 else 3, rights)
        for page, access in itertools.product((start, start + 2), (WRITE, READ, EXECUTE) * 2):
            wanted = "OK" if access & rights else "ACCESS_DENIED"
            offset = 8 if access == WRITE else 0
            assert script.access(space, page, offset, access, 9) == wanted
            assert script.access(1 - space, page, offset, access, 9) == "NOT_IN_REGION"
        script.walk()
    return script


def isolation_script() -> script_sv39.Script:
    """Frames go round between spaces, with the same addresses: each finds zeros, never the other's.

    Translations of both stay in the TLB, as nothing but unmapping flushes them.
    """
    script = script_sv39.Script(3, 4, 12, 24)
    for turn in range(60):
        space = turn % 4
        assert script.map_region(space, 5 * LARGE + 7, 4, READ | WRITE) == "OK"
        for page in range(5 * LARGE + 7, 5 * LARGE + 9):
            script.access(space, page, 0, READ)
            script.access(space, page, 0, WRITE, turn * 1000 + page)
            script.access((space + 1) % 4, page, 0, READ)
        if turn >= 3:
            script.unmap_region((turn + 1) % 4, 5 * LARGE + 7)
        for other in range(4):
            script.access(other, 5 * LARGE + 7, 0, READ)
        script.walk()
    script.reopen(2)
    script.access(2, 5 * LARGE + 7, 0, READ)
    script.counts(2)
    return script


def exhaustion_script(frames: int, tables: int | None) -> script_sv39.Script:
    """Everything fails once for want of a page or a table page; then one is given back."""
    script = script_sv39.Script(4, 1, frames, tables)
    starts = [2 * LARGE + 1, 3 * LARGE, 3 * LARGE + SMALL, 4 * LARGE, 5 * LARGE]
    for start, pages in zip(starts, (5, 5, 5, 2000, 2000), strict=True):
        script.map_region(0, start, pages, READ | WRITE)
        for page in (start, start + 1, start + pages - 1, start + pages // 2):
            script.access(0, page, 0, WRITE, page)
            script.counts(0)
            script.walk()
    for start in starts:
        script.unmap_region(0, start)
        script.access(0, 4 * LARGE + 999, 0, READ)
        script.walk()
    return script


def exhaustive_script(length: int) -> script_sv39.Script:
    """Every sequence of LENGTH operations out of twelve on one GiB, each from a new space."""
    script = script_sv39.Script(5, 1, 40, 20)
    small, beside, across = LARGE + 3, LARGE + SMALL, LARGE + 3 * SMALL - 1
    operations = (
        lambda: script.map_region(0, small, 2, READ | WRITE),
        lambda: script.map_region(0, beside, SMALL, READ),
        lambda: script.map_region(0, across, 2, READ | WRITE),
        lambda: script.access(0, small, 0, WRITE, 1),
        lambda: script.access(0, small + 1, 8, READ),
        lambda: script.access(0, beside, 0, READ),
        lambda: script.access(0, across, 8, WRITE, 2),
        lambda: script.access(0, across + 1, 8, READ),
        lambda: script.unmap_region(0, small),
        lambda: script.unmap_region(0, beside),
        lambda: script.unmap_region(0, across),
        lambda: script.unmap_region(0, across, "UNMAP_LINEAR"),
    )
    for sequence in itertools.product(operations, repeat=length):
        for operation in sequence:
            operation()
        script.counts(0)
        script.walk()
        script.reopen(0)
    return script


# Frames, and table pages apart: every number that matters to exhaustion_script.
SHORT_POOLS = [*((n, None) for n in range(4, 26)), (3, 20), *((30, n) for n in range(3, 13))]
DIRECTED = {
    "boundary": boundary_script,
    "rights": rights_script,
    "isolation": isolation_script,
    **{
        f"exhaustion-{frames}-{tables}": (lambda f=frames, t=tables: exhaustion_script(f, t))
        for frames, tables in SHORT_POOLS
    },
}


@pytest.mark.parametrize("name", DIRECTED)
def test_directed_on_host(name: str, host: Path, tmp_path: Path) -> None:
    """The full walk and the model agree at every step."""
    carry_out(DIRECTED[name](), host, tmp_path)


@pytest.mark.parametrize("name", [name for name in DIRECTED if "-" not in name])
def test_directed_on_qemu(name: str, board: Path, tmp_path: Path) -> None:
    """A real MMU sees what the model says."""
    carry_out(DIRECTED[name](), board, tmp_path)


def test_init_refuses_and_the_walk_finds_every_broken_invariant(tmp_path: Path) -> None:
    """[SV39-1] … [SV39-12], each broken by one word."""
    is_right, said = sv39_build.run_checker(sv39_build.build_checker(tmp_path / "checker"))
    assert is_right, said


def test_exhaustion_reaches_every_refusal() -> None:
    """The scripts of exhaustion contain each way to run out."""
    seen = set()
    for name, make in DIRECTED.items():
        if name.startswith("exhaustion"):
            script = make()
            names = {number: status for status, number in script.statuses.items()}
            seen |= {(script_sv39.CODES[row[0]], names[row[3]]) for row in script.rows}
    assert seen >= {("MAP_REGION", "NO_TABLE"), ("STORE", "NO_TABLE"), ("STORE", "NO_FRAME")}


def test_every_short_sequence_on_host(host: Path, tmp_path: Path) -> None:
    """All 1,728 sequences of three operations, each followed by the full walk."""
    carry_out(exhaustive_script(3), host, tmp_path)


@pytest.mark.slow
def test_every_sequence_on_host(host: Path, tmp_path: Path) -> None:
    """All 248,832 sequences of five."""
    carry_out(exhaustive_script(5), host, tmp_path)


def test_random_on_host(host: Path, tmp_path: Path) -> None:
    """160,000 random operations over six kinds of pools."""
    seed = first_seed()
    print(f"TAU_TEST_SEED={seed}")
    for number in range(8):
        carry_out(random_script(seed + number, 20_000), host, tmp_path)


def test_random_on_qemu(board: Path, tmp_path: Path) -> None:
    """120,000 random operations with real page faults, which the walker here predicts."""
    seed = first_seed()
    print(f"TAU_TEST_SEED={seed}")
    for number in range(QEMU_SEEDS_COUNT):
        carry_out(random_script(seed + number, 40_000), board, tmp_path)


def test_asserts_hold_on_qemu(tmp_path: Path) -> None:
    """The same program with all checks of the core."""
    board = sv39_build.build_qemu(tmp_path / "checked.elf", assert_level=2)
    carry_out(random_script(20261120, 20_000), board, tmp_path)


def test_both_machines_do_the_same(host: Path, board: Path, tmp_path: Path) -> None:
    """The same script faults as often on the walker and on QEMU, and twice the same on QEMU."""
    script = random_script(6, 20_000)
    said = {carry_out(script, program, tmp_path) for program in (host, board, board)}
    assert len({line.partition(" unmap ")[0] for line in said}) == 1


def test_unmap_takes_as_many_instructions_on_qemu(board: Path, tmp_path: Path) -> None:
    """QEMU's own counter, exact with -icount: the emulator's 85 at most, in two equal runs."""
    path = tmp_path / "script.bin"
    path.write_bytes(random_script(6, 5_000).data())
    runs = [sv39_build.run_qemu(board, path, counted=True) for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0][0], runs[0][1]
    assert int(runs[0][1].split()[-1]) == 85


def test_wrong_expectation_is_noticed(host: Path, board: Path, tmp_path: Path) -> None:
    """A load that expects another value, and one that expects no fault, end the run."""
    for page, value in ((20, 5), (21, 0)):
        script = script_sv39.Script(9, 1, 50)
        script.map_region(0, 1024, 16, READ | WRITE)
        script.access(0, 1024, 0, WRITE, 5 if page == 20 else 0)
        script._row("LOAD", 0, "OK", 1024, 0, READ | (128 if page == 21 else 0), value + 1)
        path = tmp_path / "script.bin"
        path.write_bytes(script.data())
        for run, program in ((sv39_build.run_host, host), (sv39_build.run_qemu, board)):
            is_right, said = run(program, path)
            assert not is_right
            assert "FAILED operation" in said, said


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang-14"])
def test_millions_on_host(compiler: str, tmp_path: Path) -> None:
    """Two million random operations with each compiler."""
    program = sv39_build.build_host(tmp_path / "host", compiler=compiler)
    seed = first_seed()
    print(f"TAU_TEST_SEED={seed}")
    for number in range(20):
        carry_out(random_script(seed + number, 100_000), program, tmp_path)


@pytest.mark.slow
def test_millions_on_qemu(board: Path, tmp_path: Path) -> None:
    """Two million random operations with real page faults."""
    seed = first_seed()
    print(f"TAU_TEST_SEED={seed}")
    for number in range(20):
        carry_out(random_script(seed + number, 100_000), board, tmp_path)
