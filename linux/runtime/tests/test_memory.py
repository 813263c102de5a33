"""The spill heap takes what the program needs, within its limits, and gives memory back.

Method: programs that limit themselves, or are limited, print how much they got and their resident
memory.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tautochrone.commands.run import _refuse_locking
from tautochrone.errors import TauError
from tautochrone.plan.file import load_plan
from tautochrone.run import cgroup
from tautochrone.run.launch import How
from testing.recorded import Build
from testing.runtime import MakePlan, RunProgram

WITHOUT = ("none", "small")


@pytest.fixture(params=WITHOUT)
def options(request: pytest.FixtureRequest, plan: MakePlan) -> tuple[object, ...]:
    """Without a plan, and on one that holds next to nothing."""
    return () if request.param == "none" else ("--plan", plan(100_000, (64, 3)))


@pytest.mark.parametrize("kind", ["as", "data"])
def test_a_program_that_limits_itself_gets_what_its_limit_allows(
    build: Build, run: RunProgram, options: tuple[object, ...], kind: str
) -> None:
    """It gets all but a twentieth of 300 MiB, as with the C library's heap, and a thread first."""
    done = run(build("runtime_limits"), kind, options=options)
    failed, megabytes = map(int, done.stdout.split())
    assert (failed, 285 <= megabytes <= 315) == (0, True), done.stdout


def test_a_thread_gets_its_stack_from_memory_that_was_freed(
    build: Build, run: RunProgram, options: tuple[object, ...]
) -> None:
    """As with the C library, which unmaps it. The heap takes it again, less a stack, and clear."""
    done = run(build("runtime_limits"), "again", options=options)
    failed, megabytes = map(int, done.stdout.split())
    assert (failed, 270 <= megabytes <= 315) == (0, True), megabytes


def test_a_program_that_is_started_with_a_limit(build: Build) -> None:
    """On address space of 400 MB it gets its own 300 MiB, less libraries and a stack."""
    program = build("runtime_limits")
    words = f"ulimit -v 400000; exec {sys.executable} -m tautochrone run -- {program} as"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=True)
    failed, megabytes = map(int, done.stdout.split())
    assert (failed, 285 <= megabytes <= 315) == (0, True), done.stdout


def test_memory_is_given_back(
    build: Build, run: RunProgram, options: tuple[object, ...]
) -> None:
    """A large object's memory on free, small ones' by malloc_trim. Later objects are clear.
    """
    done = run(build("runtime_limits"), "back", options=options)
    after_large, after_trim, is_given, wrong = map(int, done.stdout.split())
    assert after_large < 10_000 and after_trim < 10_000 and (is_given, wrong) == (1, 0)
    (peak,) = re.findall(r"([\d,]+) bytes at its peak", done.stderr)
    assert int(peak.replace(",", "")) >= 64 << 20


def test_small_objects_are_given_back(
    build: Build, run: RunProgram, options: tuple[object, ...]
) -> None:
    """Without malloc_trim: whole pages of large free runs."""
    done = run(build("runtime_limits"), "freed", options=options)
    before, after = map(int, done.stdout.split())
    assert before > 200_000 and after < 10_000


def test_the_end_of_the_heap_is_given_back(
    build: Build, run: RunProgram, options: tuple[object, ...]
) -> None:
    """While two threads use it, too. Their objects keep their bytes, and those of calloc are clear.
    """
    done = run(build("runtime_limits"), "end", options=options)
    before, after, wrong = map(int, done.stdout.split())
    assert before > 100_000 and after < 8_000 and wrong == 0, done.stdout


def test_what_a_resize_leaves_is_not_returned_from_others(
    build: Build, run: RunProgram, options: tuple[object, ...]
) -> None:
    """Two threads take the end that an object loses, and its old place. Both lost bytes once."""
    done = run(build("runtime_limits"), "resize", options=options)
    assert (done.status, done.stdout) == (0, "0\n"), done.stderr


def test_memory_on_its_way_back_is_waited_for(
    build: Build, run: RunProgram, options: tuple[object, ...]
) -> None:
    """While one thread returns pages of free blocks, another one that needs them is not refused."""
    assert run(build("runtime_limits"), "beside", options=options).stdout == "0\n"


def test_the_heap_does_not_grow_for_memory_on_its_way_back(build: Build, run: RunProgram) -> None:
    """Two threads use 120 MiB each, again and again. The heap grew to its full 64 GiB once."""
    assert 240 < int(run(build("runtime_limits"), "grow").stdout) < 500


def test_an_object_that_grows_takes_what_it_has(
    build: Build, run: RunProgram, options: tuple[object, ...]
) -> None:
    """At the end of the heap it stays where it is, as the heap grows; it moved 18 times to 2.3 GiB
    when each growth was a pool of its own.
    """
    moves, resident = map(int, run(build("runtime_grows"), "grow", options=options).stdout.split())
    assert moves <= 3 and resident <= 230


def test_what_a_resize_leaves_is_given_back(
    build: Build, run: RunProgram, options: tuple[object, ...]
) -> None:
    """Both the place that was left and the end that was cut off."""
    done = run(build("runtime_grows"), "shrink", options=options)
    assert int(done.stdout) <= 30


def test_a_large_calloc_takes_no_memory(
    build: Build, run: RunProgram, options: tuple[object, ...]
) -> None:
    """Also at addresses that were used before. All of its bytes are clear."""
    resident, wrong = map(
        int, run(build("runtime_grows"), "clear", options=options).stdout.split()
    )
    assert resident <= 30 and wrong == 0


@pytest.mark.parametrize("seed", [1, 2])
def test_objects_keep_their_bytes_while_the_heap_grows(
    build: Build, run: RunProgram, options: tuple[object, ...], seed: int
) -> None:
    """3,000 random calls of up to 32 MiB, most of them reallocs; pages are given back meanwhile."""
    done = run(build("runtime_grows"), "random", str(seed), options=options)
    assert done.status == 0 and done.stdout == "0\n", done.stderr


def test_locked_memory_stays(build: Build, run: RunProgram, plan: MakePlan) -> None:
    """It is the promise of --lock: nothing is given back."""
    options = ("--plan", plan(100_000), "--lock", "--spill", 100 << 20)
    done = run(build("runtime_limits"), "back", options=options)
    if done.status == 125:
        pytest.skip(f"memory cannot be locked here: {done.stderr}")
    after_large, _, is_given, wrong = map(int, done.stdout.split())
    assert after_large > 64 << 10 and (is_given, wrong) == (0, 0)
    options = ("--plan", plan(100_000), "--lock", "--spill", 300 << 20)
    done = run(build("runtime_limits"), "freed", options=options)
    before, after = map(int, done.stdout.split())
    assert after >= before


def test_the_c_library_s_calls_tell_of_our_heaps(build: Build, run: RunProgram) -> None:
    """malloc_stats on stderr, malloc_info as XML; an unknown option of that is refused."""
    done = run(build("runtime_told"))
    assert done.status == 0
    (used,) = re.findall(r"in use bytes +=  *(\d+)", done.stderr)
    (taken,) = re.findall(r'<system type="current" size="(\d+)"/>', done.stdout)
    assert 5_000_000 < int(used) <= int(taken) < 5_100_000


@pytest.mark.parametrize(
    ("own", "limits", "smallest"),
    [
        ("0::/a/b\n", {"a/memory.max": "5000", "a/b/memory.max": "max"}, 5000),
        ("0::/hidden\n", {"memory.max": "7000"}, 7000),
        ("4:cpu,memory:/a\n0::/\n", {"memory/a/memory.limit_in_bytes": "6000"}, 6000),
        ("3:cpu:/\n0::/\n", {}, None),
    ],
)
def test_a_cgroup_that_would_kill_a_locked_heap(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    plan: MakePlan,
    own: str,
    limits: dict[str, str],
    smallest: int | None,
) -> None:
    """The least limit of all groups counts; a container may not see its own."""
    (tmp_path / "own").write_text(own)
    for name, limit in limits.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{limit}\n")
    found = cgroup.memory_limit_bytes(tmp_path / "own", tmp_path)
    assert found == smallest
    monkeypatch.setattr(cgroup, "memory_limit_bytes", lambda: found)
    how = How(load_plan(plan(100_000)), spill_bytes=4096, is_locked=True)
    if found is None:
        _refuse_locking(how)
        return
    with pytest.raises(TauError, match=f"1\\d\\d,\\d+ bytes .* limit of its cgroup is {found:,}"):
        _refuse_locking(how)
