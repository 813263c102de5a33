"""Make the core one file: build/tautochrone.c beside its one header, build/tautochrone.h.

A firmware copies the two and compiles the .c. The header holds the public headers; the .c holds the
private ones and the sources, lower layers first. Usage: amalgamate.py [FOLDER], FOLDER is build.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRIVATE_HEADERS = {"bits.h", "check.h", "port.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"core/(?P<ours>[^"]+)"|<(?P<standard>[^>]+)>).*$')
DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)", re.M)
# What a source defines for itself at file scope: functions that are not tau_…, and structures.
PRIVATE = re.compile(
    r"^(?:(?:static|[A-Z_]*INLINE)\b[^;=(]*?\b(?!tau_)(\w+)\(|struct (?!tau_)(\w+) \{)", re.M
)


class Amalgamation:
    """Text that grows by files, each of which is taken in once, after what it includes."""

    def __init__(self, core: Path, seen: set[str] | None = None) -> None:
        self.core = core
        self.seen: set[str] = seen if seen is not None else set()
        self.standard: list[str] = []
        self.lines: list[str] = []
        self.private: set[str] = set()

    def take(self, name: str) -> None:
        """Append the file `name` of the core, its includes first; nothing if it is in already."""
        if name in self.seen:
            return
        self.seen.add(name)
        own: list[str] = []
        for line in (self.core / name).read_text().splitlines():
            found = INCLUDE.match(line)
            if found is None:
                own.append(line)
            elif found["ours"]:
                self.take(found["ours"])
            elif found["standard"] not in self.seen:
                self.seen.add(found["standard"])
                self.standard.append(line)
        self.lines += ["", f"// ==== core/{name}", ""]
        if not name.endswith(".c"):
            self.lines += own
            return
        # A source's own names end with it: the next may use the same short ones.
        text = "\n".join(own)
        names = {found for pair in PRIVATE.findall(text) for found in pair if found}
        renamed = sorted(names & self.private)
        self.private |= names
        self.lines += [f"#define {one} {Path(name).stem}_{one}" for one in renamed] + own
        self.lines += [f"#undef {one}" for one in [*renamed, *dict.fromkeys(DEFINE.findall(text))]]

    def text(self, head: str) -> str:
        """Return everything taken, under `head`."""
        return head + "\n".join([*self.standard, *self.lines]).strip("\n") + "\n"


def layers(core: Path) -> list[str]:
    """Return the core's sources, each after those whose headers it includes."""
    order: list[str] = []

    def visit(stem: str) -> None:
        text = "".join(
            (core / f"{stem}{suffix}").read_text()
            for suffix in (".c", ".h")
            if (core / f"{stem}{suffix}").exists()
        )
        for below in re.findall(r'#include "core/(\w+)\.h"', text):
            if below != stem and (core / f"{below}.c").exists() and f"{below}.c" not in order:
                visit(below)
        if f"{stem}.c" not in order:
            order.append(f"{stem}.c")

    for path in sorted(core.glob("*.c")):
        visit(path.stem)
    return order


def amalgamate(core: Path) -> tuple[str, str]:
    """Return the header's and the source's text."""
    license_lines = (ROOT / "LICENSE").read_text().splitlines()
    head = "".join(f"// {line}".rstrip() + "\n" for line in ["{0}", "", *license_lines]) + "\n"
    header = Amalgamation(core)
    for path in sorted(core.glob("*.h")):
        if path.name not in PRIVATE_HEADERS:
            header.take(path.name)
    source = Amalgamation(core, header.seen)
    for name in layers(core):
        source.take(name)
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
