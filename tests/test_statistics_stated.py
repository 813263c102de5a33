"""docs/spec/tlsf.md holds the bounds of a core without statistics.

`python tests/test_statistics_stated.py` prints the table.
"""

import itertools
from pathlib import Path

from tautochrone.machine.core_build import Build
from tautochrone.machine.images import ISAS, core_image
from tautochrone.machine.longest_path import bound_of_image

PAGE = Path(__file__).resolve().parent.parent / "docs" / "spec" / "tlsf.md"


def bounds(target: str, build: Build) -> list[int]:
    """Of malloc and free."""
    image = core_image("tlsf", target, build)
    found = [bound_of_image(image, each) for each in ("malloc", "free")]
    return [each for each in found if each is not None]


def table() -> list[str]:
    """A row for each target and optimization: with statistics, then without."""
    lines = ["| malloc / free | level 0 | level 1 | level 2 |", "|---|---|---|---|"]
    for target, optimize in itertools.product(("rv32", "rv32zbb", "m4"), ("-O2", "-Os")):
        cells = []
        for level in (0, 1, 2):
            pairs = [bounds(target, Build(level, optimize, statistics=on)) for on in (True, False)]
            assert all(less <= more for more, less in zip(*pairs, strict=True))
            cells.append(", ".join(" / ".join(map(str, pair)) for pair in pairs))
        lines.append(f"| {ISAS[target].title} {optimize} | {' | '.join(cells)} |")
    return lines


def test_the_page_states_the_bounds() -> None:
    """To the instruction."""
    assert "\n".join(table()) in PAGE.read_text()


if __name__ == "__main__":
    print("\n".join(table()))
