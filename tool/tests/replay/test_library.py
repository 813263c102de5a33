"""Other people's allocators in replay: what they need is found, and each way to err is named.

Method: our TLSF as a library must have the figures of our system; a first-fit list is compared with
a list of blocks in Python; and a table has an allocator's mistakes with what is said of each.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tautochrone.errors import EXIT_LIMIT_EXCEEDED, EXIT_USAGE, TauError
from tautochrone.facts import fault_format as faults
from tautochrone.machine.core_build import FASTEST
from tautochrone.machine.images import variables_bytes
from tautochrone.replay import search, session
from tautochrone.replay.entry import INSTRUCTIONS, Entry
from tautochrone.replay.open_trace import open_trace_for_replay
from tautochrone.replay.run import entries_of, replay, safe_heap
from tautochrone.replay.system import Options
from tautochrone.replay.systems import system_named
from tautochrone.targets.build import TARGETS
from testing.command import tau
from testing.random_trace import (
    FREE,
    MALLOC,
    REALLOC,
    Event,
    random_events,
    random_trace,
    write_events,
)

TESTS = Path(__file__).parent
ROOT = TESTS.parents[2]
SIZES = [100, 200, 333, 1000]


@pytest.fixture(autouse=True)
def _few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search of few sizes: each run of a library is a process, or an emulator."""
    monkeypatch.setattr(search, "SAMPLES_MAX", search.SAMPLES_MIN)


def compiled(folder: Path, source: str, target: str, *flags: str) -> Path:
    """An object of a target, or a shared library of this machine."""
    made = folder / (f"{target}.so" if target == "host" else f"{target}.o")
    words = ["gcc", "-shared", "-fPIC"]
    if target != "host":
        words = [TARGETS[target].compiler, *TARGETS[target].machine, *TARGETS[target].flags, "-c"]
    words += ["-O2", f"-I{ROOT}", *flags, str(TESTS / source), "-o", str(made)]
    subprocess.run(words, check=True, capture_output=True)
    return made


def replayed(trace: Path, name: str, **options: object) -> Entry:
    """The entry of one system."""
    (entry,) = entries_of(open_trace_for_replay(trace), [name], Options(**options))
    return entry


# ---- figures ----


@pytest.mark.parametrize("target", ["host", "rv32", "m4"])
def test_our_tlsf_as_a_library_has_the_figures_of_our_system(tmp_path: Path, target: str) -> None:
    """In an archive, too. Its functions of four instructions are counted, ours are called."""
    trace = random_trace(tmp_path / "t.tau", 1, events=400, live_max=20)
    made = compiled(tmp_path, "tlsf_library.c", target, "-DTAU_CHECK_LEVEL=0")
    if target == "rv32":
        archive = tmp_path / "rv32.a"
        subprocess.run(["ar", "rcs", archive, made], check=True)
        made = archive
    options = {"layout": "host"} if target == "host" else {"isa": target, "build": FASTEST}
    ours, theirs = (replayed(trace, name, **options) for name in ("tlsf", f"library:{made}"))
    assert theirs.held and theirs.placement_hash == ours.placement_hash
    assert (theirs.footprint_bytes, theirs.layout) == (ours.footprint_bytes, ours.layout)
    for verb, operation in ours.operations.items():
        mine, other = operation.measure(INSTRUCTIONS), theirs.operations[verb].measure(INSTRUCTIONS)
        assert operation.count == theirs.operations[verb].count
        assert (mine is None) == (other is None) == (target == "host")
        if mine is not None and other is not None:
            assert 0 <= other.max - mine.max <= 4, verb


def blocks_of(size_bytes: int, word_bytes: int) -> list[tuple[int, int, bool]]:
    """The one free block of a first-fit list: place, size, whether it is free."""
    return [(2 * word_bytes, size_bytes - 4 * word_bytes, True)]


def first_fit(events: list[Event], size_bytes: int, word_bytes: int) -> int | None:
    """The hash of all places in a first-fit list [REPLAY-7]; None if a request is refused."""
    header = 2 * word_bytes
    blocks, live, digest = blocks_of(size_bytes, word_bytes), {}, 0

    def release(place: int) -> None:
        at = next(i for i, block in enumerate(blocks) if block[0] == place - header)
        blocks[at] = (*blocks[at][:2], True)
        for first in (at, at - 1):
            pair = blocks[max(first, 0) : first + 2]
            if len(pair) == 2 and pair[0][2] and pair[1][2]:
                blocks[first : first + 2] = [(pair[0][0], pair[0][1] + pair[1][1], True)]

    for event, (op, slot, asked, _) in enumerate(events):
        if op == FREE:
            release(live.pop(slot))
            continue
        wanted = -(-(max(asked, 1) + header) // header) * header
        at = next((i for i, b in enumerate(blocks) if b[2] and b[1] >= wanted), None)
        if at is None:
            return None
        place, size, _ = blocks[at]
        wanted = size if size - wanted <= 2 * header else wanted
        blocks[at : at + 1] = [(place, wanted, False)]
        if size > wanted:
            blocks.insert(at + 1, (place + wanted, size - wanted, True))
        if op == REALLOC:
            release(live[slot])
        live[slot] = place + header
        digest = ((digest ^ event) * 0x9E3779B97F4A7C15 + live[slot]) % (1 << 64)
    return digest


@pytest.mark.parametrize(("layout", "word_bytes"), [("32", 4), ("host", 8)])
@pytest.mark.parametrize("seed", range(3))
def test_the_first_fit_list_is_a_list_of_blocks(
    tmp_path: Path, seed: int, layout: str, word_bytes: int
) -> None:
    """Places, and which heaps hold. Without requested alignments, which it cannot keep."""
    made = random_events(seed, events=600, live_max=16, sizes=[24, 100, 516, 900])
    events = [(op if op in (REALLOC, FREE) else MALLOC, *rest, 0) for op, *rest, _ in made]
    trace = write_events(tmp_path / "t.tau", events)
    found = safe_heap(trace, "first-fit", layout=layout)
    with system_named("first-fit").session(open_trace_for_replay(trace), None, layout) as runs:
        for size_bytes in range(found - 256, found + 264, 2 * word_bytes):
            run, expected = runs.run(size_bytes), first_fit(events, size_bytes, word_bytes)
            assert (run.fault == faults.COMPLETED) == (expected is not None), size_bytes
            assert expected is None or run.placement_hash == expected, size_bytes


@pytest.mark.parametrize("name", ["newlib", "newlib-nano", "picolibc"])
def test_a_c_library_is_searched_to_the_edge(tmp_path: Path, name: str) -> None:
    trace = random_trace(tmp_path / "t.tau", 2, events=150, live_max=8, sizes=SIZES)
    system = system_named(name)
    found = replayed(trace, name).footprint_bytes
    arena_bytes = found - variables_bytes(system.image)
    assert arena_bytes < found
    assert replayed(trace, name, heap_bytes=arena_bytes).held
    refused = replayed(trace, name, heap_bytes=arena_bytes - 8)
    assert not refused.held and refused.cause == faults.MEANING[faults.NO_MEMORY]


# ---- libraries that err ----

MISTAKES = {
    0: "",
    1: "handed out memory that a live object has",
    2: "changed or lost the content of a live object",
    3: "handed out a misaligned object",
    4: "handed out memory outside the heap",
    5: "handed out memory by calloc that is not zero",
    6: "called a proper free a misuse",
    7: "changed or lost the content of a live object",
    8: "handed out memory that a live object has",
    9: "crashed (Segmentation fault)",
    10: "did not return from a call",
    11: "crashed",
    12: "crashed (Segmentation fault)",
    14: "did not return from a call",
}
ON_TARGET = {
    **{bug: MISTAKES[bug] for bug in (0, 3, 4, 8)},
    9: "it wrote memory that is not there",
    10: "the call does not return within 100 million instructions",
}


@pytest.mark.parametrize(
    ("target", "bug"), [*(("host", each) for each in MISTAKES), *(("m4", e) for e in ON_TARGET)]
)
def test_a_library_that_errs_is_named_with_the_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, bug: int
) -> None:
    """Each mistake of broken_allocator.c, which it makes in every hundredth call."""
    trace = random_trace(tmp_path / "t.tau", 6, events=1500, live_max=80, sizes=SIZES)
    monkeypatch.setattr(session, "CALL_SECONDS_MAX", 1)
    name = f"library:{compiled(tmp_path, 'broken_allocator.c', target, f'-DBUG={bug}')}"
    if bug == 0:
        assert replayed(trace, name, heap_bytes=4 << 20).held
        assert not replayed(trace, name, heap_bytes=32 << 10).held
        return
    with pytest.raises(TauError) as refused:
        replayed(trace, name, heap_bytes=4 << 20)
    message = refused.value.message
    assert message.startswith(name) and message.endswith(" in a heap of 4,194,304 bytes")
    expected = MISTAKES if target == "host" else ON_TARGET
    assert expected[bug] in message
    call = r"free|(?:m|c|re|aligned_)alloc of [\d,]+ bytes"
    assert re.search(rf" at event [\d,]+ \((?:{call})\), ", message)
    assert "core/ports/library.h" in (refused.value.next_step or "")


def changed(path: Path, place: int, number: int) -> Path:
    """A copy of an ELF file with another number of two bytes in its head."""
    data = bytearray(path.read_bytes())
    data[place : place + 2] = number.to_bytes(2, "little")
    copy = path.with_name(f"{place}-{number}{path.suffix}")
    copy.write_bytes(data)
    return copy


def test_a_file_that_is_no_library_is_refused(tmp_path: Path) -> None:
    """Before anything runs: its cause and the next step."""
    trace = random_trace(tmp_path / "t.tau", 6, events=50)
    host = compiled(tmp_path, "broken_allocator.c", "host", "-DBUG=13")
    m4 = compiled(tmp_path, "broken_allocator.c", "m4", "-DBUG=13")
    (tmp_path / "text.o").write_text("int main(void) { return 0; }\n" * 4)
    (tmp_path / "empty.a").write_bytes(b"!<arch>\n")
    (tmp_path / "plain.c").write_text("int x; int *tau_library_malloc(void) { return &x; }\n")
    words = ["gcc", "-fno-pic", "-fno-pie", "-c", "plain.c"]
    subprocess.run(words, check=True, cwd=tmp_path)
    machine, kind = 18, 16
    refusals = {
        host: "has no function tau_library_free",
        m4: "has no function tau_library_free",
        changed(host, machine, 8): "is 64-bit code for MIPS",
        changed(m4, machine, 3): "is 32-bit code for 386",
        changed(m4, kind, 3): "is a shared library of Cortex-M4",
        changed(m4, kind, 2): "is a linked program of Cortex-M4",
        tmp_path / "text.o": "is not an object, an archive of objects or a library",
        tmp_path / "empty.a": "is not an object, an archive of objects or a library",
        tmp_path / "none.o": "no such file",
        tmp_path: "is a folder, not a library",
        tmp_path / "a b.o": "a report cannot show this name",
        tmp_path / "plain.o": "cannot be linked",
    }
    for path, expected in refusals.items():
        with pytest.raises(TauError) as refused:
            replayed(trace, f"library:{path}", heap_bytes=65536)
        assert expected in refused.value.message and refused.value.next_step, path


def test_a_library_keeps_to_its_own_code(tmp_path: Path) -> None:
    """--layout and --instructions of another target are refused; other systems go on."""
    trace = random_trace(tmp_path / "t.tau", 6, events=150)
    made = compiled(tmp_path, "tlsf_library.c", "m4")
    name = f"library:{made}"
    done = tau("replay", trace, "--on", f"tlsf,{name}", "--heap", 65536, expect=0)
    assert "All hold the trace in 65,536 bytes." in done.stdout
    for words in (("--layout", "host"), ("--instructions", "rv32")):
        refused = tau("replay", trace, "--on", name, *words, expect=EXIT_USAGE).stderr
        assert f"{name} is" in refused and f"{words[0]} " in refused
    counted = tau("replay", trace, "--on", name, "--instructions", "m4", "--heap", 65536).stdout
    assert "libraries count as they were compiled" in counted
    assert tau("replay", trace, "--on", name, "--heap", 1024).returncode == EXIT_LIMIT_EXCEEDED
