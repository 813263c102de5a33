"""`tau doctor` lists working and missing parts; its exit status says if the main job works.

Method: the machine is made poorer through PATH and through a failing step.
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tautochrone.coldcode.linux import source
from tautochrone.commands import doctor


def test_each_missing_program_names_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for finding in doctor.compilers():
        assert not finding.works
        assert finding.next_step == f"apt install {doctor.COMPILERS[finding.name]}"
    found = doctor.program(("heaptrack",), "recordings to import", "heaptrack")
    assert (found.works, found.next_step) == (False, "apt install heaptrack")


def test_a_missing_valgrind_names_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = doctor.access_recorder()
    assert not found.works and not found.is_main and "valgrind is missing" in found.detail
    assert (found.next_step or "").startswith("apt install valgrind")


def test_what_kernels_with_cold_code_need_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(source, "ARCHIVE", tmp_path / "linux.tar.xz")
    qemu, compiler, kernel = doctor.cold_code()
    assert not any(one.works or one.is_main for one in (qemu, compiler, kernel))
    assert (qemu.name, qemu.next_step) == ("qemu-system-riscv64", "apt install qemu-system-misc")
    assert "gcc-12-riscv64-linux-gnu" in (compiler.next_step or "")
    assert kernel.detail == f"{tmp_path / 'linux.tar.xz'} is missing"
    assert kernel.next_step == "apt install linux-source-6.12"
    for name in ("riscv64-linux-gnu-gcc", "riscv64-linux-gnu-ld", "make", "bison", "bc"):
        (tmp_path / name).write_text("#!/bin/sh\necho 1\n")
        (tmp_path / name).chmod(0o755)
    source.ARCHIVE.touch()
    _, compiler, kernel = doctor.cold_code()
    assert kernel.works and not compiler.works
    assert compiler.detail == "not installed: flex, xz"


def test_missing_native_libraries_are_a_finding_not_a_crash(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor.native, "DIRECTORY", tmp_path)
    monkeypatch.setattr(doctor.native, "library", doctor.native.library.__wrapped__)
    found = doctor.libraries()
    assert not found.works and found.is_main and "libtautochrone.so" in found.detail


@pytest.mark.parametrize("works", [True, False])
def test_exit_status_is_that_of_the_main_job(works: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = doctor.Finding("record, plan, replay", works, "", "the main job", True)
    optional = doctor.Finding("heaptrack", False, "not installed", "", False, "apt install it")
    monkeypatch.setattr(doctor, "examine", lambda build: [finding, optional])
    done = CliRunner().invoke(doctor.command, ["--json"], standalone_mode=False)
    assert done.return_value == (0 if works else 1)
    document = json.loads(done.stdout)
    assert document["main_job_works"] is works
    assert (document["version"], document["command"]) == (1, "doctor")


def test_a_failing_step_is_named_with_its_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.sys, "executable", "/bin/false")
    found = doctor.main_job()
    assert not found.works and "tau record failed with 1: no message" in found.detail


def test_the_next_step_is_that_of_the_failing_step(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tau = tmp_path / "python"
    tau.write_text("#!/bin/sh\nprintf 'tau: no numpy\\n  next: install it\\n' >&2\nexit 1\n")
    tau.chmod(0o700)
    monkeypatch.setattr(doctor.sys, "executable", str(tau))
    found = doctor.main_job()
    assert found.detail.endswith("tau: no numpy") and found.next_step == "install it"


def test_a_missing_package_that_checks_need_is_one_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """All other checks are made."""

    def look(*_: object) -> list[doctor.Finding]:
        raise ModuleNotFoundError("no unheard_of.part", name="unheard_of.part")

    for name in ("main_job", "access_recorder", "emulations", "systems", "composable"):
        monkeypatch.setattr(doctor, name, look)
    found = doctor.examine()
    assert [one.name for one in found if one.detail == "not installed"].count("unheard_of") == 1
    assert found[-1].name == "disk"


def test_the_main_job_works_here() -> None:
    found = doctor.main_job()
    assert found.works, found.detail
