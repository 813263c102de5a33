"""What a user would try before paging cold code, on the same kernel: modules, dead-code elimination
alone [P3-12], compressed RAM, and cold pages that are executed in place from flash.

Each kernel is built and booted to the end of our first program. RAM is the size of the kernel's
static code and data, frames and stores included. It takes hours.
"""

import shutil
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tautochrone.coldcode.fragment import PAGE_BYTES, Fragment, read_fragment
from tautochrone.coldcode.kernel import read_kernel
from tautochrone.coldcode.linux import build_cache, source
from tautochrone.coldcode.linux.build import (
    IMAGE,
    PREFIX,
    Built,
    Make,
    Wish,
    build,
    compiler_tools,
    configurations_folder,
)
from tautochrone.coldcode.linux.initramfs import initramfs
from tautochrone.coldcode.linux.qemu import NANOSECONDS_PER_INSTRUCTION, Boot, boot
from tautochrone.coldcode.linux.root import Root
from tautochrone.coldcode.linux.run import How, placed, run
from tautochrone.coldcode.recording import CodeRecording, load

CONFIGURATION = "smallest"
THRESHOLD, FRAMES, POLICY = 0.999, 16, "round-robin"
PAGE_MICROSECONDS = (442, 40)  # the paper's two flashes [P3-21]
LINE_BYTES = 64
SECONDS_MAX = 3 * 3600.0
KIB = 1024
COLD_CODE = "CONFIG_COLD_CODE=y"
MODULES = ("CONFIG_MODULES=y", "CONFIG_MODULE_UNLOAD=y")
# Sections of a module in RAM. Sections that are freed after loading do not count.
IN_RAM, FREED = 0x2, (".init", ".exit", ".modinfo", "__versions", ".note")


# ---- Kernels without the pager -------------------------------------------------------------------


@dataclass(frozen=True)
class Kernel:
    """A kernel's folder of objects, and the sizes that it has in RAM."""

    folder: Path
    text_bytes: int
    static_bytes: int
    memory_total_bytes: int

    def document(self) -> dict[str, int]:
        """For JSON."""
        return {name: value for name, value in asdict(self).items() if name != "folder"}


def options_of(configuration: str) -> list[str]:
    """The options of a configuration and those needed to boot, without the pager."""
    lines: list[str] = []
    for name in (configuration, "required"):
        lines += (configurations_folder() / f"{name}.config").read_text().splitlines()
    return [line for line in lines if line.startswith("CONFIG_") and line != COLD_CODE]


def configured(folder: Path, make: Make, options: list[str]) -> set[str]:
    """What Kconfig makes of options."""
    wished = folder / "wished.config"
    wished.write_text("\n".join(options) + "\n")
    make.run(folder, "allnoconfig", KCONFIG_ALLCONFIG=str(wished))
    return set((folder / ".config").read_text().splitlines())


def kernel_of(options: list[str]) -> Kernel:
    """The kernel with these options, and its modules. It is kept as other builds are."""
    tools = compiler_tools()
    tree = source.prepared(source.ARCHIVE)

    def compile_all(folder: Path) -> None:
        make = Make(tree, tools, SECONDS_MAX)
        missing = set(options) - configured(folder, make, options)
        if missing:
            raise RuntimeError(f"Kconfig refuses {sorted(missing)}")
        words = ["vmlinux", "Image", *(["modules"] if MODULES[0] in options else [])]
        make.run(folder, *words)
        (folder / "Image").write_bytes((folder / IMAGE).read_bytes())

    mark = build_cache.hash_of([*options, *tools.values()])
    return measured(build_cache.folder(tree, "baseline", mark, compile_all))


def measured(folder: Path) -> Kernel:
    """The kernel in a folder, booted."""
    places = read_kernel(folder / "vmlinux").places
    at = {name: place.address for name, place in places.items()}
    seen = boot(Built(folder), Boot(first_program()))
    return Kernel(
        folder,
        at["_etext"] - at["_start"],
        at["_end"] - at["_start"] - (at["__init_end"] - at["__init_begin"]),
        seen.number("MemTotal") * KIB,
    )


def first_program() -> Root:
    """Ours."""
    return Root(initramfs(compiler_tools()["compiler"]))


def whole_of(plain: Kernel) -> Kernel:
    """The same objects, of which the linker leaves none of the unused functions and data out."""
    tools = compiler_tools()

    def link(folder: Path) -> None:
        shutil.copytree(plain.folder, folder, symlinks=True, dirs_exist_ok=True)
        linker = folder / "linker"
        linker.write_text(f'#!/bin/sh\nexec {PREFIX}ld "$@" --no-gc-sections\n')
        linker.chmod(0o755)
        (folder / "vmlinux").unlink()
        make = Make(plain.folder.parent, tools, SECONDS_MAX)
        make.run(folder, "vmlinux", "Image", f"LD={linker}")
        (folder / "Image").write_bytes((folder / IMAGE).read_bytes())

    mark = build_cache.hash_of([plain.folder.name])
    return measured(build_cache.folder(plain.folder.parent, "whole", mark, link))


def dead_code(plain: Kernel) -> dict[str, Any]:
    """What the linker leaves out when it may [P3-12]."""
    whole = whole_of(plain)
    return {
        "without": whole.document(),
        "with": plain.document(),
        "out_of_ram_bytes": whole.static_bytes - plain.static_bytes,
        "text_out_of_ram_part": 1 - plain.text_bytes / whole.text_bytes,
    }


# ---- Modules -------------------------------------------------------------------------------------


def module_options(options: list[str]) -> list[str]:
    """OPTIONS, of which those are modules that can be. Kconfig knows: it ignores `m` where only `y`
    is possible."""
    tree = source.prepared(source.ARCHIVE)
    names = [line.removesuffix("=y") for line in options if line.endswith("=y")]

    def ask(folder: Path) -> None:
        make = Make(tree, compiler_tools(), SECONDS_MAX)
        asked = [f"{name}=m" for name in names]
        got = configured(folder, make, [*options, *MODULES, *asked])
        chosen = {name for name in names if f"{name}=m" in got}
        # An option that needs another one built in has its name before its own.
        lost = [name for name in names if not {f"{name}=m", f"{name}=y"} & got]
        chosen = {name for name in chosen if not any(each.startswith(name) for each in lost)}
        found = [f"{name}=m" if name in chosen else f"{name}=y" for name in names]
        (folder / "options").write_text("\n".join(found))

    folder = build_cache.folder(tree, "asked", build_cache.hash_of(options), ask)
    found = (folder / "options").read_text().splitlines()
    return [*found, *(line for line in options if not line.endswith("=y"))]


def module_bytes(path: Path) -> int:
    """The RAM that a loaded module takes: all but the parts that are freed then."""
    from elftools.elf.elffile import ELFFile

    with open(path, "rb") as file:
        return sum(
            section["sh_size"]
            for section in ELFFile(file).iter_sections()
            if section["sh_flags"] & IN_RAM and not section.name.startswith(FREED)
        )


def modules(configuration: str, plain: Kernel) -> dict[str, Any]:
    """All that can be a module is one: with none loaded, and with all loaded."""
    options = options_of(configuration)
    with_modules = module_options(options)
    chosen = [line for line in with_modules if line.endswith("=m")]
    if not chosen:
        return {"options": [], "out_of_ram_bytes": 0, "out_of_ram_all_loaded_bytes": 0}
    kernel = kernel_of([*with_modules, *MODULES])
    files = {path.stem: module_bytes(path) for path in sorted(kernel.folder.rglob("*.ko"))}
    return {
        "options": [line.removesuffix("=m") for line in chosen],
        "modules_bytes": files,
        "kernel": kernel.document(),
        # Its own code, and functions that stay because a module might call them.
        "support_bytes": kernel_of([*options, *MODULES]).static_bytes - plain.static_bytes,
        "out_of_ram_bytes": plain.static_bytes - kernel.static_bytes,
        "out_of_ram_all_loaded_bytes": plain.static_bytes
        - kernel.static_bytes
        - sum(files.values()),
    }


# ---- Paging, and executing in place --------------------------------------------------------------


@dataclass(frozen=True)
class Executed:
    """What the kernel executed of cold code since it had booted, on a plan's pages.

    `line_bytes` is what a cache of instructions reads that forgets all whenever the kernel goes to
    another cold function.
    """

    instructions: int
    bytes: int
    line_bytes: int
    pages: int


def executed_cold(recording: CodeRecording, fragment: Fragment) -> Executed:
    """The cold code that the recording of the planned kernel executed."""
    pages = [page for page in fragment.pages if page]
    starts = np.array([piece.address for page in pages for piece in page], np.uint64)
    sizes = np.array([piece.size_bytes for page in pages for piece in page], np.uint64)
    of_page = np.repeat(np.arange(len(pages)), [len(page) for page in pages])
    order = np.argsort(starts)
    starts, sizes, of_page = starts[order], sizes[order], of_page[order]
    blocks = recording.blocks[recording.blocks["steady"] > 0]
    functions = recording.block_functions[recording.blocks["steady"] > 0]
    place = np.searchsorted(starts, blocks["start"], side="right").astype(np.int64) - 1
    is_cold = (place >= 0) & (blocks["start"] < starts[place] + sizes[place])
    blocks, functions, place = blocks[is_cold], functions[is_cold], place[is_cold]
    touches = recording.touches_count()
    lines: dict[int, set[int]] = {}
    for function, start, size in zip(
        functions.tolist(), blocks["start"].tolist(), blocks["bytes"].tolist(), strict=True
    ):
        found = lines.setdefault(function, set())
        found.update(range(start // LINE_BYTES, (start + size - 1) // LINE_BYTES + 1))
    return Executed(
        int((blocks["steady"] * blocks["instructions"]).sum()),
        int((blocks["steady"] * blocks["bytes"]).sum()),
        sum(int(touches[number]) * len(found) for number, found in lines.items()) * LINE_BYTES,
        len(np.unique(of_page[place])),
    )


def in_place(executed: Executed, paged: dict[str, Any], page_us: int) -> dict[str, Any]:
    """Time of a flash that takes PAGE_US for 4096 bytes, and half of it for 2048: paging reads
    whole pages and has a handler, executing in place reads executed bytes only."""
    handler_us = paged["worst_load_instructions"] * NANOSECONDS_PER_INSTRUCTION / 1000
    byte_us = page_us / PAGE_BYTES
    paging = paged["loads"] * (page_us + handler_us)
    uncached, cached = executed.bytes * byte_us, executed.line_bytes * byte_us
    return {
        "page_microseconds": page_us,
        "paging_microseconds": round(paging),
        "in_place_microseconds": round(uncached),
        "in_place_cached_microseconds": round(cached),
        "is_better_in_place": uncached < paging,
        "is_better_in_place_cached": cached < paging,
        # Pages of which fewer bytes are executed before they leave are better left in flash.
        "break_even_bytes": round((page_us + handler_us) / byte_us),
    }


SHOWN = (
    *("threshold", "policy", "store", "frames", "pages", "pinned_pages", "loads", "evictions"),
    *("text_bytes", "resident_text_bytes", "cache_bytes", "pager_bytes", "static_bytes"),
    *("baseline_static_bytes", "memory_total_bytes", "baseline_memory_total_bytes"),
    *("worst_load_instructions", "page_microseconds", "system_instructions"),
    *("baseline_system_instructions", "outputs_equal"),
)


def paging(configuration: str) -> dict[str, Any]:
    """The pager from flash and from compressed RAM, with one plan; its pages in place."""
    wish = Wish(configuration, seconds_max=SECONDS_MAX)
    how = How(
        THRESHOLD,
        wish,
        frames=FRAMES,
        policy=POLICY,
        seconds_max=SECONDS_MAX,
        is_compared=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder) / "baseline.taucode"
        flash = run(replace(how, recording=recording))
        loaded = load(recording)
        placement = placed(how, build(wish), loaded)
    # A placement that is given, so that nothing is planned again.
    given = replace(how, wish=replace(wish, placement=placement), store="compressed")
    compressed = run(given)
    executed = executed_cold(loaded, read_fragment(placement))
    found = {
        "flash": {name: flash[name] for name in SHOWN},
        "compressed": {name: compressed[name] for name in SHOWN if name != "threshold"},
        "executed_cold": asdict(executed),
        "bytes_executed_per_load": executed.bytes / max(flash["loads"], 1),
        "line_bytes": LINE_BYTES,
        # No frames, and no handler; page tables stay.
        "in_place_static_bytes": flash["static_bytes"] - flash["cache_bytes"],
        "in_place": [in_place(executed, flash, page_us) for page_us in PAGE_MICROSECONDS],
    }
    for name in ("flash", "compressed"):
        row = found[name]
        row["out_of_ram_bytes"] = row["baseline_static_bytes"] - row["static_bytes"]
    return found


def measure() -> dict[str, Any]:
    """The smallest configuration in all ways."""
    plain = kernel_of(options_of(CONFIGURATION))
    found = {
        "conditions": {"compiler": compiler_tools()["compiler_version"].splitlines()[0]},
        "plain": plain.document(),
        "dead_code_elimination": dead_code(plain),
        "modules": modules(CONFIGURATION, plain),
        "paging": paging(CONFIGURATION),
    }
    return {CONFIGURATION: found}
