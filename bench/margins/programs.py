"""Twenty programs of Debian, each with an input that differs a little from run to run.

What differs: the seed of the program's own hashes, addresses, threads, or a few values of its
input. Files are written into the folder of the run.
"""

from bench.allocators import programs as two_inputs
from bench.allocators.programs import BY_GROUP, SOLVED, numbers, records, sql, three_sat
from bench.commands import ROOT, gcc_program
from bench.recording import Run, inputs_beside

INPUTS = inputs_beside(__file__)
JSON_WORK, NETWORK = (two_inputs.INPUTS[name] for name in ("python", "php"))
CRT = "/usr/lib/x86_64-linux-gnu/crt1.o"
CRT_SECOND = "/usr/lib/x86_64-linux-gnu/libc_nonshared.a"
CORE_FILE = str(ROOT / "core" / "buddy.c")


def _text(words: int, seed: int) -> str:
    below = numbers(seed)
    return "\n".join(
        " ".join(f"w{below(900)}x{below(4)}" for _ in range(12)) for _ in range(words // 12)
    )


def _items(count: int, number: int) -> str:
    """Records of a fixed seed, and a few of this run."""
    return records(count + number % 7, 6, 3)


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


def runs(number: int) -> dict[str, Run]:
    """The run of a number of every program of the study."""
    cc1 = ("-quiet", "-O2", "-I", str(ROOT), CORE_FILE, "-o", "/dev/null")
    plus = ("-quiet", "-imultiarch", "x86_64-linux-gnu", "-D_GNU_SOURCE", "-fsyntax-only", "a.cc")
    clang = ("clang-14", "-O1", "-c", "a.c", "-o", "/dev/null")
    php = ("php", "-d", "memory_limit=-1", "net.php", str(number), "8", "300")
    video = ("ffmpeg", "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i")
    video += ("testsrc=size=160x120:rate=10", "-t", "2", "-c:v", "mpeg4", "-threads", "2")
    minisat = ("minisat", "-verb=0", "-rnd-freq=0.01", f"-rnd-seed={number + 1}", "f.cnf")
    python = "/usr/bin/python3"
    few, many = ({"items.json": _items(count, number)} for count in (200, 600))
    sat = {"f.cnf": three_sat(150, 420, 9)}
    words = _text(6000, number % 5)
    return {
        "cc1": Run((gcc_program("cc1"), *cc1)),
        "cc1plus": Run((gcc_program("cc1plus"), *plus), {"a.cc": INPUTS["cpp"]}),
        "clang": Run(clang, {"a.c": INPUTS["c"]}),
        "as": Run(("as", "a.s", "-o", "a.o"), {"a.s": _assembly(2000, number)}),
        "ld": Run(("ld", "-r", CRT, CRT_SECOND, "-o", "all.o")),
        "objdump": Run(("objdump", "-d", "/usr/bin/env")),
        "python-json": Run((python, "work.py", "items.json", "1"), {"work.py": JSON_WORK, **few}),
        "python-ast": Run((python, "work.py"), {"work.py": INPUTS["ast"], **few}),
        "perl": Run(("perl", "-e", INPUTS["perl"]), stdin=words),
        "php": Run(php, {"net.php": NETWORK}),
        "jq": Run(("jq", "-c", BY_GROUP, "items.json"), many),
        "sqlite": Run(("sqlite3", ":memory:"), stdin=sql(1500, 30, number)),
        "bash": Run(("bash", "-c", INPUTS["bash"])),
        "mawk": Run(("mawk", AWK), stdin=words),
        "ffmpeg": Run((*video, "-f", "matroska", "-y", "/dev/null")),
        "minisat": Run(minisat, sat, statuses=SOLVED),
        "picosat": Run(("picosat", "-n", "-s", str(number), "f.cnf"), sat, statuses=SOLVED),
        "openssl": Run(("openssl", "genrsa", "-out", "/dev/null", "1024")),
        "bison": Run(("bison", "-o", "a.c", "a.y"), {"a.y": _grammar(60 + number % 3)}),
        "cmake": Run(("cmake", "-P", "a.cmake"), {"a.cmake": INPUTS["cmake"]}),
    }
