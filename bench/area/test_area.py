"""bench/area notices a memory that synthesis dropped, and wraps every port of the socket.

Method: Yosys on the smallest unit, and on all others if slow tests run: the pages have the cells.
Then on a memory of structs, which Yosys drops without a word; and on numbers made wrong by hand.
Places and clocks are the business of `make bench B=area`.
"""

import dataclasses
from pathlib import Path

import pytest

from bench.area import run as area
from bench.area.ecp5 import SynthesisError
from bench.commands import ROOT
from tautochrone.tile.units import units

PAGES = [ROOT / "hw/README.md", ROOT / "docs/ports/soc.md"]
NOT_SMALL = [name for name in units() if name not in ("pagetable", *area.NOT_MEASURED)]
SOCKET_INPUT_BITS = 253
SOCKET_OUTPUT_BITS = 220
STRUCTS = """
module tau_structs (
  input logic clk_i, input logic write_i, input logic [7:0] place_i, input logic [15:0] word_i,
  output logic [15:0] word_o
);
  typedef struct packed { logic [7:0] high; logic [7:0] low; } pair_t;
  pair_t pairs [256];
  always_ff @(posedge clk_i) begin
    if (write_i) pairs[place_i] <= word_i;
    word_o <= pairs[place_i];
  end
endmodule
"""


@pytest.fixture
def folder() -> Path:
    """Return a folder that the tools can see: they are shut into the repository."""
    path = area.WORK / "test"
    path.mkdir(parents=True, exist_ok=True)
    return path


def design(name: str) -> area.Design:
    """Return a row's design."""
    return next(each for each in area.designs() if each.name == name)


@pytest.mark.parametrize(
    "unit", ["pagetable", *(pytest.param(name, marks=pytest.mark.slow) for name in NOT_SMALL)]
)
def test_the_pages_have_its_cells(unit: str, folder: Path) -> None:
    """Those of all its shapes. The page table unit, the smallest, has its 16 bits of arrays."""
    module = units()[unit].module
    tables: dict[tuple[int, ...], list[area.Design]] = {}
    for each in area.designs():
        if each.module == module:
            latencies = tuple(each.parameters.get(name, 0) for name in area.LATENCIES)
            tables.setdefault(latencies, []).append(each)
    for shapes in tables.values():
        rows = [area.synthesized(each, folder) for each in shapes]
        assert unit != "pagetable" or rows[0]["memory_bits"] == 16
        luts, ffs = ("; ".join(f"{row[key]:,}" for row in rows) for key in ("lut", "ff"))
        assert any(f" | {luts} | {ffs} | " in page.read_text() for page in PAGES), (luts, ffs)


def test_memory_of_structs_is_noticed(folder: Path) -> None:
    """Yosys finds 256 words, and makes no memory of them that holds 4096 bits."""
    source = folder / "tau_structs.sv"
    source.write_text(STRUCTS)
    arrays = area.Arrays(distributed=256 * 16)
    wrong = area.Design("structs", "tau_structs", (source,), arrays)
    with pytest.raises(SynthesisError, match="structs: .* bits"):
        area.synthesized(wrong, folder)
    source.write_text(STRUCTS.replace("pair_t pairs", "logic [15:0] pairs"))
    right = dataclasses.replace(wrong, arrays=area.Arrays(block=256 * 16))
    assert area.synthesized(right, folder)["bram"] == 1


@pytest.mark.parametrize(
    "change", [{"memory_bits": 3375}, {"ram_cells": 46}, {"ff": 10, "ram_cells": 47}]
)
def test_numbers_that_cannot_be(change: dict[str, int]) -> None:
    """A bit too few in the source, or too little room in the cells."""
    row = {"ff": 700, "ram_cells": 48, "bram": 0, "memory_bits": 3376}
    area.check_memories(design("composable-4"), row)
    with pytest.raises(SynthesisError, match="composable-4: .* expected"):
        area.check_memories(design("composable-4"), row | change)


def test_wrapper_has_every_port() -> None:
    """All units have the same ports, each bit after and before a register."""
    for each in area.designs():
        if each.size("PageBits") != area.DEFAULT_BITS:
            continue
        bits = {"input": 0, "output": 0}
        for direction, _, count in area.ports(each):
            bits[direction] += count
        assert bits == {"input": SOCKET_INPUT_BITS, "output": SOCKET_OUTPUT_BITS}, each.name


def test_every_unit_of_the_tile_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit that hw/ gets must say its arrays here."""
    described = units()
    rows = area.designs()
    for unit in described.values():
        measured = [row for row in rows if row.module == unit.module]
        assert bool(measured) == (unit.name not in area.NOT_MEASURED), unit.name
    new = dataclasses.replace(described["tlb"], name="cache")
    monkeypatch.setattr(area, "units", lambda: {**described, "cache": new})
    with pytest.raises(SynthesisError, match="does not know the arrays of cache"):
        area.designs()


def test_unknown_unit(capsys: pytest.CaptureFixture[str]) -> None:
    """It says which there are."""
    assert area.BENCH.main(["mmu"]) == 1
    assert "area: unknown unit `mmu`; use one of pagetable" in capsys.readouterr().err
