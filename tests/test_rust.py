"""The crate for Rust serves programs from the heap of a plan, and records any allocator.

Method: tests/rust/work.rs grows, shrinks and aligns containers. A Linux program does it in four
threads, and a bare Cortex-M4 while an interrupt allocates. Both go from recordings to a plan, and
give the recorder's checksums on it, for fresh seeds too. Without interrupts, the bytes in use are
the model's. An allocator that counts its calls says what a recording must contain. Debian's cargo
builds the crate without a network, from the files that it would be published with.
"""

import json
import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.pages import Page, read
from tests.test_newlib import used_in_main
from tests.test_record_wrap import misuse_of

from tautochrone.convert.importing import import_file
from tautochrone.machine.core_build import Build
from tautochrone.plan import build
from tautochrone.plan.file import BANDS, Plan, PlanClass, PlanTrace, load_plan
from tautochrone.plan.header import save_header
from tautochrone.trace.file import OPS

from testing.command import tau_done
from testing.firmware import CAPTURE, FIRMWARE, QEMU_ARM, ROOT, emulate, run
from testing.recorded import events_of

PROGRAMS = ROOT / "tests" / "rust"
CARGO = "/usr/bin/cargo"  # Debian's; another one may come first on the path
# The crate cc, and what cargo looks for when it builds core and alloc.
CRATES = ("/usr/share/cargo/registry", "/usr/lib/rustlib/src/rust/library/vendor")
SETTINGS = """
[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "{crates}"
[net]
offline = true
"""
BARE = "thumbv7em-none-eabi"
# Its clock counts instructions, so interrupts come as often on any machine.
STEPPED = (*QEMU_ARM, "-icount", "shift=5")
SEMIHOSTING = ("-semihosting-config", "enable=on,target=native", "-kernel")
BARE_SETTINGS = f"""
[build]
target = "{BARE}"
[unstable]
build-std = ["core", "alloc"]
[target.{BARE}]
linker = "arm-none-eabi-gcc"
rustflags = ["-Clink-arg=-nostartfiles", "-Clink-arg=-T{FIRMWARE}/board.ld"]
runner = {json.dumps([*QEMU_ARM, *SEMIHOSTING])}
"""
PROJECT = f"""
[package]
name = "host"
edition = "2021"
[features]
record = ["tautochrone/record"]
counted = ["record"]
[dependencies]
tautochrone = {{ path = "tautochrone" }}
[[bin]]
name = "host"
path = "{PROGRAMS}/host.rs"
[profile.dev]
debug = false
"""
PLAN = Plan(
    classes=(),
    heap_bytes=65_536,
    planner="replayed",
    optimal_within=0.0,
    layout="host",
    traces=(PlanTrace("program.tau", "ab" * 32, 1000, 8000),),
)
SEEDS_MAX = 2**20


def set_up(folder: Path, patch: pytest.MonkeyPatch, more: str = "") -> None:
    """Let cargo use Debian's crates and no network, and build in FOLDER."""
    crates = folder / "cargo" / "crates"
    crates.mkdir(parents=True)
    for crate in (path for place in CRATES for path in Path(place).glob("*")):
        (crates / crate.name).symlink_to(crate)
    (crates.parent / "config.toml").write_text(SETTINGS.format(crates=crates) + more)
    patch.setenv("CARGO_HOME", str(crates.parent))
    patch.setenv("CARGO_TARGET_DIR", str(folder / "target"))
    patch.setenv("PATH", f"/usr/bin:{os.environ['PATH']}")
    patch.setenv("RUST_BACKTRACE", "0")
    patch.setenv("RUSTC_BOOTSTRAP", "1" if more else "0")


def built(folder: Path, name: str, *words: str, place: str = "debug/host", **heap: object) -> Path:
    """Build the program in FOLDER with these words and heap; return it, with a name of its own."""
    environment = {key: str(value) for key, value in heap.items()}
    run(CARGO, "build", "--quiet", *words, cwd=folder, environment=environment)
    return Path(shutil.copy(folder / "target" / place, folder / name))


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the project of the Linux program, in which cargo works."""
    folder = tmp_path_factory.mktemp("host")
    (folder / "Cargo.toml").write_text(PROJECT)
    with pytest.MonkeyPatch.context() as patch:
        set_up(folder, patch)
        for name in map(Path, published(folder)):
            (folder / "tautochrone" / name.parent).mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / "tautochrone" / name)
        yield folder


def published(folder: Path) -> list[str]:
    """The files that cargo packs for crates.io, but those that it makes."""
    words = ("--list", "--allow-dirty", "--manifest-path", ROOT / "Cargo.toml")
    made = {".cargo_vcs_info.json", "Cargo.toml.orig", "Cargo.lock"}
    return [name for name in run(CARGO, "package", *words, cwd=folder).split() if name not in made]


def plan_of(recordings: list[tuple[Path, str]], folder: Path, *words: str) -> Path:
    """Plan from these captures, which have names; return the header."""
    (folder / "runs").mkdir()
    for capture, name in recordings:
        assert misuse_of(import_file(capture, folder / "runs" / name)) == (0, 0, 0, 0)
    out = ("-o", folder / "plan.toml", "--header", folder / "heap_plan.h", "--force")
    tau_done("plan", *(folder / "runs" / name for _, name in recordings), *words, *out)
    return folder / "heap_plan.h"


def some_seeds(count: int) -> list[int]:
    """Random seeds, printed."""
    seeds = random.sample(range(1, SEEDS_MAX), count)
    print(f"seeds {seeds}")
    return seeds


def test_a_program_runs_on_its_plan(host: Path) -> None:
    recording = built(host, "recording", "--features", "record", TAU_HEAP_BYTES=1_000_000)
    seeds, said, captures = some_seeds(5), {}, []
    for seed in seeds:
        said[seed] = run(recording, str(seed), "1", cwd=host)
        captures.append(((host / CAPTURE).rename(host / f"{seed}.bin"), f"{seed}.tau"))
    header = plan_of(captures[:2], host, "--pools", "always", "--layout", "host", "--margin", "30%")
    planned = built(host, "planned", TAU_PLAN=header)
    assert {seed: run(planned, str(seed), "1", cwd=host) for seed in seeds} == said
    words = (planned, str(seeds[0]), "1", "and more than all")
    refused = subprocess.run(words, capture_output=True, text=True)
    assert refused.returncode < 0 and refused.stdout == said[seeds[0]]
    assert "memory allocation of 1073741824 bytes failed" in refused.stderr


def test_any_allocator_is_recorded_call_by_call(host: Path) -> None:
    counted = built(host, "counted", "--features", "counted", TAU_HEAP_BYTES=1000)
    said = run(counted, str(some_seeds(1)[0]), "4", cwd=host)
    calls, size_bytes, aligned = map(int, re.findall(r"\w+ (\d+)", said.splitlines()[1]))
    assert misuse_of(import_file(host / CAPTURE, host / "counted.tau")) == (0, 0, 0, 0)
    rows = events_of(host / "counted.tau")
    operations = [OPS[op] for op in rows["op"]]
    made = rows[[op != "free" for op in operations]]
    assert (len(rows), int(made["size_bytes"].sum())) == (calls, size_bytes)
    assert operations.count("aligned_alloc") == aligned > 100
    # The task and the clock say how many calls were served before, modulo 2 and in milliseconds.
    assert rows["thread"].tolist() == [call % 2 for call in range(calls)]
    assert rows["time_ns"][-1] - rows["time_ns"][0] == pytest.approx(calls * 10**6, rel=0.01)


def refusal_of(folder: Path, **heap: object) -> str:
    """What cargo says of a heap that it refuses; nothing if the program is built."""
    environment = os.environ | {key: str(value) for key, value in heap.items()}
    command = (CARGO, "build", "--quiet")
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def test_what_cannot_be_right_is_refused_with_the_reason(host: Path) -> None:
    header = host / "other" / "heap_plan.h"
    header.parent.mkdir()
    assert "set one of the two" in refusal_of(host)
    assert "set one of the two" in refusal_of(host, TAU_PLAN=header, TAU_HEAP_BYTES=1000)
    assert "is not there" in refusal_of(host, TAU_PLAN=header)
    assert "must begin with /" in refusal_of(host, TAU_PLAN="heap_plan.h")
    assert "is not a number of bytes" in refusal_of(host, TAU_HEAP_BYTES="64k")
    header.write_text("")
    assert "TAU_PLAN has no heap" in refusal_of(host, TAU_PLAN=header)
    bands = {"planner": BANDS, "recorded_counts": (60,), "stated_counts": (0,)}
    checked = {build.NAME: build.of(Build(2, "-Os"), "host")}
    for plan, refusal in (
        (replace(PLAN, layout="32"), "this plan is for a 32-bit target"),
        (replace(PLAN, sections=checked), "the plan was measured with other options"),
        (replace(PLAN, classes=(PlanClass(32, 64),), **bands), ""),
    ):
        save_header(plan, header, "tau plan", force=True)
        said = refusal_of(host, TAU_PLAN=header)
        assert refusal in said if refusal else not said, said
    (seed,) = some_seeds(1)
    assert run(host / "target/debug/host", str(seed), "4", cwd=host)


@pytest.mark.slow
def test_the_page_leads_to_a_firmware_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up(tmp_path, monkeypatch, BARE_SETTINGS)
    source = tmp_path / "src"
    source.mkdir()
    shutil.copy(PROGRAMS / "work.rs", source)
    shutil.copy(PROGRAMS / "firmware.rs", source / "main.rs")
    (source / "heap.rs").symlink_to(tmp_path / "heap.rs")
    read(Page("docs/ports/rust.md"), tmp_path)

    place = f"{BARE}/release/firmware"
    record = ("--release", "--features", "tautochrone/record")
    recording = built(tmp_path, "recording", *record, place=place, TAU_HEAP_BYTES=100_000)
    *ticking, quiet = some_seeds(6)
    said, captures = {}, []
    for words in (*((seed,) for seed in ticking), ("quiet", quiet)):
        said[words] = emulate(recording, *words, machine=STEPPED)
        capture = (tmp_path / CAPTURE).rename(tmp_path / f"{words[-1]}.bin")
        captures.append((capture, f"{words[-1]}.tau"))
    header = plan_of([*captures[:3], captures[-1]], tmp_path, "--margin", "30%")
    planned = built(tmp_path, "planned", "--release", place=place, TAU_PLAN=header)
    for words, line in said.items():
        counts, result = emulate(planned, *words, machine=STEPPED).splitlines()
        used, ticks = map(int, re.findall(r"\d+", counts))
        assert result == line.splitlines()[1]
        if words == ("quiet", quiet):
            trace = tmp_path / "runs" / f"{quiet}.tau"
            assert used == used_in_main(load_plan(tmp_path / "plan.toml"), trace)
        else:
            assert ticks > 100
    words = ("--elf", recording, "--json")
    named = json.loads(tau_done("who", tmp_path / "runs" / f"{quiet}.tau", *words).stdout)
    own = sum(row["peak_bytes"] for row in named["rows"] if row["file"] == "src/work.rs")
    assert own > 0.6 * named["peak_bytes"]  # the rest is of growing containers
