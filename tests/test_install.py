"""The installed core is an ordinary library, for C and C++: found by find_package and pkg-config.

Method: install to an empty prefix; include every public header from there, alone and all together;
then build and run the same small program as C and as C++ both ways, with a port's source.
"""

import os
import subprocess
from pathlib import Path

import pytest

from tautochrone.machine.core_build import Build
from tautochrone.plan import build
from tautochrone.plan.file import Plan, PlanTrace
from tautochrone.plan.header import save_header

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """#include <stdalign.h>
#include "core/budget.h"
#include "core/config.h"
#include "core/ports/record.h"
alignas(TAU_ALIGNMENT) static unsigned char memory[4096];
static struct tau_record recording;
static size_t sent_bytes;
static bool send(void *context, const void *bytes, size_t size_bytes) {
    (void)context;
    (void)bytes;
    sent_bytes += size_bytes;
    return true;
}
static uint32_t ticks(void *context) {
    (void)context;
    return 0;
}
int main(void) {
    const struct tau_record_port port = {send, ticks, NULL, 1000};
    tau_record_start(&recording, &port);
    void *object = tau_tlsf_malloc(tau_tlsf_init(memory, sizeof memory, 0), 24);
    tau_record_malloc(&recording, (uintptr_t)object, 24, 0);
    tau_record_flush(&recording);
    return object == NULL || sent_bytes == 0 || sizeof recording.buffer != 256;
}
"""
# A setting of the port's that decides its layout: the port is compiled with it too.
CMAKE = """cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
find_package(tautochrone {version} REQUIRED)
add_executable(program program.{ending})
target_compile_definitions(program PRIVATE TAU_RECORD_BUFFER_BYTES=256u)
target_link_libraries(program tautochrone::core tautochrone::record tautochrone::sv39)
"""
CPP_PROGRAM = """#include <vector>
#include "core/ports/cpp/tautochrone.hpp"
int main() {
    std::vector<int, tautochrone::allocator<int>> numbers(100, 1);
    return tautochrone::plan::misuse_count() != 0 || numbers[99] != 1;
}
"""
CPP_CMAKE = """cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(tautochrone 0.1 REQUIRED)
add_executable(program program.cpp)
target_include_directories(program PRIVATE .)
target_link_libraries(program tautochrone::cpp)
"""
COMPILERS = {"c": ["gcc", "-std=c17"], "cpp": ["g++", "-std=c++17"]}
PUBLIC = ("core", "core/ports", "core/ports/freertos")
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def public_headers() -> list[str]:
    """The headers that a user includes, as an include names them."""
    headers = [path for room in PUBLIC for path in (ROOT / room).glob("*.h")]
    return sorted(
        str(path.relative_to(ROOT)) for path in headers if not path.stem.endswith("_inline")
    )


def run(*command: str | Path, **options: object) -> str:
    """Run a command that must succeed and return its output."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
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


@pytest.mark.parametrize("ending", COMPILERS)
def test_every_public_header_compiles_alone_and_with_the_others(
    prefix: Path, tmp_path: Path, ending: str
) -> None:
    headers = public_headers()
    assert {Path(header).parent for header in headers} == {Path(room) for room in PUBLIC}
    for number, names in enumerate([*([name] for name in headers), headers, headers[::-1]]):
        lines = [f'#include "{name}"\n' for name in names]
        lines += ["int main(void) { return 0; }\n"]
        (tmp_path / f"{number}.{ending}").write_text("".join(lines))
    include = f"-I{prefix / 'include' / 'tautochrone'}"
    paths = sorted(tmp_path.glob(f"*.{ending}"))
    run(*COMPILERS[ending], *STRICT, include, "-fsyntax-only", *paths)


@pytest.mark.parametrize("ending", COMPILERS)
def test_find_package(prefix: Path, tmp_path: Path, ending: str) -> None:
    (tmp_path / f"program.{ending}").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(CMAKE.format(version="0.1", ending=ending))
    run("cmake", "-S", tmp_path, "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path)
    run(tmp_path / "program")


def test_the_port_to_cpp_is_a_target(prefix: Path, tmp_path: Path) -> None:
    """A program in C++ alone, on a plan for the core as it is installed."""
    plan = Plan(
        classes=(),
        heap_bytes=16_384,
        planner="replayed",
        optimal_within=0.0,
        margin=0.0,
        layout="host",
        traces=(PlanTrace("program.tau", "ab" * 32, 1000, 8000),),
        sections={build.NAME: build.of(Build(1, "-O3"), "host")},
    )
    save_header(plan, tmp_path / "heap_plan.h", "tau plan")
    (tmp_path / "program.cpp").write_text(CPP_PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(CPP_CMAKE)
    run("cmake", "-S", tmp_path, "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path)
    run(tmp_path / "program")


@pytest.mark.parametrize("version", ["0.0.1", "0.2", "1.0"])
def test_another_version_is_not_taken(prefix: Path, tmp_path: Path, version: str) -> None:
    (tmp_path / "CMakeLists.txt").write_text(CMAKE.format(version=version, ending="c"))
    command = ["cmake", "-S", tmp_path, "-B", tmp_path, "-G", "Ninja"]
    command.append(f"-DCMAKE_PREFIX_PATH={prefix}")
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode != 0
    assert "version: 0.1.0" in done.stderr


@pytest.mark.parametrize("ending", COMPILERS)
def test_pkg_config(prefix: Path, tmp_path: Path, ending: str) -> None:
    (tmp_path / f"program.{ending}").write_text(PROGRAM)
    folder = next(prefix.rglob("tautochrone.pc")).parent
    environment = {**os.environ, "PKG_CONFIG_PATH": str(folder)}
    asked = ["pkg-config", "tautochrone"]
    cflags, libs, ports = (
        run(*asked, word, env=environment).split()
        for word in ("--cflags", "--libs", "--variable=portsdir")
    )
    flags = [*cflags, "-DTAU_RECORD_BUFFER_BYTES=256u", "-c"]
    run(*COMPILERS["c"], *flags, Path(ports[0]) / "record.c", "-o", tmp_path / "record.o")
    made = [tmp_path / f"program.{ending}", "-o", tmp_path / "program.o"]
    run(*COMPILERS[ending], *flags, *made)
    objects = [tmp_path / "program.o", tmp_path / "record.o"]
    run("gcc", *objects, *libs, "-o", tmp_path / "program")
    run(tmp_path / "program")


def test_headers_and_ports_are_installed_and_no_tests(prefix: Path) -> None:
    """The ports' sources are compiled there, so their inline functions are there too. Programs
    under `tau run --colors` need tau_task.h."""
    include = prefix / "include" / "tautochrone"
    installed = {str(path.relative_to(include)) for path in include.rglob("*.h*")}
    paths = {*(ROOT / "core/private").rglob("*.h"), *(ROOT / "core").rglob("*_inline.h")}
    paths |= {*(ROOT / "core/ports").rglob("*.hpp")}
    inlined = {str(path.relative_to(ROOT)) for path in paths}
    assert installed == {*public_headers(), *inlined, "tau_task.h", "facts/gen/tau_abi_format.h"}
    (installed_ports,) = prefix.rglob("ports/record.c")
    ports = installed_ports.parent, ROOT / "core/ports"
    found, wanted = ({path.relative_to(each) for path in each.rglob("*.c")} for each in ports)
    assert found == {path for path in wanted if path.parent.name != "rust"}  # cargo builds these


def test_what_is_installed_names_no_folder_of_the_build(prefix: Path) -> None:
    for path in (*prefix.rglob("*.cmake"), *prefix.rglob("*.pc")):
        assert str(ROOT) not in path.read_text(), path
