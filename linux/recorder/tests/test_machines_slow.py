"""The recorder's own suite under user-mode QEMU, as far as that goes, on each machine.

Left out is what QEMU 7.2 does not do: seccomp filters, and programs that exec starts.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linux.recorder.tests import test_recorder as suite
from testing import machines
from testing.machines import Machine
from testing.recorded import Build, Record

pytestmark = pytest.mark.slow

ENDS = (("exit", 42), ("_exit", 41), ("abort", 134), ("segv", 139), ("kill", 137), ("thread", 0))
DESCRIPTORS = ("close-all", "no-files")
# Each test with its parameters, apart from build and record.
CASES: list[tuple[Callable[..., None], dict[str, Any]]] = [
    (suite.test_cross_thread_frees_are_in_order, {"clock": "monotonic"}),
    (suite.test_short_threads_share_chunks, {}),
    (suite.test_parent_is_named, {}),
    *(
        (suite.test_every_end_leaves_a_whole_trace, {"how": how, "status": status})
        for how, status in ENDS
    ),
    (suite.test_shapes, {}),
    (suite.test_library_opened_later, {}),
    (suite.test_operators, {"library": ""}),
    (suite.test_operators_of_the_program, {}),
    *((suite.test_call_left_by_a_jump, {"depth": depth}) for depth in (0, 1, 30)),
    *((suite.test_descriptors_are_the_programs_own, {"what": what}) for what in DESCRIPTORS),
    (suite.test_random_programs, {}),
]


@pytest.fixture(scope="session", params=machines.NAMES)
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """Each machine in turn."""
    return Machine(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture
def build_there(machine: Machine, build: Build) -> Build:
    """Compile for the machine; otherwise as the fixture build."""

    def compile_one(name: str, *flags: str, compiler: str = "", made: str = "") -> Path:
        del compiler  # this machine's
        source = name if "." in name else f"{name}.c"
        made = f"{machine.name}-{made or name}"
        return build(name, *flags, compiler=machine.compiler(source), made=made)

    return compile_one


@pytest.fixture
def record_there(machine: Machine, record: Record) -> Record:
    """Record a program of the machine; otherwise as the fixture record."""

    def run(*words: object, options: tuple[str, ...] = (), **settings: Any) -> Any:
        return record(*words, options=("--target", machine.name, *options), **settings)

    return run


@pytest.mark.parametrize(
    ("case", "parameters"),
    CASES,
    ids=["-".join([case.__name__[5:], *map(str, given.values())]) for case, given in CASES],
)
def test_suite(
    case: Callable[..., None],
    parameters: dict[str, Any],
    build_there: Build,
    record_there: Record,
) -> None:
    """The test of this machine holds there."""
    case(build=build_there, record=record_there, **parameters)


@pytest.mark.parametrize("name", machines.RUN_ON)
def test_all_of_the_wheel_links(name: str, tmp_path: Path) -> None:
    """The core, the tool's library, both preloaded libraries and the plugin, without a warning."""
    made = Machine(name, tmp_path).cross_build("all")
    found = {path.name for path in made.rglob("libtau*.so")}
    names = "tautochrone tau_core32 tau_core64 tau_kernel tau_record tau_run tau_code_profile"
    checked = [f"tau_core{bits}_check{level}" for bits in (32, 64) for level in (1, 2)]
    assert found == {f"lib{each}.so" for each in [*names.split(), *checked]}
