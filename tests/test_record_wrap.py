"""record_wrap.c records every call of the heap once, whatever the C library does inside of it.

Method: a program calls each function with a size of its own; the recording has each of them with
its size, caller and line, on newlib, newlib-nano and picolibc in QEMU, and in static programs of
glibc and musl. Correct programs in C and C++ have no misuse. tests/test_freertos.py records
FreeRTOS's heap.
"""

import random
import re
from pathlib import Path

import pytest

from tautochrone.convert.importing import Imported, import_file
from tautochrone.trace.abi import of_header, of_host
from tautochrone.trace.ending import ENDED_BY_FLUSH, ENDED_WITHOUT_MARK
from tautochrone.trace.file import open_trace
from tautochrone.who.lines import Frame
from tautochrone.who.places import Places

from testing import command, firmware
from testing.firmware import CAPTURE, FIRMWARE, RECORDER, ROOT, STRICT, WRAPS, run
from testing.recorded import events_of, operations_of

RECORD = (f'-DTAU_RECORD_CAPTURE="{CAPTURE}"', f"-I{ROOT}", "-g")
EVERY = FIRMWARE / "every_function.c"
# What every_function.c calls, in order. realloc(p, 0) and the library's own calls come as they do.
EXPECTED = [
    *("malloc 1001", "calloc 1002", "realloc 1003", "realloc 1004"),
    *("aligned_alloc 1005", "aligned_alloc 1088", "aligned_alloc 1007", "malloc 1016"),
]
EXPECTED_OF_NEWLIB = ["malloc 1008", "realloc 1010", "calloc 1009", "aligned_alloc 1011"]
EXPECTED_AT_THE_END = ["malloc 1013", "malloc 0"]
NEVER_EXITS = """
#include <stdlib.h>
#include <unistd.h>
void tau_record_wrap_flush(void);
int main(void) {
    for (int i = 0; i < 400; i++) {
        void *volatile object = malloc(20);
        free(object);
    }
    AT_THE_END
    _exit(0);
}
"""
OWN_HOOKS = """
#include "core/ports/record.h"
#include <stdio.h>
static bool send(void *file, const void *bytes, size_t size_bytes) {
    return fwrite(bytes, size_bytes, 1, file) == 1;
}
int main(void) {
    static struct tau_record record;
    FILE *file = fopen("capture.bin", "wb");
    tau_record_start(&record, &(struct tau_record_port){send, NULL, file, 0});
    tau_record_malloc(&record, 0, 20, 4);
    tau_record_free(&record, 0, 4);
    tau_record_malloc(&record, 4096, 20, 4);
    tau_record_end(&record);
    return fclose(file);
}
"""
START = """
#include <stdlib.h>
int main(void);
void _start(void) { exit(main()); }
"""


def every_function_of_newlib(folder: Path, library: str) -> None:
    """Record every_function.c in a firmware for a Cortex-M4."""
    flags = (*RECORD, WRAPS, "-u", "_printf_float")
    said = firmware.emulate(firmware.firmware([EVERY, RECORDER], folder, flags, library))
    assert said == "0.30000000000000004 text\n"


def every_function_of_picolibc(folder: Path) -> None:
    """Record every_function.c in a firmware for RV32IMAC."""
    elf = firmware.picolibc_firmware([EVERY, RECORDER], folder, *RECORD, WRAPS)
    firmware.emulate(elf, machine=firmware.QEMU_RISCV)


def every_function_of_linux(folder: Path, compiler: str) -> None:
    """Record every_function.c in a static program."""
    words = [compiler, "-static", "-Os", *STRICT, *RECORD, EVERY, RECORDER, WRAPS, "-o", "program"]
    run(*words, cwd=folder)
    assert run("./program", cwd=folder) == "0.30000000000000004 text\n"


def misuse_of(imported: Imported) -> tuple[int, ...]:
    """The counts of what a correct program's recording has none of."""
    misuse = (imported.unknown_count, imported.double_free_count, imported.inherited_count)
    return (*misuse, imported.implied_frees)


def callers_by_size(elf: Path, trace: Path) -> dict[int, Frame]:
    """The function and line of the call site of the first object of each size."""
    with open_trace(trace) as reader:
        places = Places(reader.header, elf).named(reader.sites())
    found: dict[int, Frame] = {}
    for size, site in events_of(trace)[["size_bytes", "site"]].tolist():
        found.setdefault(size, places[site - 1].frame)
    return found


@pytest.mark.parametrize(
    ("library", "abi"),
    [("nano", "arm"), ("newlib", "arm"), ("picolibc", "riscv32"), ("gcc", ""), ("musl-gcc", "")],
)
def test_every_function_is_recorded_once(tmp_path: Path, library: str, abi: str) -> None:
    if library in firmware.LIBRARIES:
        every_function_of_newlib(tmp_path, library)
    elif library == "picolibc":
        every_function_of_picolibc(tmp_path)
    else:
        every_function_of_linux(tmp_path, library)
    trace = tmp_path / "out.tau"
    imported = import_file(tmp_path / CAPTURE, trace)
    assert misuse_of(imported) == (0, 0, 0, 0)
    with open_trace(trace) as reader:
        assert of_header(reader.header) == (abi or of_host())
        assert reader.header["ended"] == "exit" and not reader.ending.remarks
    expected = [*EXPECTED, *(EXPECTED_OF_NEWLIB if abi == "arm" else []), *EXPECTED_AT_THE_END]
    numbers = {int(line.split()[1]) for line in expected}
    events = operations_of(trace)
    told = [f"{op} {size}" for op, size, _ in events if op != "free" and size in numbers]
    # The last is a realloc to 0 bytes, in libraries that keep such an object.
    assert [line for line in told if line != "realloc 0"] == expected
    callers = callers_by_size(tmp_path / ("firmware.elf" if abi else "program"), trace)
    direct = numbers - {0, 1001, 1013}
    assert {size: callers[size].function for size in direct} == dict.fromkeys(direct, "main")
    assert (callers[1001].function, callers[1013].function) == ("begin", "library")
    text = EVERY.read_text().split("\n")
    for size, call in ((1001, "malloc(1001)"), (1003, "realloc(before_main, 1003)")):
        (line,) = (number for number, each in enumerate(text, 1) if call in each)
        assert (Path(callers[size].file).name, callers[size].line) == (EVERY.name, line)
    size_of_live: dict[int, int] = {}
    for op, size, slot in events:
        if op == "free":
            del size_of_live[slot]
        else:
            size_of_live[slot] = size
    assert numbers.isdisjoint(size_of_live.values()), "each object's end is recorded"


@pytest.mark.parametrize(
    ("at_the_end", "ended"),
    [
        ("", ENDED_WITHOUT_MARK),
        ("tau_record_wrap_flush();", ENDED_BY_FLUSH),
        ("if (fork() != 0) { tau_record_wrap_flush(); } else { exit(0); }", ENDED_BY_FLUSH),
    ],
)
def test_a_program_that_never_exits_flushes_or_its_end_is_missed(
    tmp_path: Path, at_the_end: str, ended: str
) -> None:
    """_exit runs nothing of the program's, as a capture that stops early [REC-26]. A child of a
    fork writes nothing."""
    source = tmp_path / "never.c"
    source.write_text(NEVER_EXITS.replace("AT_THE_END", at_the_end))
    run("gcc", *STRICT, *RECORD, source, RECORDER, WRAPS, "-o", "program", cwd=tmp_path)
    run("./program", cwd=tmp_path)
    import_file(tmp_path / CAPTURE, tmp_path / "out.tau")
    with open_trace(tmp_path / "out.tau") as reader:
        assert reader.header["ended"] == ended
        assert (reader.totals.events == 800) == (ended == ENDED_BY_FLUSH)


def test_a_null_pointer_is_no_object(tmp_path: Path) -> None:
    """A firmware's own hook passes on what malloc returned and free got."""
    source = tmp_path / "hooks.c"
    source.write_text(OWN_HOOKS)
    words = (*STRICT, f"-I{ROOT}", source, ROOT / "core/ports/record.c", "-o", "program")
    run("gcc", *words, cwd=tmp_path)
    run("./program", cwd=tmp_path)
    import_file(tmp_path / CAPTURE, tmp_path / "out.tau")
    assert operations_of(tmp_path / "out.tau") == [("malloc", 20, 0)]


def test_an_earlier_capture_is_gone_after_the_first_call(tmp_path: Path) -> None:
    """A run that stops before its first block leaves no other run's recording to import."""
    (tmp_path / CAPTURE).write_text("of an earlier run")
    source = tmp_path / "never.c"
    source.write_text(NEVER_EXITS.replace("AT_THE_END", "").replace("400", "1"))
    run("gcc", *STRICT, *RECORD, source, RECORDER, WRAPS, "-o", "program", cwd=tmp_path)
    run("./program", cwd=tmp_path)
    assert (tmp_path / CAPTURE).read_bytes() == b""


def test_the_end_is_recorded_without_the_destructors_of_a_start_up_file(tmp_path: Path) -> None:
    source, start = tmp_path / "exits.c", tmp_path / "start.c"
    source.write_text(NEVER_EXITS.replace("AT_THE_END\n    _exit(0);", "return 0;"))
    start.write_text(START)
    flags = (*RECORD, WRAPS, "-nostartfiles")
    firmware.emulate(firmware.firmware([start, source, RECORDER], tmp_path, flags))
    import_file(tmp_path / CAPTURE, tmp_path / "out.tau")
    with open_trace(tmp_path / "out.tau") as reader:
        assert reader.header["ended"] == "exit" and not reader.ending.remarks
    operations = [op for op, _, _ in operations_of(tmp_path / "out.tau")]
    assert operations.count("free") == 400


def test_a_correct_program_in_cpp_has_no_misuse(tmp_path: Path) -> None:
    seed = random.randrange(1, 2**31)
    print(f"seed {seed}")
    elf = firmware.recorded_firmware("containers", tmp_path)
    said, imported = firmware.record(elf, tmp_path / "out.tau", seed)
    host = firmware.on_host("containers", tmp_path)
    assert said == firmware.printed(run(host, str(seed), cwd=tmp_path))
    assert said.failed == 0
    assert misuse_of(imported) == (0, 0, 0, 0)
    operations = {op for op, _, _ in operations_of(tmp_path / "out.tau")}
    assert operations == {"malloc", "aligned_alloc", "free"}


CALLERS = """
#include <cstring>
#include <memory>
#include <string>
struct alignas(64) Line { char of[1200 + 16]; };
char *volatile kept;
int main() {
    auto one = std::make_unique<char[]>(1001);
    auto line = std::unique_ptr<Line>(new Line);  // 1216
    kept = new (std::nothrow) char[1003];
    kept = strndup("a text of twenty letters, cut", 20);  // 21
    void *const large = operator new(1 << 29, std::nothrow);  // 536870912
    return large != nullptr;
}
"""


def test_callers_and_refusals_of_a_firmware_in_cpp(tmp_path: Path) -> None:
    """Each new counts for the line that calls it; the request that is refused is named.

    An ELF file of another link is refused.
    """
    source = tmp_path / "callers.cpp"
    source.write_text(CALLERS)
    sources = [source, RECORDER, RECORDER.with_name("record_wrap_new.cpp")]
    elf = firmware.firmware(sources, tmp_path, (*RECORD, WRAPS, "-Wno-alloc-size-larger-than"))
    firmware.emulate(elf)
    trace = tmp_path / "out.tau"
    done = command.tau("import", tmp_path / CAPTURE, "-o", trace, expect=0)
    said = r"tau: the heap refused 1 request, the first of 536,870,912 bytes from \+0x[0-9a-f]+"
    said += r" in thread 0, after \d+ events, with [\d,]+ bytes live\n"
    assert re.search(said, done.stderr), done.stderr
    text = CALLERS.split("\n")
    for size, frame in callers_by_size(elf, trace).items():
        if size in (1001, 1216, 1003, 21):
            (number,) = (at for at, each in enumerate(text, 1) if re.search(rf"\b{size}\b", each))
            assert (frame.function, frame.line) == ("main", number), size
    line = next(at for at, each in enumerate(text, 1) if "536870912" in each)
    told = command.tau("who", trace, "--elf", elf, expect=0).stdout
    assert re.search(rf"heap: refused 1 request, .* from main \(.*callers.cpp:{line}\)", told)
    assert "cannot be compared" not in told
    source.write_text(CALLERS.replace("return large", "kept = strdup(kept); return large"))
    other = tmp_path / "other"
    other.mkdir()
    elf = firmware.firmware(sources, other, (*RECORD, WRAPS, "-Wno-alloc-size-larger-than"))
    done = command.tau("who", trace, "--elf", elf, expect=1)
    assert "is not the recorded firmware: its functions have other addresses" in done.stderr


def test_the_flags_wrap_what_the_file_defines() -> None:
    """A wrapped function without a wrapper does not link; a wrapper without a flag is never called.

    This finds the latter.
    """
    text = RECORDER.read_text().split("#ifdef TAU_RECORD_FREERTOS\n\n")[1]
    for name, part in zip(("freertos/record", "record_wrap"), text.split("#else\n"), strict=True):
        defined = {line.split("__wrap_")[1].split("(")[0] for line in part.splitlines()
                   if "__wrap_" in line}  # fmt: skip
        flags = (RECORDER.parent / f"{name}.flags").read_text().split()
        assert flags == sorted(set(flags), key=flags.index)
        wraps = [flag for flag in flags if flag != "-DTAU_RECORD_FREERTOS"]
        assert {flag.removeprefix("-Wl,--wrap=") for flag in wraps} == defined
