"""`tau run` on a plan of `tau plan --guarantee`: its counts, warnings and refusals.

Method: a program holds so many objects of a size at once, in one thread or several, on limits that
are known. Its other objects are in a band of their own.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tautochrone.run import report
from testing.recorded import Build, Tau
from testing.runtime import MakePlan, Run, RunProgram, settings_variables

SIZE, LIMIT = 40_000, 20
OTHERS = (20_000, 200)
PROGRAM = "runtime_limited"
SOURCE = Path(__file__).parent / "programs" / f"{PROGRAM}.c"
CALL = 1 + SOURCE.read_text().split("\n").index("            objects[index] = malloc(size);")


@pytest.fixture
def limited(build: Build, run: RunProgram, bands: MakePlan) -> RunProgram:
    """Run so many objects of SIZE per thread on a limit of LIMIT; options go before the program."""

    def start(count: int, *more: int, options: tuple[object, ...] = ()) -> Run:
        program = build(PROGRAM, "-g")
        planned = ("--plan", bands(OTHERS, (SIZE, LIMIT)), *options)
        return run(program, count, SIZE, *more, options=planned)

    return start


def band_of(done: Run) -> dict[str, int]:
    """The counts of the band with SIZE."""
    (found,) = [row for row in done.document["classes"] if row["size_bytes"] == SIZE]
    return {name: found[name] for name in ("count", "peak", "exceeded")}


@pytest.mark.parametrize(("count", "threads"), [(20, 1), (5, 4)])
def test_no_call_fails_within_the_limits(limited: RunProgram, count: int, threads: int) -> None:
    """All blocks are in use at once, thousands of times, and nothing is served from elsewhere."""
    done = limited(count, threads, 2000, options=("--guarantee",))
    assert (done.status, done.stdout) == (0, "0\n"), done.stderr
    assert band_of(done) == {"count": LIMIT, "peak": LIMIT, "exceeded": 0}
    found = done.document
    assert (found["spilled_objects"], found["refusals"], found["threads"]) == (0, 0, threads)
    assert found["guarantee"] == {
        "within_limits": True,
        "exceeded": 0,
        "above_bands": 0,
        "threshold_percent": 80,
        "near_limit": 0,
        "above_recorded": 0,
    }
    assert "no limit of 2 bands was exceeded; the fullest came to 100 %" in done.stderr


@pytest.mark.parametrize(("count", "threads"), [(25, 1), (6, 4)])
def test_what_exceeds_a_limit_is_served_counted_and_named(
    limited: RunProgram, count: int, threads: int
) -> None:
    """Each request beyond the limit, by its size and its call site."""
    done = limited(count, threads, 1)
    beyond = count * threads - LIMIT
    assert (done.status, done.stdout) == (0, "0\n")
    assert band_of(done) == {"count": LIMIT, "peak": LIMIT, "exceeded": beyond}
    found = done.document
    assert found["guarantee"]["within_limits"] is False
    assert (found["spilled_objects"], found["spilled_bytes"]) == (beyond, beyond * SIZE)
    (site,) = found["sites"]
    assert (site["objects"], Path(site["module"]).name) == (beyond, PROGRAM)
    assert (site["function"], site["line"], site["refusals"]) == ("work", CALL, 0)
    assert re.search(rf"bytes from work \(.*{SOURCE.name}:{CALL}\)\n", done.stderr), done.stderr
    assert f"{beyond} requests of 20,001 … 40,000 bytes beyond the limit of 20" in done.stderr
    assert "the plan promises nothing for this run\n  next: plan from a recording" in done.stderr


def test_strict_refuses_what_exceeds_a_limit(limited: RunProgram) -> None:
    """With NULL and ENOMEM, as many times as there are objects beyond the limit."""
    done = limited(25, options=("--strict",))
    assert (done.status, done.stdout) == (0, "5\n"), done.stderr
    assert (done.document["refusals"], done.document["spilled_objects"]) == (5, 0)
    assert band_of(done)["exceeded"] == 5
    assert "5 requests refused" in done.stderr
    (site,) = done.document["sites"]
    assert (site["objects"], site["refusals"], site["refused_bytes"]) == (0, 5, SIZE)
    told = rf"  5 requests from work \(.*{SOURCE.name}:{CALL}\), the last of 40,000 bytes\n"
    assert re.search(told, done.stderr), done.stderr


def test_call_sites_that_are_not_shown_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """The five with most refusals are shown."""
    sites = [report.Site("lib", at, 0, 0, at + 1, 8) for at in range(7)]
    report._say_refusals(report.Report(refusals=28, sites=sites), "p", None)
    heading, *rows, more = capsys.readouterr().err.splitlines()
    assert heading == "tau: p: 28 requests refused"
    assert [row.split()[0] for row in rows] == ["7", "6", "5", "4", "3"]
    assert more == "  2 more in the result (--json)"


def test_sizes_that_no_band_holds(build: Build, run: RunProgram, bands: MakePlan) -> None:
    """They are served and counted apart."""
    program = build(PROGRAM, "-g")
    done = run(program, 3, SIZE + 1, options=("--plan", bands(OTHERS, (SIZE, LIMIT))))
    found = done.document["guarantee"]
    assert (done.stdout, found["above_bands"], found["exceeded"]) == ("0\n", 3, 0)
    assert (found["within_limits"], band_of(done)["peak"]) == (False, 0)
    assert "3 requests in no band: above 40,000 bytes" in done.stderr


@pytest.mark.parametrize(
    ("count", "options", "is_near"),
    [
        (20, (), False),
        (16, ("--threshold", 80), True),
        (15, ("--threshold", 80), False),
        (15, ("--threshold", 75), True),
        (19, ("--threshold", 96), False),
    ],
)
def test_the_threshold(
    limited: RunProgram, count: int, options: tuple[object, ...], is_near: bool
) -> None:
    """16 of 20 are 80 %, 15 are 75 %. Without the option, 20 are as recorded: no warning."""
    done = limited(count, options=options)
    row = f"{count} of 20 objects of 20,001 … 40,000 bytes"
    assert (row in done.stderr) == is_near, done.stderr
    assert done.document["guarantee"]["near_limit"] == is_near
    assert done.document["guarantee"]["threshold_percent"] == (options[1] if options else 80)


def test_recorded_planned_run_and_checked(
    tau: Tau, build: Build, run: RunProgram, tmp_path: Path
) -> None:
    """The same program holds its plan; with more objects `tau check` and the run agree on which
    limits it exceeds, and by how much.
    """
    program = build(PROGRAM, "-g")
    words = ("plan", "few.tau", "--guarantee", "--layout", "host", "-o", "few.toml")
    assert tau("record", "-o", "few.tau", "--", program, 20, SIZE, 2, 5).returncode == 0
    assert tau(*words).returncode == 0
    options = ("--plan", tmp_path / "few.toml", "--guarantee")
    done = run(program, 20, SIZE, 2, 5, options=options)
    assert (done.status, done.document["guarantee"]["within_limits"]) == (0, True), done.stderr
    assert "held more" not in done.stderr
    assert tau("record", "-o", "many.tau", "--", program, 30, SIZE, 2, 1).returncode == 0
    checked = tau("check", "few.toml", "many.tau")
    done = run(program, 22, SIZE, 2, 1, options=options)
    assert done.document["guarantee"]["above_recorded"] == 1
    assert "1 band reached 80 % of the limit and held more than was recorded" in done.stderr
    done = run(program, 30, SIZE, 2, 1, options=options)
    assert "60 objects of 289 … 40,000 bytes at once, the limit is 46;" in checked.stdout
    assert (checked.returncode, done.status) == (3, 0)
    assert band_of(done) == {"count": 46, "peak": 46, "exceeded": 14}


def test_plans_that_are_refused(
    tau: Tau, plan: MakePlan, bands: MakePlan, tmp_path: Path
) -> None:
    """Without limits, for another layout, and damaged: none starts the program."""
    path = bands((100, 5), (200, 5))
    sound = path.read_text()
    for made, options, cause in (
        (plan(1 << 20), ("--guarantee",), "has no limits"),
        (plan(1 << 20), ("--threshold", 90), "has no limits"),
        (bands((100, 5), layout="32"), (), "for a 32-bit target"),
    ):
        refused(tau("run", "--plan", made, *options, "--", "echo", "ran"), cause)
    for old, new, cause in (
        ("200", "90", "must increase"),
        ("alignment_bytes = 64", "alignment_bytes = 65536", "alignment of at most 4,096"),
        ("recorded_counts = [", "recorded_counts = [7, ", "recorded_counts"),
    ):
        assert old in sound
        path.write_text(sound.replace(old, new))
        refused(tau("run", "--plan", path, "--", "echo", "ran"), cause)
    for option in (("--guarantee",), ("--threshold", 90)):
        done = tau("run", *option, "--", "echo", "ran")
        assert (done.returncode, "needs --plan" in done.stderr) == (2, True)


def refused(done: subprocess.CompletedProcess[str], cause: str) -> None:
    """The program did not run, for this cause, and stderr has a next step."""
    assert (done.returncode, done.stdout) == (125, ""), done.stderr
    assert cause in done.stderr and "next:" in done.stderr, done.stderr


def test_a_machine_without_so_much_memory(build: Build, bands: MakePlan) -> None:
    """The program did not run: its limit of address space is below the plan's heap."""
    program = build(PROGRAM, "-g")
    words = f"tautochrone run --plan {bands(OTHERS, (1 << 30, 1))} -- {program} 1 1"
    words = f"ulimit -v 900000; exec {sys.executable} -m {words}"
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, check=False)
    refused(done, "the system gives no memory for the heap")


@pytest.mark.parametrize(
    "text",
    [
        *("", "0 1000000 64*3", "8192 1000000 64*3", "64 1000000 64", "64 64*3", "64 0 64*3"),
        *("24 1000000 64*3", "64 1000000", "64 1000000 64*3 48*3", "64 1000000 64*0"),
    ],
)
def test_damaged_settings_end_the_program(text: str) -> None:
    """The library refuses what `tau run` would not have written."""
    command = ["/bin/echo", "ran"]
    with settings_variables(bands=text) as variables:
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (125, ""), done.stderr
    assert re.search("plan is damaged|plan's classes are invalid", done.stderr), done.stderr


def test_a_program_that_is_killed(run: RunProgram, bands: MakePlan) -> None:
    """It left no counts, so nothing is said of its limits."""
    done = run("sh", "-c", "kill -9 $$", options=("--plan", bands(OTHERS)))
    assert (done.status, done.document["is_complete"]) == (137, False)
    assert done.document["guarantee"]["within_limits"] is None
    assert "left no counts" in done.stderr


def test_a_program_that_writes_its_own_counts(run: RunProgram, bands: MakePlan) -> None:
    """A band without a limit is nothing that the library writes; the command stays whole."""
    shared = "int(os.environ['TAU_PRELOAD'].split()[2])"
    text = b"ended\nclass 16 0 0 0\nabove 18446744073709551615\n"
    code = f"import os; os.pwrite({shared}, {text!r}, 0); os._exit(3)"
    done = run("python3", "-S", "-c", code, options=("--plan", bands(OTHERS)))
    assert done.status == 3 and "has a bug" not in done.stderr, done.stderr
    assert done.document["guarantee"]["within_limits"] is False


def test_a_full_disk(build: Build, tau: Tau, bands: MakePlan) -> None:
    """The counts are on stderr, and the command does not succeed."""
    words = ("--json", "/dev/full", "--plan", bands(OTHERS, (SIZE, LIMIT)))
    done = tau("run", *words, "--", build(PROGRAM, "-g"), 25, SIZE)
    assert (done.returncode, done.stdout) == (125, "0\n")
    assert "No space left" in done.stderr and "5 requests of 20,001 … 40,000" in done.stderr
