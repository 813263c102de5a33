"""FreeRTOS: docs/ports/freertos.md leads from heap_4.c to a heap in the memory of its plan.

Method: the page is run with a firmware of preemptive tasks, queues, a timer and an interrupt, on
a stand-in for the kernel in QEMU. It counts instructions as time, so that a run repeats. With
FREERTOS, the folder of FreeRTOS's kernel, the same firmware is built with that kernel. On this
machine, the heap's statistics are compared with the core's own after every random call.
"""

import csv
import json
import os
import random
import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
from tests.pages import Page, read, shown

from tautochrone.convert.importing import import_file
from tautochrone.errors import EXIT_LIMIT_EXCEEDED
from tautochrone.heap.planners import bands
from tautochrone.machine.core_build import Build
from tautochrone.plan.build import Built
from tautochrone.plan.file import BANDS, Plan, PlanClass
from tautochrone.plan.header import save_header
from tautochrone.trace.file import OPS, open_trace

from testing import firmware
from testing.command import tau
from testing.firmware import CAPTURE, FIRMWARE, RECORDER, ROOT, STRICT, run
from testing.random_trace import random_trace
from testing.recorded import events_of, operations_of

PAGE = "docs/ports/freertos.md"
PROJECT = FIRMWARE / "freertos"
KERNEL = PROJECT / "kernel"
PORT = ROOT / "core" / "ports" / "freertos"
FLAGS = f"@{PORT / 'record.flags'}"
MAKE = ("make", "-B", "-f", str(PROJECT / "Makefile"))
# The parts of the firmware that ask for memory, and where.
FUNCTIONS = {"producer": "produce", "device": "serve_device", "timer": "expire"}
# What it says after its checksum. Each of 60 interrupts tries to allocate and to free.
RIGHT = "failed 0 assertions 120 statistics hold".split()


def built(folder: Path, heap: str) -> Path:
    """Build the firmware with the lines of a file; return it."""
    run(*MAKE, f"HEAP={heap}", cwd=folder)
    return folder / "firmware.elf"


def emulated(folder: Path, heap: str, seed: int = 1) -> str:
    """Build the firmware with the lines of a file and run it; return its output."""
    return firmware.emulate(built(folder, heap), seed, machine=firmware.QEMU_COUNTING)


# ---- The page ----


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of somebody who did what the page says."""
    folder = tmp_path_factory.mktemp("freertos")
    read(Page(PAGE, instead={"{1..20}": "3 2 1"}), folder)
    return folder


def sections_of(said: str) -> dict[str, list[list[str]]]:
    """The words of a firmware's lines, by the first one."""
    found = defaultdict(list)
    for line in said.splitlines():
        name, *words = line.split()
        found[name].append(words)
    return found


def test_the_page_takes_few_lines() -> None:
    lines = "".join(shown(PAGE, name) for name in ("recording.mk", "planned.mk")).splitlines()
    assert 0 < len(lines) <= 5


@pytest.fixture(scope="module")
def recorded(done: Path) -> dict[str, list[list[str]]]:
    """What the firmware says that records itself: the last run that is planned from, again."""
    said = sections_of(emulated(done, "recording.mk"))
    (done / "firmware.elf").rename(done / "recording.elf")
    return said


def test_the_firmware_runs_on_its_plan_as_it_did_before(
    done: Path, recorded: dict[str, list[list[str]]]
) -> None:
    """No allocation fails; the interrupt's calls are refused, and nothing else is."""
    now = sections_of(emulated(done, "planned.mk"))
    assert recorded["checksum"][0][1:] == "failed 0 assertions 0 statistics hold".split()
    assert now["checksum"] == [[recorded["checksum"][0][0], *RIGHT]]
    assert now["refused"] == [["120", "60", "0"]]
    assert all(now[part] == recorded[part] for part in FUNCTIONS)
    for seed in range(4, 8):  # not recorded
        fresh = firmware.emulate(done / "firmware.elf", seed, machine=firmware.QEMU_COUNTING)
        assert sections_of(fresh)["checksum"][0][1:] == RIGHT


def test_each_call_is_recorded_with_its_size_its_task_and_its_site(
    done: Path, recorded: dict[str, list[list[str]]]
) -> None:
    """A part's sizes, in its order, are those of one task, at call sites in its own function."""
    import_file(done / CAPTURE, done / "again.tau")
    with open_trace(done / "again.tau") as reader:
        sites = [offset for _, offset in reader.sites()]
    rows = [row for row in events_of(done / "again.tau") if OPS[row["op"]] != "free"]
    of_task = defaultdict(list)
    for row in rows:
        of_task[int(row["thread"])].append((str(row["size_bytes"]), sites[row["site"] - 1]))
    code, found = functions_of(done / "recording.elf"), set()
    for part, function in FUNCTIONS.items():
        start, end = code[function]
        for sizes in recorded[part]:
            tasks = [
                task
                for task, calls in of_task.items()
                if [size for size, site in calls if start < site <= end] == sizes
            ]
            assert len(tasks) == 1, part
            found |= {*tasks}
    assert len(found) == sum(len(recorded[part]) for part in FUNCTIONS)
    zeroed = [str(row["size_bytes"]) for row in rows if OPS[row["op"]] == "calloc"]
    assert zeroed == recorded["worker"][0]


def test_what_a_deleted_task_held_is_left_by_its_function(
    done: Path, recorded: dict[str, list[list[str]]]
) -> None:
    """On its plan, the firmware's statistics hold with that object in use."""
    import_file(done / CAPTURE, done / "left.tau")
    words = ("who", done / "left.tau", "--left", "--elf", done / "recording.elf", "--json")
    rows = json.loads(tau(*words, expect=0).stdout)["rows"]
    (left,) = (row for row in rows if row["function"] == "work")
    assert (left["left_objects"], left["left_bytes"]) == (1, int(recorded["worker"][0][-1]))


def functions_of(elf: Path) -> dict[str, tuple[int, int]]:
    """Where each function of a firmware begins and ends."""
    listing = run("arm-none-eabi-nm", "-S", elf, cwd=elf.parent)
    rows = re.findall(r"^(\w+) (\w+) [tT] (\w+)$", listing, re.M)
    return {name: (int(start, 16), int(start, 16) + int(size, 16)) for start, size, name in rows}


# Tasks overlap otherwise on a faster heap: one recording says little about limits.
@pytest.mark.parametrize(
    "way", [("--guarantee", "--margin", "100%"), ("--pools", "never")], ids=" ".join
)
def test_it_runs_on_plans_of_other_kinds(done: Path, tmp_path: Path, way: tuple[str, ...]) -> None:
    folder = tmp_path
    (folder / "tau").symlink_to(ROOT)
    pools = "SOURCES += tau/core/pools.c\n" if "--guarantee" in way else ""
    (folder / "planned.mk").write_text(shown(PAGE, "planned.mk") + pools)
    header = ("--header", folder / "heap_plan.h")
    tau("plan", done / "runs", *way, "-o", folder / "plan.toml", *header, expect=0)
    assert sections_of(emulated(folder, "planned.mk"))["checksum"][0][1:] == RIGHT


# ---- Refusals of the build ----

# The linker looks for another name, as in a kernel without the lock: first for the heap.
WITHOUT_LOCK = """FLAGS += -Wl,--wrap=vTaskSuspendAll
PORT := %/heap_tautochrone.c
SOURCES := $(filter $(PORT),$(SOURCES)) $(filter-out $(PORT),$(SOURCES))"""
REFUSED = {
    "another check level": ("FLAGS += -DTAU_CHECK_LEVEL=2", "measured with other options"),
    "optimized for speed": ("FLAGS += -O2", "undefined reference to `tau_tlsf_built_word32"),
    "no lock": (WITHOUT_LOCK, "in function `tau_heap_enter'"),
    "no dynamic allocation": (
        "FLAGS += -DconfigSUPPORT_DYNAMIC_ALLOCATION=0",
        "configSUPPORT_DYNAMIC_ALLOCATION is 0: leave",
    ),
    "too little memory of the application's": (
        "FLAGS += -DconfigAPPLICATION_ALLOCATED_HEAP=1 -DconfigTOTAL_HEAP_SIZE=4096",
        "configTOTAL_HEAP_SIZE is smaller than the plan",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_build_is_refused(done: Path, case: str) -> None:
    line, said = REFUSED[case]
    (done / "wrong.mk").write_text(f"{shown(PAGE, 'planned.mk')}{line}\n")
    made = subprocess.run([*MAKE, "HEAP=wrong.mk"], cwd=done, capture_output=True, text=True)
    assert made.returncode != 0
    assert said in made.stderr


# ---- On this machine ----

REFUSED_HERE = {
    "-DportBYTE_ALIGNMENT=64": "the port wants a larger alignment",
    "-DconfigNUMBER_OF_CORES=2": "this port does not tell, and has several cores",
}
CORE = ("tlsf", "budget", "pools")
CLASSES = (PlanClass(24, 40), PlanClass(104, 12), PlanClass(616, 3))


def plan_of(kind: str, check_level: int) -> Plan:
    """A plan for this machine."""
    built = {"layout": "host", "sections": {"build": Built(Build(check_level), ())}}
    if kind == "pools":
        limits = [bands.Band(*one) for one in CLASSES]
        heap_bytes = bands.Build(8, check_level).arena_bytes(limits, 16)
        counts = tuple(one.count for one in CLASSES)
        return Plan(CLASSES, heap_bytes, BANDS, 0.0, recorded_counts=counts, **built)
    return Plan(CLASSES if kind == "budget" else (), 40_000, "replayed", 0.0, **built)


@pytest.mark.parametrize(
    ("kind", "check_level", "flags"),
    [
        ("tlsf", 2, ()),
        ("tlsf", 1, ("-DconfigHEAP_CLEAR_MEMORY_ON_FREE=1",)),
        ("budget", 1, ("-DconfigAPPLICATION_ALLOCATED_HEAP=1",)),
        ("pools", 1, ("-DportCHECK_IF_IN_ISR()=(suspended>0)",)),
    ],
)
def test_statistics_are_what_the_core_counts(
    tmp_path: Path, kind: str, check_level: int, flags: tuple[str, ...]
) -> None:
    """Also: one lock per call, the hooks, and refusals of misuse and of interrupts."""
    seed = random.randrange(2**31)
    print(f"seed {seed}")
    save_header(plan_of(kind, check_level), tmp_path / "heap_plan.h", "a test")
    folders = [f"-I{folder}" for folder in (ROOT, KERNEL, PROJECT, tmp_path)]
    words = ["-Os", *STRICT, *folders, *flags]
    words.append(f"-DTAU_CHECK_LEVEL={check_level}")
    sources = [PROJECT / "statistics.c", *(ROOT / "core" / f"{name}.c" for name in CORE)]
    run("gcc", *words, *sources, "-o", "statistics", cwd=tmp_path)
    said = run("./statistics", str(seed), cwd=tmp_path)
    assert re.fullmatch(r"[1-9]\d* refused\n", said)


@pytest.mark.parametrize("define", REFUSED_HERE)
def test_a_port_of_the_kernel_that_is_not_served_is_refused(tmp_path: Path, define: str) -> None:
    save_header(plan_of("tlsf", 1), tmp_path / "heap_plan.h", "a test")
    folders = [f"-I{folder}" for folder in (ROOT, KERNEL, PROJECT, tmp_path)]
    words = ("gcc", "-Os", "-fsyntax-only", *folders, define, PORT / "heap_tautochrone.c")
    made = subprocess.run(words, capture_output=True, text=True)
    assert made.returncode != 0
    assert REFUSED_HERE[define] in made.stderr


def test_heap_4_of_a_users_tree_is_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library's page, with at most 30 lines of the user's; a heap of 64 bytes is refused."""
    page = "docs/ports/library.md"
    assert 0 < len(shown(page, "heap_4_library.c").splitlines()) <= 30
    if "FREERTOS" not in os.environ:
        (tmp_path / "kernel" / "portable").mkdir(parents=True)
        (tmp_path / "kernel" / "include").symlink_to(KERNEL)
        (tmp_path / "kernel" / "portable" / "MemMang").symlink_to(KERNEL)
        monkeypatch.setenv("FREERTOS", str(tmp_path / "kernel"))
    (tmp_path / "FreeRTOSConfig.h").symlink_to(PROJECT / "FreeRTOSConfig.h")
    trace = random_trace(tmp_path / "run.tau", 1, events=200, live_max=8, sizes=[24, 100, 300])
    read(Page(page), tmp_path)
    words = ("replay", trace, "--on", "first-fit,library:heap_4.o", "--heap", "64")
    assert tau(*words, cwd=tmp_path).returncode == EXIT_LIMIT_EXCEEDED


TASKS_MAX = 32  # TAU_RECORD_TASKS of core/ports/record_wrap.c


def test_requested_sizes_and_tasks_are_recorded(tmp_path: Path) -> None:
    """Tasks are numbered by their first calls; those beyond the last number share it."""
    seed = random.randrange(2**31)
    print(f"seed {seed}")
    sources = [PROJECT / "recorded.c", KERNEL / "heap_4.c", RECORDER]
    folders = [f"-I{folder}" for folder in (ROOT, KERNEL, PROJECT)]
    large = "-DconfigTOTAL_HEAP_SIZE=262144u"  # no call fails: a failed one would number its task
    made = firmware.objects(sources, tmp_path, (*STRICT, FLAGS, large, *folders))
    run("gcc", *made, FLAGS, "-o", "program", cwd=tmp_path)
    rows = list(csv.DictReader(run("./program", str(seed), cwd=tmp_path).splitlines()))
    imported = import_file(tmp_path / CAPTURE, tmp_path / "out.tau")
    assert (imported.unknown_count, imported.double_free_count, imported.implied_frees) == (0, 0, 0)
    threads = events_of(tmp_path / "out.tau")["thread"].tolist()
    name_of_slot: dict[int, str] = {}
    numbers: dict[str, int] = {}
    calls = zip(operations_of(tmp_path / "out.tau"), threads, rows, strict=True)
    for (op, size, slot), thread, row in calls:
        assert (op, size) == (row["op"], int(row["size"]))
        assert thread == numbers.setdefault(row["task"], min(len(numbers), TASKS_MAX - 1))
        if op == "free":
            assert name_of_slot[slot] == row["id"]
        name_of_slot[slot] = row["id"]
    assert imported.events > 2000
