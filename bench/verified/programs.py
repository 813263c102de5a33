"""The programs whose recordings are verified: Debian's for 32-bit Arm, with generated inputs."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.allocators.programs import numbers, records, sql, three_sat

PACKAGES = (
    *("bash", "bc", "bison", "dash", "dc", "file", "flex", "gawk", "gettext-base", "grep"),
    *("jq", "libjpeg-turbo-progs", "libxml2-utils", "lua5.4", "m4", "mawk", "minisat", "perl-base"),
    *("picosat", "python3-minimal", "sed", "sqlite3", "tcl", "xsltproc"),
)


@dataclass(frozen=True)
class Command:
    """A program of the unpacked packages, its arguments, the files that it reads, how it ends."""

    name: str
    words: tuple[str, ...]
    files: dict[str, str] = field(default_factory=dict)
    statuses: tuple[int, ...] = (0,)


def lines(count: int, seed: int) -> str:
    """Lines of words and numbers."""
    below = numbers(seed)
    words = [f"word{below(300)} {below(100_000)} {below(7)}.{below(1000):03}" for _ in range(count)]
    return "\n".join(words) + "\n"


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


STYLE = """<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:key name="kinds" match="item" use="@kind"/>
<xsl:template match="/list"><out><xsl:for-each select="item[price &gt; 5000]">
<xsl:sort select="price"/><line><xsl:value-of select="name"/> <xsl:value-of
select="count(key('kinds', @kind))"/></line></xsl:for-each></out></xsl:template>
</xsl:stylesheet>
"""
LUA = """local list, seed = {}, tonumber(arg[1])
local function below(n) seed = (seed * 1103515245 + 12345) % 2147483648
  return seed // 256 % n end
for i = 1, tonumber(arg[2]) do list[i] = {key = "k" .. below(500), value = below(9999)} end
table.sort(list, function(a, b) return a.value < b.value end)
local groups = {}
for _, one in ipairs(list) do
  groups[one.key] = groups[one.key] or {}
  table.insert(groups[one.key], one.value .. "") end
for _ = 1, 3 do list = {} collectgarbage() end
print(#list)
"""
TCL = """set sum 0
for {set i 0} {$i < 1500} {incr i} {
  lappend list [expr {($i * 7919) % 1009}]
  dict set table key[expr {$i % 97}] [string repeat x [expr {$i % 40}]] }
foreach one [lsort -integer $list] { incr sum $one }
puts $sum
"""
PERL = """my %group; my $seed = 7;
for (1 .. 1500) { $seed = ($seed * 1103515245 + 12345) % 2147483648;
  push @{$group{"k" . ($seed >> 8) % 97}}, { value => $seed, name => "n" x ($seed % 30) }; }
print scalar(map { sort { $a->{value} <=> $b->{value} } @$_ } values %group), "\\n";
"""
PYTHON = """words = {}
for n in range(1500):
    words.setdefault(n * 7919 % 211, []).append(str(n) * (n % 5))
print(sum(len(word) for each in words.values() for word in sorted(each)))
"""
SHELL = """i=0; while [ $i -lt 400 ]; do i=$((i + 1)); eval "name_$((i % 50))=value$i"
case $i in *7) list="$list $i";; esac; done; f() { for x in $list; do echo "$x $1"; done; }
f one | { n=0; while read -r a b; do n=$((n + a)); done; echo $n; }
"""
BASH = """declare -A table; for ((i = 0; i < 1500; i++)); do
table[key$((i * 7919 % 331))]+="v$i "; list[i]=$((i * i)); done
for key in "${!table[@]}"; do [[ ${table[$key]} =~ 9 ]] && echo "${key^^}"; done | sort | head -3
"""
GRAMMAR = """%%
start: list ; list: list entry | entry ;
entry: 'a' value 'b' | 'c' list 'd' | 'e' entry ; value: 'x' | 'y' value | value 'z' ;
%%
"""
SCANNER = """%%
[0-9]+      return 1;
[a-z][a-z0-9]*  return 2;
"if"|"else"|"while"|"return"  return 3;
[ \\t\\n]+    ;
%%
"""
SOLVED = (10, 20)  # satisfiable, or not
BC = "scale=200\n4*a(1)\ne(1)\nfor(i=1;i<60;i++){f=1;for(j=1;j<=i;j++)f=f*j;f}\n"
DC = "200k [d1+d80>x]sx 2v p 3 100^p 0lxxp " + "17 5 9 ^ 2 7 ^ * p " * 20 + "\n"
M4 = "define(`up', `ifelse($1, 0, `', `$1 up(decr($1))')')\n" + "up(120)\n" * 4

COMMANDS = (
    *(
        Command(f"jq-{size}", ("jq", "group_by(.group) | map(length)", "in.json"),
                {"in.json": records(size, 3, size)})
        for size in (20, 120, 900)
    ),
    *(
        Command(f"sqlite3-{rows}", ("sqlite3", "-init", "in.sql", ":memory:", ".exit"),
                {"in.sql": sql(rows, 30, rows)})
        for rows in (30, 400)
    ),
    *(
        Command(f"{program}-{size}", (program, "in.cnf"),
                {"in.cnf": three_sat(size, 420, size)}, SOLVED)
        for program, size in (("minisat", 40), ("minisat", 150), ("picosat", 30), ("picosat", 120))
    ),
    *(
        Command(f"gawk-{rows}", ("gawk", "{n[$1] += $2; s[$2 % 9] = s[$2 % 9] $3} END {print"
                " length(n), length(s[3])}", "in.txt"), {"in.txt": lines(rows, 3)})
        for rows in (50, 1500)
    ),
    Command("mawk", ("mawk", "{n[$1] += $2} END {for (k in n) print k, n[k]}", "in.txt"),
            {"in.txt": lines(500, 4)}),
    Command("sed", ("sed", "-E", "s/word([0-9]+) (.*)/\\2-\\1/;G;h;$!d", "in.txt"),
            {"in.txt": lines(300, 5)}),
    Command("grep", ("grep", "-E", "(word1[0-9]*|[0-9]+5) .*(3|7)\\.", "in.txt"),
            {"in.txt": lines(2000, 6)}),
    Command("bc", ("bc", "-lq", "in.bc"), {"in.bc": BC + "quit\n"}),
    Command("dc", ("dc", "in.dc"), {"in.dc": DC}),
    Command("m4", ("m4", "in.m4"), {"in.m4": M4}),
    Command("bison", ("bison", "-o", "out.c", "in.y"), {"in.y": GRAMMAR}),
    Command("flex", ("flex", "-o", "out.c", "in.l"), {"in.l": SCANNER}),
    Command("dash", ("dash", "in.sh"), {"in.sh": SHELL}),
    Command("bash", ("bash", "in.sh"), {"in.sh": BASH}),
    Command("perl", ("perl", "in.pl"), {"in.pl": PERL}),
    Command("python3", ("python3", "-S", "-E", "in.py"), {"in.py": PYTHON}),
    *(
        Command(f"lua-{count}", ("lua5.4", "in.lua", "7", str(count)), {"in.lua": LUA})
        for count in (60, 1500)
    ),
    Command("tcl", ("tclsh8.6", "in.tcl"), {"in.tcl": TCL}),
    *(
        Command(f"xmllint-{items}", ("xmllint", "--format", "in.xml"),
                {"in.xml": document(items, items)})
        for items in (15, 200)
    ),
    Command("xsltproc", ("xsltproc", "in.xsl", "in.xml"),
            {"in.xsl": STYLE, "in.xml": document(60, 3)}),
    Command("cjpeg", ("cjpeg", "-quality", "80", "-outfile", "out.jpg", "in.pgm"),
            {"in.pgm": picture(96, 1)}),
    Command("file", ("file", "in.txt", "in.json"),
            {"in.txt": lines(20, 8), "in.json": records(5, 2, 1)}),
    Command("gettext", ("envsubst",), {}),
)  # fmt: skip
