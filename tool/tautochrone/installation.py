"""Which Python packages are missing for what a command does, and how to install them here."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tautochrone.errors import TauError

# Where a module is not called like its package.
PACKAGES = {"elftools": "pyelftools"}


@contextmanager
def needed() -> Iterator[None]:
    """Raise TauError if a package that is imported in this context is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing(str(error.name)) from error


def folder_of(module: str) -> Path:
    """Return where the package of `module` keeps its files. Raises TauError if it is missing."""
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        raise missing(module)
    return Path(found.origin).parent


def missing(module: str) -> TauError:
    """Return the error that says that the package of `module` is missing."""
    cause = f"the Python package {_package_of(module)} is not installed"
    return TauError(cause, pip_install(module))


def pip_install(module: str) -> str:
    """Return the command that installs the package of `module` into this environment.

    It installs all packages of an extra that has this one, in the versions that we require.
    """
    package, known = _package_of(module), _requirements()
    text, extra = next((each[1:] for each in known if each[0] == package), (package, ""))
    chosen = [each[1] for each in known if each[2] == extra] if extra else [text]
    return shlex.join([sys.executable, "-m", "pip", "install", *chosen])


def _package_of(module: str) -> str:
    name = module.partition(".")[0]
    return PACKAGES.get(name, name.replace("_", "-"))


def _requirements() -> list[tuple[str, str, str]]:
    """The package, the requirement and the extra, if any, of each line in our metadata."""
    from importlib import metadata  # it takes as long to load as all that a short command needs

    try:
        lines = metadata.requires("tautochrone") or []
    except metadata.PackageNotFoundError:
        return []  # a source tree
    found = []
    for line in lines:
        requirement, _, condition = line.partition(";")
        name = re.match(r"[\w.-]+", requirement)
        extra = re.search(r"""extra *== *["'](\w+)["']""", condition)
        version = re.search(r"""python_version *(<|>=) *["']3\.(\d+)["']""", condition)
        is_before = version is not None and sys.version_info < (3, int(version[2]))
        if name and (version is None or is_before == (version[1] == "<")):
            found.append((name[0], requirement.strip(), extra[1] if extra else ""))
    return found
