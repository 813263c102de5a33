"""Plans with an alignment of 4 bytes, on 32-bit layouts: `tau plan --alignment 4`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from model.tlsf import Tlsf
from tautochrone import native
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.heap.plan import Wanted, make_plan
from tautochrone.heap.recordings import ReplayedRecording
from tautochrone.heap.safe import safe_heap
from tautochrone.machine.core_build import Build, load
from tautochrone.plan.build import build_of
from tautochrone.plan.file import bucket_bytes, load_plan
from tautochrone.replay.session import Session
from tautochrone.replay.systems.native import BUDGET, TLSF
from testing.command import tau_done as tau
from testing.random_trace import ALIGNED_ALLOC, FREE, MALLOC, Event, random_events, write_events
from tool.tests.plan.plan_traces import come_and_go

ROOT = Path(__file__).resolve().parents[3]
ALIGNED = Build(alignment_bytes=4)
SIZES = [16, 8, 100, 3]  # of 16 and 8 bytes: blocks of 20 and 16 instead of 24 and 16


@pytest.fixture
def events() -> list[Event]:
    """Few sizes, and objects that need 8 bytes and say so."""
    made = come_and_go(5, SIZES, 20, 1500)
    slots = 1 + max(slot for _, slot, _, _ in made)
    return [*made, *((ALIGNED_ALLOC, slots + i, 24, 3) for i in range(5)), (FREE, slots, 0, 0)]


@pytest.fixture
def recording(tmp_path: Path, events: list[Event]) -> Path:
    """The events as a trace of a firmware."""
    return write_events(tmp_path / "program.tau", events, abi="arm")


def fits_in_the_model(events: list[Event], heap_bytes: int) -> bool:
    """Whether a plain TLSF of the model holds the events."""
    core = native.library("libtau_core32_align4.so")
    control_bytes = int(core.tau_tlsf_control_bytes(heap_bytes)) - 4  # the first header is in it
    heap = Tlsf(heap_bytes, control_bytes, 32, 1, unit=4)
    places: dict[int, int] = {}
    for op, slot, size, align_log2 in events:
        if op == FREE:
            assert heap.free(places.pop(slot)) == "OK"
            continue
        made = heap.malloc(size) if op == MALLOC else heap.aligned_alloc(1 << align_log2, size)
        if made is None:
            return False
        assert op != ALIGNED_ALLOC or made % 8 == 0
        places[slot] = made
    return True


@pytest.mark.parametrize("seed", range(6))
def test_a_replay_states_the_heaps_of_the_plan(tmp_path: Path, seed: int) -> None:
    """[REPLAY-16] Both are thresholds, in multiples of 4 bytes."""
    events = random_events(seed, events=1000, live_max=60, sizes=(4, 5, 9, 100), others=False)
    trace = write_events(tmp_path / "t.tau", events)
    made = make_plan([trace], Wanted(layout="32", build=ALIGNED))
    plans = ((TLSF, (), made.plain_heap_bytes), (BUDGET, made.plan.classes, made.plan.heap_bytes))
    for arena, classes, stated in plans:
        planned = SimpleNamespace(classes=classes)
        with Session(made.recordings[0], arena, planned, "32", 1, 4) as session:
            assert session.safe_heap() == stated


def test_a_replay_runs_the_core_with_this_alignment(recording: Path, events: list[Event]) -> None:
    """The smallest heap is the model's, and smaller than with an alignment of 8."""
    smallest = safe_heap([ReplayedRecording(recording, "32", ALIGNED)], ())
    assert fits_in_the_model(events, smallest)
    assert not fits_in_the_model(events, smallest - 8)
    assert smallest < safe_heap([ReplayedRecording(recording, "32")], ())


@pytest.mark.parametrize("pools", ["always", "never"])
@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_plan_holds_on_the_machine_code(
    tmp_path: Path, recording: Path, pools: str, level: int
) -> None:
    """The plan states the alignment; check, replay and verify use it."""
    build, path = tmp_path / "build.toml", tmp_path / "plan.toml"
    build.write_text(f"check_level = {level}\nalignment_bytes = 4\n")
    tau("plan", recording, "-o", path, "--build", build, "--pools", pools)
    plan = load_plan(path)
    assert build_of(plan) == Build(level, alignment_bytes=4) and plan.alignment_unit == 4
    assert not plan.classes or any(size % 8 == 4 for size, _ in plan.classes) or level == 2
    tau("check", path)
    found = json.loads(tau("replay", recording, "--plan", path, "--json").stdout)
    assert {row["plan_holds"] for row in found["systems"] if row["name"] == "budget"} <= {True}
    document = json.loads(tau("verify", path, recording, "--json").stdout)
    assert document["held"] and all(run["refusals"] == 0 for run in document["runs"])


def test_the_option_is_kept_for_the_next_plan(tmp_path: Path, recording: Path) -> None:
    """--alignment wins over the file of --build, and the plan's comment has it."""
    path = tmp_path / "plan.toml"
    tau("plan", recording, "-o", path, "--alignment", "4")
    assert load_plan(path).alignment_unit == 4
    assert " --alignment 4" in path.read_text().splitlines()[1]
    assert "TAU_ALIGNMENT_BELOW_MAX=1" in tau("plan", recording, "--alignment", "4").stdout


def test_bands_have_it_too(tmp_path: Path, recording: Path) -> None:
    """The heap of a guarantee is the core's own answer, and no recorded order of calls fails."""
    path = tmp_path / "plan.toml"
    tau("plan", recording, "-o", path, "--guarantee", "--alignment", "4")
    tau("check", path, recording)
    document = json.loads(tau("verify", path, recording, "--json").stdout)
    assert document["held"]
    document = json.loads(
        tau("replay", recording, "--on", "pools", "--plan", path, "--json").stdout
    )
    (entry,) = (row for row in document["systems"] if row["name"] == "pools")
    assert entry["plan_holds"] and entry["footprint_bytes"] <= load_plan(path).heap_bytes


def test_a_small_bucket_has_room_for_two_words() -> None:
    """1 to 8 bytes share a bucket, so no plan has two classes of them."""
    assert [bucket_bytes(size, 4) for size in (1, 4, 5, 8, 9, 12)] == [8, 8, 8, 8, 12, 12]
    assert [bucket_bytes(size, 8) for size in (1, 8, 9)] == [8, 8, 16]


@pytest.mark.parametrize("words", [["--layout", "host"], ["--layout", "host", "--guarantee"]])
def test_64_bit_layouts_are_refused(recording: Path, words: list[str]) -> None:
    """The message names the alignment there is, and the next step."""
    done = tau("plan", recording, "--alignment", "4", *words, expect=EXIT_USAGE)
    assert "has an alignment of 16 bytes, not 4" in done.stderr
    assert "--layout 32" in done.stderr


@pytest.mark.parametrize("value", ["2", "8", '"4"'])
def test_other_alignments_are_refused(tmp_path: Path, value: str) -> None:
    """There is no third alignment of 32-bit words, and 8 is the default."""
    path = tmp_path / "build.toml"
    path.write_text(f"alignment_bytes = {value}\n")
    with pytest.raises(TauError, match="alignment_bytes"):
        load(path)


def test_a_plan_of_64_bit_words_with_it_is_refused(tmp_path: Path, recording: Path) -> None:
    """A file that was edited."""
    path = tmp_path / "plan.toml"
    tau("plan", recording, "-o", path, "--alignment", "4", "--pools", "never")
    text = path.read_text().replace('layout = "32"', 'layout = "host"')
    path.write_text(text)
    with pytest.raises(TauError, match="is for 32-bit layouts"):
        load_plan(path)


def test_a_service_refuses_such_a_plan(tmp_path: Path, recording: Path) -> None:
    """`tau run` has 64-bit words."""
    path = tmp_path / "plan.toml"
    tau("plan", recording, "-o", path, "--alignment", "4")
    done = tau("run", "--plan", path, "--", "true", expect=125)
    assert "is a plan for a 32-bit target" in done.stderr


def test_a_peer_keeps_its_own_alignment(tmp_path: Path, recording: Path) -> None:
    """The build is our heaps'."""
    build = tmp_path / "build.toml"
    build.write_text("alignment_bytes = 4\n")
    done = tau("replay", recording, "--on", "tlsf,first-fit", "--build", build)
    assert done.returncode == 0 and "first-fit needs least" in done.stdout


USER = """#include "plan.h"
static _Alignas(TAU_PLAN_ALIGNMENT) unsigned char memory[TAU_PLAN_HEAP_BYTES];
int main(void) {
    tau_plan_heap *heap = tau_plan_init(memory);
    return heap == 0 || tau_plan_malloc(heap, 16) == 0;
}
"""
FOUR = ["-DTAU_ALIGNMENT=4", "-DTAU_ALIGNMENT_BELOW_MAX=1"]


@pytest.mark.parametrize("pools", ["always", "never"])
@pytest.mark.parametrize("planned", [4, 8])
@pytest.mark.parametrize("built", [4, 8])
def test_a_core_of_the_other_alignment_is_refused(
    tmp_path: Path, recording: Path, pools: str, planned: int, built: int
) -> None:
    """The header does not compile with it; compiled otherwise, it does not link with it."""
    more = ["--alignment", "4"] if planned == 4 else []
    header = tmp_path / "plan.h"
    tau("plan", recording, "--header", header, "--pools", pools, *more)
    (tmp_path / "user.c").write_text(USER)
    words = ["gcc", "-std=c17", "-Os", "-DTAU_WORD_BITS=32", f"-I{ROOT}", f"-I{tmp_path}"]
    for compiled in {planned, built}:
        flags = [*words, *(FOUR if compiled == 4 else [])]
        user = [*flags, "-c", str(tmp_path / "user.c"), "-o", str(tmp_path / "user.o")]
        done = subprocess.run(user, capture_output=True, text=True, check=False, timeout=300)
        assert (done.returncode == 0) == (compiled == planned)
        way = "add -DTAU_ALIGNMENT=4 -DTAU_ALIGNMENT_BELOW_MAX=1"
        remedy = way if planned == 4 else "leave out -DTAU_ALIGNMENT"
        assert compiled == planned or remedy in done.stderr
    core = [str(ROOT / "core" / name) for name in ("tlsf.c", "budget.c")]
    flags = [*words, *(FOUR if built == 4 else [])]
    user_flags = [*words, *(FOUR if planned == 4 else [])]
    made = [str(tmp_path / "user.c"), "-c", "-o", str(tmp_path / "user.o")]
    subprocess.run([*user_flags, *made], check=True, timeout=300)
    link = [*flags, str(tmp_path / "user.o"), *core, "-o", str(tmp_path / "user")]
    done = subprocess.run(link, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode == 0) == (built == planned), done.stderr
    if built == planned:
        subprocess.run([str(tmp_path / "user")], check=True, timeout=300)
    else:
        assert "undefined reference to `tau_tlsf_built_word32" in done.stderr


CROSS = {"arm-none-eabi": ["-mcpu=cortex-m4", "-mthumb"], "riscv64-unknown-elf": ["-march=rv32imc"]}
PORT = ["-DTAU_SINGLE_THREAD=1", "-c", str(ROOT / "core" / "ports" / "newlib" / "heap.c")]


@pytest.mark.parametrize("target", CROSS)
def test_a_port_of_malloc_needs_to_be_asked_twice(
    tmp_path: Path, recording: Path, target: str
) -> None:
    """malloc must be good for a double, unless the firmware says that it has none."""
    tau("plan", recording, "--header", tmp_path / "heap_plan.h", "--alignment", "4")
    abi = ["-mabi=ilp32"] if target.startswith("riscv") else []
    libc = "--specs=picolibc.specs" if abi else "--specs=nosys.specs"
    words = [f"{target}-gcc", "-std=gnu17", "-Os", *CROSS[target], *abi, libc]
    words += [f"-I{ROOT}", f"-I{tmp_path}", *PORT, "-o", str(tmp_path / "heap.o")]
    once = subprocess.run([*words, FOUR[0]], capture_output=True, text=True, timeout=300)
    assert once.returncode != 0 and "too small for a double" in once.stderr
    subprocess.run([*words, *FOUR], check=True, timeout=300)


CPP_USER = """#include "core/ports/cpp/tautochrone.hpp"
#include <cstdint>
int main() {
    tautochrone::allocator<double> doubles;
    for (int i = 0; i < 3; i++) {
        if (reinterpret_cast<std::uintptr_t>(doubles.allocate(1)) % alignof(double) != 0) {
            return 1;
        }
    }
    return tautochrone::plan::allocate(16, 4) == nullptr;
}
"""


def test_typed_objects_keep_their_alignment(tmp_path: Path, recording: Path) -> None:
    """The port to C++ requests a double with its alignment."""
    tau("plan", recording, "--header", tmp_path / "heap_plan.h", "--alignment", "4")
    (tmp_path / "user.cpp").write_text(CPP_USER)
    words = ["-Os", "-DTAU_WORD_BITS=32", *FOUR, f"-I{ROOT}", f"-I{tmp_path}"]
    for source in ("tlsf.c", "budget.c"):
        made = [str(ROOT / "core" / source), "-c", "-o", str(tmp_path / f"{source}.o")]
        subprocess.run(["gcc", "-std=c17", *words, *made], check=True, timeout=300)
    objects = [str(tmp_path / f"{source}.o") for source in ("tlsf.c", "budget.c")]
    program = tmp_path / "user"
    command = ["g++", "-std=c++17", *words, str(tmp_path / "user.cpp"), *objects, "-o"]
    subprocess.run([*command, str(program)], check=True, timeout=300)
    subprocess.run([str(program)], check=True, timeout=300)
