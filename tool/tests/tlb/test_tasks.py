"""Bad input of tasks.toml: the line, the cause, and nothing else happens."""

import random
import re
from pathlib import Path

import pytest

from tautochrone.errors import TauError
from tautochrone.files.toml_file import FILE_BYTES_MAX
from tautochrone.tlb.tasks import FixedSets, read_tasks

ROOT = Path(__file__).resolve().parents[3]
SEED = 12

GOOD = """\
format = "tautochrone tasks"
version = 1
[window]
start = 0x80000000
size_bytes = 0x10000000
[kernel]
colored = true
stack_bytes = 4096
data_bytes = 8192
code_bytes = 0
[[task]]
name = "control"
period_cycles = 50_000
program = "control.c"
arguments = [4, -100]
heap_bytes = 8192
largest_object_bytes = 512
stack_bytes = 4096
globals_bytes = 1024
code_bytes = 8191
[[task]]
name = "logger"
period_cycles = 40_000
recordings = ["logger.tau"]
thread = 3
stack_bytes = 2048
globals_bytes = 0
code_bytes = 8190
mode = "isolated"
sets = [{ array = "data", count = 2, first = 4 }]
"""

# Old text of GOOD, new text, message.
WRONG = [
    ('format = "tautochrone tasks"\n', "", ": format is missing"),
    ("tautochrone tasks", "tautochrone plan", ":1: format is 'tautochrone plan', expected one of"),
    ("version = 1", "version = 2", ":2: version is 2, expected an integer from 1 to 1"),
    ("start = 0x80000000", "start = 0x80001000", ":4: window.start: 0x80001000 is not a multiple"),
    ("0x10000000", "0x30000000", ":5: window.size_bytes: 805306368 is not a power of two"),
    ("0x10000000", "0x100", ":5: window.size_bytes is 256, expected an integer from 4096"),
    ("mode =", "cost_cycles = 40_001\nmode =", ":29: task[1].cost_cycles: a job cannot end within"),
    ("[kernel]", "word_bytes = 5\n[kernel]", ":6: window.word_bytes: a word cannot have 5"),
    ("colored = true", "sets = []\ncolored = false", ":7: kernel.sets: an uncolored kernel owns"),
    ("colored = true", "colored = 1", ":7: kernel.colored is 1, expected true or false"),
    ("colored = true", "color = true", ":7: kernel.color is unknown"),
    ("data_bytes = 8192\n", "", ":6: kernel.data_bytes is missing"),
    ("stack_bytes = 4096\nd", "stack_bytes = 255\nd", ":8: kernel.stack_bytes is 255, expected"),
    ("stack_bytes = 2048", "stack_bytes = 64", ":26: task[1].stack_bytes is 64, expected an int"),
    ("stack_bytes = 2048\n", "", ":21: task[1].stack_bytes is missing"),
    ('name = "logger"', 'name = "control"', ":22: task[1].name: the name control is taken"),
    ('name = "logger"', 'name = "Control"', ":22: task[1].name: the name Control is taken"),
    ('name = "logger"', 'name = "kernel"', ":22: task[1].name: the name kernel is taken"),
    ('name = "logger"', 'name = "9"', ":22: task[1].name is '9', expected a letter"),
    ("period_cycles = 40_000", "period = 1",
     ":23: task[1].period is unknown; is period_cycles meant?"),
    ("thread = 3", "threads = 3", ":25: task[1].threads is unknown; is thread meant?"),
    ("period_cycles = 40_000", "period_cycles = 0", ":23: task[1].period_cycles is 0, expected"),
    ("arguments = [", "flags = ['-O3', '@x']\narguments = [",
     ":15: task[0].flags[1]: @x is not among the flags"),
    ("[4, -100]", "4", ":15: task[0].arguments is not a list"),
    ("[4, -100]", '[4, "x"]', ":15: task[0].arguments[1] is 'x', expected an integer"),
    ("[4, -100]", f"{[1] * 17}", ":15: task[0].arguments has 17 arguments; at most 16 are"),
    ("heap_bytes = 8192\n", "", ":11: task[0]: give either heap_bytes or recordings"),
    ("thread = 3", "heap_bytes = 1", ":21: task[1]: give either heap_bytes or recordings"),
    ('["logger.tau"]', "[]", ":24: task[1].recordings: give at least one file"),
    ("heap_bytes = 8192\n", "heap_bytes = 8192\nthread = 0\n", ":17: task[0].thread: it needs rec"),
    ("thread = 3", "largest_object_bytes = 3", ":25: task[1].largest_object_bytes: it needs heap"),
    ("object_bytes = 512", "object_bytes = 9000", ":17: task[0].largest_object_bytes: it is larg"),
    ("globals_bytes = 1024", "globals_bytes = 1024\nglobals_run_bytes = 1025",
     ":20: task[0].globals_run_bytes: it is more than globals_bytes, 1024"),
    ("data_bytes = 8192\n", "data_bytes = 0\ndata_run_bytes = 1\n",
     ":10: kernel.data_run_bytes: it is more than data_bytes, 0"),
    ('mode = "isolated"', 'mode = "safe"', ":29: task[1].mode is 'safe', expected one of isola"),
    ("count = 2", "count = 0", ":30: task[1].sets[0].count is 0, expected an integer from 1"),
    ("count = 2", "number = 2", ":30: task[1].sets[0].number is unknown"),
    ("first = 4 }", 'first = 4 }, { array = "data", count = 1 }',
     ":30: task[1].sets[1].array: data is named twice"),
]  # fmt: skip


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "tasks.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_good_file_is_read(tmp_path: Path) -> None:
    """Each key has its place; an absent one has its default."""
    found = read_tasks(written(tmp_path, GOOD))
    control, logger = found.tasks
    assert (found.window.start, found.window.end) == (0x80000000, 0x90000000)
    assert found.window.word_bytes == 4
    assert found.kernel is not None and found.kernel.is_colored
    assert (control.program, control.arguments) == (tmp_path / "control.c", (4, -100))
    assert (control.heap_bytes, control.recordings, control.thread) == (8192, (), None)
    assert (control.mode, control.phase_cycles, control.cost_cycles) == ("no-miss", 0, None)
    assert (logger.recordings, logger.thread) == ((tmp_path / "logger.tau",), 3)
    assert logger.sets == (FixedSets("data", 2, 4),)
    assert [task.name for task in found.by_priority()] == ["logger", "control"]


def test_equal_periods_keep_the_files_order(tmp_path: Path) -> None:
    found = read_tasks(written(tmp_path, GOOD.replace("40_000", "50_000")))
    assert [task.name for task in found.by_priority()] == ["control", "logger"]


def test_without_tables_there_are_defaults(tmp_path: Path) -> None:
    """The tile's window, and no kernel in it."""
    found = read_tasks(written(tmp_path, re.sub(r"(?s)\[window\].*?\[\[", "[[", GOOD, count=1)))
    assert (found.window.start, found.window.end) == (0x80000000, 0xC0000000)
    assert found.kernel is None


@pytest.mark.parametrize(("old", "new", "said"), WRONG, ids=[each[2] for each in WRONG])
def test_a_wrong_line_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert GOOD.count(old) == 1, old
    path = written(tmp_path, GOOD.replace(old, new))
    with pytest.raises(TauError) as caught:
        read_tasks(path)
    assert caught.value.message.startswith(f"{path}{said}"), caught.value.message
    assert caught.value.next_step


def test_no_task_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TauError, match="task is missing"):
        read_tasks(written(tmp_path, GOOD.split("[[task]]")[0]))
    with pytest.raises(TauError, match="no task is defined"):
        read_tasks(written(tmp_path, f"task = []\n{GOOD.split('[[task]]')[0]}"))


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a = [", b"[" * 5000, b""])
def test_a_file_that_is_not_toml_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tasks.toml"
    path.write_bytes(content)
    with pytest.raises(TauError):
        read_tasks(path)


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TauError, match="larger than"):
        read_tasks(written(tmp_path, "#" * (FILE_BYTES_MAX + 1)))


def test_the_example_of_the_specification_is_sound(tmp_path: Path) -> None:
    page = (ROOT / "docs/spec/tasks.md").read_text(encoding="utf-8")
    example = page.split("```toml\n")[1].split("```")[0]
    assert len(read_tasks(written(tmp_path, example)).tasks) == 2


def test_random_damage_is_refused_or_understood(tmp_path: Path) -> None:
    """Lines and words dropped, doubled and exchanged: a TauError or tasks, nothing else."""
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    lines = GOOD.splitlines()
    refused = 0
    for _ in range(400):
        mutant = list(lines)
        at = chance.randrange(len(mutant))
        match chance.randrange(3):
            case 0:
                del mutant[at]
            case 1:
                mutant.insert(at, chance.choice(lines))
            case _:
                words = mutant[at].split(" ")
                words[chance.randrange(len(words))] = chance.choice(["=", "-1", '"', "[[a]]"])
                mutant[at] = " ".join(words)
        path = written(tmp_path, "\n".join(mutant))
        try:
            read_tasks(path)
        except TauError as error:
            refused += 1
            assert str(path) in error.message
    assert 200 < refused <= 400
