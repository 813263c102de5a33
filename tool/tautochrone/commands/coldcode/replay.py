"""`tau coldcode replay`: how often a kernel would load pages of cold code, without a kernel."""

from pathlib import Path
from typing import Any

import click

from tautochrone import unseen
from tautochrone.commands.coldcode.options import FRAMES, POLICY_OR_BELADY
from tautochrone.commands.options import FILE, JSON
from tautochrone.console import output
from tautochrone.errors import EXIT_DONE


@click.command()
@click.argument("recording", type=FILE)
@click.option(
    "--plan",
    "plans",
    type=FILE,
    multiple=True,
    required=True,
    help="A plan with [code], and its fragment NAME.lds next to it; may be repeated.",
)
@click.option(
    "--policy",
    "policies",
    type=POLICY_OR_BELADY,
    multiple=True,
    help="Page replacement policy; belady knows the future, to compare with; may be repeated"
    " (default: the plan's).",
)
@click.option(
    "--frames",
    type=FRAMES,
    multiple=True,
    help="Frames of the cache; may be repeated (default: the plan's).",
)
@click.option(
    "--map",
    "map_path",
    type=FILE,
    help="The recorded kernel's map, if it was not linked as the planned one: pieces are"
    " then found by file and section (default: it is the planned kernel).",
)
@JSON
def command(
    recording: Path,
    plans: tuple[Path, ...],
    policies: tuple[str, ...],
    frames: tuple[int, ...],
    map_path: Path | None,
    as_json: bool,
) -> int:
    """Count how often a plan loads pages, without a kernel.

    \b
    tau coldcode replay boot.taucode --plan plan.toml
    tau coldcode replay other.taucode --plan plan.toml --frames 8 --frames 16 --policy nru --json

    Each plan is replayed with each policy and number of frames. RECORDING need not be one that the
    plan was made from, but must be of the same kernel. The core's own code cache chooses the pages
    to load and to evict.
    """
    from tautochrone.coldcode.link_map import read_link_map
    from tautochrone.coldcode.linux.build_cache import file_hash
    from tautochrone.coldcode.recording import load
    from tautochrone.coldcode.replay import Cache, refuse_other_kernel, replay, touches_of
    from tautochrone.plan.code import opened

    opened_plans = [(path, opened(path)) for path in plans]
    recorded = load(recording)
    linked = None if map_path is None else read_link_map(map_path)
    rows: list[dict[str, Any]] = []
    for path, (value, fragment, _) in opened_plans:
        if linked is None:
            refuse_other_kernel(recorded, value.code_sha256)
        touches = touches_of(recorded, fragment, linked)
        for policy in policies or (value.policy,):
            for count in frames or (value.frames,):
                cache = Cache(count, policy, interrupt_pages=value.interrupt_pages)
                counts = replay(touches, cache)
                row = {"placement": value.planner, "policy": policy, "frames": count}
                rows.append(row | counts.document() | {"plan": str(path)})
    result = {
        "recording": str(recording),
        "recording_sha256": file_hash(recording),
        "replays": rows,
    }
    result[unseen.KEY] = list(unseen.CODE_PLAN)
    output.emit(as_json, "coldcode replay", result, lambda: _show(rows))
    return EXIT_DONE


def _show(rows: list[dict[str, Any]]) -> None:
    print(f"{'placement':<14} {'policy':<12} {'frames':>6} {'faults':>12} {'evictions':>12}")
    for row in rows:
        print(
            f"{row['placement']:<14} {row['policy']:<12} {row['frames']:>6} {row['faults']:>12,}"
            f" {row['evictions']:>12,}"
        )
    print(unseen.told(unseen.CODE_PLAN))
