"""Programs that benches record, from the tables of programs.toml, and their generated inputs.

Inputs are the same every time. Each `[NAME]` (or `[NAME.INPUT]`) of a table has:

- `words`: the command. `{root}` is the repository, `{cc1}` and `{cc1plus}` are gcc's own programs,
  `{number}` is the number of the run, and `{next}` the one after it.
- `files` by name, and `stdin`: a text, or a list of one of INPUTS and its arguments. An argument
  [BASE, MODULUS] is BASE plus the number of the run modulo MODULUS.
- `environment`, `statuses` and `package`, as Run has them.
"""

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.commands import ROOT, gcc_program
from bench.recording import Run

TEXTS = tomllib.loads((ROOT / "bench" / "texts.toml").read_text(encoding="utf-8"))
SOLVED = (10, 20)  # statuses of a solver: satisfiable, or not


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


def words(count: int, seed: int) -> str:
    """Lines of twelve words."""
    below = numbers(seed)
    return "\n".join(
        " ".join(f"w{below(900)}x{below(4)}" for _ in range(12)) for _ in range(count // 12)
    )


def lines(count: int, seed: int) -> str:
    """Lines of words and numbers."""
    below = numbers(seed)
    found = [f"word{below(300)} {below(100_000)} {below(7)}.{below(1000):03}" for _ in range(count)]
    return "\n".join(found) + "\n"


def grammar(rules: int) -> str:
    """A grammar for bison."""
    found = [f"r{n}: 'a' r{n + 1} | r{n + 1} 'b' r{(n * 7) % rules} | 'c';" for n in range(rules)]
    return "%%\ns: r0;\n" + "\n".join(found) + f"\nr{rules}: 'd';\n%%\n"


def assembly(count: int, seed: int) -> str:
    """Assembly with constants and jumps."""
    below = numbers(seed)
    text = [".text"]
    for line in range(count):
        text += [f"l{line}: movl ${below(1000)}, %eax", f"  jmp l{below(count)}"]
    return "\n".join(text) + "\n"


def document(items: int, seed: int) -> str:
    """An XML document of nested items with attributes."""
    below = numbers(seed)
    rows = [
        f'<item id="{row}" kind="k{below(9)}"><name>name {below(999)}</name>'
        f"<price>{below(10_000)}</price></item>"
        for row in range(items)
    ]
    return f"<list>{''.join(rows)}</list>\n"


def picture(side: int, seed: int) -> str:
    """A gray picture in the text form of PGM."""
    below = numbers(seed)
    rows = [" ".join(str((x * y + below(32)) % 256) for x in range(side)) for y in range(side)]
    return f"P2\n{side} {side}\n255\n" + "\n".join(rows) + "\n"


INPUTS: dict[str, Callable[..., str]] = {
    "text": TEXTS.__getitem__,
    **{each.__name__: each for each in (sql, records, three_sat, words, lines, grammar, assembly)},
    **{each.__name__: each for each in (document, picture)},
}


def made(given: str | list[Any], number: int) -> str:
    """A text that is given, or generated for this run."""
    if isinstance(given, str):
        return given
    kind, *arguments = given
    return INPUTS[kind](
        *(each[0] + number % each[1] if isinstance(each, list) else each for each in arguments)
    )


def run_of(row: Mapping[str, Any], number: int = 0) -> Run:
    """A row of a table."""
    places = {"root": str(ROOT), "number": str(number), "next": str(number + 1)}
    command = []
    for word in row["words"]:
        for name, value in places.items():
            word = word.replace(f"{{{name}}}", value)
        command.append(word)
    if command[0] in ("{cc1}", "{cc1plus}"):
        command[0] = gcc_program(command[0][1:-1])
    files = {name: made(given, number) for name, given in row.get("files", {}).items()}
    rest = {name: row[name] for name in ("environment", "package") if name in row}
    return Run(
        tuple(command),
        files,
        made(row.get("stdin", ""), number),
        statuses=tuple(row.get("statuses", (0,))),
        **rest,
    )


def table_of(file: str) -> dict[str, Any]:
    """The table of programs.toml next to a file."""
    path = Path(file).with_name("programs.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))
