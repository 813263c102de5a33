"""Finds and loads the tool's native libraries."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from tautochrone.errors import TauError

if TYPE_CHECKING:
    from tautochrone.declarations import Library, Struct

DIRECTORY = Path(__file__).parent / "_native"
RUN_LIBRARY = "libtau_run.so"  # The allocator that `tau run` preloads.


def file(name: str) -> Path:
    """The path of a library or source; raises TauError if this installation lacks it."""
    path = DIRECTORY / name
    if not path.exists():
        raise TauError(
            f"{name} is missing from this installation",
            "reinstall with `pipx install .`, or `make build`",
        )
    return path


@functools.cache
def library(name: str = "libtautochrone.so") -> Library:
    """Load one of the package's libraries. Raises TauError as `file` does."""
    from tautochrone.declarations import Library

    return Library(file(name))


def struct(name: str) -> type[Struct]:
    """A structure of libtautochrone.so."""
    return library().struct(name)


def sources() -> Path:
    """The folder with the sources core/, facts/, targets/ and hw/, for builds on demand."""
    return DIRECTORY


def core_sources() -> Path:
    """The folder that holds the core's C sources."""
    return sources() / "core"
