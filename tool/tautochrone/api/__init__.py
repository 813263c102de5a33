"""What `tau info`, `tau plan` and `tau replay` compute, in Python: data frames of pandas.

    from tautochrone.api import plan, read, replay

    events = read("runs/1.tau")
    made = plan(["runs/1.tau", "runs/2.tau"])
    systems = replay("runs/1.tau", ["tlsf", "budget", "glibc"], plan=made)
    systems[["footprint_bytes", "footprint_ratio"]]

Failures raise tautochrone.errors.TauError, which has a message and the next step. Options have the
names and the meanings of the commands' options, with underscores; bytes are numbers. The extra
`frames` installs pandas.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tautochrone.errors import TauError
from tautochrone.installation import needed

if TYPE_CHECKING:
    import pandas

    from tautochrone.plan.file import Plan

__all__ = ["plan", "read", "replay"]
# Options of a replay that are left to the system or to the plan, and the other defaults.
LEFT_OUT = ("heap_bytes", "layout", "isa", "check_level", "build_path", "frames", "cycles_max")
DEFAULTS = {**dict.fromkeys(LEFT_OUT), "touch": "recorded", "skip_misuse": False}


def read(path: str | Path) -> pandas.DataFrame:
    """Return the events of a trace, a row for each, in their order.

    The columns are time_ns, size_bytes, slot, thread, site, op, flags and align_log2. `op` is a
    category: malloc, calloc, realloc, aligned_alloc, free or touch. A slot is the number of a live
    object; a free has the slot of its malloc. `attrs` has the header and the ending of `tau info
    --json`, and the sites: module and offset of each number in the column `site`.
    """
    with needed():
        import pandas
    import numpy as np

    from tautochrone.trace.file import EVENT, OPS, open_trace

    with open_trace(path) as reader:
        events = np.concatenate([np.empty(0, EVENT), *reader.blocks()])
        attrs = {"header": reader.header, "ending": reader.ending.document()}
        attrs["sites"] = list(reader.sites())
    frame = pandas.DataFrame({name: events[name] for name in EVENT.names or ()})
    frame["op"] = pandas.Categorical.from_codes(frame["op"], OPS)
    frame.attrs = attrs
    return frame


def plan(traces: str | Path | Sequence[str | Path], **options: Any) -> Plan:
    """Return the plan that `tau plan` makes of a recording, or of several, with all its sections.

    Options: `margin` as a fraction (default: what the recordings advise), `planner`, `classes_max`,
    `layout`, `pools`, `skip_misuse`, and the others of tautochrone.heap.plan.Wanted. A plan has
    `classes` (size_bytes and count of each pool), `heap_bytes`, `margin` and more;
    tautochrone.plan.file.save_plan writes its file. What is left out of it, for example because a
    compiler is missing, is noted on stderr.
    """
    from tautochrone.console import output
    from tautochrone.heap.plan import Wanted, make_plan, with_sections
    from tautochrone.heap.pools import AUTO

    wanted = Wanted(**{"margin": None, "pools": AUTO, **options})
    made = make_plan([Path(trace) for trace in _listed(traces, "recording")], wanted)
    return with_sections(made, wanted.skip_misuse, output.note).plan


def replay(
    trace: str | Path,
    on: str | Sequence[str] = ("tlsf",),
    plan: Plan | str | Path | None = None,
    **options: Any,
) -> pandas.DataFrame:
    """Replay a trace on a system, or on several; return a row for each, by name.

    A system is one of `--on`, such as "tlsf" or "library:my_allocator.so". The columns are its keys
    in `tau replay --json`; inner keys are joined with dots, as in "operations.malloc.count".
    Options: `heap_bytes`, `layout`, `isa` (to count instructions: "rv32" or "m4"), `check_level`,
    `frames`, `touch`, `cycles_max` and `skip_misuse`.
    """
    with needed():
        import pandas
    from tautochrone.commands.replay_options import options_of
    from tautochrone.plan.file import load_plan
    from tautochrone.replay.open_trace import OpenTrace
    from tautochrone.replay.run import entries_of

    planned = load_plan(plan) if isinstance(plan, (str, Path)) else plan
    chosen = options_of(planned, **{**DEFAULTS, **options})
    entries = entries_of(OpenTrace(Path(trace)), _listed(on, "system"), chosen)
    return pandas.json_normalize([entry.document() for entry in entries]).set_index("name")


def _listed(given: Any, noun: str) -> list[Any]:
    """One thing, or all of a sequence. Raises TauError if there is none."""
    listed = [given] if isinstance(given, (str, Path)) else [*given]
    if not listed:
        raise TauError(f"no {noun} is given", f"name a {noun}")
    return listed
