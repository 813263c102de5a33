"""Tasks of a Linux program in TLB sets of their own: `tau run --colors`.

Method: programs whose threads run tasks print where their objects and stacks are, and all mappings.
The model says to whom each address belongs, and looks at every page of every window. No TLB is
needed for that: any geometry will do.
"""

import re
import secrets
import subprocess
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from model.tlb_color import process
from tautochrone.plan.file import load_any_plan
from tautochrone.run.colors import Colors
from tautochrone.tlb.geometry import DATA, Array, Geometry, Structure
from tautochrone.tlb.partition import Partition, Principal
from tautochrone.tlb.partition import Run as PageRun
from testing.modelled import model_geometry
from testing.recorded import ROOT, Build, Tau
from testing.runtime import Run, RunProgram, settings_variables

HEAD = """
format = "tautochrone tasks"
version = 1
[window]
start = {start:#x}
size_bytes = {size:#x}
word_bytes = 8
"""
TASK = """
[[task]]
name = "{name}"
period_cycles = 50_000
heap_bytes = {heap}
stack_bytes = {stack}
globals_bytes = {globals}
code_bytes = 0
mode = "isolated"
"""
START, SIZE = 1 << 44, 1 << 31
STACK_MIN = 16384
INCLUDE = f"-I{ROOT}"
PlanTasks = Callable[..., Path]


@pytest.fixture
def plan_tasks(tau: Tau, tmp_path: Path) -> PlanTasks:
    """Plan tasks NAME=(heap, stack, globals) bytes for a geometry; `more` are options."""

    def write(
        geometry: str, tasks: dict[str, tuple[int, int, int]], *more: object, start: int = START
    ) -> Path:
        parts = [HEAD.format(start=start, size=min(SIZE, start))]
        for name, (heap, stack, globals_) in tasks.items():
            parts.append(TASK.format(name=name, heap=heap, stack=stack, globals=globals_))
        (tmp_path / "tasks.toml").write_text("".join(parts))
        path = tmp_path / "plan.toml"
        words = ("tasks.toml", "--geometry", geometry, "-o", path, "--force", *more)
        done = tau("tlb", "plan", *words)
        assert done.returncode == 0, done.stderr
        return path

    return write


def partition_of(path: Path) -> Partition:
    """The [tlb] of a plan."""
    found: Partition = load_any_plan(path).sections["tlb"]
    return found


def tasks_of_model(partition: Partition) -> list[process.Task]:
    """The model's tasks."""
    return [
        process.Task(
            each.name,
            tuple(map(frozenset, each.sets)),
            range(each.window_start, each.window_start + each.window_bytes),
            {
                page: run.part
                for run in each.runs
                if run.part != "stack" or run.size_bytes >= STACK_MIN
                for page in partition.addresses(run)
            },
        )
        for each in partition.principals
    ]


def assert_owned(partition: Partition, output: str) -> dict[str, list[tuple[str, str] | None]]:
    """The mappings of the output are as the model has them; owners of what each line says."""
    tasks = tasks_of_model(partition)
    lines = output.splitlines()
    mappings = [process.mapping_of(line[4:]) for line in lines if line.startswith("map ")]
    assert len(mappings) > 10
    assert process.complaints(model_geometry(partition.geometry), tasks, mappings) == []
    owners = defaultdict(list)
    for kind, whose, address in re.findall(r"^(stack|object) (\S+) 0x(\w+)$", output, re.M):
        owners[f"{kind} {whose}"].append(process.owner_of(tasks, int(address, 16)))
    return owners


KNOWN = ("sandy-bridge", "skylake", "broadwell", "zen4", "cortex-a53", "cva6")


@pytest.mark.parametrize("geometry", KNOWN)
def test_objects_and_stacks_are_their_tasks(
    build: Build, run: RunProgram, plan_tasks: PlanTasks, geometry: str
) -> None:
    """On known geometries: by a call before creation, by name from inside and from outside."""
    names = ("control", "logger", "filter", "idle")
    plan = plan_tasks(geometry, dict.fromkeys(names, (5 * 4096, 16384, 0)))
    ways = ("call:control", "name:logger", "after:filter", "call:idle", "plain:none")
    program = build("colors_tasks", INCLUDE)
    done = run(program, *ways, options=("--colors", plan, "--unverified"))
    assert done.status == 0 and "damaged" not in done.stdout, done.stderr
    owners = assert_owned(partition_of(plan), done.stdout)
    for way in ways[:4]:
        task = way.split(":")[1]
        assert owners[f"object {way}"] == [(task, "heap")] * 40, way
        assert owners[f"stack {way}"] == [(task, "stack") if "call" in way else None], way
    assert owners["object plain:none"] == [None] * 40
    assert owners["object plain:main"] == [None]
    found = done.document["colors"]
    assert found["pages_checked"] == 4 * 9
    assert (found["is_verified"], [task["name"] for task in found["tasks"]]) == (False, [*names])
    assert [task["stacks"] for task in found["tasks"]] == [1, 0, 0, 1]
    assert all(task["objects"] >= 40 and not task["spilled_objects"] for task in found["tasks"])


def test_a_thread_of_a_number(build: Build, run: RunProgram, plan_tasks: PlanTasks) -> None:
    """--thread gives a program that cannot be changed its tasks, stacks included."""
    plan = plan_tasks("zen4", {"one": (1 << 16, 16384, 0), "two": (1 << 16, 32768, 0)})
    options = ("--colors", plan, "--unverified", "--thread", "3=one", "--thread", "1=two")
    done = run(build("colors_tasks", INCLUDE), "plain:a", "plain:b", "plain:c", options=options)
    assert done.status == 0 and "damaged" not in done.stdout, done.stderr
    owners = assert_owned(partition_of(plan), done.stdout)
    assert owners["stack plain:a"] == [("two", "stack")]
    assert owners["stack plain:b"] == [None]
    assert owners["stack plain:c"] == [("one", "stack")]
    assert set(owners["object plain:c"]) == {("one", "heap")}


def test_what_does_not_fit_is_spilled_or_refused(
    build: Build, run: RunProgram, plan_tasks: PlanTasks
) -> None:
    """A task's heap of one page: most objects are spilled and counted; --strict refuses them."""
    plan = plan_tasks("zen4", {"small": (4096, 256, 0), "other": (8192, 256, 0)})
    program = build("colors_tasks", INCLUDE)
    done = run(program, "name:small", options=("--colors", plan, "--unverified"))
    owners = assert_owned(partition_of(plan), done.stdout)["object name:small"]
    assert 5 < owners.count(("small", "heap")) < 40
    spilled = done.document["colors"]["tasks"][0]["spilled_objects"]
    assert done.document["spilled_objects"] == spilled >= owners.count(None) > 0
    assert "no room: small" in done.stderr and "next:" in done.stderr
    done = run(program, "name:small", options=("--colors", plan, "--unverified", "--strict"))
    assert done.document["refusals"] > 0 and done.document["spilled_objects"] == 0
    task = done.document["colors"]["tasks"][0]
    assert task["objects"] * 20 < task["heap_bytes"]  # Not those that were refused.


def test_random_calls_of_a_task(build: Build, run: RunProgram, plan_tasks: PlanTasks) -> None:
    """Objects keep content, alignment and size in heaps of many short runs, spilled or not."""
    seed = secrets.randbits(32) + 1
    plan = plan_tasks("zen4", {"one": (1 << 20, 256, 0), "two": (1 << 20, 65536, 0)})
    options = ("--colors", plan, "--unverified", "--thread", "1=one", "--thread", "2=two")
    done = run(build("runtime_random"), seed, 40_000, 4, options=options)
    assert (done.status, done.stdout) == (0, "done\n"), f"seed {seed}: {done.stderr}"
    assert all(task["objects"] > 1000 for task in done.document["colors"]["tasks"])


@pytest.mark.parametrize("name", ["runtime_fork", "runtime_signals", "runtime_family"])
def test_programs_without_tasks(
    build: Build, run: RunProgram, plan_tasks: PlanTasks, name: str
) -> None:
    """fork, handlers and the whole family behave as without colors; the result says so."""
    plan = plan_tasks("zen4", {"one": (16384, 256, 0)})
    plain = run(build(name))
    done = run(build(name), options=("--colors", plan, "--unverified"))
    assert (done.status, done.stdout) == (plain.status, plain.stdout), done.stderr
    assert "no thread ran a task" in done.stderr


def test_stacks_are_used_again(build: Build, run: RunProgram, plan_tasks: PlanTasks) -> None:
    """One thread at a time, until it was joined; attributes are kept, also an own stack."""
    plan = plan_tasks("zen4", {"one": (16384, 32768, 0), "two": (16384, 256, 0)})
    program = build("colors_stacks", INCLUDE)
    done = run(program, options=("--colors", plan, "--unverified"))
    assert (done.status, done.stdout) == (0, "done\n"), done.stderr
    # One at once with another, 203 one after another, and one that is detached.
    assert done.document["colors"]["tasks"][0]["stacks"] == 205


def test_a_stack_below_thread_local_data(
    build: Build, run: RunProgram, plan_tasks: PlanTasks
) -> None:
    """Where the C library refuses the plan's stack, the thread has an ordinary one."""
    plan = plan_tasks("zen4", {"one": (16384, 16384, 0)})
    done = run(build("colors_large_tls", INCLUDE), options=("--colors", plan, "--unverified"))
    assert (done.status, done.stdout) == (0, "on an ordinary stack\n"), done.stderr
    (task,) = done.document["colors"]["tasks"]
    assert (task["threads"], task["stacks"]) == (2, 0)


def test_many_threads_at_once(build: Build, run: RunProgram, plan_tasks: PlanTasks) -> None:
    """Thousands of threads that create, name and join each other; more than have a record."""
    plan = plan_tasks("zen4", {"one": (65536, 16384, 0), "two": (65536, 16384, 0)})
    program = build("colors_threads", INCLUDE)
    done = run(program, options=("--colors", plan, "--unverified"))
    assert (done.status, done.stdout) == (0, "done\n"), done.stderr
    assert done.document["colors"]["unknown_threads"] == 1200 - 1024
    assert "tau: colors_threads: 176 threads ran no task" in done.stderr
    tasks = done.document["colors"]["tasks"]
    assert sum(task["objects"] for task in tasks) >= 6 * 300 * 3 * 51
    assert all(task["threads"] > 2000 and task["stacks"] > 0 for task in tasks)


def test_threads_of_cxx(build: Build, run: RunProgram, plan_tasks: PlanTasks) -> None:
    """Thread-local objects, exceptions and pthread_exit on the plan's stacks and on others."""
    plan = plan_tasks("zen4", {"one": (65536, 65536, 0), "two": (65536, 65536, 0)})
    flags = (INCLUDE, "-std=c++17")
    program = build("colors_cxx.cpp", *flags, compiler="g++")
    done = run(program, options=("--colors", plan, "--unverified"))
    assert (done.status, done.stdout) == (0, "done\n"), done.stderr
    one, two = done.document["colors"]["tasks"]
    assert one["stacks"] == 1 and one["objects"] > 400 and two["objects"] > 450


def test_neighbor_pages_are_not_memory(
    build: Build, run: RunProgram, plan_tasks: PlanTasks
) -> None:
    """A stack that overflows, a foreign pointer and a page between runs end the program."""
    plan = plan_tasks("zen4", {"one": (5 * 4096, 16384, 0)})
    program = build("colors_misuse", INCLUDE)
    for way, status in (("overflow", 139), ("foreign", 134), ("double", 134), ("gap", 139)):
        done = run(program, way, options=("--colors", plan, "--unverified"))
        assert done.status == status, (way, done.stderr)
        assert (status == 139) == ("bytes: one 16,384" in done.stderr), done.stderr


def run_with_globals(build: Build, run: RunProgram, plan: Path, script: Path) -> Run:
    """Results of the program with globals of tasks, linked by a script."""
    made = f"globals-{secrets.token_hex(4)}"
    program = build("colors_globals", INCLUDE, "-no-pie", f"-Wl,-T,{script}", made=made)
    return run(program, options=("--colors", plan, "--unverified"))


def test_globals_by_a_linker_script(
    build: Build, run: RunProgram, plan_tasks: PlanTasks, tmp_path: Path
) -> None:
    """Globals of a fixed-address executable lie in their tasks' pages, checked at start."""
    script = tmp_path / "globals.ld"
    tasks = {"one": (16384, 256, 4096), "two": (16384, 16384, 4096)}
    plan = plan_tasks("zen4", tasks, "--program-script", script, start=1 << 30)
    done = run_with_globals(build, run, plan, script)
    assert done.status == 0, done.stderr
    owners = assert_owned(partition_of(plan), done.stdout)
    assert owners["object global:one"] == [("one", "globals")]
    assert owners["object global:two"] == [("two", "globals")]


def test_a_page_that_is_not_the_plans(
    build: Build, run: RunProgram, plan_tasks: PlanTasks, tmp_path: Path
) -> None:
    """An executable whose globals are in another task's page does not start."""
    script = tmp_path / "globals.ld"
    tasks = {"one": (16384, 256, 4096), "two": (16384, 16384, 4096)}
    plan = plan_tasks("zen4", tasks, "--program-script", script, start=1 << 30)
    tasks_planned = partition_of(plan).principals
    starts = {run.start for each in tasks_planned for run in each.runs_of("globals")}
    text = script.read_text()
    moved = text.replace(f"{min(starts):#x}", f"{min(starts) + 4096:#x}")
    assert moved != text
    script.write_text(moved)
    done = run_with_globals(build, run, plan, script)
    assert done.status == 125
    assert re.search(r"the page at 0x4\w+ in the window of \w+ is mapped, but", done.stderr)


def settings_of(*principals: Principal, page_bytes: int = 4096) -> str:
    """The settings of a TLB of 4 sets."""
    structure = Structure(DATA, 4096, 0, (1, 2), 0)
    arrays = (Array("a", 4, 4, 4),)
    geometry = Geometry("", page_bytes, "user", "a test", None, arrays, (structure,))
    return Colors(Partition(geometry, 8, principals), "", True, {}).text(is_strict=False)


HEAP_RUN = PageRun("heap", START, 4096)
ONE = Principal("one", "isolated", ((0,),), (0,), START, 65536, 32768, (HEAP_RUN,), 0)
TWO = replace(ONE, name="two", sets=((1,),), window_start=START + 65536)


def test_damaged_settings_end_the_program() -> None:
    """A damaged partition is refused before main, with status 125 and the cause."""
    good = settings_of(ONE, TWO)
    assert _run_text(good) == 0
    stack = PageRun("stack", START + 32768, STACK_MIN)
    nine = replace(HEAP_RUN, size_bytes=9 * 4096)
    for text, cause in (
        ("", "damaged"),
        (f"2 {good}", "damaged"),
        (settings_of(page_bytes=4096), "damaged"),
        (settings_of(ONE, page_bytes=1 << 99), "damaged"),
        (settings_of(replace(ONE, sets=((0, 4),))), "a set that is none"),
        (settings_of(replace(ONE, runs=(nine,))), "too few pages"),
        (settings_of(replace(ONE, window_start=127 << 40)), "above the spill heap"),
        (settings_of(replace(ONE, sets=((),))), "too few pages"),
        (settings_of(replace(ONE, runs=(*ONE.runs, stack))), "needs sets of others"),
        (settings_of(ONE, replace(TWO, sets=((0,),))), "two tasks own"),
    ):
        assert _run_text(text, cause) == 125, text
    words = good.split()
    for place in range(len(words)):
        for wrong in ("x", "4294967295", "18446744073709551608", "8"):
            damaged = " ".join([*words[:place], wrong, *words[place + 1 :]])
            assert damaged == good or _run_text(damaged, "damaged") == 125, damaged
        assert _run_text(" ".join(words[:place]), "damaged") == 125, place


def _run_text(text: str, cause: str = "") -> int:
    """The exit status of `true` with these tasks in its settings; stderr has the cause."""
    with settings_variables(colors=text) as variables:
        done = subprocess.run(["/bin/true"], env=variables, capture_output=True, text=True)
    assert cause in done.stderr, done.stderr
    return done.returncode
