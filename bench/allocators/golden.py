"""The exact maxima of our systems on the synthetic traces, which golden.json pins.

One instruction more or less fails test_allocators.py. Then TAU_UPDATE_GOLDEN=1 writes new numbers,
and review sees the change. They hold for the compilers that the file names.
"""

from pathlib import Path
from types import SimpleNamespace

from bench.allocators import synthetic
from bench.allocators.images import ISAS
from bench.commands import first_line
from tautochrone.code.build import Build
from tautochrone.replay import emulator

HERE = Path(__file__).resolve().parent
PATH = HERE / "golden.json"
# Enough buckets for every kind to hit and to miss, a fixed plan, so that no planner changes the
# numbers.
PLAN = SimpleNamespace(classes=[(16, 40), (24, 40), (64, 40), (120, 10), (256, 10), (4096, 2)])
SYSTEMS = tuple((system, level) for system in ("tlsf", "budget") for level in (0, 1))


def compilers() -> dict[str, str]:
    """The first line that each cross compiler says about itself."""
    return {name: first_line(isa.compiler, "--version") for name, isa in ISAS.items()}


def maxima(system: str, level: int, isa: str) -> dict[str, dict[str, int]]:
    """Kind of trace -> operation (and finer) -> most instructions."""
    image = emulator.core_image(system, isa, Build(level, "-O2"))
    plan = PLAN if system == "budget" else None
    return {
        kind: {
            name: calls.max
            for name, calls in emulator.count_calls(image, synthetic.trace(kind), plan=plan).items()
        }
        for kind in synthetic.KINDS
    }


def measure(system: str, level: int) -> dict[str, dict[str, dict[str, int]]]:
    """What golden.json holds of one system, for each instruction set."""
    return {f"{system}, check {level}, {isa}": maxima(system, level, isa) for isa in ISAS}
