"""What the workload executes: one recording for each kind of work, and the sizes of the kernel
[P3-22, P3-24]."""

from typing import Any

from repro.coldcode import kernels, planned, workload
from repro.coldcode.image import packages
from repro.coldcode.kernels import Work
from tautochrone.coldcode.linux.build_cache import file_hash
from tautochrone.coldcode.linux.qemu import NANOSECONDS_PER_INSTRUCTION
from tautochrone.coldcode.linux.run import sizes_of

WORKS = {"programs": kernels.PROGRAMS, "held_out": kernels.HELD_OUT, "system": kernels.SYSTEM}
SECOND = 1e9
TICKS_PER_SECOND = 100  # the unit of /proc/stat, whatever CONFIG_HZ is
COMPRESSED = "\nCONFIG_RISCV_ISA_C=y\n"
SOURCES = {"ffmpeg": "ffmpeg", "libjpeg": "libjpeg-turbo-progs", "openjpeg": "libopenjp2-tools"}


def seconds(instructions: int) -> float:
    """Time of so many instructions, at QEMU's fixed rate."""
    return instructions * NANOSECONDS_PER_INSTRUCTION / SECOND


def row(work: Work) -> dict[str, Any]:
    """What a kind of work executes in the kernel with all code in RAM."""
    run = kernels.run_of(work)
    recording, code = run.recording, planned.code_at(work)
    is_executed = (code.most > 0) & ~code.is_freed
    return {
        "rounds": work.rounds,
        "memory_bytes": work.memory_bytes,
        "system_instructions": run.system_instructions,
        "system_seconds": seconds(run.system_instructions),
        "user_seconds": run.seen.number("user_ticks") / TICKS_PER_SECOND,
        "touches": len(recording.touches),
        "blocks": len(recording.blocks),
        "recording_bytes": recording.path.stat().st_size,
        "executed_functions": int(is_executed.sum()),
        "executed_bytes": int(code.sizes_bytes[is_executed].sum()),
        "results": len(run.seen.results),
    }


def measure() -> dict[str, Any]:
    """All kinds of work, the kernel, and the image."""
    sizes, code = sizes_of(kernels.baseline()), planned.code_at(kernels.PROGRAMS)
    known = packages.versions()
    image = workload.image()
    return {
        "works": {name: row(work) for name, work in WORKS.items()},
        "compressed": COMPRESSED in (kernels.baseline().folder / ".config").read_text(),
        "text_bytes": sizes.text,
        "data_bytes": sizes.static - sizes.text,
        "static_bytes": sizes.static,
        "functions": int((~code.must_stay & ~code.is_freed).sum()),
        "core_bytes": code.core_bytes,
        "image_bytes": image.stat().st_size,
        "image_sha256": file_hash(image),
        "packages": known,
        "packages_count": len(known),
        "versions": {name: known[package]["version"] for name, package in SOURCES.items()},
    }
