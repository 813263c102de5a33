"""The real programs of the benchmark: commands that ship in Debian, with two inputs each.

A plan is made from input a, and tried on input b, which has another size or kind.
Programs with an own allocator get variables that make them use malloc.
"""

from pathlib import Path

from bench import recording
from bench.commands import OUT
from bench.programs import run_of, table_of
from bench.recording import Run
from tautochrone.console.output import note
from tautochrone.errors import TauError
from tautochrone.replay.opened import open_trace_for_replay

TRACES = OUT / "traces"


def runs() -> dict[str, dict[str, Run]]:
    """Every program with its inputs a and b."""
    return {
        program: {which: run_of(row) for which, row in inputs.items()}
        for program, inputs in table_of(__file__).items()
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
