"""Texts of files cannot steer a terminal; closed, full and narrow streams get a message.

Method: the command runs in a process of its own, with its streams closed, broken or full as a shell
would hand them over, and on a terminal of its own.
"""

import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tautochrone.console import terminal
from tautochrone.trace.file import TraceWriter

TAU = [sys.executable, "-m", "tautochrone"]
ESCAPE = "\x1b[31m"
RESULTS = ("info", "info --json", "plan -o -", "replay --on static", "check", "export")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A trace whose program, recorder and call site want to steer."""
    path = tmp_path / "a.tau"
    header = {"program": f"{ESCAPE}prog\u202e\nnext: run this", "started": "now"}
    header["recorder"] = "\x9b31m\udcff"
    with TraceWriter(path, header) as writer:
        site = writer.site(f"/lib/{ESCAPE}x.so", 16)
        writer.append(
            op=np.array([0]), slot=np.array([0]), size_bytes=np.array([8]), site=np.array([site])
        )
    return path


def shell(line: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line in bash; `tau` is the command."""
    function = f'tau() {{ {shlex.join(TAU)} "$@"; }}\n'
    environment = {**os.environ, **variables}
    return subprocess.run(["bash", "-c", function + line], capture_output=True, env=environment)


def on_terminal(*words: object) -> bytes:
    """Run the command on a terminal and return all that it sent there."""
    sent = b""
    child, terminal_end = pty.fork()
    if child == 0:
        os.execv(TAU[0], [*TAU, *map(str, words)])
    while True:
        try:
            piece = os.read(terminal_end, 4096)
        except OSError:  # how a terminal says that nobody writes to it any more
            break
        if not piece:
            break
        sent += piece
    os.waitpid(child, 0)
    os.close(terminal_end)
    return sent


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, é, 漢 and\ttabs\n", "plain, é, 漢 and\ttabs\n"),
        (ESCAPE, "\\x1b[31m"),
        ("\r\b\0\x7f\x9b", "\\x0d\\x08\\x00\\x7f\\x9b"),
        ("\u202e\u2066\u2028", "\\u202e\\u2066\\u2028"),
        (os.fsdecode(b"\xff"), "\\xff"),
    ],
)
def test_what_steers_is_shown(text: str, shown: str) -> None:
    assert terminal.escaped(text) == shown
    assert terminal.in_one_line(text) == shown.replace("\t", "\\t").replace("\n", "\\n")


@pytest.mark.parametrize("words", RESULTS)
def test_a_file_does_not_steer_the_terminal(words: str, trace: Path) -> None:
    verb, *options = words.split()
    sent = on_terminal("--color", "never", verb, trace, *options)
    assert sent and b"\x1b" not in sent and b"\xc2\x9b" not in sent and b"\xe2\x80\xae" not in sent
    if words == "info":
        assert b"\\x1b[31mprog\\u202e\\nnext" in sent and b"\\x9b31m\\xff" in sent
    if words == "export":
        assert b"\\x1b[31mx.so" in sent


def test_our_own_styles_reach_the_terminal(trace: Path) -> None:
    sent = on_terminal("--color", "always", "info", f"{ESCAPE}missing")
    assert b"\x1b[31m\x1b[1mtau:\x1b[0m \\x1b[31mmissing: no such file" in sent


def test_exported_data_is_not_changed(trace: Path) -> None:
    assert b"/lib/\x1b[31mx.so" in shell(f"tau export {trace}").stdout


@pytest.mark.parametrize("words", RESULTS)
def test_a_closed_or_full_stdout_is_said(words: str, trace: Path) -> None:
    verb, *options = words.split()
    command = shlex.join(["tau", verb, str(trace), *options])
    for target, cause in (("/dev/full", b"tau: "), ("&-", b"tau: ")):
        done = shell(f"{command} >{target}")
        assert done.returncode == 1 and cause in done.stderr, (target, done.stderr)
        assert b"stdout: " in done.stderr and b"Traceback" not in done.stderr


def test_no_stream_at_all_fails_quietly(trace: Path) -> None:
    assert shell(f"tau info {trace} <&- >&- 2>&-").returncode == 1
    assert shell("tau info missing <&- >&- 2>&-").returncode == 1
    assert shell("tau nonsense 2>/dev/full").returncode == 2


@pytest.mark.parametrize("words", RESULTS)
def test_a_reader_that_is_gone_is_not_a_failure(words: str, trace: Path) -> None:
    verb, *options = words.split()
    command = shlex.join(["tau", "-q", verb, str(trace), *options])
    done = shell(f"{command} | head -0; exit ${{PIPESTATUS[0]}}")
    assert (done.returncode, done.stderr) == (0, b"")


def test_what_a_program_finds_closed_stays_closed(tmp_path: Path) -> None:
    """The trace must not take the number of a closed stream."""
    out = tmp_path / "out.tau"
    program = "test -e /proc/self/fd/1 && exit 7; exit 5"
    done = shell(f"tau record -q -o {out} -- bash -c {shlex.quote(program)} >&-")
    assert (done.returncode, done.stderr) == (5, b"")
    assert shell(f"tau check {out}").returncode == 0


@pytest.mark.parametrize(
    "variables",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
    ],
)
def test_a_terminal_of_plain_ascii(variables: dict[str, str], trace: Path, tmp_path: Path) -> None:
    done = shell(f"tau replay {trace} --on static", **variables)
    assert done.returncode == 0 and b"\\xd7 peak" in done.stdout, done.stderr
    assert b"Traceback" not in shell("tau info é; tau --help", **variables).stderr
    plan = tmp_path / "é.toml"
    line = f"cd {tmp_path}; cp {trace} é.tau; tau plan é.tau -o {plan}; tau plan é.tau -o -"
    done = shell(line, **variables)
    assert done.stdout.decode().count('name = "') == 1, done.stderr
    page = tmp_path / "r.html"
    assert shell(f"tau report {trace} --plan {plan} -o {page}", **variables).returncode == 0


def test_names_that_are_not_utf8(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"\xff\x1b[31m")
    words = [
        *(f"info {name}.tau", f"check {name}.tau", f"plan {name}.tau -o {name}.toml"),
        *(f"replay {name}.tau --on budget --plan {name}.toml", f"export {name}.tau -o {name}.csv"),
        *(f"import {name}.csv -o {name}-2.tau", f"export {name}.tau -o {name}.parquet"),
        *(f"report {name}.tau --plan {name}.toml -o {name}.html", f"check {name}.toml"),
    ]
    Path(f"{name}.tau").write_bytes(trace.read_bytes())
    for line in words:
        done = subprocess.run([*TAU, *line.split()], capture_output=True)
        assert done.returncode == 0, (line, done.stderr)
        assert b"\x1b" not in done.stdout + done.stderr and b"\xff" not in done.stdout
    done = subprocess.run([*TAU, "info", name], capture_output=True)
    assert done.stderr.startswith(b"tau: \\xff\\x1b[31m: no such file")


FORGED = "\ntau: all is well\n  next: delete everything\n"


@pytest.mark.parametrize(
    "words",
    [
        ("info", "missing{}"),
        ("check", "missing{}"),
        ("plan", "{}.tau", "-o", "missing{}/plan.toml"),
        ("replay", "{}.tau", "--on", "no{}"),
        ("import", "{}.tau", "-o", "x.tau"),
        ("import", "{}.csv", "-o", "x.tau"),
        ("export", "{}.tau", "-o", "missing{}/x.csv"),
        ("report", "{}.tau", "-o", "{}.html"),
        ("record", "--", "./missing{}"),
        ("record", "-o", "{}.tau", "--", "true"),
        ("no{}",),
        ("info", "--no{}"),
    ],
)
def test_a_name_cannot_forge_a_line(
    words: tuple[str, ...], trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line ends within names are shown, not sent."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    Path(FORGED + ".tau").write_bytes(trace.read_bytes())
    Path(FORGED + ".csv").write_text("op,id,size\nfree,1,\n")
    line = [word.replace("{}", FORGED) for word in words]
    done = subprocess.run([*TAU, *line], capture_output=True, text=True)
    forged = [text for text in done.stderr.splitlines() if text in FORGED.splitlines() and text]
    assert done.stderr and not forged, done.stderr
