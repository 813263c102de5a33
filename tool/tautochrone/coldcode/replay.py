"""Replays a recording on a placement: how often a kernel would load a page of cold code.

The core's own code cache decides (core/code_cache.c, in the tool's native library), so that
replay and kernel run the same code. docs/spec/code_plan.md defines what a touch does.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tautochrone import native
from tautochrone.coldcode.fragment import PLAN_AGAIN, Fragment, pages_of
from tautochrone.coldcode.functions import NONE, Functions
from tautochrone.coldcode.link_map import Piece
from tautochrone.coldcode.recording import CodeRecording
from tautochrone.declarations import Struct
from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import plan_format

FACTS = plan_format.SECTIONS["code"]
POLICIES = tuple(FACTS["policy"]["values"])  # enum tau_code_cache_policy
BELADY = "belady"  # The policy that knows the future, to compare with.
FRAMES_LEAST: int = FACTS["frames"]["least"]  # TAU_CODE_CACHE_FRAMES_LEAST(1, 0)
FRAMES_MAX: int = FACTS["frames"]["most"]  # TAU_CODE_CACHE_FRAMES_MAX
PAGES_MAX: int = FACTS["pages"]["most"]  # TAU_CODE_CACHE_PAGES_MAX


@dataclass(frozen=True)
class PageTouches:
    """The pages of cold code that a recording touches, and when."""

    pages: np.ndarray
    times: np.ndarray
    pages_count: int


@dataclass(frozen=True)
class Cache:
    """A cache of cold code. The seed chooses random victims. Interrupts at any rate load at most
    `interrupt_pages` together; 0: they leave time for a retry."""

    frames: int
    policy: str = "round-robin"
    seed: int = 1
    interrupt_pages: int = 0

    @property
    def frames_least(self) -> int:
        """Frames with which some instruction always ends: TAU_CODE_CACHE_FRAMES_LEAST."""
        return FRAMES_LEAST + self.interrupt_pages


@dataclass(frozen=True)
class Counts:
    """Counts of a replay. Each load is of one page; `faults` are the kernel's counter."""

    faults: int
    loads: int
    evictions: int

    def document(self) -> dict[str, int]:
        """For JSON."""
        return {"faults": self.faults, "loads": self.loads, "evictions": self.evictions}


def refuse_frames(cache: Cache) -> None:
    """Raise TauError if the core's cache cannot have so many frames."""
    least = cache.frames_least
    if not least <= cache.frames <= FRAMES_MAX:
        cause = "the core has no more"
        if cache.frames < least:
            cause = "one instruction can need four"
            cause += f", interrupts {cache.interrupt_pages}" if cache.interrupt_pages else ""
        step = f"give {least} to {FRAMES_MAX} frames"
        raise TauError(f"{cache.frames} frames: {cause}", step, EXIT_USAGE)


def replay(touches: PageTouches, cache: Cache) -> Counts:
    """The cache's counts for these touches."""
    if cache.policy == BELADY:
        loads = _fewest_loads(touches, cache.frames)
        held = min(cache.frames, len(np.unique(touches.pages)))
        return Counts(loads, loads, loads - held)
    refuse_frames(cache)
    if not touches.pages_count:
        return Counts(0, 0, 0)
    library, core = native.library(), native.library("libtau_core64.so")
    kind = native.struct("tau_code_cache_calls")
    functions = (getattr(core, f"tau_code_cache_{name}") for name in kind.kinds)
    calls = kind(*(ctypes.cast(each, ctypes.c_void_p) for each in functions))
    policy = POLICIES.index(cache.policy)
    frames = cache.frames
    settings = native.struct("tau_code_cache_settings")(
        touches.pages_count, frames, cache.frames_least, policy, cache.seed
    )
    counts = native.struct("tau_code_cache_counts")()
    if not library.tau_code_cache_replay(calls, settings, _touches(touches), counts):
        raise TauError("the code cache refuses the replay", "report this as a bug")
    return Counts(counts.faults, counts.loads, counts.evictions)


def _fewest_loads(touches: PageTouches, frames: int) -> int:
    """Loads of the policy that evicts the page whose next touch is furthest away."""
    function = native.library().tau_code_cache_fewest_loads
    return int(function(_touches(touches), touches.pages_count, frames))


def _touches(touches: PageTouches) -> Struct:
    return native.struct("tau_code_touches")(touches.pages, len(touches.pages))


# ---- A recording on a placement


def touches_of(
    recording: CodeRecording, fragment: Fragment, linked: Sequence[Piece] | None = None
) -> PageTouches:
    """The touches of a placement's pages in a recording.

    The pieces are where the placement says, in the kernel that it was planned for; or where LINKED,
    the map of the recorded kernel, has pieces of the same names. Raises TauError if the recording
    is of another kernel than that.
    """
    pages, spans = _pages_of_functions(recording.functions, fragment, linked, str(recording.path))
    is_cold = pages[recording.touches] != NONE
    functions, times = recording.touches[is_cold], recording.times[is_cold]
    first, counts = pages[functions], spans[functions]
    if counts.size and counts.max() > 1:
        # A piece of several pages: any of them may be executed, so each is touched.
        offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        first, times = np.repeat(first, counts) + offsets, np.repeat(times, counts)
    columns = np.ascontiguousarray(first, np.uint16), np.ascontiguousarray(times, np.uint64)
    return PageTouches(*columns, len(fragment.pages))


def until(recording: CodeRecording, function: str) -> CodeRecording:
    """The recording up to the first touch of FUNCTION; all of it if there is none."""
    names = recording.functions.names
    numbers = [number for number, name in enumerate(names) if name == function]
    places = np.flatnonzero(np.isin(recording.touches, numbers))
    end = int(places[0]) if len(places) else len(recording.touches)
    return replace(recording, touches=recording.touches[:end], times=recording.times[:end])


def _pages_of_functions(
    functions: Functions, fragment: Fragment, linked: Sequence[Piece] | None, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """The first page of each function, NONE if it stays in RAM, and its number of pages."""
    there = None if linked is None else {piece.name: piece for piece in linked}
    starts, ends, pages, spans = [], [], [], []
    for number, page in enumerate(fragment.pages):
        for planned in page:
            piece = planned if there is None else there.get(planned.name)
            if piece is not None:
                starts.append(piece.address)
                ends.append(piece.address + piece.size_bytes)
                pages.append(number)
                spans.append(pages_of(planned))
    order = np.argsort(np.array(starts, np.uint64), kind="stable")
    first, last = np.array(starts, np.uint64)[order], np.array(ends, np.uint64)[order]
    if not np.isin(first, functions.starts).all():
        step = "name the map of the kernel that was recorded, or record the planned kernel"
        raise TauError(f"{name}: no function starts where the placement has one", step)
    if not len(first):
        return np.full(len(functions.starts), NONE), np.ones(len(functions.starts), np.int64)
    places = np.searchsorted(first, functions.starts, side="right") - 1
    before = np.maximum(places, 0)
    is_inside = (places >= 0) & (functions.starts < last[before])
    found = np.array(pages)[order][before]
    count = np.array(spans)[order][before]
    return np.where(is_inside, found, NONE), np.where(is_inside, count, 1)


def refuse_other_kernel(recording: CodeRecording, code_sha256: str) -> None:
    """Raise TauError if a recording is not of the kernel that a plan was made for."""
    said = recording.settings.said("code_sha256")
    if said != code_sha256:
        raise TauError(
            f"{recording.path} was recorded on another kernel than the plan's:"
            f" code {said[:16] or 'unknown'}, not {code_sha256[:16]}",
            f"name its map with --map, record that kernel, or {PLAN_AGAIN}",
        )
