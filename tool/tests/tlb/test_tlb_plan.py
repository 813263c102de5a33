"""`tau tlb plan` from the command line: the plan, its header in the core, its linker scripts, and
what it refuses."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

from tautochrone.errors import EXIT_FAILED, EXIT_LIMIT_EXCEEDED, EXIT_USAGE, TauError
from tautochrone.facts import geometry_format
from tautochrone.plan.file import load_any_plan, load_plan, plan_text, without_heap
from tautochrone.tlb.geometry import known_geometry
from tautochrone.tlb.in_c import MODES, geometry_row, partition_row
from tautochrone.tlb.partition import CODE, GLOBALS, HEAP, PARTS, STACK, UNCOLORED, Run, roles_of
from tautochrone.tlb.planning.planner import plan_partition
from testing.command import tau
from testing.random_trace import MALLOC, write_events
from tool.tests.tlb.task_files import HEAD, KERNEL, PAGE, task, task_set
from tool.tests.tlb.test_geometry import GOOD as OWN_GEOMETRY

ROOT = Path(__file__).resolve().parents[3]
SECONDS_MAX = 300
THREE = KERNEL + task("control") + task("sensor-2") + task("logger", "heap_bytes = 40000")


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.toml"
    path.write_text(HEAD + THREE, encoding="utf-8")
    return path


def document(*words: str | Path) -> dict[str, Any]:
    done = tau(*words, "--json")
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_the_json_has_everything(tasks: Path) -> None:
    """Every field, and the same in the plan file."""
    plan = tasks.with_name("plan.toml")
    found = document("tlb", "plan", tasks, "--geometry", "tile-16x4", "-o", plan)
    assert (found["version"], found["command"]) == (1, "tlb plan")
    assert found["geometry_sha256"] == known_geometry("tile-16x4").digest()
    assert [each["name"] for each in found["principals"]] == [
        *("control", "sensor-2", "logger", "kernel")
    ]
    for each in found["principals"]:
        assert set(each) >= {
            *("name", "sets", "window", "runs", "largest_object_bytes", "entries_used"),
            *("entries_safe", "mode"),
        }
        assert 0 < each["entries_used"] <= each["entries_safe"]
        assert set(each["sets"]) == {"data", "instructions"}
    assert found["not_fitting"] == []
    assert found["address_space_bytes"] >= found["mapped_bytes"] > 0
    assert found["page_table_bytes"] % PAGE == 0
    partition = load_any_plan(plan).sections["tlb"]
    assert [each.name for each in partition.principals] == [
        each["name"] for each in found["principals"]
    ]
    checked = tau("check", plan)
    assert checked.returncode == 0 and "no problems" in checked.stdout


def test_equal_input_gives_equal_bytes(tasks: Path) -> None:
    """And the text for people names each principal."""
    files = [tasks.with_name(name) for name in ("one.toml", "two.toml")]
    for path in files:
        done = tau("tlb", "plan", tasks, "--geometry", "zen4", "-o", path)
        assert done.returncode == 0, done.stderr
    assert files[0].read_bytes() == files[1].read_bytes()
    for name in ("control", "sensor-2", "logger", "kernel"):
        assert f"{name}: no-miss, " in done.stdout
    assert "  heap: 40,960 bytes, objects up to " in done.stdout
    assert "shares of the sets free; a share is " in done.stdout
    to_stdout = tau("tlb", "plan", tasks, "--geometry", "zen4", "-o", "-")
    assert to_stdout.stdout.encode() == files[0].read_bytes()


def test_a_geometry_of_the_user(tasks: Path) -> None:
    """The plan holds it, so that the file is not needed to check the plan."""
    own = tasks.with_name("own.toml")
    own.write_text(OWN_GEOMETRY, encoding="utf-8")
    plan = tasks.with_name("plan.toml")
    tasks.write_text(HEAD + task("a", "heap_bytes = 0", 'mode = "isolated"'), encoding="utf-8")
    found = document("tlb", "plan", tasks, "--geometry", own, "-o", plan)
    assert found["geometry"] == "own"
    own.unlink()
    assert tau("check", plan).returncode == 0


# ---- refusals -----------------------------------------------------------------------------------


def test_a_task_that_does_not_fit_leaves_nothing(tasks: Path) -> None:
    """Exit status 3, the reason, and no file."""
    many = "".join(task(f"t{number}") for number in range(17))
    tasks.write_text(HEAD + many, encoding="utf-8")
    plan, scripts = tasks.with_name("plan.toml"), tasks.with_name("scripts")
    words = ("tlb", "plan", tasks, "--geometry", "tile-16x4", "-o", plan)
    done = tau(*words, "--linker-scripts", scripts, "--json")
    assert done.returncode == EXIT_LIMIT_EXCEEDED
    assert "t16 does not fit: it needs 1 share of sets in a row" in done.stderr
    assert "next: " in done.stderr
    (misfit,) = json.loads(done.stdout)["not_fitting"]
    assert misfit["name"] == "t16" and misfit["cause"]
    assert not plan.exists() and not scripts.exists()


def test_wrong_input_is_refused(tasks: Path) -> None:
    """With cause and next step, and nothing written."""
    plan = tasks.with_name("plan.toml")
    wrong = tasks.with_name("wrong.toml")
    wrong.write_text(OWN_GEOMETRY.replace("\nways = 2", "\nways = 0"), encoding="utf-8")
    for geometry, code, said in (
        ("zen9", EXIT_USAGE, "unknown geometry zen9"),
        (wrong, EXIT_FAILED, "wrong.toml:10: array[0].ways is 0, expected an integer from 1"),
        (tasks.with_name("missing.toml"), EXIT_FAILED, "missing.toml: no such file"),
    ):
        done = tau("tlb", "plan", tasks, "--geometry", geometry, "-o", plan)
        assert done.returncode == code and said in done.stderr, done.stderr
        assert "next: " in done.stderr and "Traceback" not in done.stderr
        assert not plan.exists()
    tasks.write_text(HEAD + task("a", stack=64), encoding="utf-8")
    done = tau("tlb", "plan", tasks, "--geometry", "tile-16x4", "-o", plan)
    assert done.returncode == EXIT_FAILED and not plan.exists()
    assert "tasks.toml:7: task[0].stack_bytes is 64, expected an integer from 256" in done.stderr
    assert tau("tlb", "plan", tasks).returncode == EXIT_USAGE


def test_existing_files_are_kept(tasks: Path) -> None:
    plan = tasks.with_name("plan.toml")
    plan.write_text("mine", encoding="utf-8")
    words = ("tlb", "plan", tasks, "--geometry", "tile-16x4", "-o", plan)
    done = tau(*words)
    assert done.returncode == EXIT_USAGE and "exists" in done.stderr
    assert plan.read_text(encoding="utf-8") == "mine"
    assert tau(*words, "--force").returncode == 0
    itself = tau("tlb", "plan", tasks, "--geometry", "tile-16x4", "-o", tasks, "--force")
    assert itself.returncode == EXIT_USAGE and "are the same file" in itself.stderr


def recorded(folder: Path, cut_bytes: int = 0) -> tuple[Path, Path]:
    """A file of two tasks that name one recording, and it, without its last bytes."""
    trace = write_events(folder / "a.tau", [(MALLOC, slot, 100, 0) for slot in range(50)])
    trace.write_bytes(trace.read_bytes()[: trace.stat().st_size - cut_bytes])
    path = folder / "tasks.toml"
    heap = 'recordings = ["a.tau"]'
    path.write_text(HEAD + task("a", heap) + task("b", heap, 'program = "b.c"'), encoding="utf-8")
    return path, trace


def test_an_incomplete_recording_is_noted(tmp_path: Path) -> None:
    """Once, however many tasks name it; by `tau check` too."""
    plan = ("tlb", "plan", tmp_path / "tasks.toml", "--geometry", "tile-16x4")
    for cut_bytes, words in ((0, ""), (1, "the footer is damaged; every event was recovered")):
        path, trace = recorded(tmp_path, cut_bytes)
        for done in (tau(*plan), tau("check", path)):
            assert done.returncode == 0, done.stderr
            assert done.stderr == (f"tau: {trace}: {words}\n" if words else "")
    path, trace = recorded(tmp_path, 300)
    for done in (tau(*plan), tau("check", path)):
        assert done.returncode == EXIT_FAILED
        assert f"tau: {trace}: the footer is missing or damaged: recovered up to" in done.stderr


def test_a_file_that_tasks_name_is_not_an_output(tmp_path: Path) -> None:
    """Recordings and programs are read, so they are never replaced."""
    path, trace = recorded(tmp_path)
    program = tmp_path / "b.c"
    program.write_text("int a;")
    before = trace.read_bytes()
    for option, name in (("-o", trace), ("--header", program), ("-o", program)):
        words = ("tlb", "plan", path, "--geometry", "tile-16x4", option, name, "--force")
        done = tau(*words)
        assert done.returncode == EXIT_USAGE and "are the same file" in done.stderr, done.stderr
    assert trace.read_bytes() == before and program.read_text() == "int a;"


def test_commands_that_need_a_heap_refuse_the_plan(tmp_path: Path) -> None:
    partition = plan_partition(task_set(tmp_path, THREE), known_geometry("zen4")).partition
    plan = tmp_path / "plan.toml"
    plan.write_text(plan_text(without_heap({"tlb": partition}), ""), encoding="utf-8")
    with pytest.raises(TauError, match=r"a plan without \[heap\]; it has \[tlb\]") as caught:
        load_plan(plan)
    assert caught.value.next_step


# Old text of a plan, new text, message.
DAMAGED = [
    ('mode = "no-miss"', 'mode = "safe"', "tlb.principals[0].mode is 'safe', expected one of"),
    ("safe_ways = 4", "safe_ways = 3", "geometry_sha256 does not match its arrays"),
    ("safe_ways = 4", "safe_ways = 5", "[tlb]: array[0].safe_ways: 5 of 4 ways are too many"),
    ('"0x1", "0x2"', '"0x1", "0x1"', "[tlb]: structure[0].rows[1]: the exclusive or of rows"),
    ('sets = ["5", ', 'sets = ["4", ', "belongs to control and to sen"),
    ('sets = ["5", ', 'sets = ["99", ', "owns set 99 of data, which"),
    ('sets = ["5", ', 'sets = ["5", "5", ', "has not sets and taken of each array"),
    ('runs = ["stack', 'runs = ["pile', "tlb.principals[0].runs[0] is 'pile 0x"),
    ("page_table_bytes = ", "page_table_bytes = 1", "but its runs need"),
    (" 4096\"", " 140737488355328\"", "the runs have more than 1,048,576 p"),
    ("window_bytes = ", "window_bytes = 70368744", "the window of control has more than 1,048,576"),
    ("word_bytes = 4", "word_bytes = 6", "word_bytes is 6, not 4 or 8"),
    ("largest_object_bytes = 4076", "largest_object_bytes = 4077", "the largest object of control"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), DAMAGED, ids=[each[2] for each in DAMAGED])
def test_a_damaged_plan_is_found(tmp_path: Path, old: str, new: str, said: str) -> None:
    """By `tau check`, with the cause."""
    partition = plan_partition(task_set(tmp_path, THREE), known_geometry("tile-16x4")).partition
    text = plan_text(without_heap({"tlb": partition}), "")
    assert old in text
    plan = tmp_path / "plan.toml"
    plan.write_text(text.replace(old, new, 1), encoding="utf-8")
    done = tau("check", plan)
    assert done.returncode == EXIT_FAILED and said in done.stdout, done.stdout + done.stderr


# ---- the header and the linker scripts ----------------------------------------------------------

# Prints status, pages and runs of each principal as the core finds them.
USER = """
#include "plan.h"
#include <stdio.h>
int main(void) {
    static uint32_t bits[1u << 16];
    printf("check %d\\n", tau_tlb_color_check(&tau_plan_tlb_partition));
    for (uint32_t i = 0; i < TAU_PLAN_TLB_PRINCIPALS_COUNT; i++) {
        struct tau_tlb_color heap;
        struct tau_tlb_color_run run = {0, 0};
        if (tau_plan_tlb_principals[i].windows[0].pages_count == 0) {
            continue;
        }
        printf("init %d\\n",
               tau_tlb_color_init(&heap, &tau_plan_tlb_partition, i, 0, bits, 1u << 16));
        while (tau_tlb_color_next_run(&heap, &run)) {
            printf("%u %ju %zu\\n", i, (uintmax_t)run.start, run.size_bytes);
        }
    }
    const struct tau_tlb_color_part *const part =
        tau_plan_tlb_principals[TAU_PLAN_TLB_CONTROL].parts;
    printf("stack %d %ju\\n", part->use == TAU_TLB_COLOR_STACK_PAGES, (uintmax_t)part->start);
    return 0;
}
"""


def compiled(source: Path, made: Path, *words: str | Path) -> Path:
    """MADE from SOURCE, with every warning that our users may have turned on."""
    warnings = ["-std=c17", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    command = ["cc", *warnings, "-DTAU_WORD_BITS=32", f"-I{ROOT}", *map(str, words), str(source)]
    subprocess.run([*command, "-o", str(made)], check=True, timeout=SECONDS_MAX)
    return made


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The core's object file."""
    return compiled(ROOT / "core/tau.c", tmp_path_factory.mktemp("core") / "tau.o", "-c")


@pytest.mark.parametrize("name", geometry_format.GEOMETRIES)
def test_the_core_takes_the_header(tmp_path: Path, core: Path, name: str) -> None:
    """It accepts the partition, and finds the planned runs."""
    modes = THREE.replace("code_bytes = 4096", 'code_bytes = 4096\nmode = "isolated"')
    tasks = task_set(tmp_path, modes)
    partition = plan_partition(tasks, known_geometry(name)).partition
    header = tmp_path / "plan.h"
    words: list[str | Path] = ["tlb", "plan", tasks.path, "--geometry", name, "--header", header]
    done = tau(*words)
    if done.returncode == EXIT_LIMIT_EXCEEDED:
        assert "kernel does not fit" in done.stderr  # which is no-miss, where one way is safe
        return
    (tmp_path / "user.c").write_text(USER, encoding="utf-8")
    program = compiled(tmp_path / "user.c", tmp_path / "user", f"-I{tmp_path}", core)
    said = subprocess.run([str(program)], check=True, timeout=300, capture_output=True, text=True)
    wanted = ["check 0"]
    for number, each in enumerate(partition.principals):
        runs = each.runs_of("heap")
        wanted += ["init 0"] if runs else []
        wanted += [f"{number} {run.start} {run.size_bytes}" for run in runs]
    wanted.append(f"stack 1 {partition.principals[0].runs_of(STACK)[0].start}")
    assert said.stdout.split("\n")[:-1] == wanted


@pytest.mark.parametrize("is_uncolored", [False, True])
def test_the_rows_for_c_have_the_windows(tmp_path: Path, is_uncolored: bool) -> None:
    """They lie side by side. The lowest is the heap's; a task without sets has only one."""
    one, other = task("a", more='mode = "isolated"'), task("sensor-2", "heap_bytes = 40000")
    tasks, zen4 = task_set(tmp_path, KERNEL, one, other), known_geometry("zen4")
    partition = plan_partition(tasks, zen4, is_uncolored=is_uncolored).partition
    first, *others = partition.principals
    wide = replace(first, window_bytes=8 * first.window_bytes)
    partition = replace(partition, principals=(wide, *others))
    _, rows, _ = partition_row(partition)
    for value, (_, windows, _, _, _, name, _) in zip(partition.principals, rows, strict=True):
        ends = [start + (1 << size) for start, size, *_ in windows]
        assert [start for start, *_ in windows] == [value.window_start, *ends[:-1]], name
        assert (name, ends[-1]) == (value.name, value.window_start + value.window_bytes)
        (_, size, _, mode, pages), *rest = windows
        if value.heap_window_bytes and not is_uncolored:
            assert (1 << size, MODES[mode]) == (value.heap_window_bytes, value.mode)
            assert pages * PAGE == value.bytes_of(HEAP) and rest
        else:
            assert not rest and mode == pages == 0
        assert all(each[3:] == (0, 0) for each in rest)
    modes = [each.mode for each in partition.principals[:2]]
    assert modes == ([UNCOLORED] * 2 if is_uncolored else [*MODES])


def test_the_rows_for_c_have_the_size_of_each_structures_pages() -> None:
    """Larger ones are those of large pages and of tables."""
    for name in geometry_format.GEOMETRIES:
        geometry = known_geometry(name)
        found = [1 << page_log2 for _, _, _, page_log2, _ in geometry_row(geometry)[1]]
        assert found == [each.page_bytes for each in geometry.structures]


def test_totals_of_a_partition(tmp_path: Path) -> None:
    """On words of 64 bits, and where fewer ways are safe than there are; only code is code."""
    assert [part for part in PARTS if roles_of(part) == roles_of(CODE)] == [CODE]
    tasks, zen4 = task_set(tmp_path, KERNEL, task("a")), known_geometry("zen4")
    found = plan_partition(tasks, zen4).partition
    (a, kernel), at = found.principals, 1 << 40
    run = Run(GLOBALS, at, PAGE)
    next_table = replace(run, start=at + PAGE // 8 * PAGE)
    two = replace(found, word_bytes=8, principals=(replace(a, runs=(run, next_table)),))
    assert two.page_table_bytes == two.mapped_bytes == 2 * PAGE
    assert found.address_space_bytes == a.window_bytes + kernel.window_bytes
    assert found.entries_safe(a) == sum(
        zen4.arrays[index].safe_ways * len(sets) for index, sets in enumerate(a.sets)
    )
    assert any(each.safe_ways != each.ways for each in zen4.arrays) and kernel.name == "kernel"


PROGRAM = """
const char text[] = "constants count as globals";
int table[900] = {1};
int zero[800];
extern char tau_stack_end[];
__attribute__((noinline)) int one(int a) { return a + table[a]; }
__attribute__((noinline)) int two(int a) { return a * zero[a]; }
void _start(void) { zero[0] = one(text[1]) + two(1) + (int)tau_stack_end; }
"""


def test_a_linker_script_puts_everything_into_the_runs(tmp_path: Path) -> None:
    """Two pages of globals are in two runs, and each allocated section is in one of its part."""
    tasks = task_set(tmp_path, task("a", globals=2 * PAGE))
    folder = tmp_path / "new/scripts"
    words = ("tlb", "plan", tasks.path, "--geometry", "tile-16x4", "--linker-scripts", folder)
    fixed = '\nsets = [{ array = "data", count = 1 }]\nmode = "isolated"'
    tasks.path.write_text(HEAD + task("a", more=fixed, globals=2 * PAGE), encoding="utf-8")
    found = document(*words)
    (tmp_path / "a.c").write_text(PROGRAM, encoding="utf-8")
    flags = ["-march=rv32imc", "-mabi=ilp32", "-Os", "-nostdlib", "-fno-pic"]
    sections = ["-ffunction-sections", "-fdata-sections"]
    regions = ["-Wl,--enable-non-contiguous-regions", "-Wl,-T", f"-Wl,{folder / 'a.ld'}"]
    elf = tmp_path / "a.elf"
    command = ["riscv64-unknown-elf-gcc", *flags, *sections, *regions, str(tmp_path / "a.c")]
    subprocess.run([*command, "-o", str(elf)], check=True, timeout=SECONDS_MAX)
    runs = found["principals"][0]["runs"]
    used = set()
    with elf.open("rb") as stream:
        for section in ELFFile(stream).iter_sections():
            if not section["sh_flags"] & 2 or section["sh_size"] == 0:
                continue
            part = CODE if section["sh_flags"] & 4 else GLOBALS
            (run,) = (
                run
                for run in runs
                if run["part"] == part
                and run["start"] <= section["sh_addr"]
                and section["sh_addr"] + section["sh_size"] <= run["start"] + run["size_bytes"]
            )
            used.add(run["start"])
    assert len(used) == 3  # two pages of globals, one of code
