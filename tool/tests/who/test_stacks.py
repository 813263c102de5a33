"""`tau record --stacks`, and what `tau who` makes of recorded stacks.

Method: C++ programs whose strings are allocated inside of the stripped libstdc++, compared with
heaptrack's stacks; the exports are decoded by readers that share no code with their writers.
"""

import gzip
import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tautochrone.trace.file import TraceWriter, open_trace
from tautochrone.trace.prefix import copy_events
from tautochrone.who.holders import holders_of
from tautochrone.who.lines import Frame
from tautochrone.who.places import Place, Places
from tautochrone.who.stacks import Stacks, tree_of
from tautochrone.report.flame_graph import flame_graph
from testing import command

STRINGS = """#include <map>
#include <string>
#include <vector>
struct Node { std::string name; std::vector<int> numbers; };
__attribute__((noinline)) std::string label(int number) {
    std::string text = "a label that is long enough, number ";
    text += std::to_string(number);  // grows in the library
    return text;
}
__attribute__((noinline)) void fill(std::map<std::string, Node> &nodes) {
    for (int i = 0; i < 20000; i++) {
        Node &node = nodes[label(i)];
        node.name = label(i + 7);
        node.numbers.resize(5);
    }
}
int main() {
    std::map<std::string, Node> nodes;
    fill(nodes);
    return nodes.size() != 20000;
}
"""
GROWS = STRINGS[: STRINGS.index("text += ")].count("\n") + 1
NO_TABLES = """#include <stdlib.h>
void *volatile kept;
__attribute__((noinline)) void leaf(int size) { kept = malloc(size); kept = (char *)kept + 1; }
__attribute__((noinline)) void middle(int size) { leaf(size); leaf(size + 1); }
int main(void) { middle(1001); return 0; }
"""
FORKS = """#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
char *volatile kept;
__attribute__((noinline)) void in_child(void) { kept = malloc(2002); kept[0] = 1; }
int main(void) {
    kept = malloc(1001);
    if (fork() == 0) {
        in_child();
        return 0;
    }
    return wait(NULL) < 0;
}
"""


def built(folder: Path, name: str, text: str, *flags: str) -> Path:
    source = folder / name
    source.write_text(text)
    program = source.with_suffix("")
    compiler = "g++" if source.suffix == ".cpp" else "gcc"
    words = [compiler, "-g", "-w", "-fno-builtin", *flags, source.name, "-o", str(program)]
    subprocess.run(words, cwd=folder, check=True, timeout=300)
    return program


def recorded(program: Path, frames: int) -> Path:
    trace = program.with_suffix(".tau")
    command.tau("record", "--stacks", frames, "-o", trace, "--force", "--", program, expect=0,
                cwd=program.parent)  # fmt: skip
    return trace


def who(trace: Path, *options: object) -> dict[str, Any]:
    done = command.tau("who", trace, "--json", *options, cwd=trace.parent, expect=0)
    return dict(json.loads(done.stdout))


def lines_of(document: dict[str, Any]) -> dict[int, int]:
    """Bytes at the peak by line of the program."""
    rows = (row for row in document["rows"] if row["file"] == "strings.cpp")
    return {row["line"]: row["peak_bytes"] for row in rows}


@pytest.fixture(scope="module")
def strings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of strings and next to it strings.tau, with stacks of up to 10 calls."""
    program = built(tmp_path_factory.mktemp("strings"), "strings.cpp", STRINGS, "-O2")
    recorded(program, 10)
    return program


@pytest.mark.parametrize("optimize", ["-O2", "-O0"])
def test_bytes_of_strings_have_the_lines_that_heaptrack_finds(
    strings: Path, tmp_path: Path, optimize: str
) -> None:
    program, frames = strings, 10
    if optimize != "-O2":
        # Without inlining, 14 functions of the library lie between a map and its caller.
        program, frames = built(tmp_path, "strings.cpp", STRINGS, optimize), 24
        recorded(program, frames)
    document = who(program.with_suffix(".tau"))
    assert document["with_line_bytes"] >= 0.95 * document["peak_bytes"]
    words = ["heaptrack", "--raw", "-o", tmp_path / "h", program]
    subprocess.run(words, check=True, capture_output=True, timeout=300, cwd=program.parent)
    command.tau("import", tmp_path / "h.raw.zst", "-o", tmp_path / "h.tau", expect=0)
    ours, theirs = lines_of(document), lines_of(who(tmp_path / "h.tau"))
    apart = sum(abs(ours.get(line, 0) - theirs.get(line, 0)) for line in {*ours, *theirs})
    assert apart <= 0.01 * document["peak_bytes"], (ours, theirs)
    assert ours[GROWS] > 0.3 * document["peak_bytes"]


def test_the_stack_of_a_line_is_shown(strings: Path) -> None:
    """From the innermost call to main, in text and JSON; a recording without stacks says so."""
    trace = strings.with_suffix(".tau")
    (row,) = (row for row in who(trace, "--stacks")["rows"] if row["line"] == GROWS)
    names = [call["function"] for call in row["stack"]]
    # The compiler names a function that returns a std::string with its ABI.
    at = names.index("label[abi:cxx11]")
    assert at > 0 and "libstdc++" in row["stack"][0]["module"]
    assert names[at : at + 3] == ["label[abi:cxx11]", "fill", "main"]
    text = command.tau("who", trace, "--stacks", expect=0).stdout.split("\n")
    at = next(place for place, line in enumerate(text) if "label" in line)
    assert any("fill (strings.cpp:12)" in line for line in text[at : at + 8])
    plain = strings.with_name("plain.tau")
    command.tau("record", "-o", plain, "--force", "--", strings, expect=0)
    done = command.tau("who", plain, "--stacks", expect=1)
    assert "has no stacks\n  next: record it with `tau record --stacks 8`" in done.stderr


def test_without_stacks_a_recording_names_no_caller(strings: Path, tmp_path: Path) -> None:
    command.tau("record", "-o", tmp_path / "a.tau", "--", strings, expect=0)
    with open_trace(tmp_path / "a.tau") as plain, open_trace(strings.with_suffix(".tau")) as deep:
        assert "stacks" not in plain.header and {caller for *_, caller in plain.calls()} == {0}
        assert deep.header["stacks"] == {"frames": 10, "cut": 0}
        assert any(caller for *_, caller in deep.calls())
        assert plain.totals.events == deep.totals.events
        assert plain.totals.peak_live_bytes == deep.totals.peak_live_bytes


def test_a_stripped_program_holds_its_own_bytes(strings: Path, tmp_path: Path) -> None:
    """Even if the C library below main has lines."""
    program = tmp_path / "stripped"
    subprocess.run(["strip", str(strings), "-o", str(program)], check=True, timeout=300)
    rows = who(recorded(program, 10))["rows"]
    mine = sum(row["peak_bytes"] for row in rows if row["module"].endswith("/stripped"))
    assert mine > 0.9 * sum(row["peak_bytes"] for row in rows)


def test_an_object_counts_for_the_program_before_a_library_with_lines() -> None:
    """A system's library counts if nothing else has a line, or if it is the program."""
    library, program, stripped = "/usr/lib/libmade.so", "/home/a/program", "/usr/lib/libbare.so"
    frames = {
        library: (Frame("made", "made.c", 5),),
        program: (Frame("main", "main.c", 9),),
        stripped: (),
    }

    class Known:
        def __init__(self, program: str) -> None:
            self.program = program

        def named(self, sites: Sequence[tuple[str, int]]) -> list[Place]:
            return [Place(module, offset, frames[module]) for module, offset in sites]

    # Each module's call, from the program or from nobody known.
    calls = [(program, 1, 0), (library, 2, 1), (library, 3, 0), (stripped, 4, 3), (stripped, 5, 0)]
    for main, wanted in (
        (program, [program, program, library, library, stripped]),
        (library, [program, library, library, library, stripped]),
    ):
        found = Stacks(calls, Known(main)).counted_for(range(1, 6))  # type: ignore[arg-type]
        assert [found[number].module for number in range(1, 6)] == wanted


def test_callers_are_kept_by_a_copy(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "a.tau", {"recorder": "preload"}) as writer:
        outer = writer.site("program", 1)
        inner = writer.site("program", 2, outer)
        assert writer.site("program", 2) != inner == writer.site("program", 2, outer)
    with open_trace(tmp_path / "a.tau") as reader:
        wanted = [("program", 1, 0), ("program", 2, outer), ("program", 2, 0)]
        assert reader.calls() == wanted
        copy_events(reader, tmp_path / "b.tau", reader.header, [])
    with open_trace(tmp_path / "b.tau") as copy:
        assert copy.calls() == wanted


def test_a_walk_ends_at_code_without_unwind_tables(tmp_path: Path) -> None:
    """The stack has the calls up to there, and the result says that stacks ended early."""
    flags = ("-O1", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
    trace = recorded(built(tmp_path, "tables.c", NO_TABLES, *flags), 8)
    with open_trace(trace) as reader:
        assert reader.header["stacks"]["cut"] == 1
    said = who(trace)
    assert said["remarks"]["stacks"].startswith("1 stack ended early, in code without unwind")
    assert {row["function"] for row in said["rows"] if row["peak_bytes"] > 1000} == {"leaf"}


def test_a_forked_child_writes_its_own_stacks(tmp_path: Path) -> None:
    trace = recorded(built(tmp_path, "forks.c", FORKS, "-O1"), 8)
    for path in (trace, *tmp_path.glob("forks.*.tau")):
        with open_trace(path) as reader:
            is_child = reader.header["parent"] is not None
        rows = who(path, "--stacks")["rows"]
        named = {row["peak_bytes"]: [call["function"] for call in row["stack"]] for row in rows}
        if is_child:
            assert named[2002][:2] == ["in_child", "main"]
        else:
            assert named[1001][0] == "main"
    assert is_child


# ---- exports ----


def exported(strings: Path, folder: Path, ending: str) -> bytes:
    out = folder / f"peak{ending}"
    command.tau("who", strings.with_suffix(".tau"), "--export", out, expect=0)
    return out.read_bytes()


def peak_of(strings: Path) -> int:
    with open_trace(strings.with_suffix(".tau")) as reader:
        return int(reader.totals.peak_live_bytes)


def test_speedscope(strings: Path, tmp_path: Path) -> None:
    found = json.loads(exported(strings, tmp_path, ".json"))
    assert found["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    (profile,) = found["profiles"]
    assert (profile["type"], profile["unit"], profile["startValue"]) == ("sampled", "bytes", 0)
    assert sum(profile["weights"]) == profile["endValue"] == peak_of(strings)
    frames = found["shared"]["frames"]
    stacks = [[frames[frame]["name"] for frame in sample] for sample in profile["samples"]]
    assert len(stacks) == len(profile["weights"])
    assert any(stack[stack.index("main") :][:3] == ["main", "fill", "label[abi:cxx11]"]
               for stack in stacks if "main" in stack)  # fmt: skip
    assert any(frame.get("file") == "strings.cpp" and frame["line"] == GROWS for frame in frames)


def fields_of(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protocol buffer: their numbers, and integers or bytes."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value += (byte % 128) * 2**shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        number, kind = divmod(varint(), 8)
        assert kind in (0, 2)
        value: Any = varint()
        if kind == 2:
            at += value
            value = data[at - value : at]
        yield number, value


def numbers_of(data: bytes) -> list[int]:
    """A packed list of numbers."""
    return [value for _, value in fields_of(b"".join(b"\x08" + part for part in varints_of(data)))]


def varints_of(data: bytes) -> Iterator[bytes]:
    start = 0
    for at, byte in enumerate(data):
        if byte < 128:
            yield data[start : at + 1]
            start = at + 1


def test_pprof(strings: Path, tmp_path: Path) -> None:
    fields = list(fields_of(gzip.decompress(exported(strings, tmp_path, ".pb.gz"))))
    texts = [value.decode() for number, value in fields if number == 6]
    kinds = [dict(fields_of(value)) for number, value in fields if number == 1]
    assert [texts[kind[1]] for kind in kinds] == ["objects", "space"] and texts[0] == ""
    names = {}
    for one in (dict(fields_of(value)) for number, value in fields if number == 5):
        names[one[1]] = texts[one[2]]
    lines = {}
    for place in (list(fields_of(value)) for number, value in fields if number == 4):
        called = [dict(fields_of(value))[1] for number, value in place if number == 4]
        lines[dict(place)[1]] = [names[function] for function in called]
    samples = [dict(fields_of(value)) for number, value in fields if number == 2]
    assert sum(numbers_of(sample[2])[1] for sample in samples) == peak_of(strings)
    stacks = [
        [name for place in numbers_of(sample[1]) for name in lines[place]] for sample in samples
    ]
    shared = json.loads(exported(strings, tmp_path, ".json"))
    names = [frame["name"] for frame in shared["shared"]["frames"]]
    outer_first = [[names[at] for at in stack] for stack in shared["profiles"][0]["samples"]]
    assert [stack[::-1] for stack in stacks] == outer_first  # inlined calls included
    with open_trace(strings.with_suffix(".tau")) as reader:
        tree = tree_of(Stacks(reader.calls(), Places(reader.header)).held(
            holders_of(reader).counts, "peak"))  # fmt: skip
    objects = [numbers_of(sample[2])[0] for sample in samples]
    rows = who(strings.with_suffix(".tau"))["rows"]
    assert sum(objects) == tree.objects == sum(row["peak_objects"] for row in rows)


def test_folded_stacks_and_the_tree_have_equal_sums(strings: Path, tmp_path: Path) -> None:
    """For all, and for a function with what it calls."""
    text = exported(strings, tmp_path, ".txt").decode()
    folded = [line.rpartition(" ")[::2] for line in text.splitlines()]
    assert sum(int(size) for _, size in folded) == peak_of(strings)
    with open_trace(strings.with_suffix(".tau")) as reader:
        stacks = Stacks(reader.calls(), Places(reader.header))
        node = tree = tree_of(stacks.held(holders_of(reader).counts, "peak"))
    assert tree.size_bytes == peak_of(strings)
    while "fill" not in node.children:
        node = max(node.children.values(), key=lambda child: child.size_bytes)
    below = sum(int(size) for names, size in folded if "fill" in names.split(";"))
    assert node.children["fill"].size_bytes == below > 0.9 * peak_of(strings)


def test_the_reports_flame_graph_has_each_wide_function_below_its_caller(
    strings: Path, tmp_path: Path
) -> None:
    report = tmp_path / "report.html"
    command.tau("report", strings.with_suffix(".tau"), "-o", report, expect=0)
    assert 'id="flame-graph"' in report.read_text()
    with open_trace(strings.with_suffix(".tau")) as reader:
        panel = flame_graph(reader)
        stacks = Stacks(reader.calls(), Places(reader.header))
        tree = tree_of(stacks.held(holders_of(reader).counts, "peak"))
    assert panel is not None
    drawn = list(zip(*panel.columns.values(), strict=True))
    left, expected = [((), 0, tree)], set()
    while left:
        callers, start, node = left.pop()
        if node.size_bytes >= 0.002 * tree.size_bytes and len(callers) < 40:
            expected.add((*callers, node.function))
            left += [((*callers, node.function), 0, child) for child in node.children.values()]
    found = set()
    for function, depth, start, end, _ in drawn:
        above = [
            [one[0] for one in drawn if one[1] == up and one[2] <= start and end <= one[3]]
            for up in range(depth)
        ]
        assert all(len(names) == 1 for names in above), "overlap"
        found.add((*(name for (name,) in above), function))
    assert found == expected and len(found) == len(drawn) > 5


def test_what_cannot_be_exported(strings: Path, tmp_path: Path) -> None:
    trace = strings.with_suffix(".tau")
    done = command.tau("who", trace, "--export", tmp_path / "a.xml", expect=2)
    assert "a.xml: what to write is not known from its name\n  next: name a" in done.stderr
    done = command.tau("who", trace, "--misuse", "--export", tmp_path / "a.txt", expect=2)
    assert "frees hold no bytes" in done.stderr
    command.tau("who", trace, "--left", "--export", tmp_path / "a.txt", expect=0)
    done = command.tau("who", trace, "--export", tmp_path / "a.txt", expect=2)
    assert "a.txt exists\n  next: name another file, or give --force" in done.stderr
