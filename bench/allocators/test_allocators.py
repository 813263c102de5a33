"""A small real case of the benchmark, the pinned instruction counts, and the parts that could lie.
"""

import ctypes
import random
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import programs as inputs
from bench.allocators import code_size, half_fit, images, peers, programs, synthetic
from bench.commands import ROOT, first_line
from testing.golden import pinned
from tautochrone.machine.core_build import Build
from tautochrone.errors import TauError
from tautochrone.replay import emulator, open_trace

ISA = "m4"
PEERS = ("newlib", "newlib-nano")
HALF_FIT = "half_fit"
GOLDEN = Path(__file__).with_name("golden.json")
# Enough buckets for every kind to hit and to miss; a fixed plan, so that planners change nothing.
PLAN = SimpleNamespace(classes=[(16, 40), (24, 40), (64, 40), (120, 10), (256, 10), (4096, 2)])


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace of small objects, made for this run."""
    programs.TRACES = synthetic.TRACES = tmp_path_factory.mktemp("traces")
    return synthetic.trace("small")


def test_ours_and_two_peers_on_one_trace(trace: Path) -> None:
    """All complete the same trace; every call is counted; ours has the smallest longest free."""
    events = open_trace.open_trace_for_replay(trace).operations()
    ours = emulator.count_calls(emulator.core_image("tlsf", ISA), trace)
    assert ours["free"].count == events["free"]
    assert ours["malloc"].count == events["malloc"]
    for name in PEERS:
        theirs = peers.counts(name, ISA, trace)
        assert theirs["free"].count == events["free"]
        assert theirs["malloc"].max > ours["malloc"].max, f"{name} is bounded more tightly"


def test_our_half_fit_serves_a_trace(trace: Path) -> None:
    """In an arena that TLSF does not need; no call takes more than its longest path."""
    theirs = peers.counts(HALF_FIT, ISA, trace)
    opened = open_trace.open_trace_for_replay(trace)
    assert theirs["free"].count > opened.operations()["free"]  # realloc frees, too
    assert theirs.refusals == 0
    row = half_fit.row("", Build(0, "-O2"), half_fit.PACKAGED / "half_fit_library.c", half_fit.OURS)
    malloc, free = map(int, row[ISA].split(" / "))
    assert theirs["malloc"].max <= malloc and theirs["free"].max <= free
    assert peers.safe_heap(HALF_FIT, ISA, trace) > int(opened.facts.peak_live_bytes)


def test_our_half_fit_rounds_up_to_powers_of_two_and_coalesces(tmp_path: Path) -> None:
    """On this machine, whose words have 8 bytes: two words before an object, blocks of 32 bytes."""
    path, source = tmp_path / "half_fit.so", half_fit.PACKAGED / "half_fit_library.c"
    words = ["gcc", "-O2", "-shared", "-fPIC", f"-I{ROOT}", str(source), "-o", str(path)]
    subprocess.run(words, check=True)
    made = ctypes.CDLL(str(path))
    address = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    init, malloc = (address((f"tau_library_{name}", made)) for name in ("init", "malloc"))
    arena = ctypes.create_string_buffer(65_536 + 16)
    start = ctypes.addressof(arena) + -ctypes.addressof(arena) % 16
    heap = ctypes.c_void_p(init(start, 65_536))
    blocks = (65_536 - (3 + 64) * 8) // 32
    for size, blocks_each in ((16, 1), (17, 2), (48, 2), (49, 4), (1008, 32), (1009, 64)) * 2:
        objects = []
        while (found := malloc(heap, size)) is not None:
            objects.append(found)
        assert len(objects) == blocks // blocks_each
        random.Random(size).shuffle(objects)
        for each in objects:
            made.tau_library_free(heap, ctypes.c_void_p(each))


def maxima(system: str, level: int, isa: str) -> dict[str, dict[str, int]]:
    """Kind of trace -> operation (and finer) -> most instructions."""
    image = emulator.core_image(system, isa, Build(level, "-O2"))
    plan = PLAN if system == "budget" else None
    found = {}
    for kind in synthetic.KINDS:
        counts = emulator.count_calls(image, synthetic.trace(kind), plan=plan)
        found[kind] = {name: calls.max for name, calls in counts.items()}
    return found


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("system", ["tlsf", "budget"])
def test_not_one_instruction_more(system: str, level: int, trace: Path) -> None:
    """golden.json has the maxima, for the compilers that it names. TAU_UPDATE_GOLDEN=1 writes new
    ones, and review sees the change."""
    compilers = {name: first_line(isa.compiler, "--version") for name, isa in images.ISAS.items()}
    found = {f"{system}, check {level}, {isa}": maxima(system, level, isa) for isa in images.ISAS}
    stored = pinned(GOLDEN, {"compilers": compilers} | found)
    if stored["compilers"] != compilers:
        pytest.skip("golden.json holds for other compilers: TAU_UPDATE_GOLDEN=1 updates it")
    assert {name: stored[name] for name in found} == found


def test_code_size_grows_with_what_is_kept() -> None:
    """malloc + free, then init, then realloc: each keeps more code; ours is within the goal."""
    sizes = code_size.our_sizes("tlsf", ISA, 0)
    assert 0 < sizes["malloc_free"] < sizes["with_init"] < sizes["with_realloc"]
    assert sizes["malloc_free"] <= 840
    assert code_size.our_sizes("tlsf", ISA, 1)["malloc_free"] > sizes["malloc_free"]


def test_an_image_without_a_function_is_refused(tmp_path: Path) -> None:
    """The linker does not mind a missing function; the measurement does."""
    source = tmp_path / "empty.c"
    source.write_text("int peer_malloc(void) { return 0; }\n")
    isa = images.ISAS[ISA]
    part = images.compile_c(isa, source, ("-Os",), tmp_path / "empty.o")
    with pytest.raises(images.PeerMissing, match="has no peer_free"):
        images.link(isa, [str(part)], ["peer_malloc", "peer_free"], tmp_path / "empty.elf")


def test_a_peer_of_another_machine_is_refused(trace: Path) -> None:
    """Asking for a peer where no package has it names the cause."""
    with pytest.raises(images.PeerMissing, match="no package"):
        peers.system("picolibc", "m4")
    with pytest.raises(images.PeerMissing, match="no package"):
        peers.safe_heap("newlib", "host", trace)


def test_inputs_are_the_same_every_time() -> None:
    """Generated inputs depend on their seed and on nothing else."""
    assert inputs.sql(10, 30, 1) == inputs.sql(10, 30, 1) != inputs.sql(10, 30, 2)
    assert inputs.records(5, 3, 1) == inputs.records(5, 3, 1) != inputs.records(5, 3, 2)
    assert inputs.three_sat(20, 400, 1) != inputs.three_sat(20, 400, 2)
    assert synthetic.events("growing") == synthetic.events("growing")


def test_a_missing_program_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is not installed is left out, and the message names the package to install."""
    monkeypatch.setattr(programs, "TRACES", tmp_path)
    with pytest.raises(TauError, match="jq is not installed") as caught:
        programs.record("jq", "a", programs.Run(("no-such-program",)))
    assert caught.value.next_step == "apt install jq"
    failing = programs.Run(("jq", "--no-such-option"))
    with pytest.raises(TauError, match="recording jq failed"):
        programs.record("jq", "b", failing)
    assert not list(tmp_path.glob("*.tau")), "a failed recording is kept"
