"""Damaged and hostile traces: every cut and flipped bit of a small one, fuzzing with sanitizers.

A damaged trace is refused, or read up to the damage and said to be recovered: never are other
events read than were written.
"""

import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from tautochrone.convert.exporting import export_csv
from tautochrone.errors import TauError
from tautochrone.facts import trace_format as form
from tautochrone.trace.file import Columns, open_trace
from tool.tests.convert.test_import import HEAPTRACK
from tool.tests.trace import trace_model as model

ROOT = Path(__file__).parents[3]
SOURCES = [
    source
    for room in ("trace", "convert")
    for source in sorted((ROOT / "tool/native" / room).glob("*.c"))
]


MANY_ROUNDS = ((40, 1500), (3000, 600), (70_000, 25))


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, dict[str, np.ndarray]]:
    """A trace of a few hundred bytes with sites, misuse and wide values, and its events."""
    events = model.random_events(11, 16, sites=2)
    path = tmp_path / "small.tau"
    model.write(path, events, sites=2, command="x")
    return path, events


def read_damaged(path: Path) -> tuple[dict[str, np.ndarray] | None, bool]:
    """(Events, recovered), or (None, False) if the trace was refused with an error."""
    try:
        with open_trace(path) as reader:
            reader.sizes(), reader.sites()
            recovered = reader.totals.recovered
            blocks = [b._asdict() for b in reader.columns()]
            assert len(blocks) <= 1
            empty = {name: np.empty(0, np.uint64) for name in Columns._fields}
            return ({n: c.copy() for n, c in blocks[0].items()} if blocks else empty), recovered
    except TauError:
        return None, False


def test_every_cut_is_refused_or_recovered(small: tuple[Path, dict[str, np.ndarray]]) -> None:
    path, events = small
    whole = path.read_bytes()
    recovered_all = 0
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        found, recovered = read_damaged(path)
        if found is not None:
            assert recovered, length
            assert model.is_prefix(found, events)
            recovered_all += len(found["op"]) == len(events["op"])
    assert recovered_all > 0


# Each place of a bit in a byte, in one byte of seven; or every bit.
@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_every_flipped_bit_is_noticed_or_harmless(
    small: tuple[Path, dict[str, np.ndarray]], step: int
) -> None:
    path, events = small
    whole = bytearray(path.read_bytes())
    assert len(whole) < 2000
    sound = 0
    for bit in range(0, len(whole) * 8, step):
        whole[bit // 8] ^= 1 << bit % 8
        path.write_bytes(whole)
        whole[bit // 8] ^= 1 << bit % 8
        found, recovered = read_damaged(path)
        if found is not None:
            assert recovered and model.is_prefix(found, events), bit
            sound += 1
    assert sound > 0


def test_a_flip_in_a_block_of_many_loses_that_block_only(tmp_path: Path) -> None:
    path = tmp_path / "t.tau"
    model.write(path, model.random_events(2, 150_000))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 16
    path.write_bytes(data)
    with open_trace(path) as reader:
        assert reader.totals.events == 150_000 and not reader.totals.recovered
        with pytest.raises(TauError, match=r"block 1, from event 65536"):
            list(reader.columns())


def test_a_lost_footer_of_a_long_trace_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.tau"
    events = model.random_events(2, 150_000)
    model.write(path, events)
    path.write_bytes(path.read_bytes()[: -form.TRAILER_BYTES - 3])
    with open_trace(path) as reader:
        assert reader.totals.recovered and reader.totals.events == 150_000
        assert reader.totals.dropped_bytes > 0
        assert {n: getattr(reader.totals, n) for n in ("peak_live_bytes", "slots_count_max")} == {
            n: model.totals_of(events)[n] for n in ("peak_live_bytes", "slots_count_max")
        }


def build_fuzzer(name: str, folder: Path) -> Path:
    """Build tool/tests/NAME.c with the address and undefined-behavior sanitizers."""
    compiler = shutil.which("gcc") or shutil.which("clang")
    assert compiler, "gcc or clang is needed: apt install gcc"
    target = folder / Path(name).name
    subprocess.run(
        [compiler, "-std=c17", "-O1", "-g", "-D_GNU_SOURCE", "-fsanitize=address,undefined",
         "-fno-sanitize-recover=all", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}",
         ROOT / f"tool/tests/{name}.c", *SOURCES,
         "-lzstd", "-o", target],
        check=True, timeout=300,
    )  # fmt: skip
    return target


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fuzzer of the reader."""
    return build_fuzzer("trace/fuzz_trace", tmp_path_factory.mktemp("fuzz"))


@pytest.mark.parametrize(
    ("events", "rounds"),
    [
        *((40, 300), (3000, 120), (70_000, 5)),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in MANY_ROUNDS),
    ],
)
def test_fuzzed_traces_never_crash(fuzzer: Path, tmp_path: Path, events: int, rounds: int) -> None:
    seed = time.time_ns() % 2**32
    print("seed", seed)
    model.write(tmp_path / "t.tau", model.random_events(seed, events))
    run = subprocess.run(
        [fuzzer, tmp_path / "t.tau", tmp_path / "damaged.tau", str(seed), str(rounds)],
        capture_output=True, text=True, timeout=300,
        env={"ASAN_OPTIONS": "allocator_may_return_null=0:quarantine_size_mb=16"},
    )  # fmt: skip
    assert run.returncode == 0, f"seed {seed}\n{run.stderr[-4000:]}"
    assert int(run.stdout) < 400_000, "KiB: more memory than a block and its tables need"


@pytest.fixture(scope="module")
def import_fuzzer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fuzzer of the importer."""
    return build_fuzzer("convert/fuzz_import", tmp_path_factory.mktemp("fuzz"))


@pytest.mark.parametrize("form", ["csv", "heaptrack"])
def test_fuzzed_texts_never_crash_the_importer(
    import_fuzzer: Path, tmp_path: Path, form: str
) -> None:
    seed = time.time_ns() % 2**32
    print("seed", seed)
    text = tmp_path / "text"
    if form == "csv":
        model.write(tmp_path / "t.tau", model.random_events(seed, 60))
        export_csv(open_trace(tmp_path / "t.tau"), text)
        text.write_text(text.read_text() + 'malloc,"a,""b",1,,99999999999999,0,"m,+0x1",\n')
    else:
        text.write_bytes(HEAPTRACK)
    number = str(("csv", "heaptrack").index(form))
    run = subprocess.run(
        [import_fuzzer, text, tmp_path / "scratch.tau", number, str(seed), "250"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert run.returncode == 0, f"seed {seed}\n{run.stderr[-4000:]}"
