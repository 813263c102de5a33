"""Finds and loads the tool's native libraries."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

from tautochrone.errors import TauError

DIRECTORY = Path(__file__).parent / "_native"
RUN_LIBRARY = "libtau_run.so"  # the allocator that `tau run` preloads


@functools.cache
def library(name: str = "libtautochrone.so") -> ctypes.CDLL:
    """Load one of the package's libraries; raises TauError if this installation lacks it."""
    path = DIRECTORY / name
    if not path.exists():
        raise TauError(
            f"{name} is missing from this installation",
            "reinstall with `pipx install .`, or `make build`",
        )
    return ctypes.CDLL(str(path))


def sources() -> Path:
    """The folder with the sources core/, iface/, targets/ and hw/, for builds on demand."""
    return DIRECTORY


def core_sources() -> Path:
    """The folder that holds the core's C sources."""
    return sources() / "core"
