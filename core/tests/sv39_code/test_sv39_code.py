"""Firmware whose cold code lies in flash, on QEMU's machine virt: results as without paging, and
counts as the model says [P3-3, P3-6, P3-7].

Method: the plugin touches.c records which pages each instruction of the firmware needs while all of
it is in memory. The model, model/code_cache.py, replays that for each policy and number of frames.
The firmware's own counts must be the same. TAU_TEST_SEED repeats a run.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from core.tests.mutants.mutate import GROUPS, Mutant
from core.tests.sv39_code.firmware import (
    INTERRUPT_PAGES,
    LEAST,
    PAGE_BYTES,
    SECONDS_MAX,
    USES_NONE,
    USES_SOME,
    Firmware,
    Outcome,
    Settings,
    build,
    run,
    write_flash,
)
from core.tests.sv39_code.touches import Touches, build_plugin, record, replay
from model.code_cache import POLICIES, CodeCache, frames_least
from tautochrone.coldcode.kernel import read_kernel
from tautochrone.coldcode.resident import Paths, check_resident
from tautochrone.errors import TauError
from tautochrone.facts import status_format

SEED = int(os.environ.get("TAU_TEST_SEED") or random.randrange(1, 1 << 32))
FRAMES = (4, 5, 8, 13, 20, 24, 64)
LEAST_WITH_TICKS = frames_least(1, INTERRUPT_PAGES)
MUTANT_SECONDS_MAX = 5  # it is to end early
SOAK_SECONDS_MAX = 900
# What only a TLB shows, and what a hart that executes its own stores at once cannot show, is in
# test_sv39_code_steps.py. These are the changes that QEMU must notice.
MUTANTS_ON_QEMU = ("victim not cleared", "not copied", "not mapped", "copied page too short",
                   "always page 0", "copied to another frame", "differing page released",
                   "entry of the first table", "stores served", "accessed bits stay")  # fmt: skip


@dataclass(frozen=True, repr=False)
class World:
    """The firmware, its flash, the recorder, and the run without paging."""

    firmware: Firmware
    folder: Path
    flash: Path
    plugin: Path
    settings: Settings
    resident: Outcome
    touches: Touches

    def run(
        self, settings: Settings, flash: Path | None, seconds_max: int = SECONDS_MAX
    ) -> Outcome:
        """Run with SETTINGS; without a chip if FLASH is None."""
        return run(self.firmware, settings, self.folder, flash, seconds_max=seconds_max)

    def record(self, settings: Settings) -> tuple[Outcome, Touches]:
        """Run and record."""
        return record(self.firmware, settings, self.folder, self.flash, self.plugin)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Everything built, and recorded without paging."""
    print(f"TAU_TEST_SEED={SEED}")
    folder = tmp_path_factory.mktemp("sv39_code")
    firmware = build(folder / "firmware.elf")
    flash = write_flash(folder / "flash.img", firmware.cold)
    plugin = build_plugin(folder)
    settings = Settings(seed=SEED)
    unpaged = replace(settings, is_paged=False)
    resident, touches = record(firmware, unpaged, folder, flash, plugin)
    assert resident.is_passed and resident["loads"] == 0, resident.text
    yield World(firmware, folder, flash, plugin, settings, resident, touches)
    flash.unlink()


def counts(outcome: Outcome) -> tuple[int, int, int]:
    """Faults, loads and evictions as the firmware counted them."""
    return outcome["faults"], outcome["loads"], outcome["evictions"]


def expected(cache: CodeCache) -> tuple[int, int, int]:
    """The same of the model."""
    return cache.faults, cache.loads, cache.evictions


def check(world: World, outcome: Outcome, cache: CodeCache) -> None:
    """Equal results, and the counts of the model."""
    print(f"TAU_TEST_SEED={SEED}")
    assert outcome.is_passed, outcome.text
    assert outcome["result"] == world.resident["result"]
    assert outcome["invariants"] == 1 and status_format.NAMES[outcome["status"]] == "OK"
    assert counts(outcome) == expected(cache)


def test_the_program_has_what_a_pager_stumbles_over(world: World) -> None:
    """An instruction on two pages with its operand on two others, a read from cold text, a function
    longer than a page, and a trap whose handler is cold."""
    first, other = world.firmware.page_of("straddle"), world.firmware.page_of("straddle_operand")
    assert (first, first + 1, other, other + 1) in world.touches.needs
    constants = world.firmware.page_of("cold_constants")
    assert (constants,) in world.touches.needs, "resident code reads cold text"
    assert any(constants in pages[1:] for pages in world.touches.needs), "cold code does"
    long = world.firmware.page_of("longer_than_a_page")
    assert {(long,), (long + 1,)} <= world.touches.needs
    assert (world.firmware.page_of("map_on_demand"),) in world.touches.needs
    assert world.firmware.pages_count > 20


@pytest.mark.parametrize("frames", FRAMES)
@pytest.mark.parametrize("policy", POLICIES)
def test_results_are_equal_and_counts_are_the_models(
    world: World, policy: str, frames: int
) -> None:
    """4 frames are enough for faults that nest, too [COLD-6]."""
    settings = world.settings.of(policy, frames)
    outcome = world.run(settings, world.flash)
    check(world, outcome, replay(world.touches, settings))
    assert outcome["released"] == outcome["pages"] and outcome["pinned"] == 0
    assert outcome["nesting"] == 1 or frames > 20, "no load within another trap"


@pytest.mark.parametrize("policy", ["nru", "aging"])
def test_accessed_bits_are_read_at_the_end_of_a_period_only(world: World, policy: str) -> None:
    settings = replace(world.settings.of(policy, 13), uses_at_fault=USES_NONE)
    check(world, world.run(settings, world.flash), replay(world.touches, settings))


@pytest.mark.parametrize("frames", [4, 13, 24, 64])
@pytest.mark.parametrize("policy", ["nru", "aging"])
def test_some_frames_are_visited_at_each_fault(world: World, policy: str, frames: int) -> None:
    settings = replace(world.settings.of(policy, frames), uses_at_fault=USES_SOME)
    check(world, world.run(settings, world.flash), replay(world.touches, settings))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("frames", "tick_time"), [(LEAST_WITH_TICKS, 1), (12, 7)])
def test_interrupts_whose_handler_is_cold(
    world: World, policy: str, frames: int, tick_time: int
) -> None:
    """The next interrupt comes before a load is done, each time. The run itself is recorded."""
    settings = world.settings.of(policy, frames)
    settings = replace(settings, frames_least=LEAST_WITH_TICKS, tick_time=tick_time)
    outcome, touches = world.record(settings)
    assert touches.faults_count == outcome["faults"], "a fault that the recorder did not see"
    check(world, outcome, replay(touches, settings))
    assert outcome["ticks"] > 500


@pytest.mark.parametrize("frames", range(LEAST, LEAST_WITH_TICKS))
def test_fewer_frames_do_not_get_through_interrupts(world: World, frames: int) -> None:
    """[COLD-8]: said to be enough, they are refused by nobody, and the program stands still."""
    settings = replace(world.settings, frames_count=frames, tick_time=1, ticks_max=1000)
    outcome = world.run(settings, world.flash)
    assert not outcome.is_passed and outcome["stalled"] == 1, outcome.text


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_a_hundred_thousand_loads_in_the_fewest_frames(world: World, policy: str) -> None:
    settings = replace(world.settings.of(policy, LEAST_WITH_TICKS), rounds=18_000)
    settings = replace(settings, frames_least=LEAST_WITH_TICKS, tick_time=3)
    resident = world.run(replace(settings, is_paged=False), world.flash)
    outcome = world.run(settings, world.flash, SOAK_SECONDS_MAX)
    assert outcome.is_passed and outcome["result"] == resident["result"], outcome.text
    assert outcome["loads"] > 100_000


def test_the_fault_path_is_resident(world: World) -> None:
    """From the first instruction of a trap; other traps are handled by cold code."""
    kernel = read_kernel(world.firmware.elf)
    symbols = world.firmware.symbols
    cold = [(symbols["cold_start"], symbols["cold_end"])]
    walk = check_resident(kernel, Paths(["trap_entry"], beyond={"trap_other"}), cold)
    assert {"load_cold_page", "tau_sv39_code_fault", "tau_code_cache_fault"} <= set(walk.functions)
    with pytest.raises(TauError, match="trap_entry.* -> trap_other.* -> (tick_first|map_on_dem)"):
        check_resident(kernel, Paths(["trap_entry"]), cold)


# ---- Refused pages, which stay in memory


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"frames_count": LEAST - 1}, "FRAMES_TOO_FEW"),
        ({"frames_count": 5, "frames_least": LEAST_WITH_TICKS}, "FRAMES_TOO_FEW"),
        ({"frames_count": 0, "frames_least": 0}, "BAD_ARGUMENT"),
        ({"frames_count": 65}, "BAD_ARGUMENT"),
        ({"policy": 4}, "BAD_ARGUMENT"),
    ],
)
def test_a_cache_that_cannot_work_is_refused(
    world: World, changes: dict[str, int], status: str
) -> None:
    """The reason is said, and everything stays where it was at boot."""
    outcome = world.run(replace(world.settings, **changes), world.flash)
    assert outcome.is_passed and status_format.NAMES[outcome["status"]] == status
    assert outcome["result"] == world.resident["result"]
    assert outcome["released"] == outcome["faults"] == 0


def flash_without(world: World, name: str) -> tuple[Path | None, set[int]]:
    """A chip that is not as it must be, and the pages that it does not hold."""
    cold, pages = bytearray(world.firmware.cold), world.firmware.pages_count
    missing = set(range(pages))
    if name == "absent":
        return None, missing
    if name == "truncated":
        cold, missing = cold[: 9 * PAGE_BYTES - 500], set(range(8, pages))
    elif name == "one bit flipped":
        cold[5 * PAGE_BYTES + 2001] ^= 0x10
        missing = {5}
    elif name == "of another build":
        cold[PAGE_BYTES:] = cold[PAGE_BYTES:][::-1]
        missing -= {0}
    else:
        cold = bytearray()
    return write_flash(world.folder / "bad.img", bytes(cold)), missing


@pytest.mark.parametrize(
    "name", ["absent", "erased", "truncated", "one bit flipped", "of another build"]
)
def test_what_flash_does_not_hold_stays_in_memory(world: World, name: str) -> None:
    """The pages that differ are pinned and counted; the others are paged."""
    flash, missing = flash_without(world, name)
    outcome = world.run(world.settings, flash)
    check(world, outcome, replay(world.touches, world.settings, tuple(missing)))
    assert outcome["pinned"] == len(missing)
    assert outcome["released"] == outcome["pages"] - len(missing)


def test_a_page_that_was_patched_at_boot_is_pinned(world: World) -> None:
    patched = world.firmware.page_of("work_3")
    settings = replace(world.settings, patched_page=patched)
    outcome = world.run(settings, world.flash)
    check(world, outcome, replay(world.touches, settings, (patched,)))
    assert outcome["pinned"] == 1


def test_a_run_repeats(world: World) -> None:
    settings = replace(world.settings.of("aging", 9), frames_least=LEAST_WITH_TICKS, tick_time=2)
    texts = {world.run(settings, world.flash).text for _ in range(2)}
    assert len(texts) == 1


# ---- Wrong on purpose


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(mutant, marks=() if number < 3 else pytest.mark.slow, id=mutant.name)
        for number, mutant in enumerate(m for m in GROUPS["sv39_code"] if m.name in MUTANTS_ON_QEMU)
    ],
)
def test_the_firmware_notices(world: World, mutant: Mutant, tmp_path: Path) -> None:
    """A run fails, or has another result or other counts."""
    root = mutant.core(tmp_path).parent
    wrong = build(tmp_path / "firmware.elf", root)
    for policy, patched in (("round_robin", 64), ("nru", wrong.page_of("work_3"))):
        settings = replace(world.settings.of(policy, 8), patched_page=patched)
        outcome = run(wrong, settings, tmp_path, world.flash, seconds_max=MUTANT_SECONDS_MAX)
        pinned = () if patched == 64 else (patched,)
        try:
            check(world, outcome, replay(world.touches, settings, pinned))
        except (AssertionError, KeyError):
            return
    pytest.fail(f"not noticed: {mutant.name}")
