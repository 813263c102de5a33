"""Builds allocators, ours and peers from packages, as bare images for RV32IMC and Cortex-M4.

Peers come only as packages: Debian's picolibc and newlib, and crates. An image has the functions of
core/ports/library.h, is linked without a C start-up, and drops every section that nothing reaches.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

from bench import commands
from bench.commands import ROOT
from tautochrone.errors import TauError
from tautochrone.targets.build import TARGETS

OUT = commands.OUT / "images"
PACKAGED = ROOT / "peers" / "packages"

HOST_TARGET = "x86_64-unknown-linux-gnu"
RUST_PACKAGES = "rustc-web cargo-web rust-web-src"


@dataclass(frozen=True)
class Isa:
    """An instruction set with the compiler and flags that build for it."""

    name: str
    title: str
    compiler: str
    flags: tuple[str, ...]
    library_flags: tuple[
        str, ...
    ]  # To link the C library of the package, whose multilib may be another.
    rust_target: str
    package: str


ISAS = {
    "rv32": Isa(
        "rv32",
        "RV32IMC",
        TARGETS["rv32"].compiler,
        TARGETS["rv32"].machine,
        # Debian ships picolibc for rv32imac, not rv32imc; malloc has no atomics, so the code is the
        # same.
        ("-march=rv32imac", "-mabi=ilp32", "--specs=picolibc.specs"),
        "riscv32imc-unknown-none-elf",
        "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf",
    ),
    "m4": Isa(
        "m4",
        "Cortex-M4",
        TARGETS["m4"].compiler,
        (*TARGETS["m4"].machine, "-mfloat-abi=soft"),
        (*TARGETS["m4"].machine, "-mfloat-abi=soft"),
        "thumbv7em-none-eabi",
        "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    ),
}


@dataclass(frozen=True)
class Peer:
    """An allocator from a package, and on which machines it is to be had."""

    title: str
    isas: tuple[str, ...] = ("rv32", "m4")
    kind: str = "rust"  # Or "libc", or "c": a crate's C.
    link_flags: tuple[str, ...] = ()


PEERS = {
    "picolibc": Peer("picolibc 1.8 malloc", ("rv32",), "libc"),
    "newlib": Peer("newlib 3.3 malloc (Lea 2.6.4)", ("m4",), "libc"),
    "newlib-nano": Peer("newlib-nano 3.3 malloc", ("m4",), "libc", ("--specs=nano.specs",)),
    "o1heap": Peer("o1heap 2 (half-fit, crate 0.0.2)", kind="c"),
    "half_fit": Peer("half-fit, geometry of o1heap 3 (ours)", kind="c"),
    "rlsf": Peer("rlsf 0.2.3 (TLSF)"),
    "talc": Peer("talc 5.1.1"),
    "dlmalloc": Peer("dlmalloc 0.2.14 (Lea 2.8), fixed arena"),
    "dlmalloc_growing": Peer("dlmalloc 0.2.14 (Lea 2.8), 64 KiB steps"),
    "linked_list_allocator": Peer("linked_list_allocator 0.10.6"),
    "buddy_system_allocator": Peer("buddy_system_allocator 0.13.0"),
}


class PeerMissing(TauError):
    """A peer that this machine cannot build; the bench goes on without it and says so."""


def run(command: list[str], purpose: str, package: str, **options: Any) -> str:
    """Run a build command.

    Raises PeerMissing with the command's last words if it fails or is not installed.
    """
    if shutil.which(command[0]) is None:
        raise PeerMissing(
            f"{command[0]} is not installed, so {purpose} cannot be built", f"apt install {package}"
        )
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, **options)
    if done.returncode != 0:
        last = "\n".join((done.stderr or done.stdout).strip().splitlines()[-4:])
        raise PeerMissing(
            f"{purpose} did not build: {last}", f"check that these are installed: {package}"
        )
    return str(done.stdout)


def rust_library(name: str, target: str, profile: str = "release") -> Path:
    """The peer's crate as a static library for a Rust target.

    Debian's rustc builds `core` itself, since no registry has it for bare machines.
    """
    library = OUT / f"{name}-{target}-{profile}.a"
    newest = max(path.stat().st_mtime for path in (PACKAGED / "rust_peers").rglob("*.[rt][so]*"))
    if library.exists() and library.stat().st_mtime >= newest:
        return library
    OUT.mkdir(parents=True, exist_ok=True)
    folder = OUT / "rust"
    settings = {"RUSTC": "/usr/bin/rustc", "RUSTC_BOOTSTRAP": "1", "CARGO_TARGET_DIR": str(folder)}
    command = ["/usr/bin/cargo", "build", "--quiet", "--profile", profile, "--features", name]
    command += ["--target", target]
    if target != HOST_TARGET:
        command.append("-Zbuild-std=core,alloc")
    environment = {**os.environ, **settings}
    crates = PACKAGED / "rust_peers"
    run(command, f"crate {name}", RUST_PACKAGES, cwd=crates, env=environment)
    shutil.copy(folder / target / profile / "librust_peers.a", library)
    return library


def link(
    isa: Isa, inputs: list[str], keep: list[str], output: Path, extra: tuple[str, ...] = ()
) -> Path:
    """Link INPUTS into a bare image that keeps the functions KEEP and all that they reach."""
    output.parent.mkdir(parents=True, exist_ok=True)
    undefined = [f"-Wl,-u,{name}" for name in keep]
    script = ["-nostartfiles", "-Wl,--gc-sections", f"-Wl,-e,{keep[0]}"]
    script += ["-T", str(ROOT / "targets" / "sized.ld")]
    command = [isa.compiler, *extra, *script, *undefined, *inputs, "-o", str(output)]
    run(command, output.name, isa.package)
    with output.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        absent = [
            name
            for name in keep
            if not any(s["st_shndx"] != "SHN_UNDEF" for s in table.get_symbol_by_name(name) or [])
        ]
    if absent:
        raise PeerMissing(
            f"{output.name} has no {', '.join(absent)}", "rebuild it after a clean, or report it"
        )
    return output


def compile_c(isa: Isa, source: Path, flags: tuple[str, ...], output: Path) -> Path:
    """Compile one C file for ISA."""
    output.parent.mkdir(parents=True, exist_ok=True)
    options = ["-std=c17", "-ffunction-sections", "-fdata-sections"]
    options += ["-fno-asynchronous-unwind-tables", "-I", str(ROOT)]
    target = isa.library_flags if "-ffreestanding" not in flags else isa.flags
    command = [isa.compiler, *target, *options, *flags, "-c", str(source), "-o", str(output)]
    run(command, source.name, isa.package)
    return output


def peer_on(name: str, isa_name: str) -> tuple[Peer, Isa]:
    """A peer and an instruction set. Raises PeerMissing if no package has one for the other."""
    peer, isa = PEERS[name], ISAS[isa_name]
    if isa_name not in peer.isas:
        raise PeerMissing(f"{peer.title} has no package for {isa.title}")
    return peer, isa


def peer_image(name: str, isa_name: str, profile: str, keep: tuple[str, ...]) -> Path:
    """The linked image of a peer with the functions KEEP.

    PROFILE (crates only): release is opt-level 3, size is opt-level s.
    """
    peer, isa = peer_on(name, isa_name)
    label = f"{name}-{isa_name}-{profile}-{len(keep)}.elf"
    if peer.kind == "rust":
        library = rust_library(name, isa.rust_target, profile)
        # The C library gives memcpy and memset, nothing else.
        return link(isa, [str(library), "-lc"], [*keep], OUT / label, isa.library_flags)
    made = OUT / f"{name}-{isa_name}.o"
    adapter = compile_c(isa, PACKAGED / "c_library.c", ("-O2", "-DWITHOUT_MEMALIGN"), made)
    flags = (*isa.library_flags, *peer.link_flags)
    return link(isa, [str(adapter)], [*keep], OUT / label, flags)


def sizes_of(image: Path) -> tuple[int, int]:
    """(code and constants, writable data) of an image in bytes."""
    with image.open("rb") as stream:
        flash = ram = 0
        for section in ELFFile(stream).iter_sections():
            flags = section["sh_flags"]
            if flags & 0x400:  # Thread-local: no allocator needs it, picolibc's errno lands here.
                continue
            if flags & 0x2 and section["sh_size"]:
                if flags & 0x1:
                    ram += section["sh_size"]
                else:
                    flash += section["sh_size"]
    return flash, ram


def function_sizes(file: Path) -> dict[str, int]:
    """Bytes of each function of an object or image."""
    with file.open("rb") as stream:
        symbols = ELFFile(stream).get_section_by_name(".symtab").iter_symbols()
        return {
            each.name: each["st_size"]
            for each in symbols
            if each["st_info"]["type"] == "STT_FUNC" and each["st_shndx"] != "SHN_UNDEF"
        }
