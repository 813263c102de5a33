"""The real programs of the benchmark: commands that ship in Debian, with two inputs each.

Inputs are generated, the same every time.
Input a is what a plan is made from; input b, of another size or kind, is what the plan is tried on.
Variables make programs with an own allocator use malloc (PYTHONMALLOC, USE_ZEND_ALLOC).
"""

import json
from collections.abc import Callable
from pathlib import Path

from bench import recording
from bench.commands import OUT, ROOT, gcc_program
from bench.recording import Run, inputs_beside
from tautochrone.console.output import note
from tautochrone.errors import TauError
from tautochrone.replay.opened import open_trace_for_replay

INPUTS = inputs_beside(__file__)
TRACES = OUT / "traces"


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
        "CREATE TABLE item(id INTEGER PRIMARY KEY, kind INTEGER, name TEXT, price REAL);", "BEGIN;"
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


def python_run(count: int, tags_max: int, loops: int, seed: int) -> Run:
    files = {"items.json": records(count, tags_max, seed), "work.py": INPUTS["python"]}
    command = ("/usr/bin/python3", "work.py", "items.json", str(loops))
    return Run(command, files, environment={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"})


def php_run(seed: int, hidden: int, rounds: int) -> Run:
    command = ("php", "-d", "memory_limit=-1", "net.php", str(seed), str(hidden), str(rounds))
    files = {"net.php": INPUTS["php"]}
    return Run(command, files, environment={"USE_ZEND_ALLOC": "0"}, package="php-cli")


def ffmpeg_run(source: str, seconds: int, *codec: str) -> Run:
    command = ["ffmpeg", "-nostdin", "-loglevel", "error", "-threads", "1", "-filter_threads", "1"]
    command += ["-f", "lavfi", "-i", source, "-f", "lavfi", "-i", "sine=frequency=440"]
    return Run(
        (*command, "-t", str(seconds), *codec, "-threads", "1", "-f", "matroska", "-y", "/dev/null")
    )


def compiler_run(source: str) -> Run:
    command = (gcc_program("cc1"), "-quiet", "-O2", "-I", str(ROOT), str(ROOT / source))
    return Run((*command, "-o", "/dev/null"))


def jq_run(count: int, tags_max: int, seed: int, program: str) -> Run:
    return Run(("jq", "-c", program, "items.json"), {"items.json": records(count, tags_max, seed)})


def minisat_run(variables: int, seed: int) -> Run:
    files = {"formula.cnf": three_sat(variables, 426, seed)}
    return Run(("minisat", "-verb=0", "formula.cnf"), files, statuses=SOLVED)


SOLVED = (10, 20)  # satisfiable, or not
BY_GROUP = "group_by(.group) | map({group: .[0].group, total: (map(.value) | add), n: length})"
BY_TAG = "[.[] | {id, tag: .tags[]}] | group_by(.tag) | map({tag: .[0].tag, ids: map(.id)})"

def runs() -> dict[str, dict[str, Run]]:
    """Every program with its inputs a and b."""
    sqlite = ("sqlite3", ":memory:")
    return {
        "cc1": {"a": compiler_run("core/tlsf.c"), "b": compiler_run("core/budget.c")},
        "sqlite": {
            "a": Run(sqlite, stdin=sql(8000, 30, 1), package="sqlite3"),
            "b": Run(sqlite, stdin=sql(5000, 90, 2), package="sqlite3"),
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
    """Record one run into out/bench/traces, unless it is there already. Raises TauError."""
    trace = TRACES / f"{program}-{which}.tau"
    return trace if is_readable(trace) else recording.record(program, run, trace)


def record_all(chosen: tuple[str, ...] = ()) -> dict[str, dict[str, Path]]:
    """Record every program with both inputs. Those that this machine lacks are named and left out.
    """
    traces: dict[str, dict[str, Path]] = {}
    for program, inputs in runs().items():
        if chosen and program not in chosen:
            continue
        try:
            traces[program] = {which: record(program, which, run) for which, run in inputs.items()}
        except TauError as missing:
            note(f"left out: {missing.message} ({missing.next_step or '-'})")
    return traces
