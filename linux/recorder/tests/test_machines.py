"""Programs of other machines, by cross compilers and user-mode QEMU: record, import, plan, run."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tautochrone.facts import trace_format
from tautochrone.plan.file import load_plan
from tautochrone.record import emulation, merge, session
from tautochrone.record.program import build_id
from tautochrone.run import exchange
from tautochrone.run import launch as run_launch
from tautochrone.trace.file import open_trace
from testing import machines
from testing.machines import Machine, tau
from testing.recorded import events_of

PROGRAMS = ("machines/tree.c", "machines/router.c", "machines/containers.cpp")
ABIS = {"arm64": ("aarch64", 16), "armhf": ("arm", 8), "riscv64": ("riscv64", 16)}
END = 7  # The exit status of the three programs.


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which each machine's recorder is built once for all tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session", params=machines.NAMES)
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """Each machine in turn."""
    return Machine(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="session")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """One machine, where one is enough."""
    return Machine("armhf", tmp_path_factory.mktemp("arm"))


@pytest.fixture(scope="session")
def library(machine: Machine) -> Path | None:
    """The allocator of `tau run` for a machine, and its recorder, linked as the wheel does."""
    has_run = machine.name in machines.RUN_ON
    made = machine.cross_build("tau_record", *(["tau_run"] if has_run else []))
    assert (made / "linux" / "recorder" / "libtau_record.so").exists()
    return made / "linux" / "runtime" / "libtau_run.so" if has_run else None


def record(
    machine: Machine, program: Path, folder: Path, cache: Path, *options: object
) -> subprocess.CompletedProcess[str]:
    """Record a program of a machine in a folder."""
    words = ("record", "--target", machine.name, *options, "--", program)
    return tau(*words, cwd=folder, XDG_CACHE_HOME=str(cache))


def run_planned(machine: Machine, library: Path, plan: Path, program: Path) -> tuple[str, str]:
    """Run a program of a machine on its plan, as `tau run` would there: output and report."""
    settings = run_launch.settings_text(run_launch.How(plan=load_plan(plan)))
    words = machine.found.words([str(program)], program, str(library))
    # The allocator serves the process with this pid, which the emulator keeps.
    with exchange.opened(settings) as shared:
        start = f'{session.VARIABLE}="{shared.value("$$")}" exec "$@"'
        command = ["sh", "-c", start, "sh", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == END, done.stderr
        return done.stdout, shared.report()


@pytest.mark.parametrize("source", PROGRAMS)
def test_record_import_plan_run(
    machine: Machine, library: Path | None, source: str, tmp_path: Path, cache: Path
) -> None:
    """The recording names the machine and has the sizes that the program itself told."""
    program = machine.build(source)
    done = record(machine, program, tmp_path, cache, "--raw", "-o", "raw.tauraw")
    assert done.returncode == END, done.stderr
    assert tau("import", "raw.tauraw", "-o", "out.tau", cwd=tmp_path).returncode == 0
    with open_trace(tmp_path / "out.tau") as reader:
        header, modules = reader.header, {module for module, _ in reader.sites()}
    events = events_of(tmp_path / "out.tau")
    abi, alignment = ABIS[machine.name]
    assert (header["abi"], header["malloc_alignment"]) == (abi, alignment)
    assert header["build_id"] == build_id(program) != ""
    assert header["emulator"] == machine.found.version
    assert header["program"] == str(program) in modules
    assert header["ended"] == "exit" and header.get("lost") is None
    for line in done.stdout.splitlines():
        size_bytes, count = map(int, line.split())
        made = (events["size_bytes"] == size_bytes) & (events["op"] != trace_format.OP_FREE)
        assert made.sum() >= count > 0, (line, made.sum())
    layout = "32" if alignment == 8 else "host"
    words = ("plan", "out.tau", "-o", "plan.toml", "--layout", layout)
    planned = tau(*words, cwd=tmp_path)
    assert planned.returncode == 0, planned.stderr
    if library is not None:
        output, report = run_planned(machine, library, tmp_path / "plan.toml", program)
        assert output == done.stdout
        lines = dict(line.split(" ", 1) for line in report.splitlines())
        assert int(lines["calls"]) >= len(events) and "ended" in lines
        assert lines["refusals"] == "0"
        # Threads differ from run to run, and aligned objects by the address of the heap.
        assert source != "machines/tree.c" or lines["spilled"] == "0 0", report


def test_sizes_differ_by_machine(cache: Path, tmp_path: Path, arm: Machine) -> None:
    """Five pointers and a time_t of a node, two pointers of a message have 4 bytes each there."""
    done = record(arm, arm.build("machines/tree.c"), tmp_path, cache, "-o", "out.tau")
    here = tmp_path / "tree"
    source = machines.PROGRAMS / "machines" / "tree.c"
    subprocess.run(["gcc", "-O1", "-w", "-o", here, source], check=True, timeout=300)
    own = subprocess.run([here], capture_output=True, text=True).stdout
    assert [int(line.split()[0]) for line in own.splitlines()] == [64, 24]
    assert [int(line.split()[0]) for line in done.stdout.splitlines()] == [40, 16]


def test_forked_children_are_recorded(machine: Machine, tmp_path: Path, cache: Path) -> None:
    """Each has a recording of its own, although the emulator wipes no page for it."""
    program = machine.build("forks.c")
    done = record(machine, program, tmp_path, cache, "--json", "-o", "out.tau")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    traces = [document["trace"], *document["others"]]
    assert len(traces) == 21  # The program and 20 forks; what those execute is named.
    assert [trace["damaged_chunks"] for trace in traces] == [0] * 21
    assert len({trace["pid"] for trace in traces}) == 21
    reasons = {one["reason"] for one in document["not_recorded"]}
    assert len(document["not_recorded"]) == 10 and len(reasons) == 1
    assert "its exec failed" in reasons.pop()


def test_a_child_of_the_host_is_named(arm: Machine, tmp_path: Path, cache: Path) -> None:
    """What the program starts by exec is a program of this machine: run, and not recorded."""
    source = tmp_path / "starts.c"
    text = 'int main(void) { execl("/bin/echo", "echo", "hi", NULL); }'
    source.write_text(f"#include <unistd.h>\n{text}\n")
    program = tmp_path / "starts"
    subprocess.run([arm.compiler("starts.c"), "-w", source, "-o", program], check=True)
    done = record(arm, program, tmp_path, cache, "-o", "out.tau")
    assert (done.returncode, done.stdout) == (0, "hi\n"), done.stderr
    assert "not recorded: echo (pid" in done.stderr and "started by exec" in done.stderr
    assert "ld.so" not in done.stderr  # It was not told to load the recorder.


@pytest.mark.parametrize(("how", "status"), [("segv", 139), ("kill", 137), ("_exit", 41)])
def test_ends_are_passed_on(
    arm: Machine, tmp_path: Path, cache: Path, how: str, status: int
) -> None:
    """A signal of the program is the emulator's own end, and so the command's."""
    program = arm.build("ends.c")
    words = ("record", "--target", "armhf", "-o", "out.tau", "--", program, how)
    done = tau(*words, cwd=tmp_path, XDG_CACHE_HOME=str(cache))
    assert done.returncode == status, done.stderr
    assert (events_of(tmp_path / "out.tau")["size_bytes"] == 33).sum() == 5000


def test_the_32_bit_recorder_of_this_machine(tmp_path: Path) -> None:
    """i386 is not emulated, but its recorder is right: this kernel runs it."""
    headers = ("-isystem", "/usr/include", "-isystem", "/usr/include/x86_64-linux-gnu")
    flags = (machines.ROOT / "linux/recorder/flags.txt").read_text().split()
    folders = [machines.ROOT / folder for folder in emulation.SOURCES]
    sources = sorted(path for folder in folders for path in folder.glob("*.c"))
    made, program = tmp_path / "record.so", tmp_path / "tree"
    command = ["gcc-12", "-m32", *headers, *flags, "-w", "-fPIC", "-shared", f"-I{machines.ROOT}"]
    subprocess.run([*command, *map(str, sources), "-o", made], check=True, timeout=300)
    source = machines.PROGRAMS / "machines" / "router.c"
    command = ["gcc-12", "-m32", *headers, "-w", source, "-pthread", "-o", program]
    subprocess.run(command, check=True, timeout=300)
    value = session.recorder_value(tmp_path, 0, 0, 0, 0)
    variables = {"LD_PRELOAD": str(made), session.VARIABLE: value}
    done = subprocess.run([program], capture_output=True, text=True, env=os.environ | variables)
    assert done.returncode == END, done.stderr
    (raw,) = tmp_path.glob("*.tauraw")
    header = merge.read_raw_header(raw)
    assert (header.abi, header.page.malloc_alignment, header.build_id) == (
        "i386",
        16,
        build_id(program),
    )
    merged = merge.merge_raw(raw, tmp_path / "out.tau")
    assert merged.events > 2000 and merged.implied_frees == merged.damaged_chunks == 0


def test_a_program_of_musl(tmp_path: Path) -> None:
    """The same recorder serves the C library musl, with threads and forks."""
    source = machines.PROGRAMS / "machines" / "router.c"
    subprocess.run(["musl-gcc", "-O1", "-w", source, "-o", tmp_path / "router"], check=True)
    done = tau("record", "--json", "-o", "out.tau", "--", "./router", cwd=tmp_path)
    assert done.returncode == END, done.stderr
    trace = json.loads(done.stdout)["trace"]
    assert trace["events"] > 2000 and trace["threads"] == 4
    assert trace["implied_frees"] == trace["unknown_count"] == trace["damaged_chunks"] == 0


# ---- Programs that cannot be recorded so


def refused(done: subprocess.CompletedProcess[str], *said: str) -> None:
    """The command recorded nothing, and says why and what to do."""
    assert done.returncode == 125, (done.returncode, done.stderr)
    for words in (*said, "next: "):
        assert words in done.stderr, done.stderr


def test_another_machine_needs_its_name(arm: Machine, tmp_path: Path, cache: Path) -> None:
    """Without --target the message names it; with another one too."""
    program = arm.build("machines/tree.c")
    done = tau("record", "--", program, cwd=tmp_path)
    refused(done, "32-bit program for ARM", f"tau record --target armhf -- {program}")
    done = tau("record", "--target", "arm64", "--", program, cwd=tmp_path)
    refused(done, "not for arm64", "--target armhf")
    refused(tau("record", "--target", "armhf", "--", "ls", cwd=tmp_path), "leave --target out")
    done = tau("record", "--target", "armhf", "--accesses", "--", program, cwd=tmp_path)
    assert done.returncode == 2 and "--accesses" in done.stderr


@pytest.mark.parametrize("name", emulation.NOT_SERVED)
def test_a_machine_that_is_not_served(name: str, tmp_path: Path) -> None:
    """i386 and riscv32: why not, and the alternative."""
    refused(tau("record", "--target", name, "--", "ls", cwd=tmp_path), "--target armhf")


def test_missing_packages_are_named(arm: Machine, tmp_path: Path) -> None:
    """One command installs emulator, compiler and C library."""
    program = arm.build("machines/tree.c")
    words = ("record", "--target", "armhf", "--", program)
    install = "apt install qemu-user gcc-arm-linux-gnueabihf libc6-dev-armhf-cross"
    done = tau(*words, cwd=tmp_path, PATH=str(tmp_path))
    refused(done, "emulator qemu-arm, the compiler arm-linux-gnueabihf-gcc", install)
    done = tau(*words, cwd=tmp_path, QEMU_LD_PREFIX=str(tmp_path / "none"))
    refused(done, "the C library in", "QEMU_LD_PREFIX")


def test_programs_that_the_emulator_cannot_serve(arm: Machine, tmp_path: Path, cache: Path) -> None:
    """Static, of another C library, without one of its libraries, or a script."""
    static = arm.build("machines/tree.c", "-static", made="static")
    refused(record(arm, static, tmp_path, cache), "statically linked")
    other = arm.build("machines/tree.c", "-Wl,--dynamic-linker=/lib/ld-other.so.1", made="other")
    refused(record(arm, other, tmp_path, cache), "/lib/ld-other.so.1", "QEMU_LD_PREFIX")
    part = tmp_path / "libpart.so"
    source = machines.PROGRAMS / "plugin.c"
    subprocess.run([arm.compiler(source.name), "-shared", "-w", source, "-o", part], check=True)
    needs = arm.build("machines/tree.c", "-Wl,--no-as-needed", str(part), made="needs")
    part.unlink()
    refused(record(arm, needs, tmp_path, cache), "left no recording", "QEMU_LD_PREFIX")
    script = tmp_path / "script"
    script.write_text(f"#!{arm.build('machines/tree.c')}\n")
    script.chmod(0o755)
    refused(record(arm, script, tmp_path, cache), "is a script", "name its interpreter")


def test_an_unknown_instruction_is_told_apart(arm: Machine, tmp_path: Path, cache: Path) -> None:
    """SIGILL may be the emulator's: said, and the trace is kept."""
    source = tmp_path / "trap.c"
    source.write_text("#include <stdlib.h>\nint main(void) { malloc(5); __builtin_trap(); }\n")
    program = tmp_path / "trap"
    subprocess.run([arm.compiler("trap.c"), "-O0", source, "-o", program], check=True)
    done = record(arm, program, tmp_path, cache, "-o", "out.tau")
    assert done.returncode == 132 and "SIGILL may come from the emulator" in done.stderr
    assert (tmp_path / "out.tau").exists()
