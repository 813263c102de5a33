"""Replay tells the truth about memory: naive models of allocators."""

from __future__ import annotations

import json
import re
import resource
import subprocess
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tautochrone import native
from tautochrone.errors import EXIT_FAILED, EXIT_LIMIT_EXCEEDED, EXIT_USAGE, TauError
from tautochrone.facts import fault_format as faults
from tautochrone.replay import systems as registry
from tautochrone.replay.entry import OURS, Entry, Pages
from tautochrone.replay.open_trace import OpenTrace, open_trace_for_replay
from tautochrone.replay.run import completes, replay, safe_heap
from tautochrone.replay.systems import process, system_named
from tautochrone.replay.systems.native import Native
from tautochrone.report import text
from testing.command import tau
from testing.random_trace import (
    FREE,
    MALLOC,
    peak_live_bytes,
    random_events,
    random_trace,
    write_events,
)

TESTS = Path(__file__).parent
DOUBLE_FREE_FLAG = 4


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A random trace with every operation."""
    return random_trace(tmp_path / "random.tau", seed=1)


# ---- the safe heap ----


@pytest.mark.parametrize("system", ["tlsf", "kingsley", "static"])
@pytest.mark.parametrize("seed", range(3))
def test_the_safe_heap_holds_and_one_step_less_does_not(
    tmp_path: Path, system: str, seed: int
) -> None:
    trace = random_trace(tmp_path / "t.tau", seed)
    found = safe_heap(trace, system)
    assert completes(trace, system, found)
    assert not completes(trace, system, found - 8)


def test_peak_live_bytes_are_those_of_a_naive_count(tmp_path: Path) -> None:
    events = random_events(5, events=1500)
    trace = write_events(tmp_path / "t.tau", events)
    assert open_trace_for_replay(trace).facts.peak_live_bytes == peak_live_bytes(events)


# ---- runs ----


@pytest.mark.parametrize("system", ["tlsf", "kingsley", "static", "glibc"])
def test_a_trace_without_events_is_held(system: str, tmp_path: Path) -> None:
    done = replay(write_events(tmp_path / "t.tau", []), system)
    assert (done.held, done.events, done.failed_at_event) == (True, 0, None)
    assert done.footprint_bytes < 4096 and done.footprint_ratio is None


def test_placement_depends_on_the_layout_and_on_pools(trace: Path) -> None:
    """Each run checks alignment: multiples of 16 on the host. A plan may have no pools."""
    plans = [SimpleNamespace(classes=classes) for classes in ([(104, 4), (24, 8)], [])]
    done = [replay(trace, "tlsf"), replay(trace, "tlsf", layout="host")]
    done += [replay(trace, "budget", plan) for plan in plans]
    assert all(each.held for each in done)
    assert len({each.placement_hash for each in done[:3]}) == 3
    peak_bytes = open_trace_for_replay(trace).facts.peak_live_bytes
    for each in done:
        assert each.footprint_ratio == pytest.approx(each.footprint_bytes / peak_bytes)
        assert each.footprint_ratio > 1


def test_a_plan_without_pools_is_a_plain_tlsf(trace: Path) -> None:
    """[PLAN-7] Not a budgeted heap with an empty table."""
    empty = SimpleNamespace(classes=[])
    assert safe_heap(trace, "budget", empty) == safe_heap(trace, "tlsf")
    assert replay(trace, "budget", empty).placement_hash == replay(trace, "tlsf").placement_hash


@pytest.mark.parametrize("system", ["tlsf", "static"])
@pytest.mark.parametrize("events", [3000, 150_000])
def test_a_streamed_trace_is_replayed_as_one_in_memory(
    tmp_path: Path, system: str, events: int
) -> None:
    """A trace of one block and one of several."""
    trace = random_trace(tmp_path / "t.tau", seed=3, events=events)
    hashes = set()
    for decoded in (OpenTrace(trace, 0), OpenTrace(trace)):
        with system_named(system).session(decoded) as session:
            result = session.run(1 << 22)
        assert result.fault == faults.COMPLETED
        hashes.add(result.placement_hash)
    assert len(hashes) == 1


@pytest.mark.parametrize("system", ["tlsf", "kingsley", "static"])
def test_two_runs_place_every_object_alike(trace: Path, system: str) -> None:
    first, second = replay(trace, system), replay(trace, system)
    assert first == second
    assert first.placement_hash != 0


def test_later_runs_pay_no_page_faults(tmp_path: Path) -> None:
    trace = random_trace(tmp_path / "t.tau", seed=2, events=20_000, live_max=2000)
    with system_named("tlsf").session(open_trace_for_replay(trace)) as session:
        session.run(8 << 20, checked=False)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        session.run(8 << 20, checked=False)
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    assert faults < 100  # the arena alone has 2048 pages


# ---- the paper's allocators ----


def test_kingsley_takes_powers_of_two_by_pages(tmp_path: Path) -> None:
    events = random_events(9, events=3000, live_max=100, others=False)
    trace = write_events(tmp_path / "t.tau", events)
    taken, free_blocks, live = 4, dict.fromkeys(range(4, 32), 0), {}
    for op, slot, size_bytes, _ in events:
        if op == FREE:
            free_blocks[live.pop(slot)] += 1
            continue
        block_class = max((size_bytes + 4 - 1).bit_length(), 4)
        live[slot] = block_class
        if not free_blocks[block_class]:
            grown = max(1 << block_class, 4096)
            taken += grown
            free_blocks[block_class] += grown >> block_class
        free_blocks[block_class] -= 1
    assert replay(trace, "kingsley").footprint_bytes == taken


def test_static_has_every_size_at_its_maximum(tmp_path: Path) -> None:
    """[P1-19] The simple static allocator: the sum of S_i * P_i,max."""
    sizes = [2952, 1978, 1040, 528]
    events = random_events(4, events=3000, live_max=40, sizes=sizes, others=False)
    trace = write_events(tmp_path / "w4.tau", events)
    live, peak, size_of = dict.fromkeys(sizes, 0), dict.fromkeys(sizes, 0), {}
    for op, slot, size_bytes, _ in events:
        if op == FREE:
            live[size_of.pop(slot)] -= 1
            continue
        size_of[slot] = size_bytes
        live[size_bytes] += 1
        peak[size_bytes] = max(peak[size_bytes], live[size_bytes])
    expected = sum(-(-size // 8) * 8 * count for size, count in peak.items())
    assert replay(trace, "static").footprint_bytes == expected


# ---- bad input ----


def test_size_zero_is_replayed(tmp_path: Path) -> None:
    events = [(MALLOC, 0, 0, 0), (MALLOC, 1, 8, 0), (2, 0, 16, 0), (FREE, 0, 0, 0), (FREE, 1, 0, 0)]
    trace = write_events(tmp_path / "t.tau", events)
    for system in ("tlsf", "kingsley", "static", "glibc"):
        assert replay(trace, system).held


def test_a_size_near_the_limit_does_not_hold(tmp_path: Path) -> None:
    trace = write_events(tmp_path / "t.tau", [(MALLOC, 0, 2**62, 0)])
    with pytest.raises(TauError, match="does not hold the trace"):
        replay(trace, "tlsf")
    assert replay(trace, "tlsf", heap_bytes=1 << 20).failed_at_event == 0


def test_misuse_is_refused_unless_told(tmp_path: Path) -> None:
    events = [(MALLOC, 0, 64, 0), (FREE, 0, 0, 0), (FREE, 0xFFFFFFFF, 0, 0)]
    trace = write_events(tmp_path / "t.tau", events, [0, 0, DOUBLE_FREE_FLAG])
    with pytest.raises(TauError, match=r"1 double free \(first: event 2\)") as refused:
        replay(trace, "tlsf")
    assert refused.value.exit_code == 1
    assert "--skip-misuse" in (refused.value.next_step or "")
    result = replay(trace, "tlsf", skip_misuse=True)
    assert result.held
    assert result.skipped == 1


def test_a_missing_or_broken_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TauError, match="no such file"):
        open_trace_for_replay(tmp_path / "none.tau")
    broken = tmp_path / "broken.tau"
    broken.write_bytes(b"something else, longer than a header" * 10)
    with pytest.raises(TauError):
        open_trace_for_replay(broken)


def test_a_system_that_is_not_installed_is_named(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process.Process, "found", lambda system: None)
    with pytest.raises(TauError, match="jemalloc is not installed") as missing:
        replay(trace, "jemalloc")
    assert missing.value.next_step == "apt install libjemalloc2"


@pytest.mark.parametrize(
    ("plan", "heap_bytes", "cause", "exit_code"),
    [
        (None, None, "needs a plan", EXIT_USAGE),
        ({"classes": [(64, 1000)]}, 8192, "fit a heap of 8,192 bytes", EXIT_LIMIT_EXCEEDED),
        ({"classes": [(64, 2)], "layout": "host"}, None, "made for the layout host", EXIT_USAGE),
        ({"classes": [(8 * n, 1) for n in range(1, 66)]}, None, "at most 64 classes", EXIT_FAILED),
        ({"classes": [(64, 1), (60, 1)]}, None, "the plan is invalid", EXIT_FAILED),
        ({"classes": [(1 << 32, 1)]}, None, "a class beyond 32 bits", EXIT_FAILED),
    ],
)
def test_a_plan_that_cannot_be_replayed_is_refused(
    trace: Path, plan: dict[str, object] | None, heap_bytes: int | None, cause: str, exit_code: int
) -> None:
    with pytest.raises(TauError, match=cause) as refused:
        replay(trace, "budget", plan and SimpleNamespace(**plan), heap_bytes)
    assert refused.value.exit_code == exit_code


def test_hostile_events_are_refused_or_survived(tmp_path: Path) -> None:
    program = tmp_path / "hostile"
    root = TESTS.parents[2]
    names = ("replay", "decoded", "spool", "content")
    native = [root / f"tool/native/replay/{name}.c" for name in names]
    native += [root / f"peers/{name}.c" for name in ("kingsley", "static")]
    command = ["gcc", "-std=c17", "-D_GNU_SOURCE", "-g", "-O1", f"-I{root}"]
    command += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command += [str(TESTS / "hostile_replay.c"), *map(str, native), "-o", str(program)]
    subprocess.run(command, check=True, capture_output=True)
    done = subprocess.run([program, "5", "400"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    accepted, rounds = [int(word) for word in done.stdout.split() if word.isdigit()][-2:]
    assert 0.1 * rounds < accepted < rounds


# ---- processes ----


def test_a_process_takes_at_least_what_is_live(tmp_path: Path) -> None:
    trace = random_trace(tmp_path / "t.tau", seed=8, events=20_000, live_max=1000)
    result = replay(trace, "glibc")
    assert result.held
    assert result.footprint_ratio is not None
    assert 0.95 < result.footprint_ratio < 5


# ---- the command ----


def test_json_is_as_promised(trace: Path) -> None:
    done = tau("replay", trace, "--on", "tlsf,kingsley,static", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["version"], document["command"]) == (1, "replay")
    assert [system["name"] for system in document["systems"]] == ["tlsf", "kingsley", "static"]
    for system in document["systems"]:
        assert system["completed"] is True
        expected = system["footprint_bytes"] / document["peak_live_bytes"]
        assert system["footprint_ratio"] == pytest.approx(expected)
        assert {"malloc", "free", "realloc"} <= set(system["operations"])
    counts = document["systems"][0]["operations"].values()
    assert sum(operation["count"] for operation in counts) == document["events"]


def test_json_has_instructions_when_asked(trace: Path) -> None:
    done = tau("replay", trace, "--on", "tlsf", "--instructions", "rv32", "--json")
    assert done.returncode == 0, done.stderr
    operations = json.loads(done.stdout)["systems"][0]["operations"]
    for name in ("malloc", "free", "realloc"):
        operation = operations[name]
        assert operation["p999_instructions"] <= operation["max_instructions"]
        assert operation["max_instructions"] <= operation["bound_instructions"]


def test_people_get_a_table_a_verdict_and_a_next_step(trace: Path) -> None:
    done = tau("replay", trace, "--on", "tlsf,kingsley")
    assert "tlsf needs least" in done.stdout
    assert "next: tau plan" in done.stdout
    assert re.search(r"^tlsf +[\d,]+,\d{3} ", done.stdout, re.M)


@pytest.mark.parametrize(
    ("footprints", "sentence"),
    [
        ({"tlsf": 2000, "budget": 2000}, "tlsf and budget need the same: 2,000 bytes."),
        ({"tlsf": 2000, "budget": 1999}, "budget needs least: 0.05 % less than tlsf."),
        (
            {"tlsf": 1000, "budget": 1000, "glibc": 4000},
            "tlsf and budget need least: 75 % less than glibc.",
        ),
        ({"tlsf": 2000}, "tlsf holds the trace in 2,000 bytes."),
    ],
)
def test_the_verdict_never_says_none_less(footprints: dict[str, int], sentence: str) -> None:
    entries = [Entry(name, OURS, True, footprint) for name, footprint in footprints.items()]
    assert text._verdict(entries, None) == sentence


def test_exit_codes(trace: Path, tmp_path: Path) -> None:
    assert tau("replay", trace, "--heap", 4096).returncode == 3
    assert tau("replay", trace, "--heap", 1 << 20).returncode == 0
    nothing = write_events(tmp_path / "nothing.tau", [])
    assert "cannot start" in tau("replay", nothing, "--heap", 8, expect=3).stdout
    assert tau("replay", trace, "--on", "budget").returncode == 2
    assert tau("replay", trace, "--on", "nothing").returncode == 2
    assert tau("replay", trace.parent / "none.tau").returncode == 1
    failed = json.loads(tau("replay", trace, "--heap", 4096, "--json").stdout)["systems"][0]
    assert failed["completed"] is False
    assert isinstance(failed["failed_at_event"], int)


def test_a_name_that_two_files_claim_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    files = list(registry._files())
    other = SimpleNamespace(__name__="other", SYSTEMS=(system_named("tlsf"),))
    monkeypatch.setattr(registry, "_files", lambda: [*files, other])
    registry.systems.cache_clear()
    try:
        with pytest.raises(TauError, match="native and other both have a system called 'tlsf'"):
            registry.systems()
    finally:
        registry.systems.cache_clear()


def test_what_did_not_hold_on_pages_is_told_what_limited_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A plan's pages are a limit too."""
    pages = Pages(1, 1.0, 1, 0, 0, "recorded", 1, {"event": [], "min": [], "max": []})
    entry = Entry("rtvm", OURS, False, 4096, failed_at_event=3, cause="failed", pages=pages)
    for plan, limits in ((None, "--frames and --heap"), ("p", "--frames, --heap and --plan")):
        text.show(text.Replayed("t.tau", plan, None, None, 0, [entry]))
        told = capsys.readouterr().out.splitlines()[-1]
        assert told == f"next: tau replay t.tau --on rtvm, without {limits} or with more"


def test_the_next_command_keeps_the_options_that_were_given(trace: Path) -> None:
    """The next command replays the same recordings; so does `tau plan`."""
    words = ("--instructions", "m4", "--layout", "32", "--skip-misuse", "--events", 500)
    told = tau("replay", trace, "--on", "tlsf", *words).stdout.splitlines()[-1]
    assert told == f"next: tau plan {trace} --layout 32 --skip-misuse -o plan.toml"
    plan = trace.with_name("plan.toml")
    assert tau("plan", trace, "-o", plan).returncode == 0
    told = tau("replay", trace, "--plan", plan, *words, "--heap", 1 << 20).stdout.splitlines()[-1]
    kept = "--layout 32 --instructions m4 --events 500 --skip-misuse --on tlsf,budget,glibc"
    assert told == f"next: tau report {trace} --plan {plan} {kept} -o report.html"


def test_a_file_of_systems_that_is_broken_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that raises, and one without SYSTEMS."""
    modules: dict[str, ModuleType] = {"tautochrone.replay.systems.lame": ModuleType("lame")}

    def imported(name: str) -> ModuleType:
        if name not in modules:
            raise ImportError("no module named nothing")
        return modules[name]

    monkeypatch.setattr(registry.importlib, "import_module", imported)
    with pytest.raises(TauError, match="replay.systems.lame lacks SYSTEMS"):
        registry._loaded("tautochrone.replay.systems.lame")
    with pytest.raises(TauError, match="systems.bad cannot be loaded: ImportError: no module"):
        registry._loaded("tautochrone.replay.systems.bad")


def test_a_heap_on_pages_has_no_result_of_an_arena(trace: Path) -> None:
    for attempt in (lambda: replay(trace, "rtvm"), lambda: safe_heap(trace, "rtvm")):
        with pytest.raises(TauError, match="rtvm maps pages, so it has no safe heap") as raised:
            attempt()
        assert raised.value.exit_code == EXIT_USAGE


def test_help_lists_every_system_and_a_typo_is_guessed(trace: Path) -> None:
    told = tau("replay", "--help").stdout.split("Systems:")[1]
    for name, system in registry.systems().items():
        assert re.search(rf"^  {re.escape(name)} +{re.escape(system.about[:12])}", told, re.M), name
    abouts = [system.about for system in registry.systems().values()]
    assert len(set(abouts)) == len(abouts)
    done = tau("replay", trace, "--on", "rtmv")
    assert done.returncode == EXIT_USAGE and "did you mean rtvm?" in done.stderr
    assert "Did you mean 'replay'?" in tau("repley", trace).stderr
    assert "bug" not in tau("-q", "--", "--heap").stderr
    done = tau("replay", trace, "--heap", "64K")
    assert "'64K' is not a number of bytes; write 65536" in done.stderr
