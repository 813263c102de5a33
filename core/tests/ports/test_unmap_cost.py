"""Unmapping on Sv39 tables costs the same at every size, and never more than the headers say.

The emulator counts; the longest path of the linked code bounds. The numbers are pinned for Debian
12's gcc 12.2.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import unicorn

from testing.sv39 import build as sv39_build
from testing.sv39.bounds import bound
from testing.sv39.unmap_cost import LARGE, SMALL, Machine, rows

HEADER = (sv39_build.ROOT / "core" / "ports" / "sv39.h").read_text().replace("\n// ", " ")
UNMAP_INSTRUCTIONS, UNMAP_ACCESSES = 85, 37


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The linked port."""
    return sv39_build.build_emulated(tmp_path_factory.mktemp("sv39") / "measure.elf")


def stated(name: str) -> list[int]:
    """Return the numbers of the sentence before the declaration of tau_sv39_NAME."""
    before = HEADER[: HEADER.index(f"tau_sv39_{name}(")]
    sentence = before[before.rindex("At most") :].split("instructions")
    return [int(number) for number in re.findall(r"\b\d+\b", " ".join(sentence))]


@pytest.mark.parametrize("name", ["map_region", "map_page"])
def test_headers_state_the_longest_path(name: str, elf: Path) -> None:
    """Without and with frames to be zeroed."""
    assert stated(name) == [bound(elf, name, False), bound(elf, name, True)]


def test_header_states_unmap_and_translate(elf: Path) -> None:
    """Unmapping never zeroes; its accesses are stated too."""
    longest = [bound(elf, "unmap_region", zeroing) for zeroing in (False, True)]
    assert longest == [UNMAP_INSTRUCTIONS] * 2
    assert stated("unmap_region") == [UNMAP_INSTRUCTIONS, UNMAP_ACCESSES]
    assert bound(elf, "unmap_region", False, of_accesses=True) == UNMAP_ACCESSES
    assert stated("translate") == [bound(elf, "translate", True)]


def test_unmap_is_flat_and_linear_is_not() -> None:
    """Over 256 placements a size, the largest is within 5 % at all sizes [P0-10, P0-27]."""
    table = rows(quick=True, linear_pages_max=1 << 15)
    ours = [row for row in table if row["backend"] == "sv39"]
    theirs = [row for row in table if row["backend"] == "sv39-linear"]
    assert [row["pages"] for row in ours] == [1 << log2 for log2 in range(0, 19, 3)]
    assert [row["pages"] for row in theirs] == [1 << log2 for log2 in range(0, 16, 3)]
    for measure, most in (("instructions", UNMAP_INSTRUCTIONS), ("accesses", UNMAP_ACCESSES)):
        seen = [row[measure] for row in ours]
        assert max(seen) == most
        assert max(seen) <= 1.05 * min(seen)
        assert [row[measure] for row in theirs] == sorted(row[measure] for row in theirs)
    assert all(row["placements"] >= 256 for row in ours)
    assert all(row["bound_instructions"] == UNMAP_INSTRUCTIONS for row in ours)
    assert all(row["bound_accesses"] == UNMAP_ACCESSES for row in ours)
    # A page is a load, a test, a store and a link at least.
    assert all(row["instructions"] > 7 * row["pages"] for row in theirs)


def test_sparse_and_full_cost_the_same(elf: Path) -> None:
    """What quick rows leave out cannot be seen: 2^13 pages, all mapped or every 512th."""
    machine = Machine(elf)
    machine.count_in("tau_sv39_unmap_region")
    seen = []
    for step in (1, SMALL):
        assert machine.call("measure_map", machine.spaces[0], LARGE, 1 << 13, step).result
        seen.append(machine.call("tau_sv39_unmap_region", machine.spaces[0], LARGE))
        machine.call("measure_clean", 100)
    assert seen[0] == seen[1]


def test_blocks_count_what_single_steps_count(elf: Path) -> None:
    """The counting by blocks against a count of each instruction and access as it happens."""
    machine = Machine(elf)
    machine.count_in("tau_sv39_linear_unmap_region")
    machine.call("measure_map", machine.spaces[0], LARGE + 300, 600, 3)
    steps = [0, 0]

    def step(*_: object) -> None:
        steps[0] += 1

    def access(*_: object) -> None:
        steps[1] += 1

    machine.uc.hook_add(unicorn.UC_HOOK_CODE, step)
    machine.uc.hook_add(unicorn.UC_HOOK_MEM_READ | unicorn.UC_HOOK_MEM_WRITE, access)
    cost = machine.call("tau_sv39_linear_unmap_region", machine.spaces[0], LARGE + 300)
    assert [cost.instructions, cost.accesses] == steps


def test_fault_stays_below_its_bound(elf: Path) -> None:
    """First page and next page of a small and of a large region, with zeroed frames at hand."""
    machine = Machine(elf)
    machine.call("measure_clean", 100)
    machine.count_in("tau_sv39_map_page")
    space = machine.spaces[0]
    costs = {}
    for name, start, pages in (("small", LARGE + 3, 9), ("large", 2 * LARGE + 3, 9000)):
        assert machine.call("measure_map", space, start, pages, LARGE).result == 1
        costs[name] = machine.call("tau_sv39_map_page", space, start + 1, 1 << 28).instructions
    far = machine.call("tau_sv39_map_page", space, 2 * LARGE + 8000, 1 << 28).instructions
    assert costs["small"] < costs["large"] < far <= bound(elf, "map_page", False)
    assert (costs["small"], costs["large"], far) == (118, 128, 153)


@pytest.mark.slow
def test_unmap_is_flat_at_every_size() -> None:
    """All powers of two from 1 to 2^18, 256 placements each, 1 GiB fully mapped among them."""
    ours = [row for row in rows(quick=False) if row["backend"] == "sv39"]
    assert len(ours) == 19
    for measure, most in (("instructions", UNMAP_INSTRUCTIONS), ("accesses", UNMAP_ACCESSES)):
        seen = [row[measure] for row in ours]
        assert max(seen) == most and max(seen) <= 1.05 * min(seen)
