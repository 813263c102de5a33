"""The programs of the comparison, and the allocators that are preloaded into them."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tautochrone import native

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")

CXX = """
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
int main(int count, char **words) {
    std::map<std::string, std::unordered_map<int, std::string>> found;
    std::function<int(int)> twice = [](int value) { return 2 * value; };
    found[words[0]][twice(count)] = words[0];
    std::ostringstream text;
    for (auto &[name, inner] : found) {
        text << name << inner.size();
    }
    std::cout << std::regex_replace(text.str(), std::regex("[0-9]+"), "n");
    return 0;
}
"""
PYTHON = """
import json
rows = [{"name": str(n), "values": [n, n * 2, str(n * 3)]} for n in range(60000)]
for turn in range(12):
    rows = json.loads(json.dumps(rows))
words = {}
for row in rows:
    words.setdefault(row["name"][:3], []).append(row)
print(sum(len(found) for found in words.values()))
"""
SQL = """
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 1200000)
insert into t select i, 'name ' || (i * 7919 % 1200007), i / 3.0 from n;
create index u on t(b);
select count(distinct substr(b, 1, 8)), sum(length(b)) from t;
select b, count(*) from t group by substr(b, -3) order by 2 desc, 1 limit 3;
"""
PERL = """
my %found;
for my $turn (1 .. 9) {
    for my $n (1 .. 90000) { push @{$found{"key " . ($n * 7919 % 9973)}}, {n => $n, s => "v$n"}; }
    delete $found{$_} for grep { length($found{$_}) && /[13]$/ } keys %found;
}
print scalar(keys %found), "\\n";
"""


@dataclass(frozen=True)
class Allocator:
    """A name, and the variables that make a program use it."""

    name: str
    variables: dict[str, str]


def allocators() -> list[Allocator]:
    """Those that this machine has; the C library's own is the first, ours the second.

    The C library is preloaded too: a program may be linked with another allocator.
    """
    found = [
        ("glibc", LIBRARIES / "libc.so.6"),
        ("ours", native.DIRECTORY / "libtau_run.so"),
        ("jemalloc", LIBRARIES / "libjemalloc.so.2"),
        ("mimalloc", LIBRARIES / "libmimalloc.so.2.0"),
    ]
    return [Allocator(name, {"LD_PRELOAD": str(path)}) for name, path in found if path.exists()]


def programs(folder: Path) -> dict[str, list[str]]:
    """The command of each program; its input is written to `folder`."""
    names = {"x.cpp": CXX, "x.py": PYTHON, "x.sql": SQL, "x.pl": PERL}
    for name, text in names.items():
        (folder / name).write_text(text)
    compiled = ["-o", os.devnull]
    return {
        "gcc": ["gcc", "-O2", "-S", f"-I{ROOT}", str(ROOT / "core/tau.c"), *compiled],
        "g++": ["g++", "-std=c++17", "-O2", "-S", str(folder / "x.cpp"), *compiled],
        "python": ["/usr/bin/python3", "-S", str(folder / "x.py")],
        "sqlite": ["sqlite3", ":memory:", f".read {folder / 'x.sql'}"],
        "perl": ["perl", str(folder / "x.pl")],
    }


def built(folder: Path, source: Path, name: str) -> Path:
    """Compile one of our own programs."""
    out = folder / name
    flags = ["-O2", "-w", "-fno-builtin-malloc", f"-I{ROOT}", "-pthread"]
    subprocess.run(["gcc", *flags, "-o", str(out), str(source)], check=True)
    return out
