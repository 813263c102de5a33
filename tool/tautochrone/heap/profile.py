"""The profile of recordings: live objects of each size, and the instants that bind a plan [P1-10].

All sizes are rounded up to a granule (the core's alignment). Each recording starts empty, and a
plan must hold at every instant of each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tautochrone import native
from tautochrone.errors import TauError
from tautochrone.replay.open_trace import OpenTrace, open_trace_for_replay, refuse_misuse, too_large
from tautochrone.trace.file import TraceReader

STATUS_OK, STATUS_TRACE_FAILED, STATUS_NO_MEMORY, STATUS_TOO_MANY_BYTES = range(4)
PREFIXES = 16  # TAU_PROFILE_PREFIXES


@dataclass(frozen=True)
class SizeProfile:
    """One size over all recordings.

    `allocations` and `grown` are sums; the TLSF block of a grown one is a granule larger than a
    bucket. `peak_live` (P_i,max) and `live_at_peak` are maxima. For each prefix of the events (k /
    PREFIXES of them), the smallest number live at the prefix's peak.
    """

    size_bytes: int
    allocations: int
    grown: int
    peak_live: int
    live_at_peak: int
    live_at_prefix_peak: tuple[int, ...]

    @property
    def grown_fraction(self) -> float:
        """The part of its allocations whose TLSF block is a granule larger than a bucket."""
        return self.grown / self.allocations


class Profile:
    """The sizes of recordings and, on demand, the instants that bind a plan of given classes."""

    def __init__(
        self,
        traces: Sequence[Path | str | TraceReader | OpenTrace],
        granule_bytes: int = 8,
        skip_misuse: bool = False,
    ) -> None:
        """Survey each recording.

        Raises TauError if one cannot be read, holds unknown or double frees (unless `skip_misuse`),
        or has more than 2^52 bytes live.
        """
        self.granule_bytes = granule_bytes
        self._handle = native.library().tau_profile_new(granule_bytes)
        if not self._handle:
            raise TauError(
                f"no profile with a granule of {granule_bytes} bytes",
                "use a power of two from 2 to 4096",
            )
        self.traces = tuple(map(open_trace_for_replay, traces))
        for trace in self.traces:
            refuse_misuse(trace, skip_misuse)
        self.peak_live_bytes = max(map(self._survey, self.traces), default=0)
        self.sizes = self._sizes()

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle:
            native.library().tau_profile_delete(handle)

    def _survey(self, trace: OpenTrace) -> int:
        """Count a recording's sizes; return its peak of live bytes, rounded up to the granule."""
        survey = native.struct("tau_profile_survey")()
        status = native.library().tau_profile_survey(self._handle, trace.handle, survey)
        if status == STATUS_TOO_MANY_BYTES:
            raise too_large(trace.path, survey.event)
        _raise_unless_ok(status, trace.path)
        return int(survey.peak_live_bytes)

    def _sizes(self) -> list[SizeProfile]:
        """The sizes that can be a class (not over-aligned, more than 0 bytes), largest first."""
        count = native.library().tau_profile_sizes_count(self._handle)
        table = np.zeros(count, native.struct("tau_profile_size"))
        native.library().tau_profile_sizes(self._handle, table)
        rows = sorted(table[table["aligned"] == 0].tolist(), key=lambda row: -row[0])
        return [
            SizeProfile(
                size, allocations, grown, peak, at_peak, tuple(int(live) for live in prefixes)
            )
            for size, _, allocations, grown, peak, at_peak, prefixes in rows
        ]

    def reduce(self, sizes_bytes: Sequence[int]) -> Instants:
        """The instants that can bind a plan with classes of `sizes_bytes`, in any order.

        It invalidates earlier Instants.
        """
        ordered = np.array(sorted(sizes_bytes, reverse=True), dtype=np.uint64)
        library = native.library()
        if library.tau_profile_reduce_begin(self._handle, ordered, len(ordered)) != STATUS_OK:
            raise ValueError(
                f"sizes must differ and be multiples of {self.granule_bytes}: {sizes_bytes}"
            )
        starts = []
        for trace in self.traces:
            starts.append(library.tau_profile_instants_count(self._handle))
            _raise_unless_ok(library.tau_profile_reduce(self._handle, trace.handle), trace.path)
        return Instants(self, [int(size) for size in ordered], starts)


class Instants:
    """The kept instants of all recordings in sequence, for classes of decreasing size.

    `peaks[i]` is P_i,max, `limit_bytes` is U_max. `trace_starts` has the first instant of each
    recording.
    """

    def __init__(self, profile: Profile, sizes_bytes: list[int], trace_starts: list[int]) -> None:
        self.profile = profile  # keeps the native memory alive
        self.sizes_bytes = sizes_bytes
        self.trace_starts = trace_starts
        self.limit_bytes = profile.peak_live_bytes
        self._handle = profile._handle
        self.count = int(native.library().tau_profile_instants_count(self._handle))
        self._changes = [self._changes_of(index) for index in range(len(sizes_bytes))]
        self.peaks = [int(changes["count"].max(initial=0)) for changes in self._changes]

    def _changes_of(self, index: int) -> np.ndarray:
        count = native.library().tau_profile_changes_count(self._handle, index)
        if count == 0:
            return np.zeros(0, native.struct("tau_profile_change"))
        changes = native.library().tau_profile_changes(self._handle, index)
        return np.ctypeslib.as_array(changes, (count,)).copy()

    def budgeted_bytes(self, counts: Sequence[float]) -> np.ndarray:
        """U^B(t) of Eq 4 [P1-12] at every kept instant; U(t) of Eq 2 if all counts are 0."""
        given = np.zeros(len(self.sizes_bytes) + 1)
        given[:-1] = counts
        result = np.zeros(self.count)
        native.library().tau_budgeting_bytes(self._handle, given, result)
        return result

    def holds(self, counts: Sequence[int]) -> bool:
        """Whether Eq 5 and Eq 6 [P1-13] hold for `counts` at every instant."""
        within_peaks = all(
            0 <= count <= peak for count, peak in zip(counts, self.peaks, strict=True)
        )
        return within_peaks and self.budgeted_bytes(counts).max(initial=0) <= self.limit_bytes

    def live_counts(self, instants: np.ndarray) -> np.ndarray:
        """P_i(t): one row per instant of `instants`, one column per class."""
        rows = np.zeros((len(instants), len(self.sizes_bytes)), dtype=np.int64)
        for index, changes in enumerate(self._changes):
            if len(changes):
                at = np.searchsorted(changes["instant"], instants, side="right") - 1
                rows[:, index] = changes["count"][at]
        return rows

    def most_counts(self) -> list[int]:
        """An upper bound of each count.

        It is Eq 6, and the live count at every instant where U(t) = U_max.
        """
        in_use = self.budgeted_bytes([0] * len(self.sizes_bytes))
        full = np.flatnonzero(in_use >= self.limit_bytes)
        peaks = np.array(self.peaks, dtype=np.int64)
        most = np.minimum(peaks, self.live_counts(full).min(axis=0)) if len(full) else peaks
        return [int(count) for count in most]

    def greedy(
        self, least: Sequence[int] | None = None, most: Sequence[int] | None = None
    ) -> list[int]:
        """The paper's greedy [P1-16] in native code, in the order of `sizes_bytes`.

        The paper's bounds of a count are 0 and P_i,max.
        """
        start = [0] * len(self.sizes_bytes) if least is None else least
        return self._counts(
            native.library().tau_budgeting_greedy, start, self.peaks if most is None else most
        )

    def exhaustive(self) -> list[int]:
        """The best counts of Eq 7 by trying all [P1-15] in native code, in the order of
        `sizes_bytes`.

        Cost: the product of all P_i,max + 1, times the number of instants.
        """
        nothing = [0] * len(self.sizes_bytes)
        return self._counts(native.library().tau_budgeting_exhaustive, nothing, self.peaks)

    def _counts(
        self, search: Callable[..., int], start: Sequence[int], most: Sequence[int]
    ) -> list[int]:
        counts, bounds = (np.array(values, dtype=np.uint64) for values in (start, most))
        status = search(self._handle, self.limit_bytes, bounds, counts)
        if status != STATUS_OK:
            raise TauError("not enough memory to plan", "plan with fewer classes: --classes-max")
        return [int(count) for count in counts]


def profile_of(
    traces: Sequence[Path | str | TraceReader | OpenTrace],
    granule_bytes: int = 8,
    skip_misuse: bool = False,
) -> Profile:
    """The profile of recordings; see Profile."""
    return Profile(traces, granule_bytes, skip_misuse)


def _raise_unless_ok(status: int, path: Path) -> None:
    if status == STATUS_TRACE_FAILED:
        raise TauError(f"{path}: it cannot be read a second time", f"tau check {path}")
    if status != STATUS_OK:
        raise TauError(
            f"{path}: not enough memory for its profile",
            "close other programs, or plan a shorter recording",
        )
