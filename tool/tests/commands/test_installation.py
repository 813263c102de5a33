"""A missing package is named, with the command that installs it and what belongs to it.

Method: our metadata as pip would have written it; commands that cannot find a package.
"""

import sys
from importlib import metadata

import pytest

from tautochrone import cli, installation
from tautochrone.errors import TauError

METADATA = [
    "numpy<3,>=2.0",
    "pyelftools<1,>=0.31",
    'highspy~=1.12.0; python_version < "3.14"',
    'highspy~=1.13.0; python_version >= "3.14"',
    'unicorn<3,>=2.1; extra == "verify"',
    'capstone<6,>=5; extra == "verify"',
    'pythondata-cpu-ibex==7; extra == "tile"',
    'capstone<6,>=5; extra == "tile"',
    'tautochrone[tile,verify]; extra == "all"',
]


@pytest.mark.parametrize(
    ("module", "package", "installs"),
    [
        ("numpy", "numpy", "'numpy<3,>=2.0'"),
        ("elftools.elf", "pyelftools", "'pyelftools<1,>=0.31'"),
        ("unicorn", "unicorn", "'unicorn<3,>=2.1' 'capstone<6,>=5'"),
        ("capstone.x86", "capstone", "'unicorn<3,>=2.1' 'capstone<6,>=5'"),
        ("pythondata_cpu_ibex", "pythondata-cpu-ibex", "pythondata-cpu-ibex==7 'capstone<6,>=5'"),
        ("unheard_of", "unheard-of", "unheard-of"),
    ],
)
def test_the_next_step_installs_the_package_and_its_extra(
    module: str, package: str, installs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "requires", lambda _: METADATA)
    error = installation.missing(module)
    assert error.message == f"the Python package {package} is not installed"
    assert error.next_step == f"{sys.executable} -m pip install {installs}"


@pytest.mark.parametrize(("minor", "requirement"), [(11, "1.12.0"), (13, "1.12.0"), (14, "1.13.0")])
def test_the_next_step_is_for_this_python(
    minor: int, requirement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "requires", lambda _: METADATA)
    monkeypatch.setattr(sys, "version_info", (3, minor, 0))
    assert installation.pip_install("highspy").endswith(f" 'highspy~={requirement}'")


def test_a_source_tree_without_metadata_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def requires(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    assert installation.pip_install("capstone").endswith(" -m pip install capstone")


def test_a_folder_of_no_package_is_refused() -> None:
    assert (installation.folder_of("click") / "core.py").exists()
    with pytest.raises(TauError, match="package unheard-of is not installed"):
        installation.folder_of("unheard_of")


def test_a_command_without_its_package_names_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "requires", lambda _: METADATA)
    code = cli._explain(ModuleNotFoundError("No module named 'unicorn'", name="unicorn"))
    said = capsys.readouterr().err
    assert code == 1 and "has a bug" not in said
    assert "tau: the Python package unicorn is not installed\n  next: " in said
