"""`tau record` of a command of several programs: which recordings are kept, and their names.

Method: a small program starts itself under other names.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tautochrone.record.recordings import Who
from tautochrone.trace.file import open_trace
from testing.recorded import Record, Tau

SOURCE = """#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
extern char **environ;
int main(int count, char **words) {
    for (int each = 0; each < atoi(words[1]); each++) free(malloc(77));
    for (int at = 2; at < count; at += 2) {
        char *const call[] = {words[at], words[at + 1], NULL};
        pid_t child;
        posix_spawn(&child, "/proc/self/exe", NULL, NULL, call, environ);
        waitpid(child, NULL, 0);
    }
    return count > 2 ? 5 : 0;
}
"""
OWN = 40  # objects of the command's own process


@pytest.fixture(scope="session")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that makes as many objects as its argument says, then starts itself: for each
    further two arguments, under a name, with a number of objects.
    """
    folder = tmp_path_factory.mktemp("worker")
    (folder / "worker.c").write_text(SOURCE)
    command = ["gcc", "-O1", "-fno-builtin", "worker.c", "-o", "worker"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "worker"


def family(worker: Path, *calls: tuple[str, int]) -> tuple[object, ...]:
    """A command line that runs the worker, and under these names, that many objects each."""
    return (worker, OWN, *(word for call in calls for word in call))


def names(folder: Path) -> list[str]:
    """The names in a folder."""
    return sorted(path.name for path in folder.iterdir())


def objects(path: Path) -> int:
    """How many objects the worker made in a trace."""
    with open_trace(path) as reader:
        return sum(int((block["size_bytes"] == 77).sum()) for block in reader.blocks())


def test_a_folder_gets_a_recording_of_each_process(worker: Path, tau: Tau, tmp_path: Path) -> None:
    """Named from argv[0]; a name that is taken gets a number, also one of an earlier command."""
    words = family(worker, ("/x/one", 300), ("two", 90), ("one", 200), ("one-2", 80))
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "two.tau").write_text("mine")
    done = tau("record", "-o", "kept/", "--", *words)
    assert done.returncode == 5, done.stderr
    folder = tmp_path / "kept"
    assert (folder / "two.tau").read_text() == "mine" and objects(folder / "two-2.tau") == 90
    left = {path.name: objects(path) for path in folder.glob("one*")}
    assert sorted(left.values()) == [80, 200, 300] and left["one.tau"] == 300, left
    assert {"worker.tau", "one.tau", "one-2.tau"} < {path.name for path in folder.iterdir()}
    said = done.stderr.partition("kept/worker.tau,")[2].split("  next:")[0]
    title, first, *rows = [line.split() for line in said.splitlines()[1:]]
    assert first[1] == "worker" and first[-1] == "kept/worker.tau"
    printed = {row[-1]: (row[1], int(row[2].replace(",", ""))) for row in rows}
    assert printed["kept/one.tau"] == ("one", 600) and title[:3] == ["process", "name", "events"]
    with open_trace(folder / "one.tau") as reader:
        peak = reader.totals.peak_live_bytes
    assert rows[0][3] == f"{peak:,}" and rows[0][4] == "kept/one.tau"
    assert "has more events" not in done.stderr
    assert "next: tau plan kept --only worker -o plan.toml" in done.stderr


def test_the_command_itself_is_the_main_recording(worker: Path, tau: Tau, tmp_path: Path) -> None:
    """After an exec, the program that it became; others have more events."""
    text = f"(exec -a big {worker} 3000); exec -a own {worker} 60"
    done = tau("record", "-o", "x.tau", "--", "bash", "-c", text)
    assert re.search(r"tau: big \(pid \d+\) has more events than own\n", done.stderr)
    assert "meant: tau record --only big" in done.stderr
    assert objects(tmp_path / "x.tau") == 60
    assert [objects(path) for path in tmp_path.glob("x.big.*.tau")] == [3000]


@pytest.mark.parametrize(
    ("only", "main", "others"),
    [
        (("one",), ("one", 200), [100]),
        (("t?o", "worker"), ("worker", OWN), [150]),
        (("[!w]*",), ("one", 200), [100, 150]),
    ],
)
def test_only_some_programs_are_kept(
    worker: Path, record: Record, only: tuple[str, ...], main: tuple[str, int], others: list[int]
) -> None:
    """Of a program that is not the command itself, the largest recording comes first."""
    words = family(worker, ("one", 100), ("one", 200), ("two", 150))
    options = [word for name in only for word in ("--only", name)]
    recorded = record(*words, options=tuple(options))
    paths = [Path(trace["path"]) for trace in recorded.traces]
    assert (recorded.traces[0]["name"], objects(paths[0])) == main
    assert sorted(map(objects, paths[1:])) == others
    assert recorded.status == 5 and recorded.document["not_recorded"] == []


def test_a_name_that_nobody_has_loses_nothing(worker: Path, tau: Tau, tmp_path: Path) -> None:
    """The message has the names, and the command that imports what was recorded."""
    state = dict(os.environ) | {"XDG_STATE_HOME": str(tmp_path / "st ate")}
    words = family(worker, ("one", 100), ("one", 100))
    done = tau("record", "--only", "cc1", "-o", "new/", "--", *words, env=state)
    assert done.returncode == 5
    assert "named cc1; recorded were one (2), worker (1)" in done.stderr
    assert len(list(tmp_path.glob("st ate/*/*/*.tauraw"))) == 3
    assert f"for each in '{tmp_path}/st ate/tautochrone/recording-" in done.stderr


def test_runs_of_one_program_of_the_command(worker: Path, tau: Tau, tmp_path: Path) -> None:
    words = family(worker, ("one", 100), ("two", 150))
    options = ("--runs", 2, "--only", "one", "-o", "runs/")
    done = tau("record", *options, "--", *words, stdin=subprocess.DEVNULL)
    assert done.returncode == 5 and "2 runs of one" in done.stderr, done.stderr
    assert names(tmp_path / "runs") == ["1.tau", "2.tau"]
    assert objects(tmp_path / "runs" / "2.tau") == 100


@pytest.mark.parametrize(
    ("called", "file"),
    [
        ("../../etc/x", "x"),
        ("a/..", "program"),
        ("-bash", "bash"),
        (".hidden", "hidden"),
        ("nginx: worker\n\x1b[31m", "nginx-worker-31m"),
        ("/", "prog"),
        ("", "prog"),
        ("\udcff\udcfe", "program"),
        ("x" * 300, "x" * 50),
    ],
)
def test_any_name_becomes_a_safe_file_name(called: str, file: str) -> None:
    assert Who("/usr/bin/prog", 1, called).file_name == file


@pytest.mark.parametrize("words", [("--only", ""), ("--only", "a/b"), ("--only", "..")])
def test_what_is_no_name(tau: Tau, words: tuple[str, ...]) -> None:
    done = tau("record", *words, "--", "true")
    assert done.returncode == 2 and "is not the name of a program" in done.stderr


def test_a_folder_that_cannot_be(tau: Tau, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for out in ("file/", "file/new/"):
        done = tau("record", "-o", out, "--", "touch", "ran")
        assert done.returncode == 125 and "next: name another folder" in done.stderr, done.stderr
    (tmp_path / "there").mkdir()
    done = tau("record", "-o", "there", "--", "touch", "ran")
    assert done.returncode == 125 and "-o there/" in done.stderr
    assert names(tmp_path) == ["file", "there"] and not names(tmp_path / "there")
