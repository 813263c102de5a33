"""`tau record --accesses`: first touches of small programs, each known exactly.

A program that makes random accesses tells itself what the recording must hold; the recording of
every access, reduced here the plain way, must be the recording of first ones, times included.
"""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tautochrone.facts import trace_format as form
from tautochrone.record import accesses as access
from tautochrone.record.program import build_id
from tautochrone.trace import abi
from tautochrone.trace.checking import check_trace
from tautochrone.trace.file import OPS, open_trace
from testing.recorded import Build, Record

MALLOC, CALLOC, REALLOC, ALIGNED, FREE, TOUCH = range(len(OPS))
TOLD = re.compile(r"[a-z_]+ \d+ \d+ \d+")
OBJECTS = 24  # Objects that the random program has at once.
Row = tuple[Any, ...]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which the tool is built once for all tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def accesses(record: Record, cache: Path) -> Record:
    """Record a program with --accesses; `options` go before it."""

    def run(*words: object, options: tuple[str, ...] = ("--accesses",), **env: str) -> Any:
        return record(*words, options=options, env={"XDG_CACHE_HOME": str(cache)} | env)

    return run


def touches_of(events: np.ndarray, size_bytes: int) -> list[tuple[int, int]]:
    """(Offset, granules) of the touches of the first object that was made with this size."""
    made = np.flatnonzero((events["op"] != TOUCH) & (events["size_bytes"] == size_bytes))[0]
    slot = events["slot"][made]
    later = events[made:]
    ends = np.flatnonzero((later["op"] == FREE) & (later["slot"] == slot))
    life = later[: ends[0]] if len(ends) else later
    own = life[(life["op"] == TOUCH) & (life["slot"] == slot)]
    return list(zip(own["size_bytes"].tolist(), own["align_log2"].tolist(), strict=True))


def covered(touches: list[tuple[int, int]]) -> set[int]:
    """The granules that touches name; none may be named twice."""
    granules = [offset // 16 + n for offset, count in touches for n in range(count)]
    assert len(granules) == len(set(granules))
    return set(granules)


def test_the_machine_is_named(build: Build, accesses: Record) -> None:
    """Valgrind runs programs of this machine; the build id is the program's, if it is unchanged."""
    program = build("fourier", "-lm")
    header = accesses(program).header()
    assert header["abi"] == abi.of_host() == "x86-64"
    assert header["build_id"] == build_id(program) != ""
    assert access._build_id(program, program.stat().st_mtime - 1) == ""


def test_plain_touches_and_counts(build: Build, accesses: Record) -> None:
    recorded = accesses(build("touches"), "plain")
    assert recorded.status == 0
    events = recorded.events()
    assert [(OPS[e["op"]], e["size_bytes"], e["align_log2"], e["time_ns"]) for e in events] == [
        ("malloc", 1001, 0, 0), ("touch", 0, 1, 0), ("touch", 32, 1, 1), ("touch", 992, 1, 1002),
        ("free", 0, 0, 1003),
    ]  # fmt: skip
    header = recorded.header()
    assert header["accesses"]["heap_loads"] == 1 and header["accesses"]["heap_stores"] == 1002
    assert header["clock"] == "accesses" and header["granule_bytes"] == form.GRANULE_BYTES
    others = header["accesses"]["other_loads"] + header["accesses"]["other_stores"]
    assert others > 10_000  # The dynamic linker's, at least.
    assert 0 < header["stack_accesses"] < others
    assert header["recorder"] == "valgrind" and header["ended"] == "exit"
    assert header["command"] == [str(build("touches")), "plain"]
    with open_trace(recorded.traces[0]["path"]) as reader:
        assert reader.sites()[events["site"][0] - 1][0] == str(build("touches"))


def test_all_accesses_are_as_many_as_another_tool_counts(accesses: Record) -> None:
    """Lackey counts them too, with what malloc itself does."""
    words = ["perl", "-e", "$sum += length($_ % 7 . 'x') for 1 .. 8000"]
    lackey = ["valgrind", "--tool=lackey", "--basic-counts=no", "--detailed-counts=yes"]
    done = subprocess.run([*lackey, *words], capture_output=True, text=True, timeout=300)
    lines = re.findall(r"(?:[IFDV]\d+) +([\d,]+) +([\d,]+) +[\d,]+$", done.stderr, re.MULTILINE)
    wanted = [sum(int(line[n].replace(",", "")) for line in lines) for n in (0, 1)]
    found = accesses(*words).header()["accesses"]
    for kind, count in zip(("loads", "stores"), wanted, strict=True):
        ours = found[f"heap_{kind}"] + found[f"other_{kind}"]
        assert count > 200_000 and abs(ours - count) < 0.1 * count, kind


def test_accesses_across_granules(build: Build, accesses: Record) -> None:
    events = accesses(build("touches"), "straddle").events()
    assert touches_of(events, 1002) == [(0, 2), (48, 2), (96, 2), (192, 1)]


@pytest.mark.skipif("avx" not in Path("/proc/cpuinfo").read_text(), reason="no AVX here")
def test_a_store_of_32_bytes_touches_three_granules(build: Build, accesses: Record) -> None:
    events = accesses(build("touches"), "wide").events()
    assert touches_of(events, 1002) == [(0, 3)]


def test_realloc_keeps_what_was_touched(build: Build, accesses: Record) -> None:
    events = accesses(build("touches"), "resized").events()
    assert touches_of(events, 1003) == [(64, 1), (0, 1), (80, 1), (64, 1), (32, 1)]
    sizes = events["size_bytes"][events["op"] == REALLOC].tolist()
    assert sizes == [100003, 50, 1003]


def test_calloc_and_alignment(build: Build, accesses: Record) -> None:
    """calloc's own stores are not touches: a replay knows that calloc clears."""
    events = accesses(build("touches"), "cleared").events()
    assert touches_of(events, 1005) == [(16, 1)]
    assert touches_of(events, 8192) == [(4096, 1)]
    assert events["align_log2"][events["op"] == ALIGNED].tolist() == [12]


def test_library_functions_touch_what_they_use(build: Build, accesses: Record) -> None:
    events = accesses(build("touches"), "copied").events()
    assert covered(touches_of(events, 6000)) == set(range(-(-5000 // 16)))
    # 0 … 3 by the small copy, 500 … 3499 by the large one; strlen reads 32 bytes at least.
    found = covered(touches_of(events, 5000))
    assert {0, *range(500 // 16, 3500 // 16 + 1)} <= found
    assert found <= {*range(4), *range(500 // 16, 3500 // 16 + 1)}


def test_the_kernel_touches_too(build: Build, accesses: Record) -> None:
    """read(2), write(2) and the name given to open(2)."""
    events = accesses(build("touches"), "kernel").events()
    assert touches_of(events, 1004) == [(0, 7)]
    assert touches_of(events, 1006) == [(16, 2)]
    assert touches_of(events, 108) == [(0, 1)]
    assert touches_of(events, 109) == [(0, 1)]  # A name that the program only had cleared.


def test_threads(build: Build, accesses: Record) -> None:
    recorded = accesses(build("touches"), "threads")
    events = recorded.events()
    for number in range(4):
        assert touches_of(events, 3000 + number) == [(16 * n, 1) for n in range(number + 1)]
    workers = {int(e["thread"]) for e in events if e["size_bytes"] in range(3000, 3004)}
    assert len(workers) >= 1 and 0 not in workers


def test_touches_of_two_threads_are_not_joined(build: Build, accesses: Record) -> None:
    events = accesses(build("touches"), "turns").events()
    assert touches_of(events, 3500) == [(0, 1), (16, 1), (32, 1)]
    own = events[(events["op"] == TOUCH) & (events["size_bytes"] <= 32)]["thread"].tolist()
    assert own[-3:] == [0, 1, 0]


def test_a_forked_child_has_its_own_trace(build: Build, accesses: Record) -> None:
    recorded = accesses(build("touches"), "forked")
    assert recorded.status == 7 and len(recorded.traces) == 2
    headers = [recorded.header(index) for index in (0, 1)]
    child = next(i for i in (0, 1) if headers[i]["parent"] is not None)
    parent = 1 - child
    assert headers[child]["parent"]["recording"] == headers[parent]["recording"]
    assert headers[child]["parent_pid"] == headers[parent]["pid"]
    own = recorded.events(child)
    assert touches_of(own, 2003) == [(32, 1)] and touches_of(own, 2004) == [(48, 1)]
    flags = own["flags"][own["flags"] != 0].tolist()
    assert flags == [form.FLAG_INHERITED] * 2
    assert headers[child]["accesses"]["heap_stores"] == 3  # Its own, from the fork on.
    assert touches_of(recorded.events(parent), 2001) == [(0, 1), (16, 1)]


def test_children_only_if_wanted(build: Build, accesses: Record) -> None:
    words = ("sh", "-c", f"{build('touches')} plain; exit 3")
    child = accesses(*words, options=("--accesses", "--only", "touch*"))
    assert child.status == 3 and [trace["name"] for trace in child.traces] == ["touches"]
    assert 1001 in child.events()["size_bytes"]
    alone = accesses(*words, options=("--accesses", "--no-children", "--force"))
    assert all(1001 not in alone.events(i)["size_bytes"] for i in range(len(alone.traces)))


def test_exec_starts_a_trace_and_ends_one(build: Build, accesses: Record) -> None:
    recorded = accesses(build("touches"), "exec", "plain")
    found = {len(recorded.events(i)): recorded.events(i) for i in range(len(recorded.traces))}
    assert touches_of(found[2], 1008) == [(160, 1)]
    assert touches_of(found[5], 1001) == [(0, 1), (32, 1), (992, 1)]


def test_a_killed_program_keeps_what_was_written(build: Build, accesses: Record) -> None:
    """Killed while it computes: all before its last system call is there, and most of the rest."""
    recorded = accesses(build("touches"), "killed")
    assert recorded.status == 137 and recorded.document["signal"] == "SIGKILL"
    (own,) = (i for i in range(len(recorded.traces)) if recorded.header(i)["parent"] is None)
    events = recorded.events(own)
    assert touches_of(events, 3001) == [(16 * n, 1) for n in range(188)]
    assert recorded.header(own)["accesses"]["heap_stores"] >= 3001
    assert recorded.header(own)["ended"] == "killed by SIGKILL"
    left = touches_of(events, 80001)
    assert left == [(32 * n, 1) for n in range(len(left))] and 2500 - 4096 / 4 <= len(left) <= 2500


def test_misuse_is_flagged(build: Build, accesses: Record) -> None:
    recorded = accesses(build("touches"), "misused")
    events = recorded.events()
    assert touches_of(events, 1007) == [(0, 1)]
    flags = events["flags"][events["flags"] != 0].tolist()
    assert flags == [form.FLAG_DOUBLE_FREE, form.FLAG_UNKNOWN]
    assert recorded.traces[0]["unknown_count"] == 1


def test_memory_that_malloc_does_not_see_is_said(build: Build, accesses: Record) -> None:
    """Two accesses in three are a static pool's; the stack's do not cause the warning."""
    recorded = accesses(build("touches"), "hidden")
    assert "67% of the accesses outside of the stack are to memory that is not" in recorded.stderr
    assert recorded.header()["accesses"]["heap_stores"] == 3_000_000
    recorded = accesses(build("touches"), "worked", options=("--accesses", "--force"))
    assert "outside of the stack" not in recorded.stderr
    assert recorded.header()["stack_accesses"] >= 6_000_000


def test_the_preset_shows_the_heap_of_php(accesses: Record) -> None:
    words = ("php", "-n", "-r", "$t = []; for ($i = 0; $i < 30000; $i++) $t[$i % 99] = [$i, $i];")
    shown = accesses(*words)
    assert "USE_ZEND_ALLOC=0" in shown.stderr and "outside of the stack" not in shown.stderr
    wanted = shown.header()["accesses"]["heap_stores"]
    hidden = accesses(*words, options=("--accesses", "--preset", "none", "--force"))
    assert hidden.header()["accesses"]["heap_stores"] < wanted / 2
    assert "is not malloc's" in hidden.stderr


def test_an_unknown_instruction_gets_a_hint(build: Build, accesses: Record) -> None:
    recorded = accesses(build("touches"), "trapped")
    assert recorded.status == 132 and "AVX-512" in recorded.stderr
    assert "-march=x86-64-v3" in recorded.stderr


def test_without_valgrind_the_package_is_named(
    build: Build, tau: Callable[..., Any], tmp_path: Path
) -> None:
    """Nothing is left behind, and the exit status says that nothing could be recorded."""
    bare = tmp_path / "bin"
    bare.mkdir()
    words = ("record", "--accesses", "-o", "x.tau", "--", build("touches"), "plain")
    done = tau(*words, env=dict(os.environ) | {"PATH": str(bare)})
    assert done.returncode == 125 and "valgrind is missing" in done.stderr
    assert "apt install valgrind" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["bin"]


def test_a_cache_that_cannot_be_written_is_said(
    build: Build, tau: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    words = ("record", "--accesses", "-o", "x.tau", "--", build("touches"), "plain")
    done = tau(*words, env=dict(os.environ) | {"XDG_CACHE_HOME": str(tmp_path / "file")})
    assert done.returncode == 125 and "XDG_CACHE_HOME" in done.stderr
    assert not (tmp_path / "x.tau").exists()


def test_options_that_do_not_fit_are_refused(build: Build, tau: Callable[..., Any]) -> None:
    done = tau("record", "--max-events", "5", "--", build("touches"))
    assert done.returncode == 2 and "--accesses" in done.stderr
    done = tau("record", "--accesses=most", "--", build("touches"))
    assert done.returncode == 2 and "'first', 'full'" in done.stderr
    done = tau("record", "--accesses", "--", "no-such-program")
    assert done.returncode == 127


def told(recorded: Any, text: str) -> tuple[list[Row], list[Row]]:
    """(What the random program says of its events, what the trace has), ids as in the program."""
    wanted: list[Row] = [tuple(line.split()) for line in text.splitlines() if TOLD.fullmatch(line)]
    ids = iter(row[1] for row in wanted if row[0] in ("malloc", "calloc", "aligned_alloc"))
    found: list[Row] = []
    object_of: dict[int, str] = {}
    for event in recorded.events():
        op = OPS[event["op"]]
        if event["op"] in (MALLOC, CALLOC, ALIGNED):
            object_of[event["slot"]] = next(ids)
        last = int(event["align_log2"])
        last = 1 << last if event["op"] == ALIGNED else last
        size = str(event["size_bytes"])
        found.append((op, object_of[event["slot"]], size, str(last)))
    return one_by_one(wanted), one_by_one(found)


def first_touches(events: np.ndarray) -> list[Row]:
    """Every access reduced to first ones, granule by granule: (op, slot, size, granules, time)."""
    rows: list[Row] = []
    seen: dict[int, set[int]] = {}
    size_of: dict[int, int] = {}
    for event in events:
        op, slot, size = int(event["op"]), int(event["slot"]), int(event["size_bytes"])
        tail = (int(event["align_log2"]), int(event["time_ns"]))
        if op != TOUCH:
            rows.append((op, slot, size, *tail))
            before = size_of.get(slot, 0) if op == REALLOC else 0
            kept = before // 16 if size > before else -(-size // 16)
            seen[slot] = {granule for granule in seen.get(slot, ()) if granule < kept}
            size_of[slot] = size
            continue
        run = 0
        for granule in range(size // 16, size // 16 + tail[0] + 1):
            if granule < size // 16 + tail[0] and granule not in seen[slot]:
                seen[slot].add(granule)
                run += 1
            elif run:
                rows.append((op, slot, 16 * (granule - run), run, tail[1]))
                run = 0
    return rows


def joined(rows: list[Row]) -> list[Row]:
    """Neighboring touches by one access as one."""
    made: list[Row] = []
    for row in rows:
        op, slot, offset, granules, now = row
        if op == TOUCH and made and made[-1][0] == TOUCH and made[-1][1] == slot:
            _, _, first, count, start = made[-1]
            room = form.TOUCH_GRANULES_MAX - count
            if first + 16 * count == offset and now == start and room >= granules:
                made[-1] = (op, slot, first, count + granules, start)
                continue
        made.append(row)
    return made


def one_by_one(rows: list[Row]) -> list[Row]:
    """Touches of one granule each: (op, id, offset, 1)."""
    made: list[Row] = []
    for row in rows:
        count = int(row[3]) if row[0] == "touch" else 0
        made += [(*row[:2], str(int(row[2]) + 16 * n), "1") for n in range(count)] or [row]
    return made


def test_random_accesses_are_recorded_as_the_program_says(build: Build, accesses: Record) -> None:
    seed = os.environ.get("TAU_TEST_SEED") or str(time.time_ns() % 2**32)
    print("seed", seed)
    words = (build("touches"), "random", seed, "40000")
    recorded = accesses(*words)
    wanted, found = told(recorded, recorded.stderr)
    assert found == wanted and len(found) > 10_000
    part, header = recorded.events(), recorded.header()
    assert part["slot"].max() < OBJECTS  # Freed slots are used again.
    every = accesses(*words, options=("--accesses=full", "--force"))
    whole, counts = every.events(), every.header()["accesses"]
    assert every.header()["every_access"] and not header["every_access"]
    assert counts == header["accesses"]
    assert (whole["op"] == TOUCH).sum() == counts["heap_loads"] + counts["heap_stores"]
    names = ("op", "slot", "size_bytes", "align_log2", "time_ns")
    assert joined(first_touches(whole)) == [tuple(int(e[name]) for name in names) for e in part]


def test_as_many_events_as_wanted(build: Build, accesses: Record) -> None:
    options = ("--accesses=full", "--max-events", "50")
    recorded = accesses(build("touches"), "plain", options=options)
    assert len(recorded.events()) == 50 and recorded.header()["truncated"]
    assert recorded.header()["accesses"]["heap_stores"] == 1002
    assert "stopped early, after event 50: the limit of --max-events" in recorded.stderr
    (problem,) = check_trace(Path(recorded.document["trace"]["path"])).problems
    assert problem.place == "recording" and "--max-events" in problem.cause


def test_raw_recordings_are_kept_and_imported(
    build: Build, accesses: Record, tau: Callable[..., Any], tmp_path: Path
) -> None:
    first = accesses(build("touches"), "plain").events()
    words = ("--raw", "-o", "x.tauaccess", "--", build("touches"), "plain")
    done = tau("record", "--accesses", *words)
    assert done.returncode == 0, done.stderr
    done = tau("import", "x.tauaccess", "-o", "x.tau", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["form"] == "accesses"
    with open_trace(tmp_path / "x.tau") as reader:
        (events,) = reader.blocks()
    assert [tuple(e) for e in events] == [tuple(e) for e in first]
    assert tau("check", "x.tau").returncode == 0
    raw = (tmp_path / "x.tauaccess").read_bytes()
    for cut in range(0, len(raw), 7):
        (tmp_path / "cut.tauaccess").write_bytes(raw[:cut])
        done_one = tau_import_cut(tmp_path / "cut.tauaccess", tmp_path / "cut.tau")
        assert done_one == "refused" or done_one == first[: len(done_one)].tolist()


def test_damaged_recordings_are_told(
    build: Build, accesses: Record, tau: Callable[..., Any], tmp_path: Path
) -> None:
    """One byte is changed at a time: the trace that is left keeps every rule, or there is none."""
    words = ("--raw", "-o", "x.tauaccess", "--", build("touches"), "resized")
    tau("record", "--accesses", *words)
    raw = (tmp_path / "x.tauaccess").read_bytes()
    path, out = tmp_path / "bad.tauaccess", tmp_path / "bad.tau"
    refused = left_out = 0
    text = raw.index(b"resized") + len("resized")
    for at in [*range(9), *range(text, len(raw))]:
        path.write_bytes(raw[:at] + bytes([raw[at] ^ (0x80, 0x01, 0xFF)[at % 3]]) + raw[at + 1 :])
        if tau_import_cut(path, out) == "refused":
            refused += 1
        else:
            problems = check_trace(out).problems
            assert all(problem.place == "recording" for problem in problems)
            left_out += bool(problems)
    assert left_out > 0
    assert 9 <= refused < len(raw) - text
    newer = raw[:8] + b"\x02" + raw[9:]
    path.write_bytes(newer)
    done = tau("import", path, "-o", "newer.tau")
    assert done.returncode == 1 and "newer version" in done.stderr


def tau_import_cut(path: Path, out: Path) -> Any:
    """The events that are left of a cut recording, or "refused"."""
    from tautochrone.errors import TauError
    from tautochrone.record import accesses as access

    try:
        access.convert(path, out)
    except TauError:
        return "refused"
    with open_trace(out) as reader:
        return [row for block in reader.blocks() for row in block.tolist()]
