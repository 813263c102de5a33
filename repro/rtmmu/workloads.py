"""The six real programs that stand for the paper's [P0-36], recorded with `tau record --accesses`.

The paper names programs, not versions or inputs. Each of ours does what the paper says of its own;
inputs are generated, the same every time, and sized so that a recording takes seconds. What stands
for what, and why, is claims.md, P0-36.
"""

from dataclasses import dataclass
from pathlib import Path

from bench import recording
from bench.commands import compiled
from bench.programs import SOLVED, three_sat
from bench.recording import Run
from repro.engine.results import results_of

RESULTS = results_of("rtmmu")
PROGRAMS = RESULTS.home / "programs"


@dataclass(frozen=True)
class Program:
    """One program with its input; `paper` is the row of Table I that it stands for."""

    paper: str
    run: Run
    sources: tuple[str, ...] = ()  # in programs/, compiled first; the command runs the last one


def transcode(milliseconds: int, size: str) -> tuple[str, ...]:
    """ffmpeg's command for a short video with sound. It does the same again: one thread, and one
    input that gives both, as ffmpeg reads several inputs with a thread each."""
    return (
        *("ffmpeg", "-nostdin", "-loglevel", "error", "-threads", "1", "-filter_threads", "1"),
        *("-f", "lavfi", "-i", f"testsrc=size={size}:rate=25[out0];sine=frequency=440[out1]"),
        *("-t", f"{milliseconds}ms"),
        *("-c:v", "mpeg4", "-c:a", "mp2", "-threads", "1", "-f", "matroska", "-y", "/dev/null"),
    )


def programs(quick: bool = False) -> dict[str, Program]:
    """Every program by its name in our table; QUICK: with inputs for a test."""
    large = {"formula.cnf": three_sat(500 if quick else 50_000, 300, 2)}
    hard = {"formula.cnf": three_sat(100 if quick else 10_000, 330, 3)}
    network = {"nn.php": (PROGRAMS / "nn.php").read_text(encoding="utf-8")}
    streams, different, elements = ("40", "16", "64") if quick else ("3000", "128", "512")
    counted = (streams, different, elements, "1")
    video = transcode(*((200, "64x48") if quick else (1000, "320x240")))
    minisat = Run(("minisat", "-verb=0", "formula.cnf"), large, statuses=SOLVED)
    picosat = Run(("picosat", "-n", "formula.cnf"), hard, statuses=SOLVED)
    rounds = "100" if quick else "6000"
    php = Run(
        ("php", "-d", "memory_limit=-1", "nn.php", rounds),
        network,
        environment={"USE_ZEND_ALLOC": "0"},
        package="php-cli",
    )
    return {
        "ffmpeg": Program("avconv", Run(video)),
        "fft": Program("FFT", Run(("./fft", "10" if quick else "17")), ("fft.c",)),
        "mc": Program("mc", Run(("./mc", "sparse", *counted)), ("mc.c",)),
        "mc (hash table)": Program("", Run(("./mc", "hash", *counted)), ("mc.c",)),
        "minisat": Program("sharpSAT", minisat),
        "picosat": Program("antom", picosat),
        "php": Program("PHP (neural net)", php),
    }


def trace_path(name: str, out: Path) -> Path:
    """Where a program's recording lies."""
    word = name.split()[0] if "(" not in name else name.replace(" (", "-").replace(" table)", "")
    return out / "traces" / f"{word}.tau"


def record(name: str, program: Program, out: Path) -> Path:
    """Record a program with its accesses and return the trace. Raises TauError."""
    trace = trace_path(name, out)
    folder = trace.with_suffix(".input")
    folder.mkdir(parents=True, exist_ok=True)
    for source in program.sources:
        compiled(folder / Path(source).stem, PROGRAMS / source, "-std=c17")
    return recording.record(name, program.run, trace, ["--accesses"])
