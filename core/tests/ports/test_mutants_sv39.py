"""The scripts notice every small wrong change of the Sv39 port in core/tests/mutants.

QEMU cannot show two more mutants: a flush of one address instead of the whole space, because its
sfence.vma flushes everything, and a missing flush after an entry became valid, because it does not
cache invalid entries. The model in model/shootdown.py has both kinds of entries.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from core.tests.mutants.mutate import GROUPS, Mutant
from core.tests.ports.test_sv39 import DIRECTED, random_script
from testing.sv39 import build as sv39_build

MUTANTS = GROUPS["sv39"]
RUN_SECONDS_MAX = 20  # it is to end early
RANDOM_SEEDS = range(6)


def survives(mutant: Mutant, folder: Path) -> bool:
    """Whether all scripts go well in spite of MUTANT."""
    core = mutant.core(folder)
    if mutant.on_qemu:
        program, run = sv39_build.build_qemu(folder / "mutant.elf", core), sv39_build.run_qemu
    else:
        program, run = sv39_build.build_host(folder / "mutant", core), sv39_build.run_host
    makers = [*DIRECTED.values(), *(lambda s=s: random_script(s, 20_000) for s in RANDOM_SEEDS)]
    path = folder / "script.bin"
    for make in makers:
        path.write_bytes(make().data())
        if not run(program, path, RUN_SECONDS_MAX)[0]:
            return False
    return True


def test_a_missing_flush_is_seen(tmp_path: Path) -> None:
    """The one change that needs a real TLB to be noticed."""
    missing = next(mutant for mutant in MUTANTS if mutant.name == "no flush")
    assert not survives(missing, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_no_mutant_survives(mutant: Mutant, tmp_path: Path) -> None:
    """At least one script goes wrong."""
    assert not survives(mutant, tmp_path), f"no script notices: {mutant}"
