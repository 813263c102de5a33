"""No code of another page or of a half-copied frame can be executed, whatever the hart keeps; what
a load costs [P3-3].

Method: the linked port runs one instruction a step (steps.py); small wrong changes of it must be
noticed. TAU_TEST_SEED repeats a run.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
from pathlib import Path

import pytest
import unicorn

from core.tests.mutants.mutate import GROUPS, Mutant
from core.tests.sv39_code.firmware import ROOT, build
from core.tests.sv39_code.steps import (
    Hart,
    StaleCode,
    build_port,
    fault_by_hand,
    refuse_all,
    run_all,
)
from model.code_cache import FRAMES_MAX, POLICIES
from tautochrone.machine.longest_path import NEVER, bound_instructions
from tautochrone.targets.build import TARGETS, compiler_of
from testing.golden import pinned

GOLDEN = Path(__file__).with_name("sv39_code_golden.json")
HEADERS = [ROOT / f"core/ports/{name}.h" for name in ("sv39_code", "sv39_code_ages")]
SEED = int(os.environ.get("TAU_TEST_SEED") or random.randrange(1 << 32))
READ = "tau_sv39_code_read"
# Rounds of the loops, each the only one of its function.
ROUNDS = {READ: 32, "sv39_code_are_equal": 32, "sv39_code_accessed": 32}
ROUNDS["sv39_code_forget_accessed"] = FRAMES_MAX
CALLS = ("fault", "begin", "read", "end", "cancel", "release_page", "use", "visit", "age")
# One fault without reading the page, and with it.
FAULT_MAX, LOAD_MAX = 500, 1600
PAGES = 12


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The linked port."""
    return build_port(tmp_path_factory.mktemp("sv39_code") / "port.elf")


def run_hart(elf: Path, policy: int, frames: int, seed: int, faults: int = 60) -> Hart:
    """A random run. Raises AssertionError or StaleCode if anything goes wrong."""
    print(f"TAU_TEST_SEED={seed}")
    hart = Hart(elf, PAGES, frames, policy, seed=seed % 2**32)
    run_all(hart, faults, random.Random(seed))
    return hart


@pytest.mark.parametrize("policy", range(len(POLICIES)), ids=POLICIES)
@pytest.mark.parametrize("frames", [4, 7])
def test_no_stale_code_after_any_instruction(elf: Path, policy: int, frames: int) -> None:
    run_hart(elf, policy, frames, SEED)


def test_no_stale_code_in_a_build_for_size(tmp_path: Path) -> None:
    run_hart(build_port(tmp_path / "port.elf", optimize="-Os"), 3, 5, SEED)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_no_stale_code_for_long(elf: Path, number: int) -> None:
    run_hart(elf, number % 4, 4 + number % 6, SEED + number, 400)


def test_bad_arguments_are_refused_and_change_nothing(elf: Path) -> None:
    refuse_all(Hart(elf, PAGES, 5, 0))


def test_the_self_test_sees_an_entry_of_somebody_else(elf: Path) -> None:
    fault_by_hand(Hart(elf, PAGES, 4, 0))


def test_nothing_outside_is_called(tmp_path: Path) -> None:
    """The object needs only the code cache: a fault handler must not fault."""
    made, source = tmp_path / "object.o", ROOT / "core/ports/sv39_code.c"
    machine = TARGETS["sv39"].machine
    for compiler in (["gcc"], ["clang-14"], [compiler_of("sv39"), *machine]):
        for optimize in ("-O2", "-Os"):
            command = [*compiler, "-std=c17", optimize, "-ffreestanding", f"-I{ROOT}", "-c"]
            subprocess.run([*command, str(source), "-o", str(made)], check=True)
            needed = subprocess.run(["nm", "-u", str(made)], capture_output=True, text=True)
            names = {line.split()[-1] for line in needed.stdout.splitlines()}
            assert {name for name in names if not name.startswith("tau_code_cache_")} == set()
            assert "tau_code_cache_fault" in names


# ---- Wrong on purpose


def is_noticed(mutant: Mutant, folder: Path) -> bool:
    """Whether a run goes wrong."""
    root = mutant.core(folder).parent
    port = build_port(folder / "port.elf", root)
    try:
        for policy, frames, faults in ((0, 5, 60), (3, 35, 300)):
            hart = Hart(port, PAGES if frames < PAGES else 40, frames, policy)
            run_all(hart, faults, random.Random(1))
        refuse_all(Hart(port, PAGES, 5, 0))
        fault_by_hand(Hart(port, PAGES, 4, 0))
    except (AssertionError, StaleCode, unicorn.UcError):
        return True
    return False


def cases() -> list:
    """All mutants; only the mutants of the order of steps are quick."""
    return [
        pytest.param(
            mutant,
            id=mutant.name.replace(" ", "-"),
            marks=() if mutant.is_step else pytest.mark.slow,
        )
        for mutant in GROUPS["sv39_code"]
    ]


@pytest.mark.parametrize("mutant", cases())
def test_no_mutant_survives(mutant: Mutant, tmp_path: Path) -> None:
    assert is_noticed(mutant, tmp_path), mutant.name


# ---- Instructions


def costs(elf: Path) -> dict[str, object]:
    """The longest path of each call, and the most instructions that full caches have shown."""
    bounds = {name: bound_instructions(elf, f"tau_sv39_code_{name}", {}, ROUNDS) for name in CALLS}
    without_read = bound_instructions(elf, "tau_sv39_code_fault", {READ: 0}, ROUNDS)
    most: dict[str, int] = {}
    by_policy: dict[str, int] = {}
    for number, policy in enumerate(POLICIES):
        for pages, frames, faults in ((12, 7, 80), (45, 33, 140), (70, FRAMES_MAX, 100)):
            hart = Hart(elf, pages, frames, number)
            run_all(hart, faults, random.Random(1))
            without_reading = hart.most["fault without reading"]
            by_policy[policy] = max(by_policy.get(policy, 0), without_reading)
            for name in CALLS:
                most[name] = max(most.get(name, 0), hart.most[name])
    return {
        "bound_instructions": bounds,
        "bound_fault_without_reading": without_read,
        "max_instructions": most,
        "max_fault_without_reading_by_policy": by_policy,
    }


def trap_bounds(firmware: Path) -> dict[str, int]:
    """From the firmware's first instruction of a trap to its return, if it was a cold page."""
    name, charges = "trap_entry", {"trap_other": NEVER, "tau_sv39_code_use": NEVER}
    return {
        "firmware_trap": bound_instructions(firmware, name, charges, ROUNDS),
        "firmware_trap_without_reading": bound_instructions(
            firmware, name, {**charges, READ: 0}, ROUNDS
        ),
    }


def test_instructions_are_pinned(elf: Path, tmp_path: Path) -> None:
    """The longest path of the linked code, for at most 64 frames.

    After a wanted change: TAU_UPDATE_GOLDEN=1.
    """
    found = costs(elf) | trap_bounds(build(tmp_path / "firmware.elf").elf)
    assert found == pinned(GOLDEN, {"rv64": found})["rv64"]
    bounds, most = found["bound_instructions"], found["max_instructions"]
    assert found["bound_fault_without_reading"] <= FAULT_MAX and bounds["fault"] <= LOAD_MAX
    assert all(most[name] <= bounds[name] for name in CALLS)
    by_policy = found["max_fault_without_reading_by_policy"]
    assert max(by_policy.values()) <= found["bound_fault_without_reading"]


def test_the_header_says_what_a_call_costs() -> None:
    golden = pinned(GOLDEN, {})["rv64"]
    bounds = golden["bound_instructions"]
    text = "".join(header.read_text() for header in HEADERS).replace("\n// ", " ")
    parts = f"{golden['bound_fault_without_reading']:,} instructions, and {bounds['read']:,} of"
    assert f"Cost: {parts} tau_sv39_code_read." in text
    for name in ("use", "visit", "age"):
        before = text[: text.index(f"void tau_sv39_code_{name}(")]
        assert re.findall(r"Cost: at most ([\d,]+) inst", before)[-1] == f"{bounds[name]:,}", name


def test_the_design_says_what_a_call_costs() -> None:
    golden = pinned(GOLDEN, {})["rv64"]
    text = (ROOT / "docs/design/sv39_code.md").read_text()
    bounds, most = golden["bound_instructions"], golden["max_instructions"]
    names = ("read", "fault", "use", "visit", "age")
    rows = {f"`{name}`": (bounds[name], most[name]) for name in names}
    rows["a trap of the firmware, without reading"] = golden["firmware_trap_without_reading"], "–"
    rows["a trap of the firmware"] = golden["firmware_trap"], "–"
    rows["`release_page`"] = bounds["release_page"], most["release_page"]
    by_policy = golden["max_fault_without_reading_by_policy"]
    bound = golden["bound_fault_without_reading"]
    rows["`fault`, without reading the page"] = bound, max(by_policy.values())
    for name, (longest, seen) in rows.items():
        shown = seen if isinstance(seen, str) else f"{seen:,}"
        assert f"\n| {name} | {longest:,} | {shown} |\n" in text, name
    assert "\n| " + " | ".join(str(by_policy[policy]) for policy in POLICIES) + " |\n" in text
