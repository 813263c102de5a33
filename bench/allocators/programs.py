"""The real programs of the benchmark: commands that ship in Debian, with two inputs each.

Inputs are generated, the same every time.
Input a is what a plan is made from; input b, of another size or kind, is what the plan is tried on.
Programs with an allocator of their own are told to use malloc (PYTHONMALLOC, USE_ZEND_ALLOC).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tautochrone.console.output import note
from tautochrone.errors import TauError
from tautochrone.replay.opened import open_trace_for_replay

REPOSITORY = Path(__file__).resolve().parents[2]
TRACES = REPOSITORY / "out" / "bench" / "traces"


def numbers(seed: int) -> Callable[[int], int]:
    """A generator of numbers below a limit: C's example rand, the same on every machine."""
    state = seed

    def below(limit: int) -> int:
        nonlocal state
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        return (state >> 8) % limit

    return below


def sql(rows: int, text_bytes: int, seed: int) -> str:
    """Insert ROWS rows, index, group and delete them, as a script for sqlite3."""
    below = numbers(seed)
    lines = [
        "CREATE TABLE item(id INTEGER PRIMARY KEY, kind INTEGER, name TEXT, price REAL);",
        "BEGIN;",
    ]
    for row in range(rows):
        name = f"{below(1 << 20):x}" * (1 + below(text_bytes) // 5)
        lines.append(f"INSERT INTO item VALUES({row},{below(40)},'{name}',{below(10000) / 100});")
    lines += [
        "COMMIT;",
        "CREATE INDEX item_name ON item(name);",
        "SELECT kind, count(*), avg(price), max(name) FROM item GROUP BY kind ORDER BY 3;",
        f"DELETE FROM item WHERE id % 3 = {seed % 3};",
        "SELECT a.kind, count(*) FROM item a JOIN item b ON a.name = b.name GROUP BY a.kind;",
    ]
    return "\n".join(lines) + "\n"


def records(count: int, tags_max: int, seed: int) -> str:
    """A JSON list of COUNT records with up to TAGS_MAX tags each."""
    below = numbers(seed)
    items = [
        {
            "id": number,
            "group": f"group-{below(30)}",
            "value": below(100000) / 7,
            "tags": [f"tag{below(200)}" for _ in range(below(tags_max + 1))],
            "place": {"x": below(1000), "y": below(1000)},
        }
        for number in range(count)
    ]
    return json.dumps(items)


def three_sat(variables: int, ratio_percent: int, seed: int) -> str:
    """A random 3-SAT formula in DIMACS form."""
    below = numbers(seed)
    clauses = variables * ratio_percent // 100
    lines = [f"p cnf {variables} {clauses}"]
    for _ in range(clauses):
        literals = [(1 + below(variables)) * (1 if below(2) else -1) for _ in range(3)]
        lines.append(" ".join(map(str, literals)) + " 0")
    return "\n".join(lines) + "\n"


PYTHON_SCRIPT = """
import collections, json, re, sys
items = json.load(open(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    items = json.loads(json.dumps(items))
groups = collections.defaultdict(list)
for item in items:
    groups[item["group"]].append(item)
words = re.findall(r"[a-z]+", json.dumps(groups, sort_keys=True))
print(len(groups), collections.Counter(words).most_common(2))
"""

# A small neural network as objects and arrays, trained by gradient descent.
PHP_SCRIPT = """<?php
mt_srand((int)$argv[1]);
$inputs = 2; $hidden = (int)$argv[2]; $rounds = (int)$argv[3];
function weights(int $rows, int $columns): array {
    $out = [];
    for ($r = 0; $r < $rows; $r++) {
        for ($c = 0; $c < $columns; $c++) { $out[$r][$c] = mt_rand(-1000, 1000) / 1000; }
    }
    return $out;
}
$first = weights($hidden, $inputs + 1); $second = weights(1, $hidden + 1); $history = [];
for ($round = 0; $round < $rounds; $round++) {
    $in = [mt_rand(0, 1), mt_rand(0, 1), 1]; $want = $in[0] ^ $in[1];
    $sum = fn($row, $with) => array_sum(array_map(fn($w, $x) => $w * $x, $row, $with));
    $middle = array_map(fn($row) => tanh($sum($row, $in)), $first); $middle[] = 1;
    $got = tanh($sum($second[0], $middle)); $slope = ($want - $got) * (1 - $got * $got);
    foreach ($second[0] as $k => $w) {
        $back = $slope * $w * (1 - $middle[$k] ** 2);
        if ($k < $hidden) {
            foreach ($in as $c => $x) { $first[$k][$c] += 0.1 * $back * $x; }
        }
        $second[0][$k] += 0.1 * $slope * $middle[$k];
    }
    $history[] = ['round' => $round, 'error' => "e" . abs($want - $got)];
}
echo count($history), ' ', end($history)['error'], "\\n";
"""


@dataclass(frozen=True)
class Run:
    """One program with one input:

    its command, files to write first, standard input, environment.
    """

    command: tuple[str, ...]
    files: dict[str, str] = field(default_factory=dict)
    stdin: str | None = None
    environment: dict[str, str] = field(default_factory=dict)


def cc1() -> str:
    """The C compiler proper; the command gcc only starts it."""
    done = subprocess.run(
        ["gcc", "-print-prog-name=cc1"], capture_output=True, text=True, check=False, timeout=30
    )
    return done.stdout.strip() or "cc1"


def python_run(count: int, tags_max: int, loops: int, seed: int) -> Run:
    files = {"items.json": records(count, tags_max, seed), "work.py": PYTHON_SCRIPT}
    command = ("/usr/bin/python3", "work.py", "items.json", str(loops))
    return Run(command, files, None, {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"})


def php_run(seed: int, hidden: int, rounds: int) -> Run:
    command = ("php", "-d", "memory_limit=-1", "net.php", str(seed), str(hidden), str(rounds))
    return Run(command, {"net.php": PHP_SCRIPT}, None, {"USE_ZEND_ALLOC": "0"})


def ffmpeg_run(source: str, seconds: int, *codec: str) -> Run:
    command = ["ffmpeg", "-nostdin", "-loglevel", "error", "-threads", "1", "-filter_threads", "1"]
    command += ["-f", "lavfi", "-i", source, "-f", "lavfi", "-i", "sine=frequency=440"]
    return Run(
        (*command, "-t", str(seconds), *codec, "-threads", "1", "-f", "matroska", "-y", "/dev/null")
    )


def compiler_run(source: str) -> Run:
    include = ("-I", str(REPOSITORY))
    return Run((cc1(), "-quiet", "-O2", *include, str(REPOSITORY / source), "-o", "/dev/null"))


def jq_run(count: int, tags_max: int, seed: int, program: str) -> Run:
    return Run(("jq", "-c", program, "items.json"), {"items.json": records(count, tags_max, seed)})


def minisat_run(variables: int, seed: int) -> Run:
    return Run(
        ("minisat", "-verb=0", "formula.cnf"), {"formula.cnf": three_sat(variables, 426, seed)}
    )


BY_GROUP = "group_by(.group) | map({group: .[0].group, total: (map(.value) | add), n: length})"
BY_TAG = "[.[] | {id, tag: .tags[]}] | group_by(.tag) | map({tag: .[0].tag, ids: map(.id)})"

# Debian package of each program, for the message when it is missing.
PACKAGES = {
    "cc1": "gcc",
    "sqlite": "sqlite3",
    "jq": "jq",
    "python": "python3",
    "php": "php-cli",
    "ffmpeg": "ffmpeg",
    "minisat": "minisat",
}


def runs() -> dict[str, dict[str, Run]]:
    """Every program with its inputs a and b."""
    sqlite = ("sqlite3", ":memory:")
    return {
        "cc1": {"a": compiler_run("core/tlsf.c"), "b": compiler_run("core/budget.c")},
        "sqlite": {
            "a": Run(sqlite, stdin=sql(8000, 30, 1)),
            "b": Run(sqlite, stdin=sql(5000, 90, 2)),
        },
        "jq": {"a": jq_run(2500, 6, 3, BY_GROUP), "b": jq_run(1500, 9, 4, BY_TAG)},
        "python": {"a": python_run(1500, 6, 1, 5), "b": python_run(900, 12, 2, 6)},
        "php": {"a": php_run(7, 8, 2000), "b": php_run(8, 20, 1200)},
        "ffmpeg": {
            "a": ffmpeg_run("testsrc=size=320x240:rate=25", 6, "-c:v", "mpeg4", "-c:a", "aac"),
            "b": ffmpeg_run("mandelbrot=size=176x144:rate=15", 4, "-c:v", "mpeg4", "-c:a", "mp2"),
        },
        "minisat": {"a": minisat_run(250, 9), "b": minisat_run(220, 10)},
    }


def is_readable(trace: Path) -> bool:
    """Whether a trace is there and of today's format; reads all of it."""
    try:
        open_trace_for_replay(trace)
    except TauError:
        return False
    return True


def record(program: str, which: str, run: Run) -> Path:
    """Record one run into out/bench/traces, unless it is there already.

    Raises TauError if the program is missing or fails.
    """
    trace = TRACES / f"{program}-{which}.tau"
    if is_readable(trace):
        return trace
    if shutil.which(run.command[0]) is None:
        raise TauError(f"{program} is not installed", f"apt install {PACKAGES[program]}")
    folder = TRACES / f"{program}-{which}.input"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in run.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "tautochrone",
        "record",
        "--force",
        "-o",
        str(trace),
        "--",
        *run.command,
    ]
    note(f"recording {program} {which}")
    environment = {**os.environ, **run.environment}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        input=run.stdin or "",
        capture_output=True,
        text=True,
        timeout=300,
    )
    # minisat says with 10 and 20 whether the formula can be satisfied.
    if done.returncode not in (0, *((10, 20) if program == "minisat" else ())):
        trace.unlink(missing_ok=True)
        raise TauError(
            f"recording {program} failed ({done.returncode}): {done.stderr.strip()[-300:]}"
        )
    return trace


def record_all(chosen: tuple[str, ...] = ()) -> dict[str, dict[str, Path]]:
    """Record every program with both inputs;

    those missing on this machine are named on stderr and left out.
    """
    traces: dict[str, dict[str, Path]] = {}
    for program, inputs in runs().items():
        if chosen and program not in chosen:
            continue
        try:
            traces[program] = {which: record(program, which, run) for which, run in inputs.items()}
        except TauError as missing:
            note(
                f"left out: {missing.message}"
                + (f" ({missing.next_step})" if missing.next_step else "")
            )
    return traces


if __name__ == "__main__":
    record_all(tuple(sys.argv[1:]))
