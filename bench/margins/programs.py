"""Twenty programs of Debian, each with an input that differs a little from run to run.

What differs: the seed of the program's own hashes, addresses, threads, or a few values of its
input. Files are written into the folder of the run.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench.allocators.programs import (
    BY_GROUP,
    PHP_SCRIPT,
    PYTHON_SCRIPT,
    REPOSITORY,
    numbers,
    records,
    sql,
    three_sat,
)

CORE_FILE = str(REPOSITORY / "core" / "buddy.c")


@dataclass(frozen=True)
class Run:
    """One run of a program: its command, files to write first, and its standard input."""

    command: tuple[str, ...]
    files: dict[str, str] = field(default_factory=dict)
    stdin: str = ""
    statuses: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Program:
    """A program: the run of a number, and what differs between its runs."""

    run: Callable[[int], Run]
    differs: str


def _of_gcc(name: str) -> str:
    words = ["gcc", f"-print-prog-name={name}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)
    return done.stdout.strip() or name


def _text(words: int, seed: int) -> str:
    below = numbers(seed)
    return "\n".join(
        " ".join(f"w{below(900)}x{below(4)}" for _ in range(12)) for _ in range(words // 12)
    )


def _items(count: int, number: int) -> str:
    """Records of a fixed seed, and a few of this run."""
    return records(count + number % 7, 6, 3)


PERL = r"""
my (%count, %first); my $line = 0;
while (<STDIN>) { $line++; for my $word (split) { $count{$word}++; push @{$first{$word}}, $line; } }
my @top = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print scalar(@top), " $top[0] @{$first{$top[0]}}[0..2]\n";
"""
AST_SCRIPT = """
import ast, collections, pathlib
text = pathlib.Path(ast.__file__).read_text()
tree = ast.parse(text[: len(text) // 4].rsplit("\\n\\n\\n", 1)[0])
names = collections.Counter(type(node).__name__ for node in ast.walk(tree))
words = {word: text.find(word) for word in set(text.split())}
print(len(names), len(words))
"""
BASH = """
declare -A seen
for ((i = 0; i < 500; i++)); do
    word=$((RANDOM % 400)); seen[key$word]+="$i "; list+=("item $i of $word")
done
text=$(printf '%s\\n' "${list[@]}" | sort | head -3); echo "${#seen[@]} ${#list[@]} $text"
"""
CPP = """
#include <string>
template <int n> int depth() { return depth<n - 1>() + n; }
template <> int depth<0>() { return 0; }
int main() {
    std::string seen;
    for (int i = 0; i < 100; i++) seen += std::to_string(i + depth<12>());
    return seen.size() > 100 ? 0 : 1;
}
"""
AWK = "{ for (i = 1; i <= NF; i++) n[$i] = n[$i] NR \" \" } END { for (w in n) c++; print c }"


def _grammar(rules: int) -> str:
    lines = [f"r{n}: 'a' r{n + 1} | r{n + 1} 'b' r{(n * 7) % rules} | 'c';" for n in range(rules)]
    return "%%\ns: r0;\n" + "\n".join(lines) + f"\nr{rules}: 'd';\n%%\n"


def _assembly(lines: int, number: int) -> str:
    below = numbers(number + 1)
    text = [".text"]
    for line in range(lines):
        text += [f"l{line}: movl ${below(1000)}, %eax", f"  jmp l{below(lines)}"]
    return "\n".join(text) + "\n"


CMAKE = """
foreach(i RANGE 400)
  string(RANDOM LENGTH 12 word)
  list(APPEND words "${word}-${i}")
  string(REGEX REPLACE "[a-f]" "_" shown "${word}")
  set(value_${i} "${shown}")
endforeach()
list(SORT words)
list(LENGTH words count)
message(STATUS "${count}")
"""
C_FILE = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { struct node *next; int value; };
static struct node *push(struct node *list, int value) {
    struct node *made = malloc(sizeof *made);
    if (made) { made->next = list; made->value = value; }
    return made;
}
int main(void) {
    struct node *list = NULL;
    for (int i = 0; i < 100; i++) list = push(list, i * i);
    for (; list; list = list->next) printf("%d\\n", list->value);
    return 0;
}
"""


def _ffmpeg(number: int) -> Run:
    source = ("-f", "lavfi", "-i", "testsrc=size=160x120:rate=10")
    ends = ("-t", "2", "-c:v", "mpeg4", "-threads", "2", "-f", "matroska", "-y", "/dev/null")
    return Run(("ffmpeg", "-nostdin", "-loglevel", "error", *source, *ends))


def _python(script: str, *words: str) -> Callable[[int], Run]:
    def run(number: int) -> Run:
        files = {"work.py": script, "items.json": _items(200, number)}
        return Run(("/usr/bin/python3", "work.py", *words), files)

    return run


def programs() -> dict[str, Program]:
    """Every program of the study."""
    cc1 = ("-quiet", "-O2", "-I", str(REPOSITORY), CORE_FILE, "-o", "/dev/null")
    plus = ("-quiet", "-imultiarch", "x86_64-linux-gnu", "-D_GNU_SOURCE", "-fsyntax-only", "a.cc")
    sat = three_sat(150, 420, 9)
    nothing = "nothing but addresses"
    return {
        "cc1": Program(lambda _: Run((_of_gcc("cc1"), *cc1)), nothing),
        "cc1plus": Program(lambda _: Run((_of_gcc("cc1plus"), *plus), {"a.cc": CPP}), nothing),
        "clang": Program(
            lambda _: Run(("clang-14", "-O1", "-c", "a.c", "-o", "/dev/null"), {"a.c": C_FILE}),
            nothing,
        ),
        "as": Program(
            lambda n: Run(("as", "a.s", "-o", "a.o"), {"a.s": _assembly(2000, n)}), "constants"
        ),
        "ld": Program(
            lambda _: Run(("ld", "-r", CRT, CRT_SECOND, "-o", "all.o")), nothing
        ),
        "objdump": Program(lambda _: Run(("objdump", "-d", "/usr/bin/env")), nothing),
        "python-json": Program(_python(PYTHON_SCRIPT, "items.json", "1"), "hashes, 0 to 6 records"),
        "python-ast": Program(_python(AST_SCRIPT), "hashes"),
        "perl": Program(
            lambda n: Run(("perl", "-e", PERL), stdin=_text(6000, n % 5)), "hashes, words"
        ),
        "php": Program(
            lambda n: Run(
                ("php", "-d", "memory_limit=-1", "net.php", str(n), "8", "300"),
                {"net.php": PHP_SCRIPT},
            ),
            "the seed of its numbers",
        ),
        "jq": Program(
            lambda n: Run(("jq", "-c", BY_GROUP, "items.json"), {"items.json": _items(600, n)}),
            "0 to 6 records",
        ),
        "sqlite": Program(
            lambda n: Run(("sqlite3", ":memory:"), stdin=sql(1500, 30, n)), "the rows' values"
        ),
        "bash": Program(lambda _: Run(("bash", "-c", BASH)), "random keys"),
        "mawk": Program(lambda n: Run(("mawk", AWK), stdin=_text(6000, n % 5)), "words"),
        "ffmpeg": Program(_ffmpeg, "threads"),
        "minisat": Program(
            lambda n: Run(
                ("minisat", "-verb=0", "-rnd-freq=0.01", f"-rnd-seed={n + 1}", "f.cnf"),
                {"f.cnf": sat},
                statuses=(0, 10, 20),
            ),
            "the seed of the search",
        ),
        "picosat": Program(
            lambda n: Run(("picosat", "-n", "-s", str(n), "f.cnf"), {"f.cnf": sat}, "", (10, 20)),
            "the seed of the search",
        ),
        "openssl": Program(
            lambda _: Run(("openssl", "genrsa", "-out", "/dev/null", "1024")), "the key"
        ),
        "bison": Program(
            lambda n: Run(("bison", "-o", "a.c", "a.y"), {"a.y": _grammar(60 + n % 3)}),
            "0 to 2 rules",
        ),
        "cmake": Program(
            lambda _: Run(("cmake", "-P", "a.cmake"), {"a.cmake": CMAKE}), "random words"
        ),
    }


CRT = "/usr/lib/x86_64-linux-gnu/crt1.o"
CRT_SECOND = "/usr/lib/x86_64-linux-gnu/libc_nonshared.a"


def write_inputs(run: Run, folder: Path) -> None:
    """Write the files of a run."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in run.files.items():
        (folder / name).write_text(text, encoding="utf-8")
