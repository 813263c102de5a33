"""docs/spec/tlsf.md holds the bounds and control bytes of heaps with an alignment of 4.

`python tests/test_alignment_stated.py` prints the table.
"""

import itertools
from pathlib import Path

from tautochrone import native
from tautochrone.machine.core_build import Build
from tautochrone.machine.images import core_image
from tautochrone.machine.longest_path import bound_of_image

PAGE = Path(__file__).resolve().parent.parent / "docs" / "spec" / "tlsf.md"
HEAP_KIB = (16, 64, 1024)


def table() -> list[str]:
    """A row for each target and optimization."""
    lines = ["| malloc / free | level 0 | level 1 | level 2 |", "|---|---|---|---|"]
    targets = (("rv32", "RV32IMC"), ("m4", "Cortex-M4"))
    for (target, name), optimize in itertools.product(targets, ("-O2", "-Os")):
        cells = []
        for level in (0, 1, 2):
            image = core_image("tlsf", target, Build(level, optimize, alignment_bytes=4))
            bounds = [bound_of_image(image, each) for each in ("malloc", "free")]
            cells.append(" / ".join(map(str, bounds)))
        lines.append(f"| {name} {optimize} | {' | '.join(cells)} |")
    return lines


def control() -> str:
    """What the control blocks take. The core's answer has the first block's header, too."""
    core = native.library("libtau_core32_align4.so")
    sizes = [int(core.tau_tlsf_control_bytes(kib << 10)) - 4 for kib in HEAP_KIB]
    return f"takes {sizes[0]}, {sizes[1]} and\n  {sizes[2]:,} bytes."


def test_the_page_states_the_bounds() -> None:
    """To the instruction."""
    assert "\n".join(table()) in PAGE.read_text()


def test_the_page_states_the_control_bytes() -> None:
    """To the byte."""
    assert control() in PAGE.read_text()


if __name__ == "__main__":
    print("\n".join(table()), control(), sep="\n\n")
