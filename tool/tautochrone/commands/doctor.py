"""`tau doctor`: checks what works on this machine, and prints how to repair what does not."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import click

from tautochrone import native
from tautochrone.commands.options import JSON
from tautochrone.console import bars, output
from tautochrone.errors import EXIT_DONE, EXIT_FAILED, TauError
from tautochrone.installation import needed, pip_install
from tautochrone.targets import limited
from tautochrone.targets.build import TARGETS

DISK_FREE_MIN_BYTES = 1 << 30
STEP_SECONDS_MAX = 60
LIBRARIES = ("libtautochrone.so", "libtau_core32.so", "libtau_core64.so")
COMPILERS = {recipe.compiler: recipe.package for recipe in TARGETS.values()}


@dataclass(frozen=True)
class Finding:
    """The result of one check. `is_main`: recording, planning and replay need it."""

    name: str
    works: bool
    detail: str
    needed_for: str
    is_main: bool = False
    next_step: str | None = None


def tried(
    name: str,
    needed_for: str,
    look: Callable[[], str],
    next_step: str | None = None,
    is_main: bool = False,
) -> Finding:
    """The finding of LOOK, which returns a detail or fails; NEXT_STEP if its error names none."""
    try:
        with needed():
            return Finding(name, True, look(), needed_for, is_main)
    except (TauError, OSError) as error:
        step = getattr(error, "next_step", None) or next_step
        return Finding(name, False, str(error), needed_for, is_main, step)


def libraries() -> Finding:
    """Load the package's native libraries."""

    def look() -> str:
        for name in LIBRARIES:
            native.library(name)
        return ", ".join(LIBRARIES)

    step = "reinstall with `pipx install .`"
    return tried("native libraries", "all commands", look, step, is_main=True)


def main_job() -> Finding:
    """Record a small program, plan it and replay the plan, each through the command line."""
    name, use = "record, plan, replay", "the main job"
    with tempfile.TemporaryDirectory() as folder:
        trace, plan = Path(folder) / "doctor.tau", Path(folder) / "plan.toml"
        steps = (
            ["record", "-o", str(trace), "--", shutil.which("ls") or "ls", folder],
            ["plan", str(trace), "-o", str(plan)],
            ["replay", str(trace), "--on", "tlsf,budget", "--plan", str(plan)],
        )
        for step in steps:
            command = [sys.executable, "-m", "tautochrone", *step]
            try:
                done = limited.run(command, STEP_SECONDS_MAX, Path(folder))
            except subprocess.TimeoutExpired:
                cause = f"tau {step[0]} took over {STEP_SECONDS_MAX} s"
                return Finding(name, False, cause, use, True, "run it to see where it hangs")
            if done.returncode:
                cause = f"tau {step[0]} failed with {done.returncode}: {_message(done.stderr)}"
                return Finding(name, False, cause, use, True, _next_step(done.stderr))
    return Finding(name, True, "recorded, planned and replayed `ls`", use, True)


def _message(stderr: str) -> str:
    """Return the line of `stderr` that names the cause, else the last line."""
    lines = stderr.strip().splitlines()
    why = [line for line in lines if line.startswith(("tau:", "Error:"))]
    return (why or lines or ["no message"])[-1]


def _next_step(stderr: str) -> str:
    """Return the next step that a failed command names, or where to look for one."""
    steps = re.findall(r"^  next: (.+)$", stderr, re.MULTILINE)
    return steps[-1] if steps else "tau record --help"


def compilers() -> list[Finding]:
    """Check whether the cross compilers are installed."""
    use = "instruction counts (replay --instructions)"
    return [program((name,), use, package) for name, package in COMPILERS.items()]


def module(name: str, needed_for: str) -> Finding:
    """Check whether a Python package is installed, without loading it."""
    found = importlib.util.find_spec(name) is not None
    detail = "installed" if found else "not installed"
    return Finding(name, found, detail, needed_for, next_step=None if found else pip_install(name))


def program(names: tuple[str, ...], needed_for: str, package: str) -> Finding:
    """Check whether one of several programs is on the PATH."""
    path = next((found for name in names if (found := shutil.which(name))), None)
    step = None if path else f"apt install {package}"
    return Finding(names[0], path is not None, path or "not installed", needed_for, next_step=step)


def access_recorder() -> Finding:
    """Build the recorder of accesses if all that it is built with is installed."""
    from tautochrone.record import accesses as access

    def look() -> str:
        version = access.find_package().version
        access.build()
        return f"built against {version}"

    return tried("recorder of accesses", "record --accesses", look)


def emulations() -> list[Finding]:
    """Check the recorders of other machines' programs; nothing is built."""
    from tautochrone.record import emulation

    def look(name: str) -> str:
        found = emulation.find(name)
        return f"{found.emulator}, {found.compiler}, {found.sysroot}"

    return [
        tried(
            f"recorder for {name}", f"record --target {name}", partial(look, name), target.install
        )
        for name, target in emulation.TARGETS.items()
    ]


def systems(build: bool = False) -> list[Finding]:
    """Check the systems that need a package or a simulator; with `build`, build simulators."""
    from tautochrone.replay.systems import systems

    findings = []
    for name, system in systems().items():
        state = system.state(build)
        if state is not None:
            use = f"replay --on {name}"
            found = Finding(name, state.works, state.detail, use, next_step=state.next_step)
            findings.append(found)
    return findings


def composable(build: bool = False) -> Finding:
    """Link the kernel of composable systems; with `build`, build the simulator."""

    def look() -> str:
        from tautochrone.compose import code, making
        from tautochrone.compose.run import simulator_of

        with tempfile.TemporaryDirectory() as folder:
            code.kernel(making.root(), Path(folder))
        if build:
            simulator_of()
        return "the kernel links"

    return tried("composable systems", "compose", look)


def cold_code() -> list[Finding]:
    """Check the tools that build and boot a kernel with cold code; nothing is built."""
    from tautochrone.coldcode import profile
    from tautochrone.coldcode.linux import build, qemu, source

    def compiler() -> str:
        found = build.compiler_tools()["compiler"]
        missing = [tool for tool in build.BUILD_TOOLS if shutil.which(tool) is None]
        if missing:
            raise TauError(f"not installed: {', '.join(missing)}", build.PACKAGES)
        return found

    def archive() -> str:
        if not source.ARCHIVE.is_file():
            raise TauError(f"{source.ARCHIVE} is missing", source.PACKAGE)
        return str(source.ARCHIVE)

    use = "coldcode build and run"
    return [
        program((qemu.EMULATOR,), "coldcode profile and run", profile.QEMU_DEBIAN),
        tried("riscv64 Linux compiler", use, compiler),
        tried("kernel source", use, archive),
    ]


def disk() -> Finding:
    """Check the free space for traces in the current folder."""
    free = shutil.disk_usage(".").free
    works = free >= DISK_FREE_MIN_BYTES
    step = None if works else "record to another disk with -o"
    return Finding("disk", works, f"{free / 2**30:.1f} GiB free here", "traces", next_step=step)


def examine(build: bool = False) -> list[Finding]:
    """Run every check; with `build`, build the missing simulators of the tile."""
    looks: list[Callable[[], Finding | list[Finding]]] = [
        libraries,
        main_job,
        compilers,
        lambda: module("capstone", "bounds of calls"),
        lambda: module("unicorn", "instruction counts"),
        access_recorder,
        emulations,
        lambda: systems(build),
        lambda: composable(build),
        cold_code,
        lambda: program(("qemu-system-arm",), "firmware without a board", "qemu-system-arm"),
        lambda: program(
            ("chromium", "chromium-browser", "google-chrome"), "report --picture", "chromium"
        ),
        lambda: program(("heaptrack",), "recordings to import", "heaptrack"),
        lambda: module("pyarrow", "export to Parquet"),
        lambda: module("pandas", "tautochrone.api"),
        disk,
    ]
    findings: list[Finding] = []
    for look in bars.progress(looks, "looking", len(looks)):
        try:
            found = look()
        except ModuleNotFoundError as error:  # of a package that every installation should have
            found = module(str(error.name).partition(".")[0], "most commands")
        rows = found if isinstance(found, list) else [found]
        findings += [each for each in rows if each not in findings]
    return findings


@click.command()
@click.option(
    "--build",
    is_flag=True,
    help="Build the tile's missing simulators, half a minute each (default: only report them).",
)
@JSON
def command(build: bool, as_json: bool) -> int:
    """Check which parts work on this machine; print how to repair the others.

    Exit status: 0 if a program can be recorded, planned and replayed here, else 1.
    """
    findings = examine(build)
    works = all(finding.works for finding in findings if finding.is_main)

    def human() -> None:
        for one in findings:
            color = "green" if one.works else "red" if one.is_main else "yellow"
            with output.style(sys.stdout, fg=color):
                print("yes" if one.works else " no", end="")
            print(f"  {one.name:24} {one.detail}")
            if one.next_step:
                print(f"     {'':24} for {one.needed_for}: {one.next_step}")
        can = "can" if works else "cannot"
        print(f"Programs {can} be recorded, planned and replayed here.")

    result = {"main_job_works": works, "findings": [asdict(one) for one in findings]}
    output.emit(as_json, "doctor", result, human)
    return EXIT_DONE if works else EXIT_FAILED
