"""The interface of every system that replays a trace. replay/systems/ has a file per kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from tautochrone.machine.core_build import FASTEST, Build
from tautochrone.trace import abi

if TYPE_CHECKING:
    from tautochrone.replay.entry import Entry
    from tautochrone.replay.open_trace import OpenTrace


class PlannedHeap(Protocol):
    """The part of a plan that replay reads (tautochrone.plan.file.Plan)."""

    @property
    def classes(self) -> Sequence[tuple[int, int]]:
        """Pairs of size and count."""

    @property
    def heap_bytes(self) -> int:
        """The heap that it needs."""

    @property
    def layout(self) -> str:
        """The layout that it was made with."""


class PlannedPages(Protocol):
    """The part of a plan's [pages] that replay reads (tautochrone.plan.pages.Pages)."""

    @property
    def heap_pages(self) -> int:
        """The heap's address range, in pages."""

    @property
    def frames(self) -> int:
        """The number of physical frames."""


@dataclass(frozen=True)
class Options:
    """The options of a replay. None and defaults leave the choice to the system.

    `layout` None: the layout of the recording's ABI, or of the target where instructions count.
    `build` is how the core is built: a heap's bytes and the counted code depend on it. Systems on
    pages have one build, FASTEST. `check_level` is another one for all systems.
    `frames`: pages that can be mapped at once. `touch_all`: every object is touched as a whole.
    `pages`: what our heaps on pages take; `heap_bytes` stands for all of it, `frames` for its own.
    """

    plan: PlannedHeap | None = None
    heap_bytes: int | None = None
    layout: str | None = None
    isa: str | None = None
    build: Build = Build()
    check_level: int | None = None
    skip_misuse: bool = False
    frames: int | None = None
    touch_all: bool = False
    cycles_max: int | None = None
    pages: PlannedPages | None = None

    def layout_of(self, header: Mapping[str, Any]) -> str:
        """The layout for the trace with this header."""
        return self.layout or ("32" if self.isa else abi.own_layout(header))

    @property
    def core_build(self) -> Build:
        """The build for systems that follow it."""
        level = self.build.check_level if self.check_level is None else self.check_level
        return replace(self.build, check_level=level)

    @property
    def paged_check_level(self) -> int:
        """The check level of systems on pages."""
        return FASTEST.check_level if self.check_level is None else self.check_level

    def given(self) -> list[str]:
        """The names of the options that differ from their defaults."""
        plain = Options()
        return [
            each.name
            for each in fields(self)
            if getattr(self, each.name) != getattr(plain, each.name)
        ]


@dataclass(frozen=True)
class State:
    """Whether a system can run here: the tool found, or the missing one and the next step."""

    works: bool
    detail: str
    next_step: str | None = None


class System(ABC):
    """A system that a trace can be replayed on.

    `role` is one of entry.ROLES. `about` describes it in one line. `follows` names the options
    that it uses. An option that no chosen system follows is refused; others ignore an option that
    some follow. `is_parallel`: it runs its
    own program, so that several may run at a time. `targets` are those on which its operations have
    bounds. `follows_build`: these are of any build of the core.
    """

    name: str
    role: str
    about: str
    follows: ClassVar[frozenset[str]] = frozenset({"skip_misuse"})
    is_parallel: ClassVar[bool] = False
    targets: ClassVar[tuple[str, ...]] = ()
    follows_build: ClassVar[bool] = False

    def accept(self, options: Options, trace: Path) -> None:
        """Raise TauError (usage) for options that this system cannot fulfill."""

    def prepare(self) -> None:
        """Build missing files that a run needs."""

    @abstractmethod
    def run(self, trace: OpenTrace, options: Options) -> Entry:
        """Replay the trace. Raises TauError if the system fails; not enough memory is an entry."""

    def bounds(self, target: str, build: Build) -> Iterable[tuple[str, str, int | None]]:
        """Return operation, unit and bound of each operation in each unit on one of `targets`.

        `build` is how the core is built; systems that do not follow it have bounds of FASTEST only.

        A bound is None if there is none, or none is known. Raises TauError if code for the target
        cannot be built, for example without its compiler.
        """
        return ()

    def state(self, build: bool) -> State | None:
        """Return whether it can run here; None: always. With `build`, build missing parts."""
        return None
