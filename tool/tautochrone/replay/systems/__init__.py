"""The systems that replay can run. Each file of this folder defines some.

A file has SYSTEMS, the listed ones, and may have `named(name)` for others. No other file lists it.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from types import ModuleType

from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.replay.system import System


def _files() -> Iterator[ModuleType]:
    """The files of this folder, in the order of their names, each loaded when its turn comes."""
    for name in sorted(found.name for found in pkgutil.iter_modules(__path__)):
        yield _loaded(f"{__name__}.{name}")


@functools.cache
def _loaded(name: str) -> ModuleType:
    """A file that defines systems. Raises TauError, with its name, if it does not."""
    try:
        file = importlib.import_module(name)
    except Exception as error:
        cause = f"{type(error).__name__}: {error}"
        raise TauError(f"{name} cannot be loaded: {cause}", "repair or remove it") from error
    if not hasattr(file, "SYSTEMS"):
        raise TauError(f"{name} lacks SYSTEMS", "repair or remove it")
    return file


@functools.cache
def systems() -> Mapping[str, System]:
    """All systems that are listed, by name. Raises TauError if two files claim a name."""
    owners: dict[str, str] = {}
    found: dict[str, System] = {}
    for file in _files():
        for system in file.SYSTEMS:
            if system.name in found:
                files = f"{owners[system.name]} and {file.__name__}"
                raise TauError(f"{files} both have a system called {system.name!r}")
            found[system.name], owners[system.name] = system, file.__name__
    return found


def system_named(name: str) -> System:
    """The system of this name. Raises TauError (usage) if there is none.

    Files after its own are not loaded.
    """
    for file in _files():
        found: System | None = next((each for each in file.SYSTEMS if each.name == name), None)
        found = found or getattr(file, "named", lambda _: None)(name)
        if found is not None:
            return found
    known = ", ".join(systems())
    close = difflib.get_close_matches(name, systems(), 1)
    question = f"did you mean {close[0]}? " if close else ""
    raise TauError(f"no system is called {name!r}", f"{question}use some of {known}", EXIT_USAGE)
