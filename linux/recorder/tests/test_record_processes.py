"""`tau record` and all the processes of a program: those it cannot see, and those that live on."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tautochrone.facts import trace_format
from tautochrone.trace.file import open_trace
from testing.recorded import Build, Record, Tau, events_of

MALLOC, FREE = trace_format.OP_MALLOC, trace_format.OP_FREE
DAEMON_MS = 30_000  # a child lives on, longer than a slow machine takes to start the command
MESSAGE_WAIT_S = 300.0
# The interpreter itself, not a script that looks for it.
PYTHON = os.path.realpath(sys.executable)


# ---- Programs that cannot be recorded


@pytest.mark.parametrize(
    "how", ["exec", "execveat", "fexecve", "spawn", "spawnp", "env", "preload"]
)
def test_program_without_recorder_is_named(record: Record, build: Build, how: str) -> None:
    """exec into a static program, and one with a cleared environment: each is named, with why."""
    static = build("ends", "-static", made="ends-static")
    code = {
        "exec": f"import os; os.execv('{static}', ['x'])",
        "execveat": "import ctypes; words = (ctypes.c_char_p * 2)(b'x', None); "
        f"ctypes.CDLL(None).execveat(-100, b'{static}', words, None, 0)",
        "fexecve": f"import os; os.execve(os.open('{static}', os.O_RDONLY), ['x'], os.environ)",
        "spawnp": f"import os; os.waitpid(os.posix_spawnp('{static}', ['x'], os.environ), 0)",
        "spawn": f"import os; os.waitpid(os.posix_spawn('{static}', ['x'], os.environ), 0)",
        "env": "import os; os.execve('/bin/ls', ['ls', '/'], {})",
        "preload": "import os; os.execve('/bin/ls', ['ls', '/'], os.environ | {'LD_PRELOAD': ''})",
    }[how]
    recorded = record(PYTHON, "-S", "-c", code)
    (missing,) = recorded.document["not_recorded"]
    assert missing["program"] == ("/bin/ls" if how in ("env", "preload") else str(static))
    said = {
        "env": "environment was cleared",
        "preload": "`LD_PRELOAD=… tau record -- PROGRAM`",
    }.get(how, "statically linked")
    assert said in missing["reason"] and said in recorded.stderr
    assert f"(pid {missing['pid']})" in recorded.stderr
    if how == "exec":
        assert missing["pid"] == recorded.document["trace"]["pid"]


@pytest.mark.parametrize("then", ["exit", "exec"])
def test_exec_that_fails_is_not_named(record: Record, build: Build, then: str) -> None:
    """An exec that fails is none, and one that is recorded is not missing."""
    code = (
        "import contextlib, os\n"
        "with contextlib.suppress(OSError): os.execv('/no/such/program', ['x'])\n"
    )
    code += f"os.execvp('{build('ends')}', ['ends'])" if then == "exec" else "os._exit(42)"
    recorded = record(PYTHON, "-S", "-c", code)
    assert recorded.status == 42
    assert recorded.document["not_recorded"] == []
    assert "not recorded: /no" not in recorded.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
@pytest.mark.parametrize("change", ["setuid(65534)", "chroot('/usr')"])
def test_exec_out_of_reach_is_counted(record: Record, change: str) -> None:
    """Where the recordings' folder is out of reach, executed programs are counted; failures not."""
    code = (
        "import contextlib, os\n"
        f"os.{change}\n"
        "with contextlib.suppress(OSError): os.execv('/no/such/program', ['x'])\n"
        "for path in ('/bin/true', '/usr/bin/true'):\n"
        "    with contextlib.suppress(OSError): os.execv(path, ['true'])\n"
        "os._exit(3)"
    )
    recorded = record(PYTHON, "-S", "-c", code)
    (missing,) = recorded.document["not_recorded"]
    assert missing["pid"] == recorded.document["trace"]["pid"]
    assert "executed 1 programs that could not write" in missing["reason"]
    assert missing["reason"] in recorded.stderr


def test_process_without_events_is_named(record: Record, tmp_path: Path) -> None:
    """A child that allocates nothing leaves no trace, but is named."""
    (tmp_path / "none.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-o", tmp_path / "none", tmp_path / "none.c"], check=True)
    recorded = record(PYTHON, "-S", "-c", f"import os; os.system('{tmp_path / 'none'}; true')")
    named = {missing["program"]: missing for missing in recorded.document["not_recorded"]}
    assert named[str(tmp_path / "none")]["reason"] == "it made no allocation"
    assert "tau: no trace of none (pid" in recorded.stderr


# ---- Processes that outlive the first


def test_what_lives_on_is_waited_for(record: Record, build: Build) -> None:
    """A daemon's events are recorded to its end, though the first process is long gone."""
    recorded = record(build("leaves"), 1500)
    assert recorded.status == 5
    assert "ended, but these still run: leaves (pid" in recorded.stderr
    assert "Ctrl-C" in recorded.stderr
    made = [(recorded.events(i)["size_bytes"] == 55).sum() for i in range(len(recorded.traces))]
    assert sum(made) == 5000
    assert recorded.document["running"] == []


def test_no_waiting_without_children(tau: Tau, build: Build) -> None:
    """With --no-children nothing is waited for."""
    started = time.monotonic()
    done = tau("record", "--no-children", "-o", "x.tau", "--", build("leaves"), DAEMON_MS)
    assert done.returncode == 5 and "these still run" not in done.stderr
    assert time.monotonic() - started < DAEMON_MS / 1000


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ended_the_program_ends_no_merge(tmp_path: Path, number: int) -> None:
    """`timeout` sends its signal to tau and to the whole group; a script may send many."""
    program = "print('ready', flush=True); import time; time.sleep(60)"
    words = [sys.executable, "-m", "tautochrone", "-q", "record", "-o", "x.tau", "--"]
    with subprocess.Popen(
        [*words, sys.executable, "-c", program], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout.readline() == "ready\n"
        deadline = time.monotonic() + MESSAGE_WAIT_S
        while running.poll() is None and time.monotonic() < deadline:
            running.send_signal(number)
            time.sleep(0.002)
        assert running.wait(MESSAGE_WAIT_S) == 128 + number
    with open_trace(tmp_path / "x.tau") as reader:
        assert reader.totals.events > 1000


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_waiting_can_be_ended(build: Build, tmp_path: Path, number: int) -> None:
    """Ctrl-C leaves a valid trace that says where and why it ends."""
    words = [sys.executable, "-m", "tautochrone", "-q", "record", "--json", "-o", "x.tau", "--"]
    with subprocess.Popen(
        [*words, str(build("leaves")), "0", "forever"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        pid = 0
        try:
            line = running.stderr.readline()
            pid = int(re.search(r"these still run: leaves \(pid (\d+)\)", line)[1])
            running.send_signal(number)
            text, _ = running.communicate(timeout=MESSAGE_WAIT_S)
            assert running.returncode == 5
            document = json.loads(text)
            assert document["running"] == [{"name": "leaves", "pid": pid}]
            (trace,) = [
                one for one in (document["trace"], *document["others"]) if one["pid"] == pid
            ]
            assert trace["running"] and "still ran" in trace["truncated"]
            assert trace["implied_frees"] == trace["damaged_chunks"] == 0
            with open_trace(tmp_path / trace["path"]) as reader:
                assert reader.header["truncated"] and reader.header["ended"] == "still running"
            events = events_of(tmp_path / trace["path"])
            assert (events["size_bytes"] == 55).sum() >= 5000
            os.kill(pid, 0)  # it was left alone
        finally:
            with contextlib.suppress(ProcessLookupError):
                if pid:
                    os.kill(pid, signal.SIGKILL)


# ---- The program behaves as alone


def test_folder_is_out_of_sight(tau: Tau, build: Build, tmp_path: Path) -> None:
    """What a program finds in its directory is its own, wherever the trace goes."""
    (tmp_path / "kept").write_text("x")
    for out in ((), ("-o", "x.tau"), ("-o", "sub/x.tau")):
        (tmp_path / "sub").mkdir(exist_ok=True)
        done = tau("record", *out, "--", "tar", "-cf", "/dev/stdout", "--exclude=*.tau", ".")
        assert done.returncode == 0
        assert "recording" not in done.stdout and ".tauraw" not in done.stdout


def test_folder_that_cannot_be(tau: Tau, build: Build, tmp_path: Path) -> None:
    """Where recordings should lie is checked before the program starts."""
    (tmp_path / "file").write_text("")
    env = dict(os.environ) | {"XDG_STATE_HOME": str(tmp_path / "file")}
    done = tau("record", "-o", "x.tau", "--", "touch", tmp_path / "ran", env=env)
    assert done.returncode == 125 and "XDG_STATE_HOME" in done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("limit", [1024, 500, 12])
def test_descriptor_at_the_top(tau: Tau, limit: int) -> None:
    """The recording's descriptor is the limit's highest, whatever the limit is."""
    listing = "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))"
    words = ("sh", "-c", f'ulimit -n {limit}; exec {PYTHON} -S -c "{listing}"')
    done = tau("record", "-o", "x.tau", "--", *words)
    assert done.returncode == 0, done.stderr
    # 3 is the listing's own.
    assert json.loads(done.stdout) == [0, 1, 2, 3, limit - 1]


@pytest.mark.parametrize("number", [signal.SIGRTMIN, signal.SIGRTMIN + 3, signal.SIGRTMAX])
def test_real_time_signal(tau: Tau, tmp_path: Path, number: int) -> None:
    """A signal without a name of its own ends the program, not the command."""
    done = tau("record", "-o", "x.tau", "--", "sh", "-c", f"kill -{int(number)} $$")
    assert done.returncode == 128 + number, done.stderr
    assert "killed by SIGRT" in done.stderr and "Traceback" not in done.stderr
    assert (tmp_path / "x.tau").exists()


@pytest.mark.parametrize("how", ["strict", "filter", "syscall"])
def test_confined_program(build: Build, record: Record, how: str) -> None:
    """A seccomp filter that suffices for the program does not kill it when it is recorded."""
    recorded = record(build("confined"), how, 200000)
    assert recorded.status == 9, recorded.stderr
    recorded.assert_in_order()
    events = recorded.events()
    assert ((events["op"] == MALLOC) & (events["size_bytes"] < 90)).sum() >= 200000
    assert recorded.document["trace"]["truncated"] is None


def test_confined_child(build: Build, record: Record) -> None:
    """A forked child that confines itself before its first event is recorded too."""
    recorded = record(build("confined"), "filter", 1000, "child")
    assert recorded.status == 9, recorded.stderr
    assert len(recorded.traces) == 2
    assert recorded.traces[1]["events"] >= 2000


@pytest.mark.parametrize("how", ["refused", "refused-syscall"])
def test_refused_filter_leaves_the_recorder_free(build: Build, record: Record, how: str) -> None:
    """A filter that the kernel refuses confines nobody: later children are recorded."""
    recorded = record(build("confined"), how, 1000)
    assert recorded.status == 9, recorded.stderr
    recorded.assert_in_order()
    assert len(recorded.traces) == 2, recorded.stderr
    for index in range(2):
        events = recorded.events(index)
        assert ((events["op"] == MALLOC) & (events["size_bytes"] < 90)).sum() >= 1000
        assert recorded.traces[index]["truncated"] is None


def test_confined_program_runs_out(build: Build, record: Record) -> None:
    """What the reserve cannot hold is counted, and the trace says that it stopped early."""
    words = ("sh", "-c", f"ulimit -f 3000; exec {build('confined')} filter 2000000")
    recorded = record(*words)
    assert recorded.status == 9, recorded.stderr
    (trace,) = [one for one in recorded.traces if one["truncated"]]
    assert "seccomp" in trace["truncated"] and "without its seccomp filter" in recorded.stderr
    assert trace["events"] > 100000
    assert trace["events"] + trace["events_lost"] >= 4000000
    with open_trace(trace["path"]) as reader:
        assert reader.header["lost"]["events"] == trace["events_lost"]
        assert not reader.ending.is_complete
    assert trace["implied_frees"] == trace["unknown_count"] == 0


def test_filter_of_a_parent(build: Build, record: Record) -> None:
    """A program that is started under a filter is left alone, and named."""
    code = (
        "import ctypes, os, struct\n"
        "libc = ctypes.CDLL(None)\n"
        # Kill on fallocate, which the recorder needs; allow all else.
        "code = struct.pack('=HBBIHBBIHBBIHBBI', 32,0,0,0, 21,0,1,285, 6,0,0,0x80000000,"
        " 6,0,0,0x7fff0000)\n"
        "buffer = ctypes.create_string_buffer(code)\n"
        "class Program(ctypes.Structure):\n"
        "    _fields_ = [('count', ctypes.c_ushort), ('code', ctypes.c_void_p)]\n"
        "program = Program(4, ctypes.addressof(buffer))\n"
        "libc.prctl(38, 1, 0, 0, 0)\n"
        "if libc.prctl(22, 2, ctypes.byref(program), 0, 0): os._exit(3)\n"
        f"os.execv('{build('ends')}', ['ends'])"
    )
    recorded = record(PYTHON, "-S", "-c", code)
    assert recorded.status == 42, recorded.stderr
    assert len(recorded.traces) == 1
