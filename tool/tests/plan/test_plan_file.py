"""Plan files are read back as written, equal plans are equal bytes, hostile files are refused.

Method: one mutation a rule of docs/spec/plan.md; the C header is compiled and given to the core.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from tautochrone.errors import TauError
from tautochrone.machine.core_build import Build
from tautochrone.facts import plan_format
from tautochrone.plan import file as planning
from tautochrone.plan.bounds import Bound, Bounds
from tautochrone.plan.build import Built
from tautochrone.plan.code import CodePlan, Recorded
from tautochrone.plan.file import (
    Plan,
    PlanClass,
    PlanTrace,
    load_plan,
    plan_text,
    save_plan,
    validate,
    with_margin,
)
from tautochrone.plan.header import header_text, save_header
from tautochrone.plan.pages import Pages
from tautochrone.plan.responses import Responses, TaskBound
from tautochrone.plan.sections import HEAP, NAMES, section_named
from tautochrone.plan.verified import Call, Run, Verified
from tautochrone.tlb.geometry import known_geometry
from tautochrone.tlb.partition import Partition, Principal
from tautochrone.tlb.partition import Run as TaskRun

ROOT = Path(__file__).resolve().parents[3]
TRACE = PlanTrace(
    name="php.tau",
    sha256="ab" * 32,
    events=1234,
    peak_live_bytes=56_000,
    abi="arm",
    translated_from="x86-64",
    incomplete="the recorder stopped early",
    program="php",
)
SECTIONS = {
    "build": Built(Build(1, "-O0", ("-fno-inline",)), (("m4", "gcc 12"),)),
    "verified": Verified(
        (Run("m4", "", "ab" * 32, "gcc 12", "php.tau", "cd" * 32, 65536, 1234, 184),),
        (Call("m4", "", "free", 221, 232), Call("m4", "", "calloc", 9, None)),
    ),
    "pages": Pages(heap_pages=40, frames=9, commit_pages=12, table_bytes=1292),
    "bounds": Bounds(
        "cd" * 32,
        (
            Bound("budget", "malloc", "rv32", "Os-check1", "instructions", 163),
            Bound("tile:rtmmu", "fault", "tile", "O2-check0", "cycles", 377),
        ),
    ),
    "tlb": Partition(
        known_geometry("tile-16x4"),
        4,
        (
            Principal(
                name="control",
                mode="no-miss",
                sets=((0, 1), (0, 1)),
                taken=(1, 0),
                window_start=1 << 31,
                window_bytes=1 << 16,
                heap_window_bytes=0,
                runs=(TaskRun("stack", 1 << 31, 8192),),
                largest_object_bytes=0,
            ),
        ),
    ),
    "code": CodePlan(
        threshold=0.999,
        planner="replayed",
        policy="round-robin",
        frames=16,
        frames_least=4,
        core_bytes=20_546,
        base_bytes=86_156,
        swappable_bytes=775_646,
        pages=202,
        expected_faults=34,
        lower_bound_faults=19,
        fault_instructions_max=2_000,
        code_sha256="12" * 32,
        fragment_sha256="34" * 32,
        recordings=(Recorded("boot.taucode", "56" * 32),),
    ),
}
PLAN = Plan(
    classes=(PlanClass(128, 3), PlanClass(24, 400)),
    heap_bytes=65_536,
    planner="replayed",
    optimal_within=0.0123,
    margin=0.1,
    layout="32",
    traces=(TRACE,),
    sections=SECTIONS,
)


def written(folder: Path, text: str) -> Path:
    """A file with this text."""
    path = folder / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_plan_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    save_plan(PLAN, tmp_path / "plan.toml", "tau plan php.tau", ("a note",))
    assert load_plan(tmp_path / "plan.toml") == PLAN
    assert (PLAN.dedicated_bytes, PLAN.shared_bytes) == (9984, 55_552)
    empty = replace(PLAN, classes=(), traces=(), margin=0.0, sections={})
    save_plan(empty, tmp_path / "empty.toml", "tau plan php.tau")
    assert load_plan(tmp_path / "empty.toml") == empty


def test_equal_plans_are_equal_bytes() -> None:
    assert plan_text(PLAN, "tau plan x") == plan_text(replace(PLAN), "tau plan x")


@pytest.mark.parametrize(
    "name", ['a"b\\c.tau', "line\nbreak.tau", "tab\t\x7f.tau", "\udcff.tau", "ü✓.tau", "#.tau"]
)
def test_any_file_name_gives_a_file_that_loads(tmp_path: Path, name: str) -> None:
    plan = replace(PLAN, traces=(TRACE._replace(name=name),))
    save_plan(plan, tmp_path / "plan.toml", f"tau plan {name}")
    clean = name.encode("utf-8", "replace").decode()
    assert load_plan(tmp_path / "plan.toml").traces[0].name == clean


# The old text, the new text, and a part of the message.
MUTATIONS = [
    ('format = "tautochrone plan"', 'format = "other"', "not a plan"),
    ('format = "tautochrone plan"', "", "not a plan"),
    ("version = 4", "version = 5", "newer version"),
    ("version = 4", "version = 3", "an earlier version"),
    ("version = 4", 'version = "1"', "version"),
    ("version = 4", "version = true", "version"),
    ("version = 4", "version = 0", "version"),
    ("version = 4", "version = 4\nsurprise = 1", "surprise is unknown"),
    ("[heap]", "[later]\nsets = 4\n[heap]", r"section \[later\] is unknown; this version has heap"),
    ("[heap]", "[[later]]\nsets = 4\n[heap]", r"section \[later\] is unknown"),
    ("[heap]", "[heap]\nversion = 2", r"\[heap\] has a newer version \(2; this is 1\)"),
    ("[pages]", "[pages]\nversion = 2", r"\[pages\] has a newer version \(2; this is 1\)"),
    ("[pages]", "[pages]\nversion = 0", "pages.version is 0"),
    ("[pages]", "[pages]\nversion = true", "pages.version is True"),
    ("[pages]", "[[pages]]", r"pages is there once, so it is written \[pages\]"),
    ("[bounds]", "[[bounds]]", "bounds is there once"),
    ("frames = 9", "frames = 13", "pages.frames is 13, more than pages.commit_pages, 12"),
    ("frames = 9", "frames = 0", "pages.frames is 0"),
    ("frames = 9", "", "pages.frames is missing"),
    ("frames = 9", "frames = 9\ncolors = 2", "pages.colors is unknown"),
    ("commit_pages = 12", "commit_pages = 41", "more than pages.heap_pages, 40"),
    ("heap_pages = 40", "heap_pages = 262145", "pages.heap_pages"),
    ("table_bytes = 1292", "table_bytes = 1292.0", "pages.table_bytes"),
    ('core_sha256 = "cdcd', 'core_sha256 = "cd', "bounds.core_sha256 .* hexadecimal"),
    ('target = "rv32"', 'target = "avr"', r"operations\[0\].target is 'avr', expected one of rv32"),
    ('unit = "cycles"', 'unit = "hours"', r"operations\[1\].unit"),
    ('system = "budget"', 'system = "a\\n#define B"', r"\[0\].system .* name of a system"),
    ("bound = 163", "bound = -1", r"operations\[0\].bound"),
    ("bound = 163", "limit = 163", r"operations\[0\].limit is unknown"),
    ("operations = [", "operations = [7,", r"operations\[0\] is not a table"),
    ("operations = [", "operations = 7 #", "bounds.operations is not a list|not a plan"),
    ("[heap]", "[heap]\nmystery = 1", "heap.mystery is unknown"),
    ("[heap]", "[other]", "lacks|other"),
    ('layout = "32"', 'layout = "16"', "heap.layout"),
    ('planner = "replayed"', 'planner = "guess"', "heap.planner"),
    ("margin = 0.1", "margin = -0.1", "heap.margin"),
    ("margin = 0.1", "margin = nan", "heap.margin"),
    ("margin = 0.1", "margin = inf", "heap.margin"),
    ("margin = 0.1", "margin = true", "heap.margin"),
    ("optimal_within = 0.0123", "optimal_within = 1.5", "heap.optimal_within"),
    ("heap_bytes = 65536", "heap_bytes = 9984", "shared_bytes"),
    ("heap_bytes = 65536", "heap_bytes = 100", "pools take 9,984 bytes"),
    ("heap_bytes = 65536", "heap_bytes = -1", "heap.heap_bytes"),
    ("heap_bytes = 65536", "heap_bytes = 65536.0", "heap.heap_bytes"),
    ("heap_bytes = 65536", f"heap_bytes = 1{'0' * 4000}", "beyond 128 bits|not a plan"),
    ("dedicated_bytes = 9984", "dedicated_bytes = 9992", "heap.dedicated_bytes"),
    ("shared_bytes = 55552", "shared_bytes = 1", "heap.shared_bytes"),
    ("size_bytes = 24", "size_bytes = 0", r"classes\[1\].size_bytes"),
    ("size_bytes = 24", "size_bytes = 18446744073709551615", r"classes\[1\].size_bytes"),
    ("size_bytes = 24", "size_bytes = 128", "same class"),
    ("size_bytes = 24", "size_bytes = 125", "same class"),
    ("count = 400", "count = 0", r"classes\[1\].count"),
    ("count = 400", "count = 4294967296", r"classes\[1\].count"),
    ("count = 400", "count = 4294967295", "pools take"),
    ("count = 400", "count = 400, color = 1", "color is unknown"),
    ("{ size_bytes = 24, count = 400 }", "7", r"classes\[1\] is not a table"),
    ("events = 1234", "events = -1", r"trace\[0\].events"),
    ('sha256 = "abab', 'sha256 = "ABAB', "hexadecimal"),
    ("[[trace]]", "[trace]", "not a list"),
    ("incomplete = ", "incomplete = 7 #", r"trace\[0\].incomplete"),
    ("[[trace]]", "[[trace]]\nextra = 1", "extra is unknown"),
]


@pytest.mark.parametrize(("old", "new", "cause"), MUTATIONS)
def test_hostile_files_are_refused_with_their_place(
    tmp_path: Path, old: str, new: str, cause: str
) -> None:
    text = plan_text(PLAN, "tau plan php.tau")
    assert old in text
    with pytest.raises(TauError, match=cause) as refused:
        load_plan(written(tmp_path, text.replace(old, new, 1)))
    assert "plan.toml" in refused.value.message
    assert refused.value.next_step


def test_too_many_classes_are_refused(tmp_path: Path) -> None:
    many = tuple(PlanClass(8 * (i + 1), 1) for i in range(65))
    with pytest.raises(TauError, match="65 classes"):
        validate(replace(PLAN, classes=many))
    rows = "".join(f"{{ size_bytes = {size}, count = 1 }}," for size, _ in many)
    text = re.sub(r"classes = \[.*?\n\]", f"classes = [{rows}]", plan_text(PLAN, ""), flags=re.S)
    with pytest.raises(TauError, match="65 classes"):
        load_plan(written(tmp_path, text))


def test_more_bounds_than_the_schema_allows_are_refused(tmp_path: Path) -> None:
    """Only the schema counts them, one more and no more."""
    built = ("m4", "Os-check1", "instructions")
    rows = tuple(Bound("tlsf", f"call_{i}", *built, i) for i in range(257))
    for count in (256, 257):
        plan = replace(PLAN, sections={"bounds": Bounds("cd" * 32, rows[:count])})
        path = written(tmp_path, plan_text(plan, ""))
        if count == 256:
            assert load_plan(path) == plan
            continue
        with pytest.raises(TauError, match="bounds.operations has 257 operations; at most 256"):
            load_plan(path)


def test_an_empty_list_of_bounds_is_refused(tmp_path: Path) -> None:
    text = re.sub(r"operations = \[.*?\n\]", "operations = []", plan_text(PLAN, ""), flags=re.S)
    with pytest.raises(TauError, match=r"bounds\.operations is empty"):
        load_plan(written(tmp_path, text))


def test_files_that_are_not_text_or_not_toml_are_refused(tmp_path: Path) -> None:
    for data in (
        b"\xff\xfe\x00",
        b"= = =",
        b"x = " + b"[" * 100_000,
        b"x = 1\nx = 2",
        b"a" * (planning.FILE_BYTES_MAX + 1),
    ):
        (tmp_path / "plan.toml").write_bytes(data)
        with pytest.raises(TauError, match="not a plan"):
            load_plan(tmp_path / "plan.toml")
    with pytest.raises(TauError, match="no such file"):
        load_plan(tmp_path / "missing.toml")
    with pytest.raises(TauError):
        load_plan(tmp_path)


@pytest.mark.parametrize("seed", range(200))
def test_damaged_files_never_raise_anything_else(tmp_path: Path, seed: int) -> None:
    """Random bytes changed, cut or doubled: the result loads as a valid plan or is refused."""
    print(f"seed {seed}")
    source = random.Random(seed)
    data = bytearray(plan_text(PLAN, "tau plan php.tau").encode())
    for _ in range(source.randrange(1, 4)):
        at = source.randrange(len(data))
        kind = source.randrange(3)
        if kind == 0:
            data[at] = source.randrange(256)
        elif kind == 1:
            del data[at : at + source.randrange(1, 40)]
        else:
            data[at:at] = data[at : at + source.randrange(1, 40)]
    (tmp_path / "plan.toml").write_bytes(bytes(data))
    try:
        validate(load_plan(tmp_path / "plan.toml"))
    except TauError as refused:
        assert refused.next_step


def test_a_bound_that_is_stated_twice_is_refused(tmp_path: Path) -> None:
    (first, second) = SECTIONS["bounds"].operations
    twice = Bounds("cd" * 32, (first, second, first._replace(bound=1)))
    text = plan_text(replace(PLAN, sections={"bounds": twice}), "")
    said = r"malloc of budget on rv32 \(Os-check1\), in instructions twice"
    with pytest.raises(TauError, match=said):
        load_plan(written(tmp_path, text))


def test_what_is_newer_leads_to_a_newer_tool(tmp_path: Path) -> None:
    for old, new in (("version = 4", "version = 5"), ("[heap]", "[later]\n[heap]")):
        with pytest.raises(TauError) as refused:
            load_plan(written(tmp_path, plan_text(PLAN, "").replace(old, new, 1)))
        assert refused.value.next_step.startswith("install a newer tautochrone")


def test_each_section_of_the_schema_has_a_module_and_each_module_a_section() -> None:
    """A section is one table and one file, which may be in a folder of its own: neither is listed
    anywhere else."""
    schema = plan_format.SECTIONS
    assert list(schema) == [HEAP, *NAMES]
    tasks = Responses(6, 471, 643, 211, (TaskBound("a", 100, 10, 20), TaskBound("b", 100, 90)))
    values = SECTIONS | {"bounds": SECTIONS["bounds"]._replace(tasks=tasks)}
    values["build"] = Built(Build(alignment_bytes=4, statistics=False), SECTIONS["build"].compilers)
    for name in NAMES:
        table = section_named(name).to_table(values[name])
        keys = [key for key, fact in schema[name].items() if isinstance(fact, dict)]
        assert list(table) == keys
        assert section_named(name).from_table(table) == values[name]
    folder = ROOT / "tool" / "tautochrone" / "plan"
    modules = {path.stem for path in folder.glob("*.py") if "def rule_broken" in path.read_text()}
    modules |= {path.parent.name for path in folder.glob("*/section.py")}
    assert modules - {"sections"} == set(NAMES)


def test_a_plan_has_the_keys_of_the_schema() -> None:
    heap = plan_format.SECTIONS[HEAP]
    assert set(heap["layout"]["values"]) == set(planning.ALIGNMENT_BYTES)
    counts = {"recorded_counts": (1,), "stated_counts": (0,)}
    whole = replace(PLAN, margin_source="spread", spread=0.02, **counts)
    document = tomllib.loads(plan_text(whole, ""))
    assert {"version", *document["heap"]} == set(heap)
    assert set(document["trace"][0]) == set(plan_format.TRACE)
    assert set(document["heap"]["classes"][0]) == {"size_bytes", "count"}


def test_a_plan_replaces_a_file_only_if_told(tmp_path: Path) -> None:
    """Neither a recording nor an older plan; the same for headers."""
    for save in (save_plan, save_header):
        path = tmp_path / save.__name__
        path.write_bytes(b"precious")
        with pytest.raises(TauError, match="exists"):
            save(PLAN, path, "tau plan")
        assert path.read_bytes() == b"precious"
        save(PLAN, path, "tau plan", force=True)
        assert str(PLAN.heap_bytes) in path.read_text()
    with pytest.raises(TauError, match="is missing"):
        save_plan(PLAN, tmp_path / "none" / "p.toml", "tau plan")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["save_header", "save_plan"]


def test_the_margin_is_exact_and_rounded_up() -> None:
    """[PLAN-6]"""
    assert with_margin(1000, 0.0, "32") == 1000
    assert with_margin(1000, 0.1, "32") == 1104
    assert with_margin(1000, 0.1, "host") == 1112
    assert with_margin(80, 0.1, "32") == 88
    assert with_margin(3 << 40, 0.3, "32") % 8 == 0


def test_a_version_of_a_section_is_written_when_there_is_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = plan_format.SECTIONS["pages"]
    monkeypatch.setitem(facts, "version", 2)
    text = plan_text(PLAN, "")
    assert "[pages]\nversion = 2\n" in text and text.count("version =") == 5
    assert load_plan(written(tmp_path, text)) == PLAN


HEADER_USER = """
#include "plan.h"
static _Alignas(TAU_ALIGNMENT) unsigned char memory[TAU_PLAN_HEAP_BYTES];
int main(void) {
    struct tau_budget *heap;
    if (tau_budget_init(&heap, memory, sizeof memory, tau_plan_classes, TAU_PLAN_CLASSES_COUNT)) {
        return 1;
    }
    void *object = tau_budget_malloc(heap, 24);
    return object == 0 || tau_budget_free(heap, object) != 0 ? 2 : 0;
}
"""


@pytest.mark.parametrize("classes", [PLAN.classes, ()])
def test_the_header_compiles_and_starts_a_heap(
    tmp_path: Path, classes: tuple[PlanClass, ...]
) -> None:
    assert shutil.which("cc"), "a C compiler is part of the set-up"
    plan = replace(PLAN, classes=classes)
    save_header(plan, tmp_path / "plan.h", "tau plan")
    (tmp_path / "user.c").write_text(HEADER_USER)
    warnings = ["-std=c17", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    words = ["-DTAU_WORD_BITS=32", f"-I{ROOT}", f"-I{tmp_path}"]
    program = tmp_path / "user"
    sources = [str(tmp_path / "user.c"), str(ROOT / "core" / "tau.c")]
    command = ["cc", *warnings, *words, *sources, "-o", str(program)]
    subprocess.run(command, check=True, timeout=300)
    subprocess.run([str(program)], check=True, timeout=300)


LANGUAGES = {"c": ["gcc", "-std=c17", "-x", "c"], "c++": ["g++", "-std=c++17", "-x", "c++"]}
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("before", [(), ("core/budget.h",), ("core/config.h",), ("core/tlsf.h",)])
@pytest.mark.parametrize("after", [(), ("core/budget.h", "core/config.h")])
def test_the_header_compiles_in_any_order(
    tmp_path: Path, language: str, before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    save_header(PLAN, tmp_path / "plan.h", "tau plan")
    included = "".join(f'#include "{name}"\n' for name in (*before, "plan.h", *after))
    (tmp_path / "user").write_text(included + "unsigned count = TAU_PLAN_CLASSES_COUNT;\n")
    words = ["-DTAU_WORD_BITS=32", f"-I{ROOT}", f"-I{tmp_path}", str(tmp_path / "user")]
    command = [*LANGUAGES[language], *STRICT, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


def test_a_header_of_another_layout_does_not_compile(tmp_path: Path) -> None:
    text = header_text(replace(PLAN, layout="host"), "tau plan")
    (tmp_path / "plan.h").write_text(text + "int unused;\n")
    command = ["cc", "-fsyntax-only", "-DTAU_WORD_BITS=32", f"-I{ROOT}", str(tmp_path / "plan.h")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode != 0
    assert "this plan is for a 64-bit machine" in done.stderr
