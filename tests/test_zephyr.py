"""Zephyr: docs/ports/zephyr.md leads from k_malloc to a heap in the memory of its plan.

Method: the page is run with a firmware of preemptive threads and an interrupt, on a stand-in for
the kernel in QEMU, which counts instructions as time, so that a run repeats. A stand-in for west
reads the module's Kconfig and executes its CMakeLists.txt.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.pages import Page, read, shown
from tests.test_freertos import functions_of, sections_of

from tautochrone.convert.importing import import_file
from tautochrone.trace.file import OPS, open_trace

from testing import firmware
from testing.command import tau
from testing.firmware import CAPTURE, FIRMWARE, ROOT, run
from testing.recorded import events_of

WEST = (sys.executable, FIRMWARE / "zephyr" / "kernel" / "west.py")
PORT = ROOT / "core" / "ports" / "zephyr"
REPEATABLE = ("-icount", "shift=5,sleep=off")
ELF = "build/zephyr/zephyr.elf"
PAGE = Page(
    "docs/ports/zephyr.md",
    instead={
        "west": " ".join(map(str, WEST)),
        "-display": " ".join([*REPEATABLE, "-display"]),
        f"-kernel {ELF}": f"-kernel {ELF} > said.txt && mv {ELF} recording.elf",
    },
)
FUNCTIONS = {"timer": "expire", "worker": "work", "pool": "use_pools"}
KERNELS = 20  # use_pools allocates and resizes as often by k_heap's functions
RIGHT = "failed 0 statistics hold".split()


def build(folder: Path, configuration: str) -> subprocess.CompletedProcess[str]:
    """Build the page's application with the options of a text."""
    (folder / "extra.conf").write_text(configuration)
    words = [f"-DEXTRA_ZEPHYR_MODULES={ROOT}", f"-DEXTRA_CONF_FILE={folder / 'extra.conf'}"]
    words = [*WEST, "build", "-p", "-b", "mps2/an386", "app", "--", *words]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True)


def emulated(folder: Path) -> dict[str, list[list[str]]]:
    """Run what was built; return the words of its output's lines by the first one."""
    options = ("-semihosting-config", "enable=on,target=native", "-kernel", ELF)
    return sections_of(run(*firmware.QEMU_ARM, *REPEATABLE, *options, cwd=folder))


def built_and_emulated(folder: Path, configuration: str) -> dict[str, list[list[str]]]:
    """Build it so, and run it."""
    made = build(folder, configuration)
    assert made.returncode == 0, made.stderr
    return emulated(folder)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of somebody who did what the page says."""
    folder = tmp_path_factory.mktemp("zephyr")
    read(PAGE, folder)
    return folder


@pytest.fixture(scope="module")
def recorded(done: Path) -> dict[str, list[list[str]]]:
    """What the firmware said while it recorded itself."""
    return sections_of((done / "said.txt").read_text())


def test_the_firmware_runs_on_its_plan_as_it_did_before(
    done: Path, recorded: dict[str, list[list[str]]]
) -> None:
    """No allocation fails; the second free of an object is refused, and nothing else is."""
    now = emulated(done)
    assert recorded["checksum"][0][1:] == RIGHT
    assert (recorded.pop("assertions"), now.pop("assertions")) == ([["0"]], [["1"]])
    assert now == recorded


def test_each_call_is_recorded_with_its_size_its_thread_and_its_site(
    done: Path, recorded: dict[str, list[list[str]]]
) -> None:
    """A part's sizes, in its order, are those of one thread, at call sites in its own function."""
    imported = import_file(done / CAPTURE, done / "again.tau")
    assert (imported.unknown_count, imported.double_free_count, imported.implied_frees) == (0, 0, 0)
    with open_trace(done / "again.tau") as reader:
        sites = [0, *(offset for _, offset in reader.sites())]
    rows = [
        (OPS[row["op"]], str(row["size_bytes"]), sites[row["site"]], int(row["thread"]))
        for row in events_of(done / "again.tau")
    ]
    made = [row for row in rows if row[0] != "free"]
    code, found = functions_of(done / "recording.elf"), set()
    for part, function in FUNCTIONS.items():
        start, end = code[function]
        here = [(size, thread) for _, size, site, thread in made if start < site <= end]
        threads = {thread for _, thread in here}
        by_thread = [[size for size, one in here if one == thread] for thread in threads]
        assert sorted(by_thread) == sorted(recorded[part]), part
        found |= threads
    assert len(found) == sum(len(recorded[part]) for part in FUNCTIONS)
    asked = sum(len(each) for part in FUNCTIONS for each in recorded[part])
    assert len(made) == asked + 2 * KERNELS
    kernels = [(op, int(size)) for op, size, site, _ in rows if site == 0]
    assert [op for op, _ in kernels] == ["malloc", "realloc", "free"] * KERNELS
    wanted = {"malloc": 160, "realloc": 40, "free": 0}
    assert all(wanted[op] <= size < wanted[op] + 16 for op, size in kernels)  # of chunks
    assert {op for op, *_ in rows} == {"malloc", "calloc", "aligned_alloc", "realloc", "free"}


def test_a_heap_of_ones_own_is_recorded_and_served(done: Path) -> None:
    """On a guaranteed plan; k_malloc's heap is left alone."""
    own = 'CONFIG_TAUTOCHRONE_K_HEAP="own_heap"\n'
    before = built_and_emulated(done, shown(PAGE.path, "recording.conf") + own)
    import_file(done / CAPTURE, done / "own.tau")
    sizes = [(OPS[row["op"]], int(row["size_bytes"])) for row in events_of(done / "own.tau")]
    assert sizes == [("aligned_alloc", 300), ("malloc", 204), ("free", 0), ("free", 0)]
    header = ("--header", done / "app" / "heap_plan.h")
    tau("plan", done / "own.tau", "--guarantee", "--force", *header, expect=0)
    assert built_and_emulated(done, "CONFIG_TAUTOCHRONE_HEAP=y\n" + own) == before


def test_two_options_at_once_are_refused(done: Path) -> None:
    made = build(done, "CONFIG_TAUTOCHRONE_RECORD=y\nCONFIG_TAUTOCHRONE_HEAP=y\n")
    assert made.returncode != 0
    assert "TAUTOCHRONE_HEAP: its dependencies do not hold" in made.stderr


@pytest.mark.parametrize(
    ("option", "source"), [("RECORD", "record_calls_inline.h"), ("HEAP", "heap.c")]
)
def test_the_linker_replaces_what_the_file_defines(
    tmp_path: Path, option: str, source: str
) -> None:
    """A wrapper without an option of the linker would never be called."""
    cmake = ROOT / "tests/firmware/zephyr/kernel/module.cmake"
    words = (f"-DCONFIG_TAUTOCHRONE_{option}=y", "-DCONFIG_TAUTOCHRONE_K_HEAP=_system_heap")
    run("cmake", *words, f"-DMODULE={ROOT / 'zephyr'}", "-DOUT=asked", "-P", cmake, cwd=tmp_path)
    asked = re.findall(r"^-Wl,--wrap=(\w+)$", (tmp_path / "asked").read_text(), re.M)
    assert set(asked) == set(re.findall(r"\b__wrap_(\w+)\(", (PORT / source).read_text()))


def test_the_module_is_described_as_zephyr_wants() -> None:
    """By keys that scripts/zephyr_module.py of Zephyr knows."""
    module = yaml.safe_load((ROOT / "zephyr" / "module.yml").read_text())
    assert set(module) == {"name", "build"} and set(module["build"]) == {"cmake", "kconfig"}
    assert (ROOT / module["build"]["cmake"] / "CMakeLists.txt").is_file()
    assert (ROOT / module["build"]["kconfig"]).is_file()
