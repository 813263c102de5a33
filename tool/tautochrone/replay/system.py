"""What every system that replays a trace offers: one class a kind, in replay/systems/."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from tautochrone.errors import EXIT_USAGE, TauError

if TYPE_CHECKING:
    from tautochrone.replay.entry import Entry
    from tautochrone.replay.opened import OpenTrace
    from tautochrone.replay.result import ReplayResult


class PlannedHeap(Protocol):
    """What a replay reads of a plan (tautochrone.plan.file.Plan)."""

    @property
    def classes(self) -> Sequence[tuple[int, int]]:
        """Pairs of size and count."""

    @property
    def heap_bytes(self) -> int:
        """The heap that it asks for."""

    @property
    def layout(self) -> str:
        """Whose sizes and alignments it was made with."""


class PlannedPages(Protocol):
    """What a replay reads of a plan's [pages] (tautochrone.plan.pages.Pages)."""

    @property
    def heap_pages(self) -> int:
        """Addresses of the heap, in pages."""

    @property
    def frames(self) -> int:
        """Pages that can be mapped at once."""


@dataclass(frozen=True)
class Options:
    """How to replay; what `tau replay` was given. None and the defaults leave it to the system.

    `frames`: pages that can be mapped at once. `touch_all`: every object is touched as a whole.
    `pages`: what our heaps on pages take; `heap_bytes` stands for all of it, `frames` for its own.
    """

    plan: PlannedHeap | None = None
    heap_bytes: int | None = None
    layout: str = "32"
    isa: str | None = None
    check_level: int = 0
    skip_misuse: bool = False
    frames: int | None = None
    touch_all: bool = False
    cycles_max: int | None = None
    pages: PlannedPages | None = None

    def given(self) -> list[str]:
        """The names of the options that are not as they are by default."""
        plain = Options()
        return [
            each.name
            for each in fields(self)
            if getattr(self, each.name) != getattr(plain, each.name)
        ]


@dataclass(frozen=True)
class State:
    """Whether a system can run here: what was found, or what is missing and the next step."""

    works: bool
    detail: str
    next_step: str | None = None


class System(ABC):
    """A system that a trace can be replayed on.

    `role` is one of entry.ROLES. `follows` names the options that it acts on; an option that none
    of the chosen systems follows is refused, one that only some follow is theirs alone.
    `is_parallel`: it runs a program of its own, so that several may run at a time. `targets` are
    those on which its operations have bounds.
    """

    name: str
    role: str
    follows: ClassVar[frozenset[str]] = frozenset({"skip_misuse"})
    is_parallel: ClassVar[bool] = False
    targets: ClassVar[tuple[str, ...]] = ()

    def accept(self, options: Options, trace: Path) -> None:
        """Raise TauError (usage) for options that this system contradicts."""

    def prepare(self) -> None:
        """Build what a run needs, if it is not there."""

    @abstractmethod
    def run(self, trace: OpenTrace, options: Options) -> Entry:
        """Replay the trace. Raises TauError for a system that errs; not holding is an entry."""

    def bounds(self, target: str) -> Iterable[tuple[str, str, int | None]]:
        """The bound of each operation in each unit on one of `targets`: operation, unit, bound.

        None where there is none, or none is known. Raises TauError if code for the target cannot be
        built, as without its compiler.
        """
        return ()

    def state(self, build: bool) -> State | None:
        """Whether it can run here; None: always. With `build`, what is missing is built."""
        return None

    def result(
        self, trace: OpenTrace, plan: object, heap_bytes: int | None, layout: str
    ) -> ReplayResult:
        """What one run showed, for systems that hand out memory of an arena or a process."""
        raise self._maps_pages()

    def smallest_heap(
        self,
        trace: OpenTrace,
        plan: object,
        layout: str,
        guess_bytes: int | None,
        grid_sizes: int | None,
    ) -> int:
        """The smallest heap in which the trace completes, for the same systems."""
        raise self._maps_pages()

    def _maps_pages(self) -> TauError:
        return TauError(
            f"{self.name} maps pages and has no smallest heap",
            f"tau replay T --on {self.name}",
            EXIT_USAGE,
        )
