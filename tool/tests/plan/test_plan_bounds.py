"""[bounds]: they are the longest paths of the linked code, and another core is noticed by number.

Method: the core's sources and the bounds of one system are replaced by others.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest

from tautochrone import native
from tautochrone.machine.core_build import Build
from tautochrone.plan import bounds
from tautochrone.plan import build as built
from tautochrone.plan.bounds import Bound, Bounds, core_sha256
from tautochrone.plan.checking import check_plan
from tautochrone.plan.file import Plan, PlanClass, load_plan, save_plan
from tautochrone.plan.header import save_header
from tautochrone.plan.pages import Pages, table_bytes
from tautochrone.plan.sections import Basis
from tautochrone.replay.emulator import count
from tautochrone.replay.paging import page_replay
from tautochrone.targets import build
from testing.command import tau_done
from testing.paging_reference import TOUCH, events_with_touches
from testing.random_trace import FREE, MALLOC, random_trace, write_events
from tool.tests.plan import plan_traces

ROOT = Path(__file__).resolve().parents[3]
said: list[tuple[str, str | None]] = []


def basis_of(system: str = "tlsf", **sections: object) -> Basis:
    """A basis without recordings; its notes are collected in `said`."""
    return plan_traces.basis_of(said, system=system, sections=sections)


@pytest.fixture(autouse=True)
def afresh() -> None:
    """Forget notes and results of the test before."""
    said.clear()
    bounds.bounds_on.cache_clear()
    core_sha256.cache_clear()


def keys(made: Bounds) -> set[tuple[str, str]]:
    """Systems with their targets."""
    return {(row.system, row.target) for row in made.operations}


def test_the_plans_systems_are_bounded_on_their_targets() -> None:
    heap = {("tlsf", "rv32"), ("tlsf", "m4")}
    budget = {("budget", "rv32"), ("budget", "m4")}
    on_pages = {("rtvm", "rv32"), ("tile:rtmmu", "tile")}
    assert keys(bounds.make(basis_of())) == heap
    assert keys(bounds.make(basis_of("budget"))) == budget
    assert keys(bounds.make(basis_of("budget", pages=1))) == budget | on_pages
    assert keys(bounds.make(basis_of("pools"))) == {("pools", "rv32"), ("pools", "m4")}
    assert said == []


def test_bounds_are_those_that_replay_states(tmp_path: Path) -> None:
    """The same numbers as a replay states, and no call exceeds them."""
    made = bounds.make(basis_of(pages=1))
    found = {(*row[:3], row.unit): row.bound for row in made.operations}
    counts = count(random_trace(tmp_path / "t.tau", 3), "tlsf", "rv32", build=Build())
    for verb in ("malloc", "free", "calloc"):
        assert found["tlsf", verb, "rv32", "instructions"] == counts[verb].bound
        assert found["tlsf", verb, "rv32", "accesses"] == counts[verb].bound_accesses
    trace = write_events(tmp_path / "a.tau", events_with_touches(5, events=1000))
    for kind, calls in page_replay(trace, "rtvm").calls.items():
        assert found["rtvm", kind, "rv32", "instructions"] == calls.bound_instructions
        assert found["rtvm", kind, "rv32", "accesses"] == calls.bound_accesses
    units = {(row.target, row.unit) for row in made.operations}
    assert units == {
        *(("rv32", "instructions"), ("rv32", "accesses"), ("m4", "instructions")),
        ("tile", "cycles"),
    }


def planned(folder: Path, value: Bounds) -> Path:
    """A plan file with these bounds."""
    path = folder / "plan.toml"
    save_plan(Plan((), 4096, "greedy", 0.0, sections={"bounds": value}), path, "", force=True)
    return path


def causes(path: Path) -> list[str]:
    """What `tau check` finds, all of it in [bounds]."""
    kind, problems = check_plan(path, path.read_bytes())
    assert kind == "plan" and {problem.place for problem in problems} <= {"bounds"}
    return [problem.cause for problem in problems]


def test_a_bound_that_moved_is_told_by_how_much(tmp_path: Path) -> None:
    made = bounds.make(basis_of())
    assert causes(planned(tmp_path, made)) == []
    first, *others = made.operations
    higher = Bounds(made.core_sha256, (first._replace(bound=first.bound + 7), *others))
    (cause,) = causes(planned(tmp_path, higher))
    assert cause == (
        "made with another compiler: malloc of tlsf on rv32 (Os-check1), in instructions:"
        f" now {first.bound}, the plan says {first.bound + 7} (-7)"
    )
    lower = Bounds("00" * 32, (first._replace(bound=first.bound - 1), *others))
    (cause,) = causes(planned(tmp_path, lower))
    assert cause.startswith("made from another core (000000000000…, this is ")
    assert cause.endswith("(+1)")
    (missing,) = causes(planned(tmp_path, Bounds(made.core_sha256, tuple(others))))
    assert f"now {first.bound}, the plan has no bound" in missing
    gone = Bounds(made.core_sha256, (*made.operations, first._replace(operation="move", bound=3)))
    (cause,) = causes(planned(tmp_path, gone))
    said_of = "move of tlsf on rv32 (Os-check1), in instructions"
    assert f"{said_of}, no longer has a bound; the plan says 3" in cause


def test_a_bound_changed_by_hand_is_told_from_one_of_another_compiler(tmp_path: Path) -> None:
    made, section = bounds.make(basis_of()), built.make(basis_of())
    first, *others = made.operations
    changed = made._replace(operations=(first._replace(bound=first.bound + 7), *others))
    path = tmp_path / "plan.toml"
    older = tuple((target, "gcc 1.0") for target, _ in section.compilers)
    for compilers, reason in ((section.compilers, "changed by hand, or"), (older, "made with an")):
        sections = {"build": section._replace(compilers=compilers), "bounds": changed}
        plan = Plan((), 4096, "greedy", 0.0, sections=sections)
        save_plan(plan, path, "", force=True)
        found = [each.cause for each in check_plan(path, path.read_bytes())[1]]
        assert [cause for cause in found if cause.endswith(" (-7)")][0].startswith(reason)


def test_a_build_changed_by_hand_is_one_cause(tmp_path: Path) -> None:
    made = bounds.make(basis_of())
    rows = tuple(row._replace(build="O2-check0") for row in made.operations)
    assert causes(planned(tmp_path, made._replace(operations=rows))) == [
        f"the bounds of tlsf on {target} are of O2-check0, but the plan states a build of"
        " Os-check1: run tau plan with --build again"
        for target in ("rv32", "m4")
    ]


def test_another_core_with_the_same_bounds_is_accepted(tmp_path: Path) -> None:
    made = bounds.make(basis_of())
    assert causes(planned(tmp_path, made._replace(core_sha256="00" * 32))) == []


@pytest.mark.parametrize("name", ["nobody", "glibc", "tile:rtmmu:slow"])
def test_a_system_without_bounds_is_a_problem(tmp_path: Path, name: str) -> None:
    wrong = Bound(name, "malloc", "rv32", "Os-check1", "instructions", 1)
    made = Bounds("00" * 32, (*bounds.make(basis_of()).operations, wrong))
    (cause,) = causes(planned(tmp_path, made))
    assert f"{name} has no bounds on rv32" in cause


def test_a_target_or_a_system_without_a_row_is_a_problem(tmp_path: Path) -> None:
    """Each pair of a system of the plan and its target in turn, then whole systems."""
    made = bounds.make(basis_of("budget", pages=1))
    pages = Pages(heap_pages=40, frames=9, commit_pages=30, table_bytes=table_bytes(40))
    path = tmp_path / "plan.toml"

    def missing(rows: tuple[Bound, ...]) -> list[str]:
        sections = {"pages": pages, "bounds": Bounds(made.core_sha256, rows)}
        plan = Plan((PlanClass(24, 4),), 6400, "greedy", 0.0, sections=sections)
        save_plan(plan, path, "", force=True)
        return causes(path)

    assert missing(made.operations) == []
    for pair in keys(made):
        rows = tuple(row for row in made.operations if (row.system, row.target) != pair)
        assert missing(rows) == [f"the plan has no bound of {pair[0]} on {pair[1]}"]
    rows = tuple(row for row in made.operations if row.system == "rtvm")
    assert len(missing(rows)) == len(keys(made)) - 1


def other_core(folder: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    """Install a core whose tlsf.c differs."""
    installed = native.sources()
    for part in ("core", "facts", "targets"):
        shutil.copytree(installed / part, folder / part)
    path = folder / "core/tlsf.c"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    monkeypatch.setattr(native, "sources", lambda: folder)
    afresh_caches()


def afresh_caches() -> None:
    """Forget what belongs to another core."""
    bounds.bounds_on.cache_clear()
    core_sha256.cache_clear()


def test_a_core_that_is_slower_is_found_from_its_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One store more in free moves the bounds of operations that free, and no other."""
    made = bounds.make(basis_of())
    path = planned(tmp_path, made)
    source = (native.core_sources() / "tlsf.c").read_text()
    head = next(line for line in source.splitlines() if "tau_tlsf_free(struct" in line)
    line = head + "\n    *(volatile unsigned char *)heap = *(volatile unsigned char *)heap;"
    other_core(tmp_path, monkeypatch, head, line)
    assert core_sha256() != made.core_sha256
    found = causes(path)
    assert all(cause.startswith("made from another core") for cause in found)
    accesses = r"free of tlsf on rv32 \(Os-check1\), in accesses: .*\(\+2\)"
    assert any(re.search(accesses, each) for each in found)
    assert any("free of tlsf on m4 (Os-check1), in instructions" in each for each in found)
    assert not any(": malloc of tlsf" in each or ": calloc of tlsf" in each for each in found)


def test_the_hash_is_of_names_and_contents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "core"
    folder.mkdir()
    monkeypatch.setattr(native, "core_sources", lambda: folder)
    seen = set()
    below = (("ports/a.c", "x"), ("ports/a.c", "y"))
    for name, text in (("a.c", "x"), ("b.c", "x"), ("a.h", "x"), ("a.c", "y"), *below):
        shutil.rmtree(folder)
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text)
        (folder / "notes.txt").write_text(name)
        core_sha256.cache_clear()
        seen.add(core_sha256())
    assert len(seen) == 6
    (folder / "b.h").write_text("z")
    core_sha256.cache_clear()
    assert core_sha256() == hashlib.sha256(b"b.h 1\nzports/a.c 1\ny").hexdigest()
    core_sha256.cache_clear()


def test_the_installed_core_is_the_one_of_the_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a plan from a checkout and one from an installation agree."""
    installed = core_sha256()
    core = ROOT / "core"
    files = {
        path.relative_to(core).as_posix(): path.read_bytes()
        for path in core.rglob("*.[ch]")
        if "tests" not in path.relative_to(core).parts
    }
    there = native.core_sources()
    assert files == {
        path.relative_to(there).as_posix(): path.read_bytes() for path in there.rglob("*.[ch]")
    }
    assert re.fullmatch("[0-9a-f]{64}", installed)


def without_compiler(monkeypatch: pytest.MonkeyPatch, *isas: str) -> None:
    """A machine that lacks the compilers of these targets."""
    plain = build.compiler_of

    def missing(isa: str) -> str:
        if isa in isas:
            raise build.BuildError(f"{isa}-gcc is not installed", f"apt install gcc-{isa}")
        return plain(isa)

    monkeypatch.setattr(build, "compiler_of", missing)


def test_a_missing_compiler_costs_its_target_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = planned(tmp_path, bounds.make(basis_of()))
    afresh_caches()
    without_compiler(monkeypatch, "m4")
    made = bounds.make(basis_of())
    assert keys(made) == {("tlsf", "rv32")}
    assert said == [("no bounds of tlsf on m4: m4-gcc is not installed", "apt install gcc-m4")]
    assert causes(whole) == [], "code that cannot be compared is not a problem"
    told = capsys.readouterr().err
    assert "bounds of tlsf on m4 were not compared: m4-gcc is not installed" in told
    assert "next: apt install gcc-m4" in told
    afresh_caches()
    without_compiler(monkeypatch, "rv32", "m4")
    assert bounds.make(basis_of()) is None


def test_a_machine_without_cross_compilers_plans_all_the_same(tmp_path: Path) -> None:
    """The command, with a PATH that has none of them."""
    write_events(tmp_path / "t.tau", [(MALLOC, 0, 100, 0), (TOUCH, 0, 0, 1), (FREE, 0, 0, 0)])
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    words = ("plan", "t.tau", "-o", "p.toml", "--json")
    done = tau_done(*words, cwd=tmp_path, env=environment)
    assert "Traceback" not in done.stderr
    for missing in ("no [pages]", "no bounds of budget on rv32"):
        assert f"{missing}: riscv64-unknown-elf-gcc is not installed" in done.stderr
    assert not {"bounds", "core_sha256", "pages"} & set(json.loads(done.stdout))
    assert "[bounds]" not in (tmp_path / "p.toml").read_text()


def test_the_json_and_the_header_say_the_same(tmp_path: Path) -> None:
    write_events(tmp_path / "t.tau", [(MALLOC, 0, 100, 0), (FREE, 0, 0, 0)])
    done = tau_done("plan", "t.tau", "-o", "p.toml", "--json", cwd=tmp_path)
    result = json.loads(done.stdout)
    value = load_plan(tmp_path / "p.toml").sections["bounds"]
    assert result["core_sha256"] == value.core_sha256 == core_sha256()
    assert [Bound(**row) for row in result["bounds"]] == list(value.operations)
    assert "pages" not in result
    plan = Plan((), 4096, "greedy", 0.0, sections={"bounds": value})
    save_header(plan, tmp_path / "plan.h", "tau plan")
    text = (tmp_path / "plan.h").read_text()
    for row in value.operations:
        built = row.build.replace("-", "_")
        name = f"TAU_PLAN_BOUND_{row.system}_{row.operation}_{row.target}_{built}_{row.unit}"
        assert f"#define {name.upper()} {row.bound}u\n" in text
    assert f'#define TAU_PLAN_CORE_SHA256 "{value.core_sha256}"\n' in text


def test_equal_input_gives_equal_bounds() -> None:
    first = bounds.make(basis_of("budget"))
    afresh_caches()
    assert bounds.make(basis_of("budget")) == first
