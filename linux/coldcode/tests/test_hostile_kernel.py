"""A kernel with cold code that is treated badly gives the results of the same kernel without.

Method: the smallest configuration with more calls, with core dumps and with the kernel's own module
that provokes oopses. All functions are cold that can be placed. A first program (programs/hostile)
makes every system call with hostile arguments, each in a process of its own; passes bad addresses
wherever the kernel reads or writes a program's memory; dumps core; runs out of memory; provokes
oopses. Every line that it prints must equal the line of the kernel with all code in RAM.
TAU_TEST_SEED repeats a run.
"""

import os
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from linux.coldcode.tests.cold_kernels import ROOT, all_cold, cold_names, hostile_initramfs
from tautochrone.coldcode.linux.build import Built, Wish, build, configurations_folder
from tautochrone.coldcode.linux.qemu import MEMORY_BYTES, Boot, Seen, boot
from tautochrone.coldcode.linux.root import Root
from tautochrone.errors import TauError

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("TAU_TEST_SEED") or random.randrange(1, 1 << 31))
SECONDS_MAX = 3600.0
FUZZ, TABLES, CORE_DUMP, MEMORY, OOPSES, PANIC, WRITE = (1 << part for part in range(7))
ROUNDS = 3
LITTLE_MEMORY_BYTES = 16 << 20  # soon exhausted
CALLS = 480
# Outcomes of one call: an exit code is an error, a larger number a signal.
EFAULT, EINVAL, ENOSYS = (f"{error << 8:x}" for error in (14, 22, 38))
KILLED, DUMPED = 9, 0x80
COUNTED = "policy store pages pinned_pages frames faults loads evictions".split()
# A line of a backtrace, and where the kernel was.
FRAME = re.compile(r"^\[<[0-9a-f]+>\] (\w+)\+0x[0-9a-f]+/0x[0-9a-f]+$", re.MULTILINE)
PLACE = re.compile(r"^ *epc : (\w+)\+0x", re.MULTILINE)
UNRESOLVED = re.compile(r"^\[<[0-9a-f]+>\] (?:0x|\S*<)[0-9a-f]+", re.MULTILINE)


@dataclass(frozen=True)
class Kernels:
    """The kernel with all code in RAM, the one whose code is cold, and what the first one said."""

    plain: Built
    paged: Built
    cold: set[str]
    folder: Path
    seen: dict[tuple[int, int], Seen] = field(default_factory=dict)

    def boot(self, built: Built, parts: int, seed: int, *options: str) -> Seen:
        """The first program with PARTS. Addresses are equal in all runs."""
        first = hostile_initramfs(self.folder / f"parts-{parts}-{seed}", parts, seed, ROUNDS)
        pages = built.pages.read_bytes() if built is self.paged else None
        words = ("norandmaps", *(f"coldcode.{option}" for option in options))
        memory_bytes = LITTLE_MEMORY_BYTES if parts == MEMORY else MEMORY_BYTES
        return boot(built, Boot(Root(first), pages, words, memory_bytes, seconds_max=SECONDS_MAX))

    def expected(self, parts: int, seed: int = 1) -> Seen:
        """Output of the kernel with all code in RAM, which runs once."""
        if (parts, seed) not in self.seen:
            self.seen[parts, seed] = self.boot(self.plain, parts, seed)
        return self.seen[parts, seed]

    def compared(self, parts: int, *options: str, seed: int = 1) -> tuple[Seen, Seen]:
        """Output of both, line by line equal."""
        print(f"TAU_TEST_SEED={seed}")
        expected = self.expected(parts, seed)
        seen = self.boot(self.paged, parts, seed, *options)
        assert results(seen) == results(expected)
        assert seen.number("loads") > 0
        return expected, seen


def results(seen: Seen) -> dict[str, str]:
    """The values that the hostile program prints of itself."""
    counters = set(COUNTED) | {name for name in seen.values if name.endswith("_bytes")}
    counters |= {"faults_interrupts_off", "page_microseconds"}
    counters |= {"worst_fault_instructions", "worst_load_instructions"}
    return {name: value for name, value in seen.values.items() if name not in counters}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernels]:
    """Both kernels, from the user's cache if they are there."""
    folder = tmp_path_factory.mktemp("hostile")
    smallest = (configurations_folder() / "smallest.config").read_text()
    more = (ROOT / "linux/coldcode/tests/hostile.config").read_text()
    configuration = folder / "hostile.config"
    configuration.write_text(smallest + more)
    wish = Wish(str(configuration), seconds_max=SECONDS_MAX)
    plain = build(wish)
    paged = all_cold(wish, plain, folder)
    yield Kernels(plain, paged, cold_names(folder / "all.lds"), folder)


# ---- System calls


@pytest.mark.parametrize(
    ("is_fixed", "policy", "frames"),
    [(True, "round-robin", 16), (False, "random", 32), (False, "nru", 32), (False, "aging", 32)],
)
def test_every_system_call_with_hostile_arguments(
    kernels: Kernels, is_fixed: bool, policy: str, frames: int
) -> None:
    """Once with fixed arguments, then with others in each run of the test."""
    seed = 1 if is_fixed else SEED
    options = (f"frames={frames}", f"policy={policy}", f"seed={seed % 1000 + 1}")
    expected, seen = kernels.compared(FUZZ, *options, seed=seed)
    calls = {name: value.rstrip(".").split(".") for name, value in results(expected).items()}
    assert len(calls) == CALLS
    assert all(ENOSYS in row or len(row) == ROUNDS for row in calls.values())
    outcomes = [outcome for row in calls.values() for outcome in row]
    # A missing file tests nothing.
    assert sum(row != [ENOSYS] for row in calls.values()) > 200
    assert outcomes.count(EFAULT) > 50 and outcomes.count(EINVAL) > 50
    assert outcomes.count("0") > 100
    assert any(0 < int(outcome, 16) < DUMPED for outcome in outcomes), "nobody was killed"
    assert seen.number("loads") > 50_000


# ---- Where the kernel touches a program's memory


@pytest.mark.parametrize("frames", [4, 16])
def test_exception_tables(kernels: Kernels, frames: int) -> None:
    """With four frames, what handles a fault has evicted the page with the fixup."""
    expected, _ = kernels.compared(TABLES, f"frames={frames}")
    tables = [name for name in results(expected) if name.startswith("table_")]
    assert len(tables) > 40
    assert results(expected)["table_signal_a_stack"] == "_.6e00"
    assert results(expected)["table_signal_no_stack"] != "_.6e00"


# ---- Processes that fail


@pytest.mark.parametrize("frames", [4, 16])
def test_a_core_dump(kernels: Kernels, frames: int) -> None:
    expected, _ = kernels.compared(CORE_DUMP, f"frames={frames}")
    values = results(expected)
    assert int(values["core_status"], 16) & DUMPED
    assert values["core_wrong_words"] == "0"
    assert int(values["core_s2"], 16) == 0x1234567
    assert int(values["core_s3"], 16) == (1 << 64) - 77


def test_out_of_memory(kernels: Kernels) -> None:
    expected, seen = kernels.compared(MEMORY, "frames=16")
    assert int(results(expected)["memory_status"], 16) == KILLED
    for each in (expected, seen):
        assert each.console.count("Out of memory: Killed process") == 1


# ---- Oopses


def backtraces(seen: Seen) -> list[list[str]]:
    """The functions of each backtrace on the console, innermost first."""
    return [FRAME.findall(part) for part in seen.console.split("Hardware name:")[1:]]


@pytest.mark.parametrize("frames", [4, 16])
def test_an_oops_has_a_usable_backtrace(kernels: Kernels, frames: int) -> None:
    """The same functions by name, cold ones, and the kernel goes on."""
    expected, seen = kernels.compared(OOPSES, f"frames={frames}")
    traces = backtraces(seen)
    assert traces == backtraces(expected)
    assert PLACE.findall(seen.console) == PLACE.findall(expected.console)
    assert PLACE.findall(seen.console).count("lkdtm_EXCEPTION") == 2
    assert not UNRESOLVED.search(seen.console)
    # One of the oopses jumps to a program's memory, from where no way leads back.
    assert len(traces) == 7 and traces.count([]) == 1
    for trace in filter(None, traces):
        assert {"vfs_write", "ksys_write"} <= set(trace) & kernels.cold, trace
    # The instructions around are read from cold code, too.
    mine, plain = (
        ["Unable" in line for line in each.console.splitlines() if line.startswith("Code: ")]
        for each in (seen, expected)
    )
    assert mine == plain and mine.count(False) >= 3


def test_a_write_to_cold_code_is_an_oops(kernels: Kernels) -> None:
    """[P3-6] Whether its page is absent or in a frame: it is mapped for reading and executing."""
    assert any(name.endswith("do_overwritten") for name in kernels.cold)
    seen = kernels.boot(kernels.paged, WRITE, 1, "frames=4")
    assert 0 < int(results(seen)["provoked_WRITE_KERN"], 16) < DUMPED
    assert "Unable to handle kernel paging request" in seen.console
    assert "survived bad write" not in seen.console


def test_a_panic_in_cold_code_says_where(kernels: Kernels) -> None:
    """BUG ends the machine, and its last words are as readable."""
    said = []
    for built in (kernels.plain, kernels.paged):
        with pytest.raises(TauError, match="did not print") as raised:
            kernels.boot(built, PANIC, 1, "frames=4")
        said.append(str(raised.value.said))
    plain, paged = (FRAME.findall(each) for each in said)
    assert plain == paged and {"lkdtm_do_action", "vfs_write"} <= set(paged)
    assert "Kernel panic - not syncing" in said[1]
