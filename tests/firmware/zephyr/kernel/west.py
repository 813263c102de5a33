"""A stand-in for `west build`: Kconfig, a module's CMakeLists.txt, the compiler and the linker.

The module's Kconfig gives the options' defaults; an option that it does not have, or whose
dependencies do not hold, is refused. The firmware is build/zephyr/zephyr.elf.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
FREERTOS = HERE.parents[1] / "freertos"
FLAGS = [
    *("-mcpu=cortex-m4", "-mthumb", "-Os", "-std=gnu17", "-Wall", "-Wextra", "-Werror"),
    *("-ffunction-sections", "-fdata-sections", "--specs=nano.specs", "--specs=rdimon.specs"),
]
ENTRY = re.compile(r"^config (\w+)\n((?:[ \t].*\n|\n)+)", re.M)


def settings_of(paths: list[Path]) -> dict[str, str]:
    """The options that files set; the last one counts."""
    lines = [line for path in paths for line in path.read_text().splitlines()]
    return dict(line.removeprefix("CONFIG_").split("=", 1) for line in lines if line)


def configured(kconfig: Path, given: dict[str, str]) -> dict[str, str]:
    """All options that are set, with the defaults of `kconfig` in the order of its entries."""
    found = dict(given)
    for name, body in ENTRY.findall(kconfig.read_text()):
        is_allowed = True
        for condition in re.findall(r"depends on (.*)", body):
            terms = re.sub(r"\w+", lambda term: str(found.get(term[0]) == "y"), condition)
            python = terms.replace("&&", " and ").replace("||", " or ").replace("!", " not ")
            is_allowed &= eval(python)
        if name in given and not is_allowed:
            sys.exit(f"{name}: its dependencies do not hold")
        default = re.search(r'default "(.*)"', body)
        if is_allowed and default:
            found.setdefault(name, f'"{default[1]}"')
        if found.get(name) == "y":
            found |= dict.fromkeys(re.findall(r"select (\w+)", body), "y")
    unknown = [name for name in given if name.startswith("TAUTOCHRONE")]
    unknown = [name for name in unknown if f"config {name}\n" not in kconfig.read_text()]
    if unknown:
        sys.exit(f"no such options: {unknown}")
    return found


def main() -> None:
    """Build the application."""
    parser = argparse.ArgumentParser()
    for name in ("build", "--board", "application"):
        parser.add_argument(name, **({"dest": "board"} if name == "--board" else {}))
    parser.add_argument("-p", action="store_true")
    parser.add_argument("defines", nargs="*")
    words = parser.parse_args(["--board" if word == "-b" else word for word in sys.argv[1:]])
    defines = dict(word.removeprefix("-D").split("=", 1) for word in words.defines)
    application = Path(words.application).resolve()
    module = Path(defines["EXTRA_ZEPHYR_MODULES"]) / "zephyr"
    extra = [Path(defines["EXTRA_CONF_FILE"])] if "EXTRA_CONF_FILE" in defines else []
    options = configured(module / "Kconfig", settings_of([application / "prj.conf", *extra]))
    build = Path("build/zephyr").resolve()
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    unquoted = {name: value.strip('"') for name, value in options.items()}
    cmake = [f"-DCONFIG_{name}={value}" for name, value in unquoted.items()]
    cmake += [f"-DMODULE={module}", f"-DAPPLICATION_SOURCE_DIR={application}", "-DOUT=asked.txt"]
    subprocess.run(["cmake", *cmake, "-P", HERE / "module.cmake"], cwd=build, check=True)
    asked = (build / "asked.txt").read_text().split("\n")
    for name in ("init", "sys/sys_heap", "sys/heap_listener"):
        header = build / "zephyr" / f"{name}.h"
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text("#include <zephyr/kernel.h>\n")
    values = {name: "1" if value == "y" else value for name, value in options.items()}
    flags = [*FLAGS, *(f"-DCONFIG_{name}={value}" for name, value in values.items())]
    flags += [f"-I{folder}" for folder in (HERE, build, ROOT, FREERTOS, FREERTOS / "kernel")]
    linked = [word for word in asked if word.startswith("-Wl,")]
    library = [word for word in asked if word not in linked]
    gcc = "arm-none-eabi-gcc"
    subprocess.run([gcc, *flags, "-c", *library], cwd=build, check=True)
    subprocess.run([gcc, *flags, "-Dmain=application_main", "-c", application / "firmware.c"],
                   cwd=build, check=True)  # fmt: skip
    objects = sorted(build.glob("*.o"))
    sources = [] if (build / "tlsf.o") in objects else [ROOT / "core/tlsf.c"]
    sources += [HERE / "kernel.c", HERE / "sys_heap.c", FREERTOS / "vectors.c"]
    sources += [FREERTOS / "kernel" / name for name in ("kernel.c", "heap_4.c")]
    link = ["-Wl,--gc-sections,--no-warn-rwx-segments", "-T", FREERTOS.parent / "board.ld"]
    command = [gcc, *flags, *sources, *objects, *linked, *link, "-o", "zephyr.elf"]
    subprocess.run(command, cwd=build, check=True)


if __name__ == "__main__":
    main()
