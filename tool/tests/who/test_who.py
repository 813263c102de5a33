"""`tau who` on real programs: the function and line of each call, and what it says without them.

Method: each allocation of a program has a size of its own, and its line in the source is looked up
by that size.
"""

import io
import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tautochrone.errors import TauError
from tautochrone.files import elf_file
from tautochrone.files.elf_file import build_id_of
from tautochrone.who import lines, symbols
from tautochrone.who.lines import Frame
from tautochrone.who.places import Place
from testing import command

MAIN = """#include <stdlib.h>
void *of_library(size_t size_bytes);
void *volatile kept[8];
void *unused(void) { return malloc(9); }
static inline __attribute__((always_inline)) void *wrapped(size_t size_bytes) {
    return malloc(size_bytes);  // 1001
}
static __attribute__((noinline)) void resize(void) {
    kept[1] = realloc(kept[1], 2003);
}
int main(void) {
    kept[0] = wrapped(1001);
    kept[1] = malloc(50);
    resize();
    kept[2] = of_library(3005);
    kept[3] = calloc(4,
        1009);  // 4036
    free(kept[0]);
    free(kept[3]);
    free(kept[3]);
    return 0;
}
"""
LIBRARY = """#include <stdlib.h>
void *of_library(size_t size_bytes) {
    void *volatile made = malloc(size_bytes);  // 3005
    return made;
}
"""
CXX = """#include <cstdlib>
#include <vector>
namespace app { struct Box { char of[7001]; }; }
app::Box *volatile box;
__attribute__((noinline)) void fill(std::vector<int> &numbers) {
    numbers.reserve(1501);  // 6004
}
int main() {
    static std::vector<int> numbers;
    box = new app::Box;  // 7001
    fill(numbers);
    std::quick_exit(numbers.capacity() != 1501);
}
"""
BUILDS: tuple[Sequence[str], ...] = (
    ("-O0",),
    ("-O2", "-no-pie"),
    ("-O2", "-gdwarf-4", "-ffunction-sections", "-Wl,--gc-sections", "-flto"),
)


def line_of(text: str, size: int) -> int:
    """The line with a size; a comment names the line of a call whose size is elsewhere."""
    lines = text.split("\n")
    found = [number for number, line in enumerate(lines, 1) if f"// {size}" in line]
    found += [number for number, line in enumerate(lines, 1) if re.search(rf"\b{size}\b", line)]
    return found[0]


def compiled(folder: Path, *words: str) -> None:
    subprocess.run(words, cwd=folder, check=True, timeout=300)


def built(folder: Path, options: Sequence[str]) -> Path:
    """The C program, linked with its library."""
    (folder / "src").mkdir()
    (folder / "src" / "main.c").write_text(MAIN)
    (folder / "src" / "part.c").write_text(LIBRARY)
    flags = ("-g", "-fno-builtin", "-w", *options)
    compiled(folder, "gcc", *flags, "-shared", "-fPIC", "src/part.c", "-o", "libpart.so")
    link = ("-L.", "-lpart", "-Wl,-rpath,$ORIGIN", "-o", "program")
    compiled(folder, "gcc", *flags, "src/main.c", *link)
    return folder / "program"


def recorded(program: Path) -> Path:
    """A recording of a program, whatever its exit status."""
    trace = program.with_suffix(".tau")
    command.tau("record", "-o", trace, "--force", "--", program, cwd=program.parent)
    assert trace.exists()
    return trace


def who(trace: Path, *options: object) -> dict[str, Any]:
    done = command.tau("who", trace, "--json", *options, cwd=trace.parent, expect=0)
    return dict(json.loads(done.stdout))


def by_size(document: dict[str, Any], column: str = "peak_bytes") -> dict[int, tuple[Any, ...]]:
    return {row[column]: (row["function"], row["file"], row["line"]) for row in document["rows"]}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C program as a user builds it, and next to it program.tau."""
    found = built(tmp_path_factory.mktemp("program"), ("-O1",))
    recorded(found)
    return found


@pytest.fixture
def moved(program: Path, tmp_path: Path) -> Path:
    """A copy of the program with its library, which can be damaged, and its recording."""
    folder = tmp_path / "moved"
    shutil.copytree(program.parent, folder)
    return recorded(folder / "program").with_suffix("")


@pytest.mark.parametrize("options", BUILDS, ids=" ".join)
def test_each_call_has_its_function_and_line(tmp_path: Path, options: Sequence[str]) -> None:
    """Inlined, resized, in a library, over two lines; in each kind of program and DWARF."""
    document = who(recorded(built(tmp_path, options)))
    found = by_size(document)
    for size, function in ((1001, "wrapped"), (2003, "resize"), (4036, "main")):
        at = line_of(MAIN, size) - (size == 4036)
        assert found[size] == (function, "src/main.c", at), size
    assert found[3005] == ("of_library", "src/part.c", line_of(LIBRARY, 3005))
    assert document["with_line_bytes"] == document["peak_bytes"] == 1001 + 2003 + 3005 + 4036
    assert sorted(by_size(document, "left_bytes"))[-2:] == [2003, 3005]


def test_an_inlined_call_has_all_its_frames(program: Path) -> None:
    (row,) = (row for row in who(program.with_suffix(".tau"))["rows"] if row["peak_bytes"] == 1001)
    (site,) = row["sites"]
    inner, outer = site["frames"]
    assert inner["function"] == "wrapped"
    line = MAIN.split("\n").index("    kept[0] = wrapped(1001);") + 1
    assert outer == {"function": "main", "file": "src/main.c", "line": line}


def test_an_address_of_a_line_program_has_its_size() -> None:
    """One that claims a kilobyte is cut, so that damaged rows cost what others do."""
    code = b"\0\x81\x08" + bytes([lines.DW_LNE_SET_ADDRESS]) + b"\xff" * 1024 + b"\x20"
    program = SimpleNamespace(
        stream=io.BytesIO(code),
        program_start_offset=0,
        program_end_offset=len(code),
        structs=SimpleNamespace(little_endian=True),
    )
    header = {"opcode_base": 13, "minimum_instruction_length": 1, "line_base": -5, "line_range": 14}

    class Program(dict[str, int]):
        def __getattr__(self, name: str) -> object:
            return getattr(program, name)

    ((address, *_),) = lines._rows_of(Program(header))
    assert address == (1 << 64) - 1 + (0x20 - 13) // 14


def test_calls_inlined_from_headers_count_for_the_programs_own_line(tmp_path: Path) -> None:
    """vector::reserve has five functions of the library around operator new."""
    (tmp_path / "a.cpp").write_text(CXX)
    compiled(tmp_path, "g++", "-g", "-O2", "a.cpp", "-o", "program")
    document = who(recorded(tmp_path / "program"))
    found = by_size(document)
    assert found[7001] == ("main", "a.cpp", line_of(CXX, 7001))
    assert found[6004] == ("fill", "a.cpp", line_of(CXX, 6004))
    (row,) = (row for row in document["rows"] if row["peak_bytes"] == 6004)
    names = [frame["function"] for frame in row["sites"][0]["frames"]]
    assert len(names) > 2 and any("vector<int" in name for name in names), names


def test_tables(program: Path) -> None:
    """Sorted by what they show, with a heading, and the part that has lines."""
    trace = program.with_suffix(".tau")

    def shown(*options: str) -> list[str]:
        return command.tau("who", trace, *options, expect=0).stdout.split("\n")

    heading, columns, first, *rest = shown()
    assert heading.endswith(": 10,045 bytes live at the peak, after event 4, in 4 objects")
    assert columns.split() == ["bytes", "%", "objects", "line", "function"]
    assert first.split() == ["4,036", "40.2", "1", f"src/main.c:{line_of(MAIN, 4036) - 1}", "main"]
    assert "100.0 % of these bytes have a line" in rest
    left = shown("--left")
    assert left[0].endswith(": 5,008 bytes never freed, in 2 objects")
    assert left[2].split()[:3] == ["3,005", "60.0", "1"]
    lived = {line.split()[-1]: line.split() for line in shown("--lifetimes")[2:] if "src" in line}
    assert lived["wrapped"][:2] == ["1,001", "1"] and lived["wrapped"][-3] == "0"
    assert lived["of_library"][:3] == ["3,005", "1", "1"]
    misuse = shown("--misuse")
    assert misuse[0].endswith(": 1 free of objects that are not alive, by who called free")
    assert misuse[2].split()[:3] == ["1", "0", "7"] and misuse[2].endswith("main")
    done = command.tau("who", trace, "--left", "--misuse", expect=2)
    assert "--left and --misuse exclude each other: one table at a time" in done.stderr


def test_who_asked_for_what_does_not_fit(program: Path) -> None:
    """In a replay, in text and JSON; and `tau info` says who tells what was never freed."""
    trace = program.with_suffix(".tau")
    words = ("replay", trace, "--on", "tlsf", "--skip-misuse", "--layout", "host", "--heap", 8192)
    done = command.tau(*words, expect=3)
    at = f"src/main.c:{line_of(MAIN, 4036) - 1}"
    assert f"at event 4: calloc of 4,036 bytes from main ({at})\n" in done.stdout
    (refused,) = json.loads(command.tau(*words, "--json", expect=3).stdout)["refused"]
    assert (refused["event"], refused["op"], refused["size_bytes"]) == (4, "calloc", 4036)
    assert (refused["function"], refused["file"]) == ("main", "src/main.c")
    said = command.tau("info", trace, expect=0).stdout
    assert f"never freed  5,008 bytes, 2 objects: tau who --left {trace}\n" in said


def remarks(program: Path, *options: object) -> dict[str, str]:
    said = who(program.with_suffix(".tau"), *options)["remarks"]
    return {Path(module).name: remark for module, remark in said.items()}


def test_a_stripped_program_has_modules_and_offsets(moved: Path) -> None:
    compiled(moved.parent, "strip", "libpart.so")
    os.utime(moved.parent / "libpart.so", (0, 0))
    assert remarks(moved) == {"libpart.so": "is stripped and has no debugging information"}
    whole = moved.with_name("whole")
    shutil.copy(moved, whole)
    text = command.tau("who", moved.with_suffix(".tau"), expect=0).stdout
    assert re.search(r"3,005 .* libpart.so +of_library\n", text), "a dynamic symbol has a name"
    assert "70.1 % of these bytes have a line" in text
    compiled(moved.parent, "strip", "program")
    assert remarks(moved)["program"] == (
        "is stripped and has no debugging information; build it again with -g, or name an"
        " unstripped copy with --elf"
    )
    assert by_size(who(moved.with_suffix(".tau"), "--elf", whole))[4036][0] == "main"


def test_units_are_found_without_the_compilers_index(moved: Path) -> None:
    """clang writes none."""
    before = by_size(who(moved.with_suffix(".tau")))
    for name in ("program", "libpart.so"):
        compiled(moved.parent, "objcopy", "--remove-section=.debug_aranges", name)
    os.utime(moved.parent / "libpart.so", (0, 0))
    assert by_size(who(moved.with_suffix(".tau"))) == before and before[3005][2]


def test_a_debug_file_gives_the_lines_of_a_stripped_program(moved: Path) -> None:
    folder = moved.parent
    compiled(folder, "objcopy", "--only-keep-debug", "libpart.so", "libpart.debug")
    compiled(folder, "strip", "libpart.so")
    compiled(folder, "objcopy", "--add-gnu-debuglink=libpart.debug", "libpart.so")
    os.utime(folder / "libpart.so", (0, 0))
    document = who(moved.with_suffix(".tau"))
    assert document["remarks"] == {}
    assert document["with_line_bytes"] == document["peak_bytes"]
    compiled(folder, "gcc", "-g", "-shared", "-fPIC", "src/main.c", "-o", "other.so")
    compiled(folder, "objcopy", "--only-keep-debug", "other.so", "libpart.debug")
    assert "libpart.so" in remarks(moved), "the debug file of another build"


def test_a_debug_link_that_is_no_name_of_a_file_is_passed_over(moved: Path) -> None:
    """Functions are still named by the program's own symbols."""
    (moved.parent / "link").write_bytes(b"x" * 400 + bytes(8))
    compiled(moved.parent, "strip", "libpart.so")
    compiled(moved.parent, "objcopy", "--add-section", ".gnu_debuglink=link", "libpart.so")
    os.utime(moved.parent / "libpart.so", (0, 0))
    assert remarks(moved) == {"libpart.so": "is stripped and has no debugging information"}


def test_addresses_outside_of_a_program_have_no_lines(program: Path) -> None:
    """As in a capture of a program that was loaded anywhere: the last function would have all."""
    with pytest.raises(TauError, match="was loaded where the recording does not say"):
        symbols.told_of(program, [0x55E98C38E1E8], False)


def test_a_debug_file_is_found_by_build_id(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in Debian's packages of debugging information."""
    stripped = tmp_path / "stripped"
    compiled(tmp_path, "strip", str(program), "-o", str(stripped))
    with elf_file.opened(program, "") as elf:
        build_id = build_id_of(elf)
        (main,) = elf.get_section_by_name(".symtab").get_symbol_by_name("main")
    offset = main["st_value"] + 1
    assert symbols.told_of(stripped, [offset], False).frames == {}
    monkeypatch.setattr(symbols, "DEBUG_ROOT", tmp_path)
    found = tmp_path / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
    found.parent.mkdir(parents=True)
    compiled(tmp_path, "objcopy", "--only-keep-debug", str(program), str(found))
    told = symbols.told_of(stripped, [offset], False)
    line = MAIN.split("\n").index("int main(void) {") + 1
    assert told.frames == {offset: (Frame("main", "src/main.c", line),)} and told.remark == ""


def test_a_name_that_unfolds_without_end_stays_as_it_is() -> None:
    """Each level of a template has the one before twice. Other names are demangled."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    levels = "".join(f"S0_IS{digit}_S{digit}_E" for digit in digits[1:22])
    endless = f"_Z1fI1PIiiE{levels}Evv"
    assert symbols.demangled([endless, "_ZN3app4fillEv"])["_ZN3app4fillEv"] == "app::fill"
    assert len(symbols.demangled([endless]).get(endless, "")) < 1 << 20


def test_paths_are_short_where_the_name_tells_enough() -> None:
    def at(*files: str) -> str:
        return Place("m", 1, tuple(Frame("f", file, 3) for file in files)).at

    assert at("../../lib/a.c") == "lib/a.c:3"
    assert at("/opt/arm/include/c++/12/bits/a.h", "/usr/include/b.h") == "b.h:3"
    assert at("tau/core/ports/rust/lib.rs", "/rustc/ab12/library/a.rs", "b.rs") == "b.rs:3"
    assert at("/usr/include/b.h", "/home/me/b.cpp", "/home/me/c.cpp") == "/home/me/b.cpp:3"


def test_a_place_is_one_line_whatever_its_names() -> None:
    frame = Frame("a\nb", "c\nd.c", 3)
    assert Place("m", 1, (frame,)).told() == "a\\nb (c\\nd.c:3)"
    assert Place("m\nn", 1).told() == "m\\nn+0x1"


def test_a_program_that_changed_gives_no_lines(moved: Path) -> None:
    """By its build id; a library by its time. What was recorded is named with --elf."""
    kept = moved.with_name("kept")
    shutil.copy2(moved, kept)
    compiled(moved.parent, "gcc", "-g", "-O0", "-w", "src/main.c", "-L.", "-lpart", "-o", "program")
    (moved.parent / "libpart.so").touch()
    said = remarks(moved)
    assert re.fullmatch(
        r"has changed since: it has build id \w+, the recording names \w+;"
        r" name the recorded program or firmware with --elf",
        said["program"],
    )
    assert said["libpart.so"] == "has changed since it was recorded (it is newer)"
    assert who(moved.with_suffix(".tau"))["with_line_bytes"] == 0
    assert by_size(who(moved.with_suffix(".tau"), "--elf", kept))[4036][0] == "main"
    done = command.tau("who", moved.with_suffix(".tau"), "--elf", moved, expect=1)
    assert "is not the recorded program: it has build id" in done.stderr
    moved.unlink()
    assert remarks(moved)["program"] == "missing; name the recorded program or firmware with --elf"


def test_huge_sizes_and_times(tmp_path: Path) -> None:
    """Parts of the largest peak, and a life that ends at the last nanosecond."""
    end, size = (1 << 64) - 1, (1 << 62) - 4
    (tmp_path / "a.csv").write_text(f"op,id,size,time\nmalloc,a,{size},5\nfree,a,,{end}\n")
    command.tau("import", tmp_path / "a.csv", "-o", tmp_path / "a.tau", expect=0)
    done = command.tau("who", tmp_path / "a.tau", expect=0)
    assert done.stdout.split("\n")[2].split()[:3] == [f"{size:,}", "100.0", "1"]
    assert done.stderr == ""
    (row,) = who(tmp_path / "a.tau")["rows"]
    assert (row["mean_lifetime"], row["longest_lifetime"]) == (float(end - 5), end - 5)


def test_a_recording_without_files(tmp_path: Path) -> None:
    """Addresses and names of another machine; an ELF file that cannot be compared or read."""
    rows = "op,id,size,site\nmalloc,a,24,+0x101\nmalloc,b,8,svc+0x10\nmalloc,c,4,\n"
    (tmp_path / "a.csv").write_text(rows)
    trace = tmp_path / "a.tau"
    command.tau("import", tmp_path / "a.csv", "--abi", "arm", "-o", trace, expect=0)
    text = command.tau("who", trace, expect=0).stdout
    lines = [line.split() for line in text.split("\n")[2:5]]
    assert lines[0] == ["24", "66.7", "1", "+0x101"] and lines[1][-1] == "svc+0x10"
    assert lines[2][3:] == "no call site was recorded".split()
    assert "svc: no file is known\n" in text
    assert "addresses without a module: no file is known; name the recorded program" in text
    broken = tmp_path / "broken.elf"
    broken.write_bytes(b"\x7fELF\1\1\1")
    done = command.tau("who", trace, "--elf", broken, expect=1)
    assert "broken.elf is not a valid ELF file" in done.stderr
    done = command.tau("who", trace, "--elf", tmp_path / "none.elf", expect=1)
    assert "none.elf: no such file" in done.stderr
