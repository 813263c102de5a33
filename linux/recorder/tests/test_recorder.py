"""The recorder under programs of every kind: threads, forks, sudden ends, other allocators.

Each program runs recorded; its trace is compared with what the program is known to have done, and
the program itself checks that results and errno are as they are without the recorder.
"""

import glob
import random
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tautochrone.facts import trace_format
from tautochrone.trace.file import open_trace
from testing.recorded import Build, Record

MALLOC, FREE = trace_format.OP_MALLOC, trace_format.OP_FREE


@pytest.mark.parametrize("clock", ["counter", "monotonic"])
def test_cross_thread_frees_are_in_order(build: Build, record: Record, clock: str) -> None:
    """One thread frees what another allocated: no place has two owners at once [REC-3]."""
    env = {"TAU_RECORD_CLOCK": clock}
    recorded = record(build("threads"), 4, 100000, env=env)
    recorded.assert_in_order()
    events = recorded.events()
    own = (events["op"] == MALLOC) & (events["size_bytes"] % 16 == 7)
    assert own.sum() == 400000
    assert len(np.unique(events["thread"])) == 5
    assert (events["op"] == FREE).sum() >= 400000
    wanted = "monotonic" if clock == "monotonic" else None
    assert wanted is None or recorded.header()["clock"] == wanted


@pytest.mark.parametrize("clock", ["counter", "monotonic"])
def test_a_report_shows_a_recording_over_time(
    build: Build, record: Record, tau: Callable[..., Any], tmp_path: Path, clock: str
) -> None:
    """Either clock's ticks are nanoseconds in the trace: the report has a time axis, a duration."""
    recorded = record(build("threads"), 2, 2000, env={"TAU_RECORD_CLOCK": clock})
    done = tau("report", recorded.document["trace"]["path"], "-o", "r.html")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "r.html").read_text()
    assert re.search(r"time \((s|ms|µs)\),live_bytes_min", text)
    assert float(re.search(r"<dt>duration</dt><dd>([0-9.]+) (?:s|ms|µs)<", text)[1]) > 0


def test_short_threads_share_chunks(build: Build, record: Record) -> None:
    """2000 threads that come and go leave every event, no mappings, a small file [REC-7]."""
    recorded = record(build("storm"), 2000)
    recorded.assert_in_order()
    events = recorded.events()
    assert (events["size_bytes"] == 39).sum() == 2000  # Freed by a destructor at the thread's end.
    assert (events["size_bytes"] == 23).sum() == 20000
    assert recorded.document["trace"]["chunks"] < 40
    assert recorded.document["trace"]["threads"] == 2001
    assert int(recorded.stderr.split("\n")[-2]) < 200


def test_forks_and_execs(build: Build, record: Record) -> None:
    """20 forks under running threads, 10 with exec: 31 traces, each of its own objects [REC-6]."""
    recorded = record(build("forks"))
    assert recorded.status == 0
    recorded.assert_in_order()
    assert len(recorded.traces) == 31
    forked = 0
    for index, trace in enumerate(recorded.traces):
        header = recorded.header(index)
        if header["pid"] == recorded.document["trace"]["pid"] and header["parent"] is None:
            if trace["parent"] is None and trace["inherited_count"] == 0 and trace["events"] > 4000:
                continue  # The program itself.
        assert (recorded.events(index)["size_bytes"] == 55).sum() == 1000
        if header["parent"] is not None:
            forked += 1
            assert trace["inherited_count"] == 2  # The free and the realloc.
            assert header["parent"]["position_ns"] > 0
            first = recorded.events(index)
            moved = first[(first["op"] == MALLOC) & (first["size_bytes"] == 5000)]
            assert len(moved) == 1  # From its realloc on, the parent's object is the child's.
    assert forked == 20


@pytest.mark.parametrize(
    "options", [(), pytest.param(("--stacks", "8"), marks=pytest.mark.slow)], ids=" ".join
)
def test_forks_in_a_signal_handler(build: Build, record: Record, options: tuple[str, ...]) -> None:
    """A handler forks in the middle of a row: each child goes on from there, and is recorded."""
    recorded = record(build("handler_forks"), options=options)
    assert recorded.status == 42, recorded.stderr  # No child was killed.
    recorded.assert_in_order()
    assert len(recorded.traces) == 201


@pytest.mark.parametrize("name", ["threads", "confined"])
def test_each_object_of_many_threads_has_a_stack(build: Build, record: Record, name: str) -> None:
    """Threads that find the same stacks at once, and a process that may map no memory: no row is
    without its stack, as main or the thread's start is always below.
    """
    words = {"threads": ("4", "20000"), "confined": ()}[name]
    recorded = record(build(name), *words, options=("--stacks", "3"))
    recorded.assert_in_order()
    makes = recorded.events()[recorded.events()["op"] != FREE]
    with open_trace(recorded.traces[0]["path"]) as reader:
        calls = reader.calls()
    program = str(build(name))
    direct = [site for site in makes["site"].tolist() if calls[site - 1][0] == program]
    assert len(direct) > 1000 and all(calls[site - 1][2] for site in direct)


def test_parent_is_named(build: Build, record: Record) -> None:
    """A forked child's header names the recording that its inherited objects come from."""
    recorded = record(build("forks"))
    names = {recorded.header(index)["recording"] for index in range(len(recorded.traces))}
    assert len(names) == len(recorded.traces)
    parents = [trace["parent"] for trace in recorded.traces if trace["parent"]]
    assert len(set(parents)) == 1 and parents[0] in names


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ("exit", 42),
        ("_exit", 41),
        ("abort", 128 + signal.SIGABRT),
        ("segv", 128 + signal.SIGSEGV),
        ("kill", 128 + signal.SIGKILL),
        ("thread", 0),
    ],
)
def test_every_end_leaves_a_whole_trace(
    build: Build, record: Record, how: str, status: int
) -> None:
    """However a program ends, its events are there and its status is passed on [REC-1]."""
    recorded = record(build("ends"), how)
    assert recorded.status == status == recorded.document["exit_status"]
    recorded.assert_in_order()
    events = recorded.events()
    own = events[events["size_bytes"] == 33]
    assert len(own) == 5000
    freed = events[events["op"] == FREE]
    assert np.isin(freed["slot"], own["slot"]).sum() >= 4000
    assert recorded.document["trace"]["ended"] == (how in ("exit", "thread"))
    named = recorded.document["signal"]
    wanted = {"_exit": "killed, _exit or exec"}.get(how, f"killed by {named}" if named else "exit")
    assert recorded.header()["ended"] == wanted


def test_exec_starts_a_new_trace(build: Build, record: Record) -> None:
    """exec keeps the pid: two recordings of the same process, told apart."""
    recorded = record(build("ends"), "exec")
    assert recorded.status == 42
    assert len(recorded.traces) == 2
    assert recorded.traces[0]["pid"] == recorded.traces[1]["pid"]
    for index in range(2):
        assert (recorded.events(index)["size_bytes"] == 33).sum() == 5000


def test_shapes(build: Build, record: Record) -> None:
    """Each function's event is what SPEC says; failures are none, errno is kept [REC-5]."""
    recorded = record(build("shapes"))
    assert recorded.status == 0, recorded.stderr
    recorded.assert_in_order()
    events = recorded.events()
    own = events[(events["size_bytes"] >= 1000003) & (events["op"] != FREE)]
    page = 4096
    assert [(int(e["op"]), int(e["size_bytes"]), int(e["align_log2"])) for e in own] == [
        (trace_format.OP_MALLOC, 1000003, 0),
        (trace_format.OP_CALLOC, 1004000, 0),
        (trace_format.OP_MALLOC, 1000033, 0),
        (trace_format.OP_MALLOC, 1000053, 0),
        (trace_format.OP_REALLOC, 5000054, 0),
        (trace_format.OP_REALLOC, 5000055, 0),
        (trace_format.OP_REALLOC, 1056000, 0),
        (trace_format.OP_ALIGNED_ALLOC, 1000071, 6),
        (trace_format.OP_ALIGNED_ALLOC, 1000192, 8),
        (trace_format.OP_ALIGNED_ALLOC, 1000193, 10),
        (trace_format.OP_ALIGNED_ALLOC, 1000194, 12),
        (trace_format.OP_ALIGNED_ALLOC, (1000195 + page - 1) // page * page, 12),
    ]
    moved = own["slot"][3:7]
    assert len(set(moved.tolist())) == 1  # realloc keeps the slot.
    # Every own object was freed once, realloc(p, 0) included.
    for event in own:
        at = int(np.flatnonzero((events == event))[0])
        later = events[at + 1 :]
        assert FREE in later["op"][later["slot"] == event["slot"]]
    assert (events["size_bytes"] == 0)[events["op"] == MALLOC].any()  # malloc(0) is an object.


def test_library_opened_later(build: Build, record: Record) -> None:
    """The sites of a library that is loaded in mid-flight have its name."""
    plugin = build("plugin", "-shared", "-fPIC", made="plugin.so")
    recorded = record(build("loader", "-ldl"), plugin)
    assert recorded.status == 0
    events = recorded.events()
    site = int(events[events["size_bytes"] == 1000003]["site"][0])
    with open_trace(recorded.traces[0]["path"]) as reader:
        module, offset = reader.sites()[site - 1]
    assert module == str(plugin)
    assert 0 < offset < plugin.stat().st_size


def test_library_bound_deeply(build: Build, record: Record) -> None:
    """RTLD_DEEPBIND would hide a library's allocations: the flag is dropped, and that is said."""
    plugin = build("plugin", "-shared", "-fPIC", made="plugin.so")
    recorded = record(build("loader", "-ldl"), plugin, "deep")
    recorded.assert_in_order()
    assert (recorded.events()["size_bytes"] == 1000003).sum() == 1
    assert "RTLD_DEEPBIND" in recorded.stderr
    kept = record(build("loader", "-ldl"), plugin, "deep", options=("--force", "--preset", "none"))
    assert (kept.events()["size_bytes"] == 1000003).sum() == 0
    assert kept.document["trace"]["unknown_count"] == 1  # Freed where it can be seen.


def test_library_found_by_the_callers_path(build: Build, record: Record, tmp_path: Path) -> None:
    """dlopen searches the RUNPATH of its caller: the recorder in between must not be the caller."""
    plugin = build("plugin", "-shared", "-fPIC", made="plugin.so")
    (tmp_path / "hidden").mkdir()
    shutil.copy(plugin, tmp_path / "hidden" / "libhidden.so")
    program = build("loader", "-ldl", f"-Wl,-rpath,{tmp_path / 'hidden'}", made="loader-rpath")
    recorded = record(program, "libhidden.so")
    assert recorded.status == 0
    assert (recorded.events()["size_bytes"] == 1000003).sum() == 1


def test_allocation_while_the_allocator_is_looked_up(build: Build, record: Record) -> None:
    """dlsym allocates before malloc is known, and the objects are moved and freed at the end."""
    hook = build("boot", "-shared", "-fPIC", made="boot.so")
    recorded = record(build("ends"), env={"LD_PRELOAD": str(hook)})
    assert recorded.status == 42, recorded.stderr
    recorded.assert_in_order()
    assert (recorded.events()["size_bytes"] == 1000003).sum() == 1


def other_allocators() -> list[str]:
    """The other allocators that this machine has."""
    tcmallocs = ("libtcmalloc_minimal.so.4", "libtcmalloc_minimal_debug.so.4")
    names = ("libjemalloc.so.2", "libmimalloc.so.2*", *tcmallocs)
    found = [glob.glob(f"/usr/lib/*/{name}") for name in names]
    return [paths[0] for paths in found if paths]


@pytest.mark.parametrize("library", other_allocators(), ids=lambda path: Path(path).name)
def test_other_allocators(build: Build, record: Record, library: str) -> None:
    """An allocator that is preloaded or linked does the work, and is recorded all the same."""
    linked = build(
        "threads", library, f"-Wl,-rpath,{Path(library).parent}", made=Path(library).name
    )
    for program, env in ((build("threads"), {"LD_PRELOAD": library}), (linked, {})):
        recorded = record(program, 3, 20000, env=env, options=("--force",))
        assert recorded.status == 0, recorded.stderr
        recorded.assert_in_order()
        events = recorded.events()
        assert ((events["op"] == MALLOC) & (events["size_bytes"] % 16 == 7)).sum() == 60000


# ---- C++


def own_shapes(events: np.ndarray) -> list[tuple[int, int]]:
    """Size and alignment of each object of operators.cpp, in order."""
    own = events[(events["size_bytes"] >= 1000003) & (events["op"] != FREE)]
    return [(int(event["size_bytes"]), 1 << int(event["align_log2"])) for event in own]


OPERATOR_SHAPES = [
    *((1000003 + 10 * step, 1) for step in range(4)),
    *((1000192 + 256 * step, 256) for step in range(4)),
    (1001003, 1),
    (1001013, 1),
    (1000128, 64),
    (1001472, 256),
]


@pytest.mark.parametrize("library", ["", *other_allocators()], ids=lambda path: Path(path).name)
def test_operators(build: Build, record: Record, library: str) -> None:
    """Each form of new and delete is an event, whoever exports it, and fails as it does alone."""
    program = build("operators.cpp", "-std=c++17", compiler="g++", made="operators")
    # mimalloc is built as C, and aborts where it should throw.
    failures = [] if "mimalloc" in library else ["fail"]
    recorded = record(program, *failures, env={"LD_PRELOAD": library})
    assert recorded.status == 0, recorded.stderr
    recorded.assert_in_order()
    events = recorded.events()
    reserve = [(1002003, 1)] if failures else []
    assert own_shapes(events) == [*OPERATOR_SHAPES, *reserve, (1002013, 1)]
    alive = set(events["slot"][events["size_bytes"] >= 1000003].tolist())
    last = {int(event["slot"]): int(event["op"]) for event in events if event["slot"] in alive}
    assert set(last.values()) == {FREE}  # Also the reserve, by the new-handler.
    with open_trace(recorded.traces[0]["path"]) as reader:
        sites = reader.sites()
    own = events[(events["size_bytes"] >= 1000003) & (events["op"] != FREE)]
    assert {sites[int(site) - 1][0] for site in own["site"]} == {str(program)}


def test_operators_of_the_program(build: Build, record: Record) -> None:
    """A program that replaces operator new keeps its own; the malloc beneath is recorded."""
    program = build("operators_own.cpp", compiler="g++", made="operators_own")
    recorded = record(program)
    assert recorded.status == 7
    recorded.assert_in_order()
    assert (recorded.events()["size_bytes"] == 1000003 + 16).sum() == 1


def test_operators_of_a_plugin(build: Build, record: Record) -> None:
    """The C++ library comes with a plugin, out of sight of a search from the program."""
    plugin = build("plugin.cpp", "-shared", "-fPIC", compiler="g++", made="plugin-cxx.so")
    recorded = record(build("loader", "-ldl"), plugin)
    assert recorded.status == 0, recorded.stderr
    recorded.assert_in_order()
    assert (recorded.events()["size_bytes"] == 1000013).sum() == 1


@pytest.mark.parametrize("first", ["own", "plain"])
def test_operators_of_two_plugins(build: Build, record: Record, first: str) -> None:
    """Each plugin's operators are those that it is linked with, whichever came first."""
    flags = ("-shared", "-fPIC")
    own = build("plugin_own.cpp", *flags, compiler="g++", made="plugin-own.so")
    plain = build("plugin_own.cpp", *flags, "-DPLAIN", compiler="g++", made="plugin-plain.so")
    plugins = (own, plain) if first == "own" else (plain, own)
    recorded = record(build("two_plugins", "-ldl"), *plugins)
    assert recorded.status == 0, recorded.stderr
    recorded.assert_in_order()
    sizes = recorded.events()["size_bytes"]
    assert ((sizes == 1000013).sum(), (sizes == 1000013 + 16).sum()) == (6, 6)


def test_operators_are_not_tried_out(build: Build, record: Record) -> None:
    """An allocator that checks who frees what finds nothing: only the program calls it."""
    hook = build("operators_checked.cpp", "-shared", "-fPIC", compiler="g++", made="checked.so")
    program = build("operators.cpp", "-std=c++17", compiler="g++", made="operators")
    recorded = record(program, env={"LD_PRELOAD": str(hook)})
    assert recorded.status == 0, recorded.stderr
    recorded.assert_in_order()
    assert own_shapes(recorded.events()) == [*OPERATOR_SHAPES, (1002013, 1)]


def test_operator_that_calls_malloc(build: Build, record: Record) -> None:
    """An allocator whose operator new calls its own malloc by name: each object is one event."""
    hook = build("operators_hook.cpp", "-shared", "-fPIC", compiler="g++", made="operators_hook.so")
    program = build("operators.cpp", "-std=c++17", compiler="g++", made="operators")
    recorded = record(program, env={"LD_PRELOAD": str(hook)})
    assert recorded.status == 0, recorded.stderr
    recorded.assert_in_order()
    assert own_shapes(recorded.events()) == [*OPERATOR_SHAPES, (1002013, 1)]


# ---- Calls that do not return


@pytest.mark.parametrize("depth", [0, 1, 30])
def test_call_left_by_a_jump(build: Build, record: Record, depth: int) -> None:
    """siglongjmp out of malloc and realloc: recording goes on, the object stays, it is counted."""
    library = build("jumps", "-shared", "-fPIC", "-DALLOCATOR", made="libjumps.so")
    program = build("jumps", str(library), f"-Wl,-rpath,{library.parent}", made="jumps")
    recorded = record(program, depth)
    assert recorded.status == 0
    recorded.assert_in_order()
    events = recorded.events()
    assert ((events["op"] == MALLOC) & (events["size_bytes"] == 1033)).sum() == 2000
    assert recorded.document["trace"]["calls_abandoned"] == 2
    assert "2 allocator calls" in recorded.stderr
    assert recorded.header()["lost"]["calls"] == 2
    slot = events[events["size_bytes"] == 2033]["slot"][0]
    assert events[events["slot"] == slot]["op"][-1] == FREE


def test_row_torn_by_a_jump(build: Build, record: Record) -> None:
    """siglongjmp after any instruction of malloc: a row is there whole or not at all."""
    library = build("torn", "-shared", "-fPIC", "-DALLOCATOR", made="libtorn.so")
    program = build("torn", str(library), f"-Wl,-rpath,{library.parent}", made="torn")
    recorded = record(program)
    assert recorded.status == 0, recorded.stderr
    recorded.assert_in_order()
    tries = int(re.search(r"tries (\d+)", recorded.stderr)[1])
    events = recorded.events()
    sizes = events["size_bytes"][events["op"] == MALLOC]
    assert (sizes == 1033).sum() == tries
    assert 1 < (sizes == 777).sum() < tries
    assert 100 < recorded.document["trace"]["calls_abandoned"] < tries


# ---- Other parts of the program


@pytest.mark.parametrize("what", ["close-all", "no-files"])
def test_descriptors_are_the_programs_own(build: Build, record: Record, what: str) -> None:
    """A program that closes every descriptor, or may open no more, is recorded to its end."""
    recorded = record(build("grind"), 300000, what)
    assert recorded.status == 0
    recorded.assert_in_order()
    assert recorded.document["trace"]["events"] >= 600000
    assert recorded.document["trace"]["truncated"] is None


def test_program_runs_others(record: Record) -> None:
    """vfork and posix_spawn share memory with the parent: nothing of theirs is mixed up."""
    code = "import subprocess; [subprocess.run(['sort', '/dev/null']) for _ in range(5)]"
    recorded = record("python3", "-c", code)
    assert recorded.status == 0
    recorded.assert_in_order()
    assert len(recorded.traces) >= 6


def test_random_programs(build: Build, record: Record) -> None:
    """Any number of threads and rounds gives exactly the events that were made."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chosen = random.Random(seed)
    for _ in range(4):
        threads, rounds = chosen.randint(1, 12), chosen.randint(1, 60000)
        recorded = record(build("threads"), threads, rounds, options=("--force",))
        recorded.assert_in_order()
        events = recorded.events()
        own = (events["op"] == MALLOC) & (events["size_bytes"] % 16 == 7)
        assert own.sum() == threads * rounds
