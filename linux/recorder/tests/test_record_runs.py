"""`tau record --runs N`: several recordings of one command, in one folder.

Method: a script counts its own runs in a file, and behaves as the test says in each.
"""

import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tautochrone.trace.file import open_trace
from testing.recorded import Tau


@pytest.fixture
def tau(tau: Tau) -> Tau:
    """The command with nothing on stdin, whatever the tests have there."""
    return functools.partial(tau, stdin=subprocess.DEVNULL)


COMMAND = [sys.executable, "-m", "tautochrone"]


def script(folder: Path, *behaviors: str) -> tuple[str, ...]:
    """A command line whose k-th run does the k-th of these, then exits with 0."""
    cases = "".join(f"{k}) {what};;\n" for k, what in enumerate(behaviors, 1))
    path = folder / "script.sh"
    path.write_text(
        "n=$(( $(cat count 2>/dev/null || echo 0) + 1 )); echo $n > count\n"
        f"case $n in {cases} *) : ;; esac\nexit 0\n"
    )
    return ("bash", str(path))


def names(folder: Path) -> list[str]:
    """The content of a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_each_run_is_a_whole_recording(tau: Tau, tmp_path: Path) -> None:
    """With the traces of other processes apart, and the next command."""
    done = tau("record", "--runs", 3, "-o", "runs", "--", "sh", "-c", "seq 9; ls /; exit 0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("9\n") == 3
    assert names(tmp_path / "runs") == ["1.tau", "2.tau", "3.tau", "children"]
    for number in range(1, 4):
        with open_trace(tmp_path / "runs" / f"{number}.tau") as reader:
            assert reader.totals.events > 0
    assert "tau: 3 runs of sh:" in done.stderr and "next: tau plan runs -o" in done.stderr
    planned = tau("plan", "runs", "-o", "plan.toml")
    assert planned.returncode == 0 and "3 recordings: " in planned.stdout


def test_names_sort(tau: Tau, tmp_path: Path) -> None:
    assert tau("record", "--runs", 10, "-o", "runs", "--no-children", "--", "true").returncode == 0
    wanted = [f"{number:02}.tau" for number in range(1, 11)]
    assert names(tmp_path / "runs") == wanted


def test_runs_that_fail_differ_or_are_killed_are_named(tau: Tau, tmp_path: Path) -> None:
    """The status is the first failed run's; complete runs are kept."""
    words = script(tmp_path, ":", "exit 4", "kill -SEGV $$", ":")
    options = ("--runs", 5, "--no-children", "-o", "runs")
    done = tau("record", "--json", *options, "--", *words)
    assert done.returncode == 4
    assert "run 3 was killed by SIGSEGV: no trace is kept of it" in done.stderr
    assert "run 2 exited with 4, 3 of 4 exited with 0" in done.stderr
    assert "rm runs/2.tau" in done.stderr
    assert names(tmp_path / "runs") == ["1.tau", "2.tau", "4.tau", "5.tau"]
    document = json.loads(done.stdout)
    assert [run["number"] for run in document["runs"]] == [1, 2, 4, 5]
    assert document["incomplete"] == [{"number": 3, "exit_status": 139, "signal": "SIGSEGV"}]
    assert document["exit_status"] == 4
    assert Path(document["runs"][0]["trace"]["path"]) == Path("runs/1.tau")


def test_a_run_that_never_ends_is_stopped_and_the_others_are_kept(tmp_path: Path) -> None:
    """Ctrl-C: the terminal sends it to the program, too."""
    words = script(tmp_path, ":", "echo waits > waiting; while :; do :; done")
    command = [*COMMAND, "record", "--runs", "4", "--no-children", "-o", "runs", "--", *words]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "waiting").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "run 2 was stopped by SIGINT" in said and "2 runs of 4 did not start" in said
    assert names(tmp_path / "runs") == ["1.tau"]


def test_each_run_reads_a_file_from_its_place(tau: Tau, tmp_path: Path) -> None:
    """From where stdin stood; a pipe is refused before anything runs."""
    (tmp_path / "text").write_text("one\ntwo\n")
    with (tmp_path / "text").open("rb", buffering=0) as text:
        text.seek(4)
        words = [*COMMAND, "record", "--runs", "2", "-o", "runs", "--", "cat"]
        done = subprocess.run(words, cwd=tmp_path, stdin=text, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "two\ntwo\n"), done.stderr
    words = [*COMMAND, "record", "--runs", "2", "-o", "more", "--", "touch", "ran"]
    done = subprocess.run(words, cwd=tmp_path, input="x", capture_output=True, text=True)
    assert done.returncode == 125 and "stdin is a pipe" in done.stderr
    assert "< FILE" in done.stderr and not (tmp_path / "ran").exists()


def test_an_earlier_folder_is_replaced_only_by_a_whole_run(tau: Tau, tmp_path: Path) -> None:
    """With --force, and its other files stay."""
    options = ("--runs", 2, "--no-children", "-o", "runs")
    assert tau("record", "--runs", 3, *options[2:], "--", "true").returncode == 0
    (tmp_path / "runs" / "notes.tau").write_text("mine")
    done = tau("record", *options, "--", "true")
    assert done.returncode == 125 and "not empty" in done.stderr and "--force" in done.stderr
    killed = tau("record", "--force", *options, "--", "sh", "-c", "kill -9 $$")
    assert killed.returncode == 137
    assert names(tmp_path / "runs") == ["1.tau", "2.tau", "3.tau", "notes.tau"]
    assert tau("record", "--force", *options, "--", "true").returncode == 0
    assert names(tmp_path / "runs") == ["1.tau", "2.tau", "notes.tau"]


@pytest.mark.parametrize(
    "words", [(), ("-o", "-"), ("-o", "x", "--raw"), ("-o", "x", "--accesses")]
)
def test_wrong_usage(tau: Tau, tmp_path: Path, words: tuple[str, ...]) -> None:
    done = tau("record", "--runs", 2, *words, "--", "true")
    assert done.returncode == 2 and "--runs" in done.stderr
    assert names(tmp_path) == []


def test_a_file_is_not_a_folder(tau: Tau, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("mine")
    done = tau("record", "--runs", 2, "--force", "-o", "x", "--", "true")
    assert done.returncode == 125 and "need a folder" in done.stderr
    assert (tmp_path / "x").read_text() == "mine"
