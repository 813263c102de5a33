"""`tau tlb simulate`: no eviction crosses tasks that own their sets, and some do without."""

import json
import random
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from model.tlb_color import ownership
from tautochrone.errors import EXIT_FAILED, EXIT_USAGE, TauError
from tautochrone.tlb.geometry import (
    DATA, DIRECTORY, Array, Geometry, Structure, known_geometry, known_names
)
from tautochrone.tlb.simulate import (
    POLICIES, Accesses, Simulator, accesses_of, geometry_or_shape, pages_of_tasks, simulate
)
from testing.command import tau
from testing.modelled import model_geometry

SEED = 1
ACCESSES = 150_000
TASKS = (8, 16)


@pytest.mark.parametrize("tasks", TASKS)
@pytest.mark.parametrize("name", known_names())
def test_nothing_crosses(name: str, tasks: int) -> None:
    """Ten geometries, five policies, one hostile task."""
    geometry = known_geometry(name)
    for policy in POLICIES:
        colored = simulate(geometry, policy, tasks, ACCESSES, SEED, True)
        plain = simulate(geometry, policy, tasks, ACCESSES, SEED, False)
        assert colored["evictions"]["cross"] == 0 < colored["evictions"]["own"], policy
        assert plain["evictions"]["cross"] > 0, policy
        assert [each["pages"] for each in colored["tasks"]] == [
            each["pages"] for each in plain["tasks"]
        ]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("shape", ["16x4", "16x1", "128x12:xor", "2x3", "65536x1"])
def test_nothing_crosses_in_a_shape(shape: str, policy: str) -> None:
    tasks = 2 if shape == "2x3" else 16
    geometry = geometry_or_shape(shape)
    assert simulate(geometry, policy, tasks, ACCESSES, SEED, True)["evictions"]["cross"] == 0
    assert simulate(geometry, policy, tasks, ACCESSES, SEED, False)["evictions"]["cross"] > 0


@pytest.mark.parametrize("tasks", [3, 16])
@pytest.mark.parametrize("name", ["skylake", "cortex-a53", "tile-16x4-128x4", "2x3"])
def test_pages_are_the_models(name: str, tasks: int) -> None:
    """All that the hostile task can have, and the lowest of another."""
    geometry = geometry_or_shape(name)
    tasks = 2 if name == "2x3" else tasks
    pages = pages_of_tasks(geometry, tasks, True)
    size = 1 << 30
    least = min(array.sets for array in geometry.arrays if array.is_colorable)
    model = model_geometry(geometry)
    for task in range(2):
        sets = [
            [index for index in range(array.sets) if index % least * tasks // least == task]
            for array in geometry.arrays
        ]
        window = ownership.Window((task + 1) * size, 1 << 26, geometry.page_bytes)
        principal = ownership.Principal(sets, [window])
        expected = ownership.Partition(model, [principal]).admissible(principal, window)
        count = len(expected) if task == 0 else 24
        assert pages[task][:count].tolist() == expected[:count]


# ---- Wrong on purpose ---------------------------------------------------------------------------


def crossing(truth: Geometry, pages: list[np.ndarray]) -> int:
    """Cross evictions of tasks with these pages."""
    done: Accesses = accesses_of(pages, ACCESSES, SEED)
    with Simulator(truth, "lru", 1, len(pages)) as simulator:
        simulator.run(done.owners, done.addresses)
        evictions = simulator.evictions()
    return int(evictions.sum() - np.trace(evictions))


def without_directories(geometry: Geometry) -> Geometry:
    """As one who colors pages only."""
    kept = tuple(each for each in geometry.structures if each.role != DIRECTORY)
    return replace(geometry, structures=kept)


def with_wrong_bit(geometry: Geometry) -> Geometry:
    """As one who takes VA[19] for VA[21]."""
    changed = tuple(
        replace(each, rows=tuple(0x80 if row == 0x200 else row for row in each.rows))
        for each in geometry.structures
        if each.role != DIRECTORY
    )
    return replace(geometry, structures=changed)


@pytest.mark.parametrize("belief_of", [without_directories, with_wrong_bit])
def test_a_wrong_belief_crosses(belief_of: object) -> None:
    truth = known_geometry("zen4")
    assert crossing(truth, pages_of_tasks(truth, 8, True)) == 0
    assert crossing(truth, pages_of_tasks(belief_of(truth), 8, True)) > 0  # type: ignore[operator]


def test_one_uncolored_principal_crosses() -> None:
    """The kernel without sets of its own."""
    geometry = known_geometry("tile-16x4-128x4")
    pages = pages_of_tasks(geometry, 16, True)
    pages[-1] = pages_of_tasks(geometry, 16, False)[-1]
    assert crossing(geometry, pages) > 0


def late_misses(policy: str, ways: int, live: int, seed: int) -> int:
    """Misses of LIVE pages of a set after each was loaded, in a set that was full of others."""
    structures = (Structure(DATA, 4096, 0, (1,), 0),)
    geometry = Geometry("", 4096, "user", "", None, (Array("", 2, ways, 1),), structures)
    dice = random.Random(seed)
    with Simulator(geometry, policy, 1 + seed, 2) as simulator:
        others = [2 * 4096 * (100 + dice.randrange(3 * ways)) for _ in range(20 * ways)]
        simulator.run([1] * len(others), others)
        order = [2 * 4096 * dice.randrange(live) for _ in range(100 * live)]
        simulator.run([0] * len(order), order)
        loaded = simulator.misses()[0]
    return int(loaded) - live


@pytest.mark.parametrize("ways", [2, 4, 8, 16])
@pytest.mark.parametrize("policy", ["lru", "plru"])
def test_safe_ways_are_safe_and_one_more_is_not(policy: str, ways: int) -> None:
    """All ways with LRU, log2(ways) + 1 with tree PLRU, as facts/geometry.toml says."""
    safe = ways if policy == "lru" else ways.bit_length()
    assert all(late_misses(policy, ways, safe, seed) == 0 for seed in range(50))
    assert any(late_misses(policy, ways, safe + 1, seed) > 0 for seed in range(3000))


# ---- The command --------------------------------------------------------------------------------


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `tau tlb simulate WORDS…`."""
    return tau("tlb", "simulate", *words)


def test_the_document() -> None:
    """The same seed gives the same document; another one does not."""
    words = ("--geometry", "cva6", "--policy", "random", "--tasks", "4", "--accesses", "5000")
    done = run(*words, "--uncolored", "--json", "--seed", "7")
    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert (found["version"], found["command"]) == (1, "tlb simulate")
    assert found["geometry_sha256"] == known_geometry("cva6").digest()
    assert found["uncolorable_arrays"] == ["first level"]
    assert "first level has one set, so it is uncolorable" in done.stderr
    assert [each["is_hostile"] for each in found["tasks"]] == [True, False, False, False]
    assert sum(each["accesses"] for each in found["tasks"]) == found["accesses"] == 5000
    crossed = sum(each["evicted_by_others"] for each in found["tasks"])
    assert crossed == found["evictions"]["cross"] > 0
    assert run(*words, "--uncolored", "--json", "--seed", "7").stdout == done.stdout
    assert run(*words, "--uncolored", "--json", "--seed", "8").stdout != done.stdout
    assert "0 cross" in run(*words).stdout


def test_a_file_is_a_geometry(tmp_path: Path) -> None:
    """A user's own, with pages of 64 KiB alone."""
    file = tmp_path / "mine.toml"
    file.write_text(
        'format = "tautochrone geometry"\nversion = 1\npage_bytes = 4096\nsource = "user"\n'
        'reference = "mine"\n'
        'array = [{ name = "one", sets = 4, ways = 2, safe_ways = 1 }]\n'
        'structure = [{ role = "data", page_bytes = 65536, array = "one", rows = ["0x10",'
        ' "0x20"] }]\n'
    )
    done = run("--geometry", str(file), "--tasks", "4", "--accesses", "9999", "--json")
    assert json.loads(done.stdout)["evictions"]["cross"] == 0
    file.write_text(file.read_text().replace('"data"', '"code"'))
    done = run("--geometry", str(file))
    assert (done.returncode, done.stdout) == (EXIT_USAGE, "")
    assert "mine has no structure of role data" in done.stderr


WRONG = [
    ("16x0", 2, "16x0: ways are 0, expected an integer from 1"),
    ("0x4", 2, "0x4: sets are 0, expected an integer from 1"),
    ("12x4", 2, "12x4: 12 sets are not a power of two"),
    ("131072x4", 2, "131072x4: sets are 131072, expected an integer from 1 to 65536"),
    ("9" * 5000 + "x4", 2, "expected an integer from 1 to 65536"),
    ("16x4:or", 2, "16x4:or: unknown index or"),
    ("65536x65536", 2, "has 4,294,967,296 entries; at most 4,194,304"),
    ("1x64", 2, "1x64 is fully associative: it has one set, of which nobody"),
    ("tile-16x4", 17, "17 tasks are too many for the 16 sets"),
    ("zen4", 256, "zen4 has no page whose sets are all of one task if it is shared by 256 tasks"),
    ("pentium", 2, "unknown geometry pentium"),
    ("missing.toml", 2, "missing.toml: no such file"),
]


@pytest.mark.parametrize(("name", "tasks", "cause"), WRONG, ids=[row[0][:20] for row in WRONG])
def test_a_wrong_geometry_says_why(name: str, tasks: int, cause: str) -> None:
    """Each with the next step."""
    with pytest.raises(TauError) as caught:
        simulate(geometry_or_shape(name), "lru", tasks, 1000, SEED, True)
    assert cause in caught.value.message
    assert caught.value.next_step
    is_usage = "65536x" not in name and "." not in name
    assert caught.value.exit_code == (EXIT_USAGE if is_usage else EXIT_FAILED)


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (["--tasks", "1"], "1 is not in the range"),
        (["--tasks", "70000"], "70000 is not in the range"),
        (["--accesses", "0"], "0 is not in the range"),
        (["--seed", "-1"], "-1 is not in the range"),
        (["--policy", "fifo"], "'fifo' is not one of"),
    ],
)
def test_wrong_numbers_are_usage(words: list[str], cause: str) -> None:
    done = run("--geometry", "16x4", *words)
    assert (done.returncode, done.stdout) == (EXIT_USAGE, "")
    assert cause in done.stderr
    assert run().returncode == EXIT_USAGE
