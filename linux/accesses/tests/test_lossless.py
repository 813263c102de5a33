"""A recording of first touches loses nothing for a replay in pages [P0-36], gap G-4.

Three programs are recorded twice: each access of the heap, and the first touches only. Both are
replayed on the real-time and on the conventional system, which must then show the same faults,
peak and mean, and the same cost of every call and every fault. A recording that lost touches must
not.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from testing.satisfiability import formula
from tautochrone.replay.paging import PageReplay, page_replay
from tautochrone.trace.file import OPS, TraceWriter, open_trace

TOUCH = OPS.index("touch")
SYSTEMS = ("rtvm", "conventional")
# Heap accesses for one event, at least; the programs are small here, bench/access has larger ones.
# Tables, lists and texts of several pages that grow and are given up, again and again.
WORDS = """
for my $round (1 .. 6) {
    my %table;
    $table{$_ * $round % 97} .= "x" x ($_ % 20) for 1 .. 1500;
    my @sorted = sort { length $table{$a} <=> length $table{$b} } keys %table;
    my ($text, @list) = ("y" x (9000 * $round), (1) x (700 * $round));
    $text .= join ",", @sorted[0 .. 50];
}
"""
RATIO_MIN = {"minisat": 100, "perl": 100, "fourier": 100}


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which the tool is built once for all programs."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def command(request: Any, build: Callable[..., Path], tmp_path: Path) -> list[str]:
    """The command line of one of the programs."""
    name = request.param
    if name == "fourier":
        return [str(build("fourier", "-lm")), "14"]
    if name == "minisat":
        return ["minisat", "-verb=0", str(formula(tmp_path / "sat.cnf", 100, 6))]
    return ["perl", "-e", WORDS]


def shown(replay: PageReplay) -> dict[str, Any]:
    """What must not depend on how a program's accesses were recorded."""
    assert replay.completed
    names = ("faults", "peak_mapped_pages", "end_mapped_pages", "mean_mapped_pages")
    costs = {
        f"{operation}: {cost}": getattr(calls, cost).tolist()
        for operation, calls in replay.calls.items()
        for cost in ("size_bytes", "instructions", "accesses")
        if operation != "fault" or cost != "size_bytes"
    }
    return {name: getattr(replay, name) for name in names} | costs


def without(source: Path, out: Path, part: float) -> Path:
    """A copy of a trace without a random part of its touches."""
    chance = np.random.default_rng(1)
    with open_trace(source) as reader, TraceWriter(out, reader.header) as writer:
        for module, offset in reader.sites():
            writer.site(module, offset)
        for block in reader.columns():
            kept = (block.op != TOUCH) | (chance.random(len(block.op)) >= part)
            writer.append(**{name: column[kept] for name, column in block._asdict().items()})
    return out


@pytest.mark.parametrize("command", ["minisat", "perl", "fourier"], indirect=True)
def test_first_touches_are_enough(
    command: list[str],
    record: Callable[..., Any],
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("PERL_HASH_SEED", "0")
    first = record(*command, options=("--accesses",))
    header = first.header()["accesses"]
    path = tmp_path / "first.tau"
    Path(first.traces[0]["path"]).rename(path)
    every = record(*command, options=("--accesses=full",))
    full = Path(every.traces[0]["path"])
    heap = header["heap_loads"] + header["heap_stores"]
    assert every.header()["accesses"] == header  # the program did the same both times
    events = first.traces[0]["events"]
    wanted = {system: shown(page_replay(full, system)) for system in SYSTEMS}
    for system in SYSTEMS:
        assert shown(page_replay(path, system)) == wanted[system], system
    lost = shown(page_replay(without(path, tmp_path / "lost.tau", 0.9), SYSTEMS[0]))
    assert lost != wanted[SYSTEMS[0]], "the touches make no difference to this program"
    print(f"{command[0]}: {heap:,} accesses, {events:,} events: {heap / events:.0f}")
    assert heap / events >= RATIO_MIN[Path(command[0]).name]
