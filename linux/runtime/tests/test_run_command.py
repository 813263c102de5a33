"""`tau run`: its reports and its refusals, with cause, next step and exit status.

Method: run small programs on plans whose outcome is known.
"""

import errno
import fcntl
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tautochrone.commands.plan import Margin
from tautochrone.heap.margin import DEFAULT
from tautochrone.record import session
from testing.recorded import Build, Tau
from testing.runtime import MakePlan, RunProgram, settings_variables

KEYS = {
    *("version", "command", "program", "plan_sha256", "is_complete", "calls", "threads"),
    *("classes", "shared_bytes", "shared_peak", "spilled_objects", "spilled_bytes"),
    *("spill_peak", "refusals", "first_refusal", "sites", "bounds", "guarantee", "colors"),
    *("exit_status", "signal"),
}
SEALS = fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK
# Allocates COUNT objects of SIZE, frees none.
OBJECTS = "import ctypes\nm = ctypes.CDLL(None).malloc\nm.restype = ctypes.c_void_p\n"


def objects(count: int, size: int) -> tuple[str, ...]:
    """A program that allocates so many objects of a size and keeps them."""
    code = f"print(sum(m({size}) is not None for _ in range({count})))"
    return ("python3", "-S", "-c", OBJECTS + code)


def test_peaks_and_spilled_objects(run: RunProgram, plan: MakePlan) -> None:
    """Objects of a size that nothing else has: 100 fit their pool, some the shared region."""
    options = ("--plan", plan(100 * 60_000, (40_000, 100)), "--preset", "none")
    done = run(*objects(115, 40_000), options=options)
    found = done.document
    assert (done.status, done.stdout, found.keys()) == (0, "115\n", KEYS)
    pool = {"size_bytes": 40_000, "count": 100, "peak": 100, "exceeded": None}
    assert (found["classes"], found["guarantee"]) == ([pool], None)
    assert 600_000 < found["shared_peak"] <= found["shared_bytes"] < 2_000_000
    assert (found["spilled_objects"], found["refusals"], found["exit_status"]) == (0, 0, 0)
    assert "the plan held: nothing spilled" in done.stderr
    assert "; 1 of 1 pool full at its peak, " in done.stderr

    done = run(*objects(500, 40_000), options=options)
    found = done.document
    assert (done.status, done.stdout) == (0, "500\n")
    assert 340 <= found["spilled_objects"] <= 400
    assert found["spilled_bytes"] >= 340 * 40_000
    assert found["spill_peak"] >= found["spilled_bytes"]
    assert sum(site["objects"] for site in found["sites"]) == found["spilled_objects"]
    assert sum(site["size_bytes"] for site in found["sites"]) == found["spilled_bytes"]
    assert any("ffi" in site["module"] for site in found["sites"])
    assert "did not fit the plan; the spill heap had" in done.stderr


def test_the_advised_margin_is_one_that_plan_takes(run: RunProgram, plan: MakePlan) -> None:
    """It is a percentage, also above 100 %. Beyond the largest margin it advises nothing."""
    options = ("--plan", plan(100 * 60_000), "--preset", "none")
    done = run(*objects(500, 40_000), options=options)
    (advised,) = re.findall(r"--margin (\S+) or more;", done.stderr)
    needed = done.document["spill_peak"] / (100 * 60_000)
    assert 1 < needed < Margin().convert(advised, None, None) <= (1 + needed) * (1 + DEFAULT)
    done = run(*objects(2000, 40_000), options=options)
    assert "plan from several runs (tau record --runs 5); or" in done.stderr
    assert "--margin" not in done.stderr


@pytest.mark.parametrize("size", [48, 3000, 40_000])
def test_advice_on_margins_settles_after_one_step(
    tau: Tau, run: RunProgram, tmp_path: Path, size: int
) -> None:
    """A run that needs more than was recorded fits once its advice was followed."""
    recorded, larger = (
        (sys.executable, *objects(bytes_count // size, size)[1:])
        for bytes_count in (4_000_000, 6_000_000)
    )
    assert tau("record", "--preset", "none", "-o", "t.tau", "--", *recorded).returncode == 0
    options = ("--plan", tmp_path / "p.toml", "--preset", "none")
    words = ("plan", "t.tau", "--pools", "always", "-o", "p.toml", "--force", "--margin")
    assert tau(*words, "0%").returncode == 0
    (advised,) = re.findall(r"--margin (\S+) or more;", run(*larger, options=options).stderr)
    assert tau(*words, advised).returncode == 0
    assert "the plan held: nothing spilled" in run(*larger, options=options).stderr, advised


RESIZED = """
m.argtypes = [ctypes.c_size_t]
r, f = ctypes.CDLL(None).realloc, ctypes.CDLL(None).free
r.restype, r.argtypes, f.argtypes = m.restype, [m.restype, *m.argtypes], [m.restype]
for _ in range(100):
    f(r(m(400_000), 3_000_000))
"""


def test_what_moves_to_the_spill_heap_leaves_the_planned_one(
    run: RunProgram, plan: MakePlan
) -> None:
    """The plan holds the small objects, again and again, and never one that has grown."""
    options = ("--plan", plan(2_500_000), "--preset", "none")
    done = run("python3", "-S", "-c", OBJECTS + RESIZED, options=options)
    assert done.status == 0, done.stderr
    assert done.document["spilled_bytes"] == 100 * 3_000_000


NEIGHBOR = """
m.argtypes = [ctypes.c_size_t]
r = ctypes.CDLL(None).realloc
r.restype, r.argtypes = m.restype, [m.restype, *m.argtypes]
old, other = m(400_000), m(400_000)
ctypes.memset(old, 0x41, 400_000)
ctypes.memset(other, 0x5a, 400_000)
moved = ctypes.string_at(r(old, 3_000_000), 3_000_000)
print(moved[:400_000] == b"A" * 400_000, b"Z" * 16 in moved)
"""


def test_a_move_to_the_spill_heap_copies_the_object_alone(run: RunProgram, plan: MakePlan) -> None:
    """The bytes after it in the planned heap are its neighbor's."""
    options = ("--plan", plan(2_500_000), "--preset", "none")
    done = run("python3", "-S", "-c", OBJECTS + NEIGHBOR, options=options)
    assert (done.status, done.stdout) == (0, "True False\n"), done.stderr
    assert done.document["spilled_objects"] > 0


def test_a_plan_of_another_program_is_noted(tau: Tau, run: RunProgram, tmp_path: Path) -> None:
    """By its name: a plan of seq is for seq only."""
    assert tau("record", "-o", "seq.tau", "--", "seq", "3").returncode == 0
    done = tau("plan", "seq.tau", "--layout", "host", "--margin", "400%", "-o", "seq.toml")
    assert done.returncode == 0, done.stderr
    options = ("--plan", tmp_path / "seq.toml")
    assert "the plan is of" not in run("seq", "4", options=options).stderr
    done = run("sh", "-c", "exec ls /dev/null", options=options)
    assert (done.status, done.stdout) == (0, "/dev/null\n")
    assert "tau: sh: the plan is of seq, not of ls" in done.stderr


def test_checks_take_what_they_took_when_the_plan_was_measured(
    run: RunProgram, plan: MakePlan
) -> None:
    """The in-use bits of a pool lie in heap_bytes: check level 1 was measured with them."""
    pool_bytes = 64_000 * 16
    full, half = (
        run("true", options=("--plan", plan(2 * pool_bytes, (16, count)))).document["shared_bytes"]
        for count in (64_000, 32_000)
    )
    assert abs(half - full - pool_bytes // 2 - 32_000 // 8) < 500


def test_strict_refuses_instead(run: RunProgram, plan: MakePlan) -> None:
    """Requests that do not fit are refused with ENOMEM and counted; nothing is spilled."""
    options = ("--plan", plan(100 * 60_000, (40_000, 100)), "--strict", "--preset", "none")
    done = run(*objects(500, 40_000), options=options)
    assert (done.status, done.document["spilled_objects"]) == (0, 0)
    assert done.document["refusals"] == 500 - int(done.stdout)
    assert 100 <= int(done.stdout) <= 160
    assert "refused\n  next: run it without --strict" in done.stderr
    first = done.document["first_refusal"]
    assert first["thread"] == 0
    assert 0 <= first["largest_free_bytes"] < 40_000
    assert f"the only thread, {first['free_bytes']:,} shared bytes free" in done.stderr
    done = run("sh", "-c", "kill -SEGV $$", options=options)
    assert "without --strict: the result says what does not fit" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_a_refusal_is_named_though_the_program_dies_of_it(
    run: RunProgram, build: Build, plan: MakePlan, number: signal.Signals
) -> None:
    """Its size and line are written before the program can die."""
    program = build("runtime_dies", "-g")
    options = ("--plan", plan(100_000), "--strict", "--preset", "none")
    done = run(program, int(number), options=options)
    assert done.document["signal"] == number.name and not done.document["is_complete"]
    (site,) = done.document["sites"]
    assert (site["function"], site["line"], site["refused_bytes"]) == ("load", 6, 5_000_000)
    said = f"was killed by {number.name} after a refused request of 5,000,000 bytes from load ("
    assert said in done.stderr
    assert re.search(r"shared bytes free, the largest piece at least [\d,]+\n", done.stderr)


def test_an_exhausted_spill_heap(run: RunProgram, plan: MakePlan) -> None:
    """Beyond both heaps, requests are refused as without memory."""
    options = ("--plan", plan(100 * 60_000), "--spill", 1 << 20, "--preset", "none")
    done = run(*objects(500, 40_000), options=options)
    assert done.status == 0
    assert 20 <= done.document["spilled_objects"] <= 30
    assert done.document["refusals"] == 500 - int(done.stdout) > 300


def test_children_get_no_plan_unless_told(run: RunProgram, plan: MakePlan) -> None:
    """A child has an unplanned heap, or the plan with --children. An exec hands the plan on."""
    child = "import os; print('planned' if m(3_000_000) is None else 'free')"
    program = ("python3", "-S", "-c", OBJECTS + child)
    options = ("--plan", plan(2_500_000), "--strict", "--preset", "none")
    words = shlex.join(program)
    assert run(*program, options=options).stdout == "planned\n"
    assert run("sh", "-c", f"exec {words}", options=options).stdout == "planned\n"
    assert run("sh", "-c", f"{words}; true", options=options).stdout == "free\n"
    done = run("sh", "-c", f"{words}; true", options=(*options, "--children"))
    assert done.stdout == "planned\n"
    assert done.document["program"].endswith("sh")


def test_exit_status_and_signals(run: RunProgram) -> None:
    """The program's own status; 128 + n if signal n killed it, which also leaves no counts."""
    assert run("sh", "-c", "exit 7").status == 7
    done = run("sh", "-c", "kill -9 $$")
    assert (done.status, done.document["signal"]) == (137, "SIGKILL")
    assert not done.document["is_complete"] and "killed by SIGKILL" in done.stderr


def test_a_child_writes_no_report(run: RunProgram) -> None:
    """It ends by exit, its parent by a signal: nobody's counts are taken for the parent's."""
    code = "import os, sys\nif os.fork() == 0: sys.exit()\nos.wait()\nos.kill(os.getpid(), 9)"
    done = run("python3", "-S", "-c", code)
    assert (done.status, done.document["is_complete"]) == (137, False)
    assert "left no counts" in done.stderr


def test_quick_exit_leaves_counts(run: RunProgram, tmp_path: Path) -> None:
    """It runs no destructors."""
    source, program = tmp_path / "quick.c", tmp_path / "quick"
    source.write_text("#include <stdlib.h>\nint main(void) { free(malloc(9)); quick_exit(3); }\n")
    subprocess.run(["gcc", "-fno-builtin", "-o", program, source], check=True)
    done = run(program)
    assert (done.status, done.document["is_complete"]) == (3, True)
    assert done.document["calls"] > 0


def refused(done: subprocess.CompletedProcess[str], status: int, cause: str) -> None:
    """The command failed with this status; stderr has the cause and a next step."""
    assert done.returncode == status, done.stderr
    assert re.search(cause, done.stderr), done.stderr
    assert "next:" in done.stderr
    assert done.stdout == ""


def test_wrong_plans(tau: Tau, plan: MakePlan, tmp_path: Path) -> None:
    """Another layout, a newer version, no plan at all, pools larger than the heap."""
    path = plan(1 << 20, layout="32")
    refused(tau("run", "--plan", path, "--", "echo"), 125, "for a 32-bit target")
    path = plan(1 << 20)
    path.write_text(re.sub("^version = .*", "version = 99", path.read_text(), flags=re.M))
    refused(tau("run", "--plan", path, "--", "echo"), 125, "newer version")
    path.write_text("[heap]\n")
    refused(tau("run", "--plan", path, "--", "echo"), 125, "not a plan")
    refused(tau("run", "--plan", tmp_path / "none.toml", "--", "echo"), 125, "none.toml")
    # 64 tables do not fit into so few bytes, though their pools would.
    path = plan(16 * 64 * 65 // 2, *((16 * size, 1) for size in range(1, 65)))
    refused(tau("run", "--plan", path, "--", "echo"), 125, "do not fit")


@pytest.mark.parametrize(
    "text",
    [
        *("", "0", "x", "1", "3 1000000", "1 0", "1 x", "1 1000000 ", "1 1000000 64"),
        *("1 1000000 64*3x", "1 1000000 64*4294967296", "1 " + "9" * 20),
    ],
)
def test_damaged_settings_end_the_program(text: str) -> None:
    """The library refuses what `tau run` would not have written."""
    command = ["/bin/echo", "ran"]
    with settings_variables(plan=text) as variables:
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (125, "")
    assert "the settings' plan is damaged" in done.stderr


@pytest.mark.parametrize(
    ("status", "kind", "seals", "inode_more", "report_more"),
    [
        (125, "memory", SEALS, 0, 0),
        (0, "memory", fcntl.F_SEAL_GROW, 0, 0),
        (0, "memory", fcntl.F_SEAL_SHRINK, 0, 0),
        (0, "memory", SEALS, 1, 0),
        (0, "memory", SEALS, 0, 1 << 20),
        (0, "disk", 0, 0, 0),
        (0, "closed", 0, 0, 0),
    ],
)
def test_only_the_shared_file_is_used(
    tmp_path: Path, status: int, kind: str, seals: int, inode_more: int, report_more: int
) -> None:
    """[RUN-19] By its inode, its seals and its size; here its plan would end the program. No other
    gets a report.
    """
    text = bytes(4096) + b"plan damaged\n"
    (tmp_path / "file").write_bytes(text)
    memory = os.memfd_create("shared", os.MFD_ALLOW_SEALING)
    file = os.open(tmp_path / "file", os.O_RDWR) if kind == "disk" else memory
    os.pwrite(memory, text, 0)
    fcntl.fcntl(memory, fcntl.F_ADD_SEALS, seals)
    words = (file, os.fstat(file).st_ino + inode_more, 4096 + report_more)
    with settings_variables() as variables:
        del variables[session.VARIABLE]
        (tmp_path / str(file)).write_bytes(text)  # where it would be if it were not inherited
        value = session.run_value("$$", words, str(tmp_path))
        command = ["sh", "-c", f'export {session.VARIABLE}="{value}"; exec ls /proc/self/fd']
        given = () if kind == "closed" else (file,)
        done = subprocess.run(command, env=variables, capture_output=True, pass_fds=given)
    found = os.pread(file, len(text), 0)
    for each in {file, memory}:
        os.close(each)
    assert (done.returncode, found == text) == (status, status == 0), done.stderr
    assert status != 0 or len(done.stdout.split()) == 4 + len(given)  # none stays open


def test_programs_that_cannot_be_served(tau: Tau, tmp_path: Path) -> None:
    """Static and set-user-ID programs, and names of nothing."""
    source = tmp_path / "empty.c"
    source.write_text("int main(void) { return 0; }\n")
    static = tmp_path / "static"
    subprocess.run(["gcc", "-static", "-o", static, source], check=True)
    refused(tau("run", "--", static), 125, "statically linked")
    refused(tau("run", "--", tmp_path / "nothing"), 127, "not found")
    refused(tau("run", "--", source), 126, "not executable")
    if os.getuid() == 0:
        owned = tmp_path / "owned"
        shutil.copy(shutil.which("true") or "true", owned)
        os.chown(owned, 12345, 12345)
        owned.chmod(0o4755)
        refused(tau("run", "--", owned), 125, "setuid")


@pytest.mark.parametrize("compiler", ["gcc", "clang-14"])
@pytest.mark.parametrize("verb", [("run",), ("record", "-o", "x.tau")])
def test_a_program_with_a_sanitizer_is_told_its_name(
    tau: Tau, tmp_path: Path, compiler: str, verb: tuple[str, ...]
) -> None:
    """gcc links it as a library, which ends the program; clang-14 into the program."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    source, program = tmp_path / "s.c", tmp_path / "s"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run([compiler, "-fsanitize=address", "-o", program, source], check=True)
    done = tau(*verb, "--", program)
    assert done.returncode != 0
    assert "built with AddressSanitizer" in done.stderr
    assert "next: build it without -fsanitize=address" in done.stderr
    assert "LD_PRELOAD and" not in done.stderr


def test_wrong_usage(tau: Tau, plan: MakePlan) -> None:
    """Options that need a plan, and nothing to run."""
    for option in (["--strict"], ["--lock"], ["--spill", "10000000"]):
        done = tau("run", *option, "--", "echo")
        assert (done.returncode, "needs --plan" in done.stderr) == (2, True)
    assert tau("run").returncode == 2
    both = ("--plan", plan(1 << 20), "--strict", "--spill", "10000000")
    assert tau("run", *both, "--", "echo").returncode == 2


def test_two_preloads(tau: Tau) -> None:
    """Under the recorder it is refused; the other way around the recorder records our heap."""
    inner = (sys.executable, "-m", "tautochrone", "run", "--", "true")
    done = tau("record", "-o", "out.tau", "--", *inner)
    assert (done.returncode, "recorder is preloaded already" in done.stderr) == (125, True)
    recorder = (sys.executable, "-m", "tautochrone", "record", "-o", "in.tau", "--", "ls", "/")
    done = tau("run", "--", *recorder)
    assert done.returncode == 0, done.stderr


def test_an_existing_json_file_is_kept(tau: Tau, tmp_path: Path) -> None:
    """It is refused before the program runs, and replaced with --force."""
    out = tmp_path / "run.json"
    out.write_text("mine")
    refused(tau("run", "--json", out, "--", "echo", "ran"), 125, "exists")
    assert out.read_text() == "mine"
    done = tau("run", "--json", out, "--force", "--", "echo", "ran")
    assert (done.stdout, out.read_text()[0]) == ("ran\n", "{")


def test_a_json_file_that_cannot_be_written(tau: Tau, plan: MakePlan) -> None:
    """A failed program keeps its exit status; a successful one fails. The counts are on stderr."""
    options = ("--json", "/dev/full", "--plan", plan(1 << 20))
    done = tau("run", *options, "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (125, "ran\n")
    assert "No space left" in done.stderr and "the plan held" in done.stderr
    done = tau("run", *options, "--", "ls", "/nowhere")
    assert done.returncode == 2 and "No space left" in done.stderr


@pytest.mark.parametrize("name", ["a\nclass x", "b\nrefused by", "c\\012\n", "n\udcff", "n" * 200])
def test_names_that_need_care(run: RunProgram, tmp_path: Path, name: str) -> None:
    """A newline in the program's path, a byte that is not UTF-8, and a path of 800 bytes."""
    folder = tmp_path.joinpath(*[name] * (4 if len(name) > 100 else 1))
    folder.mkdir(parents=True)
    shutil.copy(shutil.which("echo") or "echo", folder / "echo")
    done = run(folder / "echo", "ran")
    assert (done.status, done.stdout) == (0, "ran\n"), done.stderr
    assert done.document["program"] == str(folder / "echo")
    assert done.document["calls"] > 0


def test_limited_address_space(run: RunProgram) -> None:
    """`ulimit -v` leaves room for the heap and for the program."""
    words = f"ulimit -v 1000000; exec {sys.executable} -m tautochrone run -- seq 3"
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "1\n2\n3\n"), done.stderr


def test_a_limit_that_the_program_sets_itself(run: RunProgram, plan: MakePlan) -> None:
    """The spill heap is halved until it fits, and no further: 512 MiB of 976."""
    words = shlex.join(("python3", "-S", "-c", OBJECTS + "print(m(300_000_000) is not None)"))
    for options in ((), ("--plan", plan(100 * 60_000))):
        done = run("sh", "-c", f"ulimit -v 1000000; exec {words}", options=options)
        assert (done.status, done.stdout) == (0, "True\n"), done.stderr


def test_a_small_limit_on_file_sizes(tmp_path: Path) -> None:
    """The program runs and has its own exit status; only its counts are missing."""
    words = f"ulimit -f 8; exec {sys.executable} -m tautochrone run -- sh -c 'echo ran; exit 7'"
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (7, "ran\n"), done.stderr
    assert "no file of 524,288 bytes in memory" in done.stderr and "next:" in done.stderr


def test_folders_of_the_user_are_kept(tmp_path: Path) -> None:
    """One in TMPDIR is old, and has a name as ours had: no run adds or removes anything there, nor
    does one that is killed.
    """
    kept = tmp_path / "tau-run-results" / "figures.csv"
    kept.parent.mkdir()
    kept.write_text("1,2,3")
    os.utime(kept.parent, (0, 0))
    environment = dict(os.environ) | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "tautochrone", "run", "--"]
    with subprocess.Popen(
        [*command, "cat"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as killed:
        assert killed.stdin is not None and killed.stdout is not None
        killed.stdin.write(b"ran\n")
        killed.stdin.flush()
        assert killed.stdout.readline() == b"ran\n"
        killed.kill()
    tmp_path.chmod(0o500)  # and none needs to write there
    subprocess.run([*command, "true"], env=environment, check=True)
    tmp_path.chmod(0o700)
    assert [*tmp_path.rglob("*")] == [kept.parent, kept]
    assert kept.read_text() == "1,2,3"


# The number of the shared file, in the program.
SHARED = "int(os.environ['TAU_PRELOAD'].split()[2])"


@pytest.mark.parametrize(
    "act",
    [
        "shutil.rmtree(os.environ['TMPDIR'])",
        f"os.pwrite({SHARED}, b'ended\\ncalls x\\n', 0)",
        f"os.pwrite({SHARED}, b'ended\\nspilled 1\\n', 0)",
        f"os.pwrite({SHARED}, b'ended\\nspill 1 1' + b'0' * 4000 + b'\\n', 0)",
        f"os.pwrite({SHARED}, b'ended\\nsite 0\\nclass 1\\ntask\\n', 0)",
        f"os.pwrite({SHARED}, b'refused it never ran\\n', 0)",
        f"os.pwrite({SHARED}, os.urandom(1 << 19), 0)",
        f"os.pwrite({SHARED}, b'ended' * 100_000, 0)",
    ],
)
def test_the_exit_status_is_the_program_s_whatever_it_does_to_its_report(
    run: RunProgram, plan: MakePlan, tmp_path: Path, act: str
) -> None:
    """It removes its TMPDIR, or writes lines of its own to the shared file and ends without ours:
    the counts are not told, or those that it wrote are.
    """
    folder = tmp_path / "its own"
    folder.mkdir()
    code = f"import os, shutil\n{act}\nos._exit(7)"
    options = ("--plan", plan(1 << 24))
    done = run("python3", "-S", "-c", code, options=options, env={"TMPDIR": str(folder)})
    assert done.status == 7 and "has a bug" not in done.stderr, done.stderr
    assert done.document["exit_status"] == 7


def test_the_shared_file_keeps_its_size(run: RunProgram) -> None:
    """A program can neither cut it, which would kill it at its end, nor make it fill the memory."""
    code = f"""
import os
number = {SHARED}
for size in (0, 100, 1 << 33):
    try:
        os.ftruncate(number, size)
        print("changed")
    except OSError as error:
        print(error.errno)
"""
    done = run("python3", "-S", "-c", code)
    assert (done.status, done.stdout) == (0, f"{errno.EPERM}\n" * 3)
    assert done.document["is_complete"]


@pytest.mark.parametrize("way", ["closed", "replaced"])
def test_a_program_that_closes_all_descriptors(
    run: RunProgram, plan: MakePlan, tmp_path: Path, way: str
) -> None:
    """And becomes another by exec: that one finds its plan all the same, and no other file in the
    descriptor's place is written. Nor does the way to its plan stay open.
    """
    other = tmp_path / "other"
    other.write_bytes(bytes(1 << 20))
    replace = f"os.dup2(os.open({str(other)!r}, os.O_RDWR), number, inheritable=True)"
    code = f"""
import os
number = {SHARED}
os.closerange(3, 65536)
{replace if way == "replaced" else ""}
os.execvp("ls", ["ls", "/proc/self/fd"])
"""
    done = run("python3", "-S", "-c", code, options=("--plan", plan(1 << 24)))
    left = 5 if way == "replaced" else 4
    assert (done.status, len(done.stdout.split())) == (0, left), done.stdout
    assert done.document["is_complete"] and done.document["program"].endswith("ls")
    assert other.read_bytes() == bytes(1 << 20)


def test_children_of_the_planned_program_have_no_descriptor(run: RunProgram) -> None:
    """Only programs with use for the shared file have it open."""
    done = run("sh", "-c", "ls /proc/self/fd; true")
    assert done.stdout.split() == ["0", "1", "2", "3"], done.stdout


def test_no_fault_and_no_system_call(
    build: Build, run: RunProgram, plan: MakePlan, bands: MakePlan
) -> None:
    """Under SCHED_FIFO, 200,000 calls on a locked heap: a system call would kill the program."""
    program = build("runtime_realtime")
    roomy = ("--plan", plan(1 << 24, (1008, 20), (64, 20)), "--lock")
    done = run(program, options=roomy)
    if done.status == 3:
        pytest.skip("SCHED_FIFO is not allowed here")
    if done.status == 125:
        pytest.skip(f"memory cannot be locked here: {done.stderr}")
    assert (done.status, done.stdout) == (0, "0 1 200000\n"), done.stderr
    # In a plan that is too small, the spill heap is locked too.
    small = ("--plan", plan(100_000), "--lock", "--spill", 1 << 21)
    assert run(program, options=small).stdout == "0 1 200000\n"
    limited = ("--plan", bands((1008, 64), (20_000, 60)), "--lock", "--strict")
    assert run(program, options=limited).stdout == "0 1 200000\n"
    # Without --lock pages go back in a call, which kills the program: the test can fail.
    assert run(program, options=roomy[:2]).status == 128 + signal.SIGSYS
