"""How to install a missing Python package into this installation."""

from __future__ import annotations

import shlex
import sys


def pip_install(package: str) -> str:
    """Return the command that installs `package` into the environment of this program."""
    return f"{shlex.quote(sys.executable)} -m pip install {package}"
