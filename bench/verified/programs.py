"""The programs whose recordings are verified: Debian's for 32-bit Arm, with generated inputs."""

from bench.allocators.programs import SOLVED, numbers, records, sql, three_sat
from bench.recording import Run, inputs_beside

INPUTS = inputs_beside(__file__)
PACKAGES = (
    *("bash", "bc", "bison", "dash", "dc", "file", "flex", "gawk", "gettext-base", "grep"),
    *("jq", "libjpeg-turbo-progs", "libxml2-utils", "lua5.4", "m4", "mawk", "minisat", "perl-base"),
    *("picosat", "python3-minimal", "sed", "sqlite3", "tcl", "xsltproc"),
)


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


BC = "scale=200\n4*a(1)\ne(1)\nfor(i=1;i<60;i++){f=1;for(j=1;j<=i;j++)f=f*j;f}\n"
DC = "200k [d1+d80>x]sx 2v p 3 100^p 0lxxp " + "17 5 9 ^ 2 7 ^ * p " * 20 + "\n"
M4 = "define(`up', `ifelse($1, 0, `', `$1 up(decr($1))')')\n" + "up(120)\n" * 4

COMMANDS = {
    **{
        f"jq-{size}": Run(("jq", "group_by(.group) | map(length)", "in.json"),
                {"in.json": records(size, 3, size)})
        for size in (20, 120, 900)
    },
    **{
        f"sqlite3-{rows}": Run(("sqlite3", "-init", "in.sql", ":memory:", ".exit"),
                {"in.sql": sql(rows, 30, rows)})
        for rows in (30, 400)
    },
    **{
        f"{program}-{size}": Run((program, "in.cnf"),
                {"in.cnf": three_sat(size, 420, size)}, statuses=SOLVED)
        for program, size in (("minisat", 40), ("minisat", 150), ("picosat", 30), ("picosat", 120))
    },
    **{
        f"gawk-{rows}": Run(("gawk", "{n[$1] += $2; s[$2 % 9] = s[$2 % 9] $3} END {print"
                " length(n), length(s[3])}", "in.txt"), {"in.txt": lines(rows, 3)})
        for rows in (50, 1500)
    },
    "mawk": Run(("mawk", "{n[$1] += $2} END {for (k in n) print k, n[k]}", "in.txt"),
            {"in.txt": lines(500, 4)}),
    "sed": Run(("sed", "-E", "s/word([0-9]+) (.*)/\\2-\\1/;G;h;$!d", "in.txt"),
            {"in.txt": lines(300, 5)}),
    "grep": Run(("grep", "-E", "(word1[0-9]*|[0-9]+5) .*(3|7)\\.", "in.txt"),
            {"in.txt": lines(2000, 6)}),
    "bc": Run(("bc", "-lq", "in.bc"), {"in.bc": BC + "quit\n"}),
    "dc": Run(("dc", "in.dc"), {"in.dc": DC}),
    "m4": Run(("m4", "in.m4"), {"in.m4": M4}),
    "bison": Run(("bison", "-o", "out.c", "in.y"), {"in.y": INPUTS["grammar"]}),
    "flex": Run(("flex", "-o", "out.c", "in.l"), {"in.l": INPUTS["scanner"]}),
    "dash": Run(("dash", "in.sh"), {"in.sh": INPUTS["shell"]}),
    "bash": Run(("bash", "in.sh"), {"in.sh": INPUTS["bash"]}),
    "perl": Run(("perl", "in.pl"), {"in.pl": INPUTS["perl"]}),
    "python3": Run(("python3", "-S", "-E", "in.py"), {"in.py": INPUTS["python"]}),
    **{
        f"lua-{count}": Run(("lua5.4", "in.lua", "7", str(count)), {"in.lua": INPUTS["lua"]})
        for count in (60, 1500)
    },
    "tcl": Run(("tclsh8.6", "in.tcl"), {"in.tcl": INPUTS["tcl"]}),
    **{
        f"xmllint-{items}": Run(("xmllint", "--format", "in.xml"),
                {"in.xml": document(items, items)})
        for items in (15, 200)
    },
    "xsltproc": Run(("xsltproc", "in.xsl", "in.xml"),
            {"in.xsl": INPUTS["style"], "in.xml": document(60, 3)}),
    "cjpeg": Run(("cjpeg", "-quality", "80", "-outfile", "out.jpg", "in.pgm"),
            {"in.pgm": picture(96, 1)}),
    "file": Run(("file", "in.txt", "in.json"),
            {"in.txt": lines(20, 8), "in.json": records(5, 2, 1)}),
    "gettext": Run(("envsubst",), {}),
}  # fmt: skip
