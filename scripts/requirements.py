"""Print what pyproject.toml requires, one requirement a line: to build, to run, and named extras.

Usage: requirements.py [EXTRA…]
"""

import sys
import tomllib
from pathlib import Path


def requirements(extras: list[str]) -> list[str]:
    """Return the requirements of the build, the package and `extras` (else KeyError)."""
    document = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    required = [*document["build-system"]["requires"], *document["project"]["dependencies"]]
    for extra in extras:
        required += document["project"]["optional-dependencies"][extra]
    return required


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1:])))
