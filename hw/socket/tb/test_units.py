"""A unit's description is read, and refused if it contradicts its module."""

import re
import shutil
from pathlib import Path

import pytest

from tautochrone.errors import TauError
from tautochrone.tile import units as descriptions
from tautochrone.tile.build import Options
from tautochrone.tile.units import unit_sources, units
from testing.tile import HW

TLB, MODULE = "rtmmu/unit.toml", "rtmmu/rtl/tau_rtmmu_tlb.sv"
# File, old text, new text, message without both files.
CONTRADICTIONS = {
    "no such module": (TLB, '"tau_rtmmu_tlb"', '"tau_rtmmu_cache"', "tau_rtmmu_cache:"),
    "another module": (MODULE, "module tau_rtmmu_tlb", "module tau_tlb", "is not the module of"),
    "a shape without parameter": (TLB, "Entries=3", "Entrys=3", "shape `Entrys=3` has a parameter"),
    "a parameter is gone": (MODULE, "unsigned Entries =", "unsigned Places =", "parameter Entries"),
    "no size": (MODULE, "unsigned FrameBits =", "unsigned Bits =", "every unit has a parameter"),
    "another register": (TLB, "forget_all = 1", "forget_all = 2", "forget_all is 2, in"),
    "a register is left out": (TLB, "forget_all = 1\n", "", "forget_all is missing, in"),
    "a register too many": (TLB, "forget_all = 1", "forget_all = 1\nforget = 2", "it is missing"),
}
MISTAKES = {
    "no TOML": ("number = 5", "number =", "Invalid value"),
    "no number": ("number = 5\n", "", "`number` is missing"),
    "a number that is none": ("number = 5", 'number = "5"', "`number` is not of type int"),
    "a number too large": ("number = 5", "number = 256", "256 is not from 0 to 255"),
    "a number that is taken": ("number = 5", "number = 4", "has its name or its number, 4"),
    "a granule of no unit": ("number = 5", "number = 5\ngranule_bytes = 2048", "(1024, 4096)"),
    "an unknown key": ("number = 5", "number = 5\ncolor = 1", "unknown key `color`"),
    "no table": ("[rtmmu]", "unit = 1\n[rtmmu]", "[unit] is not a table"),
}


@pytest.fixture
def hardware(tmp_path: Path) -> Path:
    """A copy of hw/ that may be changed."""
    return shutil.copytree(HW, tmp_path / "hw", ignore=shutil.ignore_patterns("__pycache__"))


def refusal(hardware: Path, file: str, old: str, new: str) -> str:
    """The message after a change."""
    text = (hardware / file).read_text()
    assert text.count(old) == 1
    (hardware / file).write_text(text.replace(old, new))
    with pytest.raises(TauError) as caught:
        units(hardware)
    return str(caught.value)


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_contradictions_name_both(hardware: Path, case: str) -> None:
    """The description, with its table, and the module's file."""
    file, old, new, said = CONTRADICTIONS[case]
    message = refusal(hardware, file, old, new)
    assert said in message and f"{hardware / TLB}: [rtmmu-tlb]" in message
    assert re.search(rf"{hardware}/rtmmu/rtl/tau_rtmmu_\w+\.sv", message), message


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_named(hardware: Path, case: str) -> None:
    """A message about a wrong description names its place."""
    old, new, said = MISTAKES[case]
    message = refusal(hardware, TLB, old, new)
    assert said in message and str(hardware / TLB) in message


def test_a_number_that_is_taken_names_the_other(hardware: Path) -> None:
    """Both descriptions."""
    message = refusal(hardware, TLB, "number = 5", "number = 4")
    assert str(hardware / TLB) in message and str(hardware / "tlb/unit.toml") in message


def test_a_unit_is_its_folder_without_other_units() -> None:
    """Two units of one folder share files, and neither has the other's module."""
    files = [path.stem for path in unit_sources(units()["rtmmu-tlb"])]
    lookups = [f"tau_rtmmu_{name}" for name in ("any_lookup", "delay", "fixed_lookup", "lookup")]
    assert files == ["tau_status_pkg", *lookups, "tau_rtmmu_tlb"]
    assert [unit.number for unit in units().values()] == [0, 1, 2, 3, 4, 5, 255]


def test_a_build_refuses_what_no_folder_describes() -> None:
    """And says which units there are."""
    with pytest.raises(TauError, match="unknown unit `mmu`: use one of bare, pagetable, rtmmu"):
        Options(unit="mmu").check()


def test_a_build_refuses_a_wrong_description(
    hardware: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its text, and a next step."""
    (hardware / TLB).write_text("[rtmmu]\nnumber = 2\n")
    monkeypatch.setattr(descriptions, "root", lambda: hardware.parent)
    with pytest.raises(TauError, match="`module` is missing") as caught:
        Options(unit="rtmmu").check()
    assert caught.value.next_step == "repair it, or install tautochrone again"
