"""Which flags a user's file may give to the compiler and the linker [SYS-19].

    refusal(["-O3", "-wrapper"])    # (1, "-wrapper is not a flag that …")
    linker_flags(["-O3", "-lown"])  # ["-lown"]

Only listed ones pass: none runs another program, loads a plugin, reads further flags from a file,
or names a file to write.
"""

import re
from collections.abc import Sequence

NEXT_STEP = (
    "use -D, -U, -I, -O, -g, -std=, -x, -f or -m with a name, -W with a warning, -l, -L,"
    " or -Wl, with --defsym, --undefined, --wrap or a switch; see docs/spec/system.md, SYS-19"
)
_LINKED = (
    r"--(?:defsym=|defsym,|undefined=|wrap=)[A-Za-z0-9_.$=+*()-]+"
    r"|--(?:no-)?(?:gc-sections|relax|whole-archive|warn-common|fatal-warnings)"
    r"|--(?:start|end)-group"
)
ALLOWED = re.compile(
    r"-[DUIL].+|-i(?:system|quote|dirafter).+|-l[A-Za-z0-9_.+-]+"
    r"|-O(?:[0-3gsz]|fast)?|-g(?:[0-3]|dwarf(?:-[2-5])?)?|-std=[a-z0-9:+]+"
    r"|-x(?:c|assembler|assembler-with-cpp|none)|-w|-ansi|-pedantic(?:-errors)?"
    # Of -f not what loads code, runs programs or writes files.
    r"|-f(?!plugin|prof|auto-prof|branch-|dump|use-|opt-|lto|ltrans|wpa|save|call|comp|off|diag"
    r"|test-)[A-Za-z0-9_.,+=-]+"
    r"|-m[A-Za-z0-9_.,+=-]+|-W[A-Za-z0-9+=-]*"
    rf"|-Wl(?:,(?:{_LINKED}))+"
)
LINKER_FLAGS = ("-Wl,", "-l", "-L")


def refusal(flags: Sequence[str]) -> tuple[int, str] | None:
    """The first flag that may not pass: its place, and why; None if all may."""
    for place, flag in enumerate(flags):
        if not ALLOWED.fullmatch(flag):
            return place, f"{flag} is not among the flags that a program may be built with"
    return None


def linker_flags(flags: Sequence[str]) -> list[str]:
    """Those that the linker gets, too."""
    return [flag for flag in flags if flag.startswith(LINKER_FLAGS)]
