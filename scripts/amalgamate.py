"""Make the core's heaps one file: build/tautochrone.c beside its one header, build/tautochrone.h.

A firmware without an MMU copies the two and compiles the .c; what is about pages stays in core/.
The header holds the public headers; the .c holds the private ones and the sources, lower layers
first. Usage: amalgamate.py [FOLDER], FOLDER is build.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PUBLIC_HEADERS = ("config.h", "status.h", "tlsf.h", "budget.h")
SOURCES = ("tlsf", "budget")
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"core/(?P<ours>[^"]+)"|<(?P<standard>[^>]+)>).*$')
DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)", re.M)
# What a source defines for itself at file scope: functions that are not tau_…, and structures.
PRIVATE = re.compile(
    r"^(?:(?:static|[A-Z_]*INLINE)\b[^;=(]*?\b(?!tau_)(\w+)\(|struct (?!tau_)(\w+) \{)", re.M
)


class Amalgamation:
    """Text that grows by files, each taken in once, after what it includes."""

    def __init__(self, core: Path, seen: set[str] | None = None) -> None:
        self.core = core
        self.seen: set[str] = seen if seen is not None else set()
        self.standard: list[str] = []
        self.lines: list[str] = []
        self.private: set[str] = set()

    def take(self, name: str) -> None:
        """Append the header `name`, its includes first; nothing if it is in already."""
        own = self.read(name)
        self.lines += own

    def take_module(self, stem: str) -> None:
        """Append the source `stem`.c with its own headers, `stem`_….h.

        Their private names end with them: the next source may use the same short ones.
        """
        own = self.read(f"{stem}.c", stem)
        text = re.sub(r"__attribute__\(\([^)]*\)\)", "", "\n".join(own))
        names = {found for pair in PRIVATE.findall(text) for found in pair if found}
        renamed = sorted(names & self.private)
        self.private |= names
        self.lines += [f"#define {one} {stem}_{one}" for one in renamed] + own
        self.lines += [f"#undef {one}" for one in [*renamed, *dict.fromkeys(DEFINE.findall(text))]]

    def read(self, name: str, module: str | None = None) -> list[str]:
        """Return the lines of a file not yet taken, with those of its `module`'s headers inside.

        Other headers that it includes are taken.
        """
        if name in self.seen:
            return []
        self.seen.add(name)
        own = ["", f"// ==== core/{name}", ""]
        for line in (self.core / name).read_text().splitlines():
            found = INCLUDE.match(line)
            if found is None:
                own.append(line)
            elif found["ours"] and module and found["ours"].startswith(f"{module}_"):
                own += self.read(found["ours"], module)
            elif found["ours"]:
                self.take(found["ours"])
            elif found["standard"] not in self.seen:
                self.seen.add(found["standard"])
                self.standard.append(line)
        return own

    def text(self, head: str) -> str:
        """Return everything taken, under `head`."""
        return head + "\n".join([*self.standard, *self.lines]).strip("\n") + "\n"


def layers(core: Path, stems: Sequence[str] = SOURCES) -> list[str]:
    """Return the stems of sources of the core, each after those whose headers it includes."""
    order: list[str] = []

    def visit(stem: str) -> None:
        files = [core / f"{stem}.c", core / f"{stem}.h", *core.glob(f"{stem}_*.h")]
        text = "".join(path.read_text() for path in files if path.exists())
        for below in re.findall(r'#include "core/(\w+)\.h"', text):
            if below != stem and below in stems and below not in order:
                visit(below)
        if stem not in order:
            order.append(stem)

    for stem in stems:
        visit(stem)
    return order


def amalgamate(core: Path) -> tuple[str, str]:
    """Return the header's and the source's text."""
    license_lines = (ROOT / "LICENSE").read_text().splitlines()
    head = "".join(f"// {line}".rstrip() + "\n" for line in ["{0}", "", *license_lines]) + "\n"
    header = Amalgamation(core)
    for name in PUBLIC_HEADERS:
        header.take(name)
    source = Amalgamation(core, header.seen)
    for stem in layers(core):
        source.take_module(stem)
    return (
        header.text(head.format("Tautochrone's core in one file: the interface.")),
        source.text(
            head.format("Tautochrone's core in one file: the code.") + '#include "tautochrone.h"\n'
        ),
    )


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in zip(("tautochrone.h", "tautochrone.c"), amalgamate(ROOT / "core")):
        (folder / name).write_text(text)
        print(folder / name)
