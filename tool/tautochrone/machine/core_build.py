"""How a firmware builds the core: what changes a heap's bytes, or the bound of a call.

The default is what firmware builds: the core's own check level, and -Os. `tau plan --build FILE`
reads another one from TOML:

    check_level = 0
    optimize = "-O2"
    flags = ["-fno-inline"]
    alignment_bytes = 4
    statistics = false
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tautochrone.errors import EXIT_USAGE, TauError
from tautochrone.facts import plan_format
from tautochrone.files import input_file, schema, toml_file

FACTS = plan_format.SECTIONS["build"]
TARGETS = ("m4", "rv32")  # of a firmware: names of targets/
FILE_BYTES_MAX = 65536
EXAMPLE = (
    'write a line for each key that is not the default, such as check_level = 0, optimize = "-O2",'
    ' flags = ["-fno-inline"], alignment_bytes = 4, statistics = false'
)
BUILT_FOR = {"-Os": "size", "-Oz": "size", "-O0": "nothing"}
FILE_KEYS = ("check_level", "optimize", "flags", "alignment_bytes", "statistics")
ALIGNMENT_BYTES = {"32": 8, "host": 16}  # TAU_ALIGNMENT of core/config.h in each layout, by default
BUCKET_MIN_BYTES = 8  # of 32-bit words: two words


@dataclass(frozen=True)
class Build:
    """The options of one build of the core.

    `check_level` changes control bytes and bounds. `optimize` and `flags`, of the compiler, change
    bounds only. `alignment_bytes` is TAU_ALIGNMENT where it is not the layout's default: 4, of
    32-bit words. `statistics` is TAU_STATISTICS, which changes bounds only.
    """

    check_level: int = 1
    optimize: str = "-Os"
    flags: tuple[str, ...] = ()
    alignment_bytes: int | None = None
    statistics: bool = True

    @property
    def name(self) -> str:
        """In names of macros and in messages: `Os-check1`; more flags are not in it."""
        aligned = f"-align{self.alignment_bytes}" if self.alignment_bytes else ""
        counted = "" if self.statistics else "-uncounted"
        return f"{self.optimize[1:]}-check{self.check_level}{aligned}{counted}"

    def alignment_in(self, layout: str) -> int:
        """TAU_ALIGNMENT. Raises TauError (usage) if the layout has no such alignment."""
        if self.alignment_bytes and layout != "32":
            raise TauError(
                f"a heap of 64-bit words has an alignment of {ALIGNMENT_BYTES[layout]} bytes, not"
                f" {self.alignment_bytes}",
                "leave the alignment out, or plan for a 32-bit target with --layout 32",
                EXIT_USAGE,
            )
        return self.alignment_bytes or ALIGNMENT_BYTES[layout]

    @property
    def built_for(self) -> str:
        """TAU_BUILT_FOR of core/config.h."""
        counted = "" if self.statistics else "_uncounted"
        return f"{BUILT_FOR.get(self.optimize, 'speed')}{counted}"

    def symbol(self, word_bits: int) -> str:
        """TAU_TLSF_BUILT of core/config.h: the constant that only a core of this build has."""
        words = f"{word_bits}_align{self.alignment_bytes}" if self.alignment_bytes else word_bits
        return f"tau_tlsf_built_word{words}_check{self.check_level}_fill0_{self.built_for}"

    @property
    def cflags(self) -> tuple[str, ...]:
        """Flags of the compiler in addition to the optimization."""
        aligned = (f"-DTAU_ALIGNMENT={self.alignment_bytes}", "-DTAU_ALIGNMENT_BELOW_MAX=1")
        more = aligned if self.alignment_bytes else ()
        more += () if self.statistics else ("-DTAU_STATISTICS=0",)
        return (f"-DTAU_CHECK_LEVEL={self.check_level}", *more, *self.flags)

    def told(self) -> str:
        """The build in words."""
        more = f", {' '.join(self.flags)}" if self.flags else ""
        aligned = f", alignment {self.alignment_bytes}" if self.alignment_bytes else ""
        counted = "" if self.statistics else ", no statistics"
        return f"check level {self.check_level}, {self.optimize}{aligned}{counted}{more}"


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
