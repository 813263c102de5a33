"""Where the sources of the tile are: its RTL, its simulator, and the programs that run on it."""

from pathlib import Path

from tautochrone import native
from tautochrone.errors import TauError

REPOSITORY = Path(__file__).resolve().parents[3]


def root() -> Path:
    """The folder that holds core/, hw/, kernel/ and targets/: the repository, else the package's.

    Raises TauError if this installation has none.
    """
    for base in (REPOSITORY, native.DIRECTORY):
        if (base / "hw/tile/rtl").is_dir() and (base / "core/vspace.c").is_file():
            return base
    raise TauError(
        "the tile's sources are missing from this installation",
        "reinstall with `pipx install .`, or `make build`",
    )
