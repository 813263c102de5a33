"""Write the core's heaps into FOLDER, each source as one file.

A firmware without an MMU copies these files and compiles what it needs. Virtual memory stays in
core/.

- tautochrone.h, tautochrone.c: TLSF
- tautochrone_budget.c: also for a plan with pools
- tautochrone_pools.c: also for a plan of `tau plan --guarantee`
- tautochrone_newlib.c: malloc and its family on the heap of heap_plan.h (core/ports/newlib/heap.c)

Each file of the core stands where it is first included, unchanged. A mechanism is a file here as
there: compilers inline less of another file, and the bounds are of such a build.

With --arduino, it packs a library for Arduino of all but the last (docs/ports/libraries.md).
"""

import argparse
import re
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PUBLIC_HEADERS = ("config.h", "status.h", "tlsf.h", "budget.h", "pools.h")
SOURCES = {
    "tautochrone.c": "tlsf.c",
    "tautochrone_budget.c": "budget.c",
    "tautochrone_pools.c": "pools.c",
    "tautochrone_newlib.c": "ports/newlib/heap.c",
}
ARDUINO = ("tautochrone.h", "tautochrone.c", "tautochrone_budget.c", "tautochrone_pools.c")
PROPERTIES = """name=Tautochrone
version={version}
author=The Tautochrone founders
maintainer=The Tautochrone founders
sentence=Heaps whose malloc and free have bounds, sized from a recording.
paragraph=TLSF, and pools of exact sizes in front of it, in the memory of a plan.
category=Data Storage
url=
architectures=esp32,mbed_nano,mbed_portenta,mbed_rp2040,nrf52,renesas_uno,rp2040,sam,samd,stm32
includes=tautochrone.h
"""
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"core/(?P<ours>[^"]+)"|<(?P<standard>[^>]+)>).*$')


class Amalgamation:
    """Files of the core one after the other, each once, after the files that it includes."""

    def __init__(self, core: Path, seen: set[str] | None = None) -> None:
        """Leaves out the files in SEEN: another amalgamation, which comes first, has them."""
        self.core = core
        self.seen: set[str] = seen if seen is not None else set()
        self.standard: list[str] = []
        self.lines: list[str] = []

    def take(self, name: str) -> None:
        """Append the file `name`, its includes first; nothing if it is in already."""
        if name in self.seen:
            return
        self.seen.add(name)
        own = ["", f"// ==== core/{name}", ""]
        for line in (self.core / name).read_text().splitlines():
            found = INCLUDE.match(line)
            if found is None:
                own.append(line)
            elif found["ours"]:
                self.take(found["ours"])
            elif found["standard"] not in self.seen:
                self.seen.add(found["standard"])
                self.standard.append(line)
        self.lines += own

    def text(self, head: str) -> str:
        """Return everything taken, under `head`."""
        return head + "\n".join([*self.standard, *self.lines]).strip("\n") + "\n"


def amalgamate(core: Path) -> dict[str, str]:
    """Return the text of each file by its name."""
    license_lines = (ROOT / "LICENSE").read_text().splitlines()
    head = "".join(f"// {line}".rstrip() + "\n" for line in ["{0}", "", *license_lines]) + "\n"
    header = Amalgamation(core)
    for name in PUBLIC_HEADERS:
        header.take(name)
    files = {"tautochrone.h": header.text(head.format("Tautochrone's heaps: the interface."))}
    for made, name in SOURCES.items():
        source = Amalgamation(core, set(header.seen))
        source.take(name)
        text = head.format("Tautochrone's heaps: the code.") + '#include "tautochrone.h"\n'
        files[made] = source.text(text)
    return files


def arduino_library(path: Path) -> None:
    """Write a ZIP file that Arduino installs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    files = amalgamate(ROOT / "core")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        properties = PROPERTIES.format(version=project["version"])
        archive.writestr("Tautochrone/library.properties", properties)
        archive.write(ROOT / "LICENSE", "Tautochrone/LICENSE")
        for name in ARDUINO:
            archive.writestr(f"Tautochrone/src/{name}", files[name])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", type=Path, nargs="?", default=ROOT / "build", help="default: build"
    )
    parser.add_argument("--arduino", type=Path, metavar="ZIP", help="write this library instead")
    asked = parser.parse_args()
    folder = asked.folder
    if asked.arduino is not None:
        arduino_library(asked.arduino)
        print(asked.arduino)
        raise SystemExit(0)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in amalgamate(ROOT / "core").items():
        (folder / name).write_text(text)
        print(folder / name)
