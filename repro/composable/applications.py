"""The executables of the reproduction, and how they run on the simulated tile."""

import functools
import tempfile
from pathlib import Path

from hw.build import Options
from kernel.systems.jpeg import images
from repro.engine.results import REPOSITORY, results_of
from tautochrone.compose import code
from tautochrone.compose.run import Run, run
from tautochrone.compose.system import Application, Fifo, System, system_file
from testing import tile

RESULTS = results_of("composable")
SYSTEMS = REPOSITORY / "kernel" / "systems"
JPEG = SYSTEMS / "jpeg"
PROGRAMS = RESULTS.home / "programs"
IMAGES = RESULTS.home / "images"
BUILT = RESULTS.out / "built"
PAGE_BYTES = 65536  # the largest page of both workloads: fewer entries
PIPELINE_ADDRESS = 0x80200000
NEIGHBOR_ADDRESS = 0x80300000
NEIGHBOR_STRIDE = 0x100000
NO_CASE = "none"


@functools.cache
def base() -> Path:
    """The base code."""
    BUILT.mkdir(parents=True, exist_ok=True)
    return code.base_code(REPOSITORY, BUILT)


@functools.cache
def kernel(leak: str = NO_CASE) -> Path:
    """The kernel, with a leak built in if asked for."""
    base()
    return code.kernel(REPOSITORY, BUILT, leak)


def image_source(image: Path) -> Path:
    """An image as a C file."""
    base()
    source = BUILT / f"image-{image.stem}.c"
    source.write_text(images.c_source(image.read_bytes()), encoding="utf-8")
    return source


@functools.cache
def decoder(image: str) -> Application:
    """The decoder of three tasks with an image of kernel/systems/jpeg/images."""
    name = f"jpeg-{image}-{PAGE_BYTES}"
    width, height = map(int, image.split("x"))
    flags = [f"-DTAU_JPEG_PIXELS_MAX={width * height}u"]
    sources = [image_source(images.path_of(image)), *sorted(JPEG.rglob("*.c"))]
    made = code.application(REPOSITORY, name, sources, base(), BUILT, flags, PAGE_BYTES)
    fifos = (Fifo("vld", "idct"), Fifo("idct", "cc"))
    return Application("jpeg", made, ("vld", "idct", "cc"), PAGE_BYTES, 16384, fifos)


@functools.cache
def pipeline() -> Application:
    """The synthetic application of five tasks [P2-17]."""
    sources = [PROGRAMS / "pipeline.c", *sorted((SYSTEMS / "pipeline").glob("*.c"))]
    sources = [path for path in sources if path.name != "application.c"]
    name = f"pipeline-{PAGE_BYTES}"
    made = code.application(
        REPOSITORY, name, sources, base(), BUILT, (), PAGE_BYTES, PIPELINE_ADDRESS
    )
    tasks = tuple(f"task{number}" for number in range(1, 6))
    fifos = tuple(Fifo(*pair, page_bytes=1024) for pair in zip(tasks[:-1], tasks[1:], strict=True))
    return Application("pipeline", made, tasks, PAGE_BYTES, PAGE_BYTES, fifos)


@functools.cache
def neighbor(number: int) -> Application:
    """A neighbor that does at random what could disturb others."""
    name = f"neighbor{number}"
    made = code.application(
        REPOSITORY,
        name,
        [SYSTEMS / "neighbors" / "neighbor.c"],
        base(),
        BUILT,
        [f"-DTAU_NEIGHBOR_SEED={number + 5}u"],
        1024,
        NEIGHBOR_ADDRESS + NEIGHBOR_STRIDE * number,
    )
    return Application(name, made, ("main",), 4096, 1024)


def printed(program: Path, options: Options, *words: str) -> str:
    """What a bare program prints. Raises RuntimeError if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        done = tile.run(Path(folder), options, "--program", program, *words)
    if done.code != 0:
        raise RuntimeError(f"{program.name} failed: {done.console}{done.messages}")
    return done.console


def simulated(
    system: System,
    slots: int = 0,
    leak: str = NO_CASE,
    unit_parameters: tuple[str, ...] = (),
    cycles: int = 0,
    is_refusal_allowed: bool = False,
) -> Run:
    """Run SLOTS slots of a system, or CYCLES cycles.

    Raises RuntimeError if it ends before, or an application is refused that may not be.
    """
    content = system_file(system, code.base_bytes(base()), code.base_hash(base()))
    slot_cycles = system.user_slot_cycles + system.os_slot_cycles
    with tempfile.TemporaryDirectory() as folder:
        done = run(
            Path(folder),
            kernel(leak),
            content,
            len(system.slots),
            cycles or system.start_cycle + slots * slot_cycles,
            unit_parameters=unit_parameters,
        )
    if "cycle limit" not in done.messages or ("refused" in done.console and not is_refusal_allowed):
        raise RuntimeError(f"the system did not run: {done.console}{done.messages}")
    return done
