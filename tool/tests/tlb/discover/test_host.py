"""`tau tlb discover` on this machine, and the walker that it times pages with.

The tests do not know the machine's TLBs. So they demand that the result is consistent: a
geometry that is written is one that `tau tlb plan` accepts, and without one the cause is said. The
bench `discover` repeats it next to a busy neighbor.
"""

import ctypes
import errno
import json
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tautochrone.declarations import Library
from tautochrone.errors import TauError
from tautochrone.tlb.discover.processors import host
from tautochrone.tlb.discover.processors.oracle import pages_of
from tautochrone.tlb.discover.run import discovered_host
from tautochrone.tlb.geometry import read_geometry
from testing import command

ROOT = Path(__file__).resolve().parents[4]
CPU_LIMIT_S = 10.0  # The limit of five, and the last walk on a slow machine.
BASE = 1 << 44  # Not where the host's pages are.
STRICT = ["-g", "-O1", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error", "-UNDEBUG"]
TASKS = """\
format = "tautochrone tasks"
version = 1
[window]
start = 0x1_0000_0000
size_bytes = 0x1000_0000
word_bytes = 8
[[task]]
name = "a"
period_cycles = 1000
heap_bytes = 8192
stack_bytes = 4096
globals_bytes = 4096
code_bytes = 0
mode = "isolated"
"""

linux_x86 = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="addresses and clocks of other processors vary"
)


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The walker with its asserts."""
    library = tmp_path_factory.mktemp("native") / "walker.so"
    compiler = ["gcc", "-shared", "-fPIC", "-std=c17", "-D_GNU_SOURCE", "-Wall", "-Werror", *STRICT]
    source = ROOT / "tool/native/tlb/walker.c"
    subprocess.run([*compiler, f"-I{ROOT}", source, "-o", library], check=True, timeout=300)
    return Library(library)


def tau(*words: object) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return command.tau("tlb", *words)


@linux_x86
def test_pages_are_mapped_where_they_are_asked_for(strict: Library) -> None:
    """And never over something else."""
    assert strict.tau_walker_map(BASE, 8192) == 0
    assert strict.tau_walker_map(BASE + 4096, 4096) == errno.EEXIST
    memory = (ctypes.c_char * 8192).from_address(BASE)
    assert bytes(memory) == bytes(8192)
    del memory
    strict.tau_walker_unmap(BASE, 8192)
    assert strict.tau_walker_map(BASE + 4096, 4096) == 0
    strict.tau_walker_unmap(BASE + 4096, 4096)


@linux_x86
def test_a_walk_visits_each_page_once_a_pass(strict: Library) -> None:
    """The words that a walk has written are one circle through all pages, a cell in each."""
    pages = 100
    assert strict.tau_walker_map(BASE, pages * 4096) == 0
    walker = host.Host(1, strict)
    addresses = np.uint64(BASE) + pages_of(range(pages)) * np.uint64(4096)
    ticks = np.zeros(6, np.uint64)
    walk = strict.struct("tau_walker_walk")(addresses, pages, 2, 1, 3, 2, 1)
    assert strict.tau_walker_run(walk, ticks)
    assert (ticks > 0).all()
    words = np.frombuffer((ctypes.c_char * (pages * 4096)).from_address(BASE), np.uint64)
    links = {BASE + 8 * int(at): int(words[at]) for at in np.flatnonzero(words)}
    # The last order's cells are a circle; cells of the first one may be left next to it.
    start = next(iter(links))
    for _ in range(pages * 2):
        start = links[start]
    circle, cell = [start], links[start]
    while cell != start:
        circle.append(cell)
        cell = links[cell]
    assert len({each // 4096 for each in circle}) == len(circle) == pages
    del words
    strict.tau_walker_unmap(BASE, pages * 4096)
    walker.close()


@linux_x86
def test_pages_are_given_back_before_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "MAPPED_PAGES_MAX", 64)
    walker = host.Host(1)
    for start in range(0, 400, 40):
        assert (walker.walk(pages_of(range(start, start + 40)), 1) > 0).all()
        assert walker.after(pages_of([start]), pages_of(range(start + 100, start + 130))) > 0
        assert len(walker._mapped) <= 64
    walker.close()
    assert walker._mapped == set()


class StandingClock:
    """A walker's library whose clock stands still."""

    def __init__(self) -> None:
        self.tau_walker_clock = lambda: b"tsc"
        self.tau_walker_now = lambda: 7


def test_a_clock_that_stands_still_is_refused() -> None:
    with pytest.raises(TauError, match="the clock .tsc. stands still"):
        host.Host(1, StandingClock())  # type: ignore[arg-type]


@linux_x86
def test_this_machine_is_found_or_the_cause_is_said(tmp_path: Path) -> None:
    """A verified geometry serves the planner. Otherwise no file is written."""
    geometry = tmp_path / "host.toml"
    done = tau("discover", "-o", geometry, "--json")
    document = json.loads(done.stdout)
    assert document["cpu_seconds"] <= CPU_LIMIT_S
    assert document["calls"] > 0 and document["wall_seconds"] > 0
    if "hypervisor" in Path("/proc/cpuinfo").read_text():
        assert any("virtual machine" in note for note in document["notes"])
    if not document["is_verified"]:
        assert done.returncode == 1 and not geometry.exists()
        assert document["unknown"] and "could not be verified" in done.stderr
        pytest.skip("; ".join(document["unknown"]))
    assert done.returncode == 0
    assert all(check["is_passed"] for check in document["checks"])
    found = read_geometry(geometry)
    if not any(array.is_colorable for array in found.arrays):
        pytest.skip("no array of this processor has sets to own")
    tasks = tmp_path / "tasks.toml"
    tasks.write_text(TASKS)
    planned = tau("plan", tasks, "--geometry", geometry)
    assert planned.returncode == 0, planned.stderr


def test_a_limit_of_memory_is_named() -> None:
    """The process that measures cannot map its pages; the command says so."""
    script = """
import resource
from tautochrone.declarations import Library
from tautochrone.errors import TauError
from tautochrone.tlb.discover.processors.host import Host
from tautochrone.tlb.discover.processors.oracle import pages_of
host, pages = Host(1), pages_of(range(64))
resource.setrlimit(resource.RLIMIT_DATA, (1, 1))
try:
    host.walk(pages, 1)
except TauError as error:
    print(error.message, error.next_step)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "64 pages at 0x200000000000 cannot be mapped: Cannot allocate memory" in done.stdout
    assert "ulimit" in done.stdout


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (["--cpu", "4096"], 2, "CPU 4096 is not one of those"),
        (["--on", "nonsense"], 2, "unknown geometry nonsense"),
        (["--on", "16x4", "--policy", "fifo"], 2, "fifo"),
        (["--cpu-seconds", "0"], 2, "cpu-seconds"),
        (["--policy", "lru"], 2, "--policy needs a simulated processor"),
        (["--walks", "9"], 2, "--walks needs a simulated processor"),
        (["--on", "16x4", "--cpu", "0"], 2, "--cpu needs --on host"),
        (["--on", "16x4", "--cpu-seconds", "9"], 2, "--cpu-seconds needs --on host"),
    ],
)
def test_wrong_usage_is_refused(words: list[str], status: int, text: str) -> None:
    done = tau("discover", *words)
    assert (done.returncode, done.stdout) == (status, "")
    assert text in done.stderr


@pytest.mark.parametrize(
    ("killed_by", "text"), [(signal.SIGKILL, "ulimit -t"), (signal.SIGSEGV, "geometry file")]
)
def test_a_measuring_process_that_is_killed(
    monkeypatch: pytest.MonkeyPatch, killed_by: signal.Signals, text: str
) -> None:
    """A limit is not the processor's fault; the next step names it."""
    killed = subprocess.CompletedProcess([], -killed_by, "", "")
    monkeypatch.setattr(subprocess, "run", lambda *_words, **_settings: killed)
    with pytest.raises(TauError, match=killed_by.name) as raised:
        discovered_host(None, 1, 0.2)
    assert text in (raised.value.next_step or "")


def test_a_folder_that_is_missing_is_named_at_once(tmp_path: Path) -> None:
    done = tau("discover", "-o", tmp_path / "missing" / "a.toml")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"mkdir -p {tmp_path / 'missing'}" in done.stderr


def test_an_existing_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("mine")
    assert tau("discover", "--on", "16x4", "-o", path).returncode == 2
    assert path.read_text() == "mine"
    assert tau("discover", "--on", "16x4", "-o", path, "--force").returncode == 0
    assert [array.sets for array in read_geometry(path).arrays] == [16]


def test_too_few_walks_write_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    done = tau("discover", "--on", "zen4", "--walks", "1000", "-o", path, "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 1 and not path.exists()
    assert not document["is_verified"] and document["geometry"] is None
    assert "the limit of 1,000 walks" in done.stderr and "next:" in done.stderr


def test_a_geometry_goes_to_stdout(tmp_path: Path) -> None:
    done = tau("discover", "--on", "16x4", "-o", "-")
    assert done.returncode == 0, done.stderr
    path = tmp_path / "piped.toml"
    path.write_text(done.stdout)
    assert read_geometry(path).arrays[0].ways == 4


def test_other_processes_may_own_the_only_cpu() -> None:
    """The measuring process is pinned to the CPU that was chosen."""
    cpu = min(os.sched_getaffinity(0))
    done = tau("discover", "--cpu", cpu, "--cpu-seconds", "0.2", "--json")
    assert json.loads(done.stdout)["cpu"] == cpu


@linux_x86
def test_a_counter_counts_or_says_why_not(strict: Library) -> None:
    """With an event that software counts: page faults of fresh pages."""
    software, page_faults = 1, 2  # perf_event_open: PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS.
    counter = strict.tau_walker_counter_open(software, page_faults)
    if counter < 0:
        assert os.strerror(-counter)
        pytest.skip(f"perf_event_open: {os.strerror(-counter)}")
    before = strict.tau_walker_counter_read(counter)
    assert strict.tau_walker_map(BASE, 64 * 4096) == 0
    memory = (ctypes.c_char * (64 * 4096)).from_address(BASE)
    for page in range(64):
        memory[page * 4096] = 1
    assert strict.tau_walker_counter_read(counter) - before >= 64
    del memory
    strict.tau_walker_unmap(BASE, 64 * 4096)
    os.close(counter)
    assert strict.tau_walker_counter_read(counter) == 0
    assert strict.tau_walker_counter_open(0xFFFF, 0) < 0
