"""How a firmware builds the core: what changes a heap's bytes, or the bound of a call.

The default is what firmware builds: the core's own check level, and -Os. `tau plan --build FILE`
reads another one from TOML:

    check_level = 0
    optimize = "-O2"
    flags = ["-fno-inline"]
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tautochrone.errors import TauError
from tautochrone.facts import plan_format
from tautochrone.files import input_file, schema, toml_file

FACTS = plan_format.SECTIONS["build"]
TARGETS = ("m4", "rv32")  # of a firmware: names of targets/
FILE_BYTES_MAX = 65536
EXAMPLE = 'write check_level = 1, optimize = "-Os", flags = []'
BUILT_FOR = {"-Os": "size", "-Oz": "size", "-O0": "nothing"}
FILE_KEYS = ("check_level", "optimize", "flags")


@dataclass(frozen=True)
class Build:
    """The options of one build of the core.

    `check_level` changes control bytes and bounds. `optimize` and `flags`, of the compiler, change
    bounds only.
    """

    check_level: int = 1
    optimize: str = "-Os"
    flags: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """In names of macros and in messages: `Os-check1`; more flags are not in it."""
        return f"{self.optimize[1:]}-check{self.check_level}"

    @property
    def built_for(self) -> str:
        """TAU_BUILT_FOR of core/config.h."""
        return BUILT_FOR.get(self.optimize, "speed")

    def symbol(self, word_bits: int) -> str:
        """TAU_TLSF_BUILT of core/config.h: the constant that only a core of this build has."""
        return f"tau_tlsf_built_word{word_bits}_check{self.check_level}_fill0_{self.built_for}"

    @property
    def cflags(self) -> tuple[str, ...]:
        """Flags of the compiler in addition to the optimization."""
        return (f"-DTAU_CHECK_LEVEL={self.check_level}", *self.flags)

    def told(self) -> str:
        """The build in words."""
        more = f", {' '.join(self.flags)}" if self.flags else ""
        return f"check level {self.check_level}, {self.optimize}{more}"


# Bounds are compared with other allocators, and stated in SPEC, for this one.
FASTEST = Build(0, "-O2")


def of_table(table: dict[str, Any]) -> Build:
    """The build of a table that the schema has checked; a key that is not there has its default."""
    given = {key: table[key] for key in FILE_KEYS if key in table}
    if "flags" in given:
        given["flags"] = tuple(given["flags"])
    return Build(**given)


def load(path: Path) -> Build:
    """Read a build's file. Raises TauError with the key and the next step."""
    data = input_file.read(path, "build", FILE_BYTES_MAX, EXAMPLE)
    if len(data) > FILE_BYTES_MAX:
        raise TauError(f"{path}: not a build: larger than {FILE_BYTES_MAX} bytes", EXAMPLE)
    try:
        _, document = toml_file.parsed(data)
    except ValueError as error:
        raise TauError(f"{path}: not a build: {error}", EXAMPLE) from error
    optional = {key: FACTS[key] | {"optional": True} for key in FILE_KEYS}
    return of_table(schema.Reader(str(path), EXAMPLE).table("", document, optional))
