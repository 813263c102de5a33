"""The programs of the comparison, and the allocators that are preloaded into them."""

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from bench.commands import ROOT, compiled
from tautochrone import native
from tautochrone.record.session import VARIABLE
from tautochrone.replay.systems import process
from tautochrone.run import exchange

HERE = Path(__file__).resolve().parent
INPUTS = tomllib.loads((HERE / "inputs.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Allocator:
    """A name, and the variables that make a program use it."""

    name: str
    variables: dict[str, str]


def allocators() -> list[Allocator]:
    """Those that this machine has; the C library's own is the first, ours the second.

    The C library is preloaded too: a program may be linked with another allocator.
    """
    libraries = {"glibc": "libc.so.6", "ours": str(native.DIRECTORY / "libtau_run.so")}
    libraries |= {each.name: found for each in process.SYSTEMS if (found := each.found())}
    return [Allocator(name, {"LD_PRELOAD": library}) for name, library in libraries.items()]


def planned(shared: exchange.Exchange, command: list[str]) -> list[str]:
    """The command on a plan, as `tau run` starts it: the variable names its pid."""
    library = allocators()[1].variables["LD_PRELOAD"]
    words = f'export {VARIABLE}="{shared.value("$$")}" LD_PRELOAD={library}; exec "$@"'
    return ["sh", "-c", words, "sh", *command]


def programs(folder: Path) -> dict[str, list[str]]:
    """The command of each program; its input is written to `folder`."""
    for name, text in INPUTS["long"].items():
        (folder / name).write_text(text)
    compiled = ["-o", os.devnull]
    return {
        "gcc": ["gcc", "-O2", "-S", f"-I{ROOT}", str(ROOT / "core/tau.c"), *compiled],
        "g++": ["g++", "-std=c++17", "-O2", "-S", str(folder / "x.cpp"), *compiled],
        "python": ["/usr/bin/python3", "-S", str(folder / "x.py")],
        "sqlite": ["sqlite3", ":memory:", f".read {folder / 'x.sql'}"],
        "perl": ["perl", str(folder / "x.pl")],
    }


def built(folder: Path, source: Path, name: str) -> Path:
    """Compile one of our own programs."""
    return compiled(folder / name, source, "-w", "-fno-builtin-malloc")
