"""Placements of the embedded kernel's code, each planned once and kept in the user's cache."""

import functools
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from repro.coldcode import kernels
from repro.coldcode.kernels import Paging, Work
from repro.coldcode.planners import REPLAYED, planned_by
from repro.engine.results import REPOSITORY
from tautochrone.coldcode.fragment import fragment_text
from tautochrone.coldcode.kernel import read_kernel
from tautochrone.coldcode.link_map import Piece, read_link_map
from tautochrone.coldcode.linux import build_cache
from tautochrone.coldcode.linux.build import build
from tautochrone.coldcode.pieces import Code, Split, code_of, split_of
from tautochrone.coldcode.planning import Planned, for_ram
from tautochrone.coldcode.recording import CodeRecording, patched_blocks
from tautochrone.coldcode.replay import Cache, PageTouches, replay

OTHERS = ("profile-based", "entry-points", "link-order")  # placements that do not ask for frames
RESULT = "plan.json"
COUNTERS = "counters_show"


class Wanted(NamedTuple):
    """A plan for T and frames. With `ram_bytes` both are found, and the policy is given."""

    part: float | None
    planner: str = REPLAYED
    frames: int = 16
    ram_bytes: int | None = None


@dataclass(frozen=True)
class Made:
    """A plan, and the CPU time that it took."""

    plan: Planned
    seconds: float


@functools.cache
def code_at(work: Work, sizes_of: str = "") -> Code:
    """The pieces of the kernel, and the code it executed until it showed its counters. SIZES_OF is
    a fragment: sizes of its link count too, since they change with places."""
    run = kernels.run_of(work)
    others: tuple[Piece, ...] = ()
    if sizes_of:
        others = read_link_map(build(kernels.wish(Paging(sizes_of))).link_map)
    pieces, recording = read_link_map(run.built.link_map), run.recording
    kernel = read_kernel(run.built.vmlinux)
    code = code_of(kernel, pieces, [recording], patched_functions(), others)
    is_work = code.times < shown_at(recording)
    return replace(code, touches=code.touches[is_work], times=code.times[is_work])


@functools.cache
def patched_functions() -> tuple[str, ...]:
    """Functions that boot patches: a page with one of them would be pinned."""
    run = kernels.run_of(kernels.PROGRAMS)
    recording = run.recording
    blocks = patched_blocks(recording, read_kernel(run.built.vmlinux))
    numbers = set(recording.block_functions[blocks].tolist())
    return tuple(sorted(recording.functions.names[number] for number in numbers))


def shown_at(recording: CodeRecording) -> int:
    """When the first program read the pager's counters; after that it only powers off."""
    number = recording.functions.names.index(COUNTERS)
    return int(recording.times[np.argmax(recording.touches == number)])


@functools.cache
def made(wanted: Wanted, sizes_of: str = "") -> Made:
    """The plan, from the recording of the programs."""
    code = code_at(kernels.PROGRAMS, sizes_of)
    parts = [str(kernels.baseline().folder), str(wanted), sizes_of, _planners_hash()]
    parts += [str(kernels.PROGRAMS), *patched_functions(), kernels.workload.image().parent.name]

    def make(folder: Path) -> None:
        start = time.process_time()
        plan = _planned(code, wanted)
        document = {
            "part": plan.split.part,
            "cold": np.flatnonzero(plan.is_cold).tolist(),
            "frames": plan.cache.frames,
            "pages": plan.pages,
            "seconds": time.process_time() - start,
        }
        (folder / RESULT).write_text(json.dumps(document), encoding="utf-8")

    mark = build_cache.hash_of(parts)
    folder = build_cache.folder(build_cache.cache_folder(), "plan", mark, make)
    row = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    is_cold = np.zeros(len(code.pieces), bool)
    is_cold[row["cold"]] = True
    split, cache = Split(row["part"], is_cold), Cache(row["frames"])
    plan = Planned(code, split, cache, row["pages"])
    return Made(plan, row["seconds"])


def linked(wanted: Wanted) -> tuple[Made, str]:
    """A plan that fits as it is linked, and its fragment: planned a second time with the sizes
    of the first one's link."""
    first = fragment_text(made(wanted).plan.page_pieces)
    again = made(wanted, first)
    return again, fragment_text(again.plan.page_pieces)


def touches_of(plan: Planned, work: Work) -> PageTouches:
    """The pages of a plan that another run of the same kernel touches."""
    return replace(plan, code=code_at(work)).touches


def loads(touches: PageTouches, frames: int, policy: str) -> int:
    """How many pages a cache loads at these touches."""
    return replay(touches, Cache(frames, policy)).loads


def _planned(code: Code, wanted: Wanted) -> Planned:
    cache = Cache(wanted.frames)
    if wanted.ram_bytes is not None:
        return for_ram(code, wanted.ram_bytes, cache)
    assert wanted.part is not None
    return planned_by(wanted.planner, code, split_of(code, wanted.part), cache)


def _planners_hash() -> str:
    """The hash of the files that decide where code goes."""
    files = [*(REPOSITORY / "tool" / "tautochrone" / "coldcode").glob("*.py")]
    files += [*(REPOSITORY / "repro" / "coldcode" / "planners").glob("*.py")]
    files += [*(REPOSITORY / "tool" / "native" / "plan").glob("code_*.[ch]")]
    return build_cache.hash_of([path.read_bytes() for path in sorted(files)])


def executed_bytes(code: Code, is_cold: np.ndarray) -> int:
    """Bytes of cold code that was executed."""
    return int(code.sizes_bytes[is_cold & (code.most > 0)].sum())
