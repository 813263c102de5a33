"""The installed core is an ordinary library: found by CMake's find_package and by pkg-config.

Method: install to an empty prefix, then build and run the same five-line program both ways.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """#include "core/budget.h"
static _Alignas(16) unsigned char memory[4096];
int main(void)
{
    return tau_tlsf_malloc(tau_tlsf_init(memory, sizeof memory, 0), 24) == NULL;
}
"""
CMAKE = """cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
find_package(tautochrone REQUIRED)
add_executable(program program.c)
target_link_libraries(program tautochrone::core)
"""


def run(*command: str | Path, **options: object) -> str:
    """Run a command that must succeed and return what it prints."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The core, installed."""
    folder = tmp_path_factory.mktemp("installed")
    build = folder / "build"
    where = f"-DCMAKE_INSTALL_PREFIX={folder / 'prefix'}"
    run("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", where)
    run("cmake", "--build", build)
    run("cmake", "--install", build)
    return folder / "prefix"


def test_find_package(prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    run("cmake", "-S", tmp_path, "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path)
    run(tmp_path / "program")


def test_pkg_config(prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(PROGRAM)
    folder = next(prefix.rglob("tautochrone.pc")).parent
    environment = {**os.environ, "PKG_CONFIG_PATH": str(folder)}
    flags = run("pkg-config", "--cflags", "--libs", "tautochrone", env=environment).split()
    run("gcc", tmp_path / "program.c", *flags, "-o", tmp_path / "program")
    run(tmp_path / "program")


def test_what_is_installed_names_no_folder_of_the_build(prefix: Path) -> None:
    for path in (*prefix.rglob("*.cmake"), *prefix.rglob("*.pc")):
        assert str(ROOT) not in path.read_text(), path
