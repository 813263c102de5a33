"""PlatformIO, Arduino and ESP-IDF: what docs/ports/libraries.md describes is complete.

Method: no package has their toolchains. The files that each packs are compiled, linked and run on a
Cortex-M4 in QEMU, with the page's own sources. The manifests have the keys that their documentation
asks for, and equal lists and versions.
"""

import json
import re
import shutil
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from amalgamate import ARDUINO, SOURCES
from tests.pages import Page, read, shown

from tautochrone.plan.file import Plan, PlanClass
from tautochrone.plan.header import save_header

from testing import firmware
from testing.firmware import ROOT, run

PAGE = "docs/ports/libraries.md"
CLASSES = (PlanClass(24, 64), PlanClass(128, 16))
PLAN = Plan(CLASSES, 65_536, "replayed", 0.0, margin=0.0, layout="32")
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
HEAPS = [f"core/{name}" for made, name in SOURCES.items() if made in ARDUINO]
PLATFORMIO = json.loads((ROOT / "library.json").read_text())
# A program that ends with 0 if its objects are in the planned heap.
PROGRAM = """#include <malloc.h>
#include <stdlib.h>
int main(void) {
    void *volatile object = malloc(24);
    return object == NULL || mallinfo().arena != 65536;
}
"""
SKETCH = """
int main() {
    setup();
    loop();
    return heap == nullptr || tau_budget_class_statistics(heap, 0).peak_used_count != 1;
}
"""


def test_platformios_package_is_complete(tmp_path: Path) -> None:
    """The exported files compile, and every malloc is served by the page's lines.

    And the recorder compiles.
    """
    for name in PLATFORMIO["export"]["include"]:
        out = tmp_path / "library" / name
        out.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, out)
    for name in PLATFORMIO["export"]["exclude"]:
        shutil.rmtree(tmp_path / "library" / name)
    (tmp_path / "heap.c").write_text(shown(PAGE, "heap.c"))
    (tmp_path / "program.c").write_text(PROGRAM)
    save_header(PLAN, tmp_path / "heap_plan.h", "a test")
    sources = [tmp_path / "library" / name for name in HEAPS]
    flags = (f"-I{tmp_path / 'library'}", *PLATFORMIO["build"]["flags"])
    names = [tmp_path / "heap.c", tmp_path / "program.c"]
    firmware.emulate(firmware.firmware([*names, *sources], tmp_path, flags))
    capture = '-DTAU_RECORD_CAPTURE="capture.bin"'
    (tmp_path / "record.c").write_text('#include "core/ports/record_wrap.c"\n')
    common = (*firmware.CORTEX_M4, *firmware.LIBRARIES["nano"], *flags, capture)
    firmware.objects([tmp_path / "record.c"], tmp_path, common, "arm-none-eabi-")


def test_arduinos_library_is_complete(tmp_path: Path) -> None:
    read(Page(PAGE), tmp_path)
    with zipfile.ZipFile(tmp_path / "Tautochrone.zip") as archive:
        archive.extractall(tmp_path)
    library = tmp_path / "Tautochrone"
    lines = (library / "library.properties").read_text().splitlines()
    properties = dict(line.split("=", 1) for line in lines)
    wanted = "name version author maintainer sentence paragraph category architectures"
    assert "url" in properties and all(properties[name] for name in wanted.split())
    assert properties["version"] == VERSION
    assert {path.name for path in (library / "src").iterdir()} == {*ARDUINO}
    assert properties["includes"] in ARDUINO
    (tmp_path / "sketch.cpp").write_text(shown(PAGE, "heap.ino") + SKETCH)
    save_header(PLAN, tmp_path / "heap_plan.h", "a test")
    sources = [tmp_path / "sketch.cpp", *(library / "src").glob("*.c")]
    firmware.emulate(firmware.firmware(sources, tmp_path, (f"-I{library / 'src'}",)))


def test_the_lists_of_files_are_the_heaps(tmp_path: Path) -> None:
    """Those of the amalgamation; and ESP-IDF includes from the root, as PlatformIO does."""
    build = PLATFORMIO["build"]
    assert build["srcFilter"] == ["-<*>", *(f"+<{name}>" for name in HEAPS)]
    assert build["srcDir"] == build["includeDir"] == "."
    (tmp_path / "idf.cmake").write_text(
        "macro(idf_component_register)\nfile(WRITE asked ${ARGN})\nendmacro()\n"
        "macro(target_compile_options)\nendmacro()\n"
        f"set(ESP_PLATFORM 1)\ninclude({ROOT}/CMakeLists.txt)\n"
    )
    run("cmake", "-P", "idf.cmake", cwd=tmp_path)
    assert (tmp_path / "asked").read_text() == "".join(["SRCS", *HEAPS, "INCLUDE_DIRS", "."])


@pytest.mark.parametrize("manifest", ["library.json", "idf_component.yml"])
def test_a_manifest_is_of_this_version_and_names_what_exists(manifest: str) -> None:
    found = yaml.safe_load((ROOT / manifest).read_text())  # JSON is YAML, too
    known = {"name", "version", "description", "keywords", "license", "headers", "build", "export"}
    assert {"version", "description", "license"} <= set(found) <= known | {"files"}
    assert (found["version"], found["license"]) == (VERSION, "MIT")
    files = found.get("files", {"include": PLATFORMIO["export"]["include"] + PLATFORMIO["headers"]})
    assert all(any(ROOT.glob(pattern)) for pattern in files["include"])
    assert re.search(rf"tautochrone-{re.escape(VERSION)}\.tar", (ROOT / PAGE).read_text())
