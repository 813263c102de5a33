"""How a missing Python package gets into the installation that runs now."""

from __future__ import annotations

import shlex
import sys


def pip_install(package: str) -> str:
    """Return the command that installs `package` beside this one, in whatever way it came there."""
    return f"{shlex.quote(sys.executable)} -m pip install {package}"
