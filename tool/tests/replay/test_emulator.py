"""Counts are exact. Method: code counted by hand, two ways of counting, two machines' layouts."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from tautochrone.machine.core_build import Build
from tautochrone.machine import images
from tautochrone.errors import TauError
from tautochrone.replay import emulator
from tautochrone.replay.emulator import build_image, core_image, count, count_calls
from tautochrone.replay.run import replay
from testing.random_trace import FREE, MALLOC, REALLOC, random_trace, write_events

IMAGES = Path(__file__).parent / "image"
ISAS = ("rv32", "m4")
PLAN = SimpleNamespace(classes=[(24, 10), (104, 7), (520, 3), (8, 20), (1000, 2)])


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A random trace with every operation."""
    return random_trace(tmp_path / "random.tau", seed=21, events=3000)


def counted(isa: str) -> images.Image:
    """The allocator that was counted by hand."""
    return build_image("counted", isa, [IMAGES / f"counted_{isa}.S"], prefix="p")


# ---- exact ----


def test_rv32_counts_are_those_made_by_hand(tmp_path: Path) -> None:
    events = [(MALLOC, 0, 8, 0), (MALLOC, 1, 9, 0), (MALLOC, 2, 16, 0), (FREE, 0, 0, 0)]
    counts = count_calls(counted("rv32"), write_events(tmp_path / "t.tau", events))
    # Even: 9 and the return. Odd: 7, 1, three times 2, the move, the return.
    assert counts["malloc"].histogram == {10: 2, 16: 1}
    assert counts["malloc"].max_event == 1
    assert counts["free"].histogram == {1: 1}


def test_m4_counts_are_those_made_by_hand(tmp_path: Path) -> None:
    # Payloads start at 64 and are 24 and 16 bytes apart: multiples of 16, then not.
    events = [(MALLOC, 0, 9, 0), (MALLOC, 1, 8, 0), (FREE, 0, 0, 0), (FREE, 1, 0, 0)]
    counts = count_calls(counted("m4"), write_events(tmp_path / "t.tau", events))
    assert counts["malloc"].histogram == {12: 2}
    assert counts["free"].histogram == {3: 1, 5: 1}


@pytest.mark.parametrize(("isa", "own", "malloc"), [("rv32", 11, 10), ("m4", 5, 12)])
def test_payload_is_charged_three_instructions(
    tmp_path: Path, isa: str, own: int, malloc: int
) -> None:
    for size in (16, 30_000):
        events = [(MALLOC, 0, size, 0), (REALLOC, 0, size - 2, 0)]
        counts = count_calls(counted(isa), write_events(tmp_path / f"{size}.tau", events))
        assert counts["realloc"].histogram == {own + malloc + 3: 1}
        assert counts["realloc_moved"].count == 1
        assert counts.payload_bytes == size - 2


@pytest.mark.parametrize("system", ["tlsf", "budget"])
def test_counting_by_blocks_and_by_instructions_agree(trace: Path, system: str) -> None:
    plan = PLAN if system == "budget" else None
    image = core_image(system, "rv32", Build(1, "-O2"))
    by_blocks = count_calls(image, trace, plan=plan)
    assert by_blocks == count_calls(image, trace, plan=plan, stepped=True)


def test_stepping_on_m4_leaves_out_what_a_condition_skips(tmp_path: Path, trace: Path) -> None:
    events = [(MALLOC, 0, 9, 0), (MALLOC, 1, 8, 0), (FREE, 0, 0, 0), (FREE, 1, 0, 0)]
    counts = count_calls(counted("m4"), write_events(tmp_path / "t.tau", events), stepped=True)
    assert counts["malloc"].histogram == {11: 2}
    assert counts["free"].histogram == {3: 1, 4: 1}
    image = core_image("tlsf", "m4")
    by_blocks, stepped = count_calls(image, trace), count_calls(image, trace, stepped=True)
    for name, calls in by_blocks.items():
        assert stepped[name].count == calls.count
        assert stepped[name].mean <= calls.mean < stepped[name].mean + 4


@pytest.mark.parametrize("isa", ISAS)
def test_two_runs_give_the_same_numbers(trace: Path, isa: str) -> None:
    first, second = count(trace, "tlsf", isa), count(trace, "tlsf", isa)
    assert first == second
    assert first.placement_hash == second.placement_hash


def test_statistics_follow_from_the_histogram(trace: Path) -> None:
    for calls in count(trace, "tlsf", "rv32").values():
        every = sorted(n for n, times in calls.histogram.items() for _ in range(times))
        assert len(every) == calls.count
        assert every[-1] == calls.max
        assert sum(every) / len(every) == pytest.approx(calls.mean)
        assert every[-(-len(every) // 2) - 1] == calls.p50
        assert every[-(-len(every) * 999 // 1000) - 1] == calls.p999


# ---- the layout of a 32-bit target ----


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("system", ["tlsf", "budget"])
@pytest.mark.parametrize("seed", range(3))
def test_the_host_places_every_object_where_the_target_does(
    tmp_path: Path, isa: str, system: str, seed: int
) -> None:
    trace = random_trace(tmp_path / "t.tau", 100 + seed, events=5000)
    plan = PLAN if system == "budget" else None
    counts = count_calls(core_image(system, isa, Build(1, "-O2")), trace, plan=plan)
    on_host = replay(trace, system, plan, heap_bytes=counts.heap_bytes)
    assert on_host.held
    assert on_host.placement_hash == counts.placement_hash


def test_a_placement_that_differs_shows_in_the_hash(trace: Path) -> None:
    counts = count_calls(core_image("tlsf", "rv32"), trace)
    other = replay(trace, "tlsf", heap_bytes=2 * counts.heap_bytes)
    assert other.placement_hash != counts.placement_hash


@pytest.mark.parametrize("isa", ISAS)
def test_the_smallest_heap_of_the_host_holds_on_the_target(trace: Path, isa: str) -> None:
    smallest = replay(trace, "tlsf").footprint_bytes
    image = core_image("tlsf", isa)
    assert count_calls(image, trace, heap_bytes=smallest).heap_bytes == smallest
    with pytest.raises(TauError, match="refused a request"):
        count_calls(image, trace, heap_bytes=smallest - 8)


# ---- budgets ----


@pytest.mark.parametrize("isa", ISAS)
def test_hits_and_misses_are_told_apart(tmp_path: Path, isa: str) -> None:
    plan = SimpleNamespace(classes=[(64, 2)])
    events = [(MALLOC, slot, 64, 0) for slot in range(3)] + [(MALLOC, 3, 32, 0)]
    events += [(FREE, slot, 0, 0) for slot in (3, 2, 1, 0)]
    counts = count(write_events(tmp_path / "t.tau", events), "budget", isa, plan)
    assert (counts["malloc_hit"].count, counts["malloc_miss"].count) == (2, 2)
    assert (counts["free_hit"].count, counts["free_miss"].count) == (2, 2)
    assert counts["malloc_hit"].max < counts["malloc_miss"].max


# ---- allocators without every operation ----


@pytest.mark.parametrize("isa", ISAS)
def test_realloc_is_malloc_and_free_where_it_is_missing(trace: Path, isa: str) -> None:
    image = build_image("plain", isa, [IMAGES / "wrong.c"], ["-DWRONG=0"], prefix="p")
    counts = count_calls(image, trace, heap_bytes=16 << 20)
    operations = replay(trace, "kingsley").operations
    assert "realloc" not in counts
    resized = counts["free"].count - operations["free"].count
    assert resized > 0.9 * operations["realloc"].count


# ---- what goes wrong ----


@pytest.mark.parametrize("isa", ISAS)
def test_an_endless_call_is_cut_off(trace: Path, isa: str) -> None:
    image = build_image("endless", isa, [IMAGES / "wrong.c"], ["-DWRONG=1"], prefix="p")
    assert count_calls(image, trace, instructions_max=100_000).is_truncated


@pytest.mark.parametrize("isa", ISAS)
def test_a_crash_names_its_place(trace: Path, isa: str) -> None:
    image = build_image("crash", isa, [IMAGES / "wrong.c"], ["-DWRONG=2"], prefix="p")
    cause = r"stopped in p_\w+\+0x\w+: it read memory that is not there.*, at event 0 \("
    with pytest.raises(TauError, match=cause):
        count_calls(image, trace)


@pytest.mark.parametrize("isa", ISAS)
def test_a_missing_compiler_names_its_package(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(TauError, match="is not installed") as missing:
        core_image("tlsf", isa)
    assert missing.value.next_step == f"apt install {images.ISAS[isa].package}"


def test_code_that_does_not_compile_is_told(tmp_path: Path) -> None:
    source = tmp_path / "bad.c"
    source.write_text("this is not C\n")
    with pytest.raises(TauError, match="building bad for RV32IMC failed") as told:
        build_image("bad", "rv32", [source], prefix="p")
    assert "bad.c:1:1: error" in told.value.said


def test_an_image_without_malloc_is_refused(tmp_path: Path, trace: Path) -> None:
    source = tmp_path / "empty.c"
    source.write_text("void *p_init(void *memory) { return memory; }\n")
    with pytest.raises(TauError, match="lacks p_malloc"):
        count_calls(build_image("empty", "rv32", [source], prefix="p"), trace)


def test_a_system_that_cannot_be_counted_is_a_usage_error() -> None:
    with pytest.raises(TauError, match="cannot be counted") as refused:
        core_image("kingsley", "rv32")
    assert refused.value.exit_code == 2


# ---- the cache ----


def test_images_are_cached_by_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = tmp_path / "own.c"
    shutil.copy(IMAGES / "wrong.c", source)
    first = build_image("own", "rv32", [source], ["-DWRONG=0"], prefix="p")
    assert first.elf.is_relative_to(tmp_path / "cache")
    built_ns = first.elf.stat().st_mtime_ns
    assert build_image("own", "rv32", [source], ["-DWRONG=0"], prefix="p").elf == first.elf
    assert first.elf.stat().st_mtime_ns == built_ns
    assert build_image("own", "rv32", [source], ["-DWRONG=1"], prefix="p").elf != first.elf
    source.write_text(source.read_text().replace("+ 64", "+ 128"))
    assert build_image("own", "rv32", [source], ["-DWRONG=0"], prefix="p").elf != first.elf


@pytest.mark.parametrize("damage", ["cut", "emptied", "changed", "unsealed"])
def test_a_damaged_image_is_built_anew(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first = core_image("tlsf", "rv32")
    sound = first.elf.read_bytes()
    made = {
        "cut": sound[:1000],
        "emptied": b"",
        "changed": sound[:200] + bytes([sound[200] ^ 255]) + sound[201:],
        "unsealed": sound,
    }[damage]
    first.elf.write_bytes(made)
    if damage == "unsealed":
        first.elf.with_name(first.elf.name + ".sha256").write_bytes(b"\xff")
    again = core_image("tlsf", "rv32")
    assert again.elf == first.elf and again.code == first.code
    built_ns = again.elf.stat().st_mtime_ns
    assert core_image("tlsf", "rv32").elf.stat().st_mtime_ns == built_ns


def test_a_cache_that_cannot_be_made_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(TauError, match="cannot be made"):
        core_image("tlsf", "rv32")


def test_the_categories_are_those_of_the_header() -> None:
    header = (Path(__file__).parents[2] / "native" / "replay" / "emulator.h").read_text()
    listed = header.split("enum tau_emulator_category {")[1].split("}")[0]
    names = [line.split("//")[0].strip(" ,").split(" =")[0] for line in listed.splitlines()]
    own = [name.removeprefix("TAU_EMULATOR_").lower() for name in names if name]
    assert tuple(own[:-1]) == emulator.CATEGORIES
