"""`tau translate`: refusals, questions, outputs, and damaged programs."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from tautochrone.commands import info, translate
from tautochrone.errors import EXIT_FAILED, EXIT_USAGE, TauError
from tautochrone.facts import trace_format
from tautochrone.trace.checking import check_trace
from tautochrone.trace.file import TraceWriter, open_trace
from tautochrone.translate.program import read_program
from tool.tests.translate.builds import COMPILERS, build, events_of, run, write_recording

TEXT = """struct node { struct node *next, *before; long value; char name[20]; };
struct conn { struct conn *next; int fd; struct node *nodes; void *p[4]; };
struct message { struct message *next; unsigned length; char data[]; };
struct node make_node(void); struct conn vc; struct message *vm; unsigned char rest[99];
struct node vn; int main(void) { return 0; } int helper(void) { return (int)vn.value; }
"""
NODE, CONN, OTHER = 48, 56, 100
NODE_32, CONN_32 = 32, 28
CORNERS = (0, 1, 0x7F, 0x80, 0xFF)  # bytes


class Case:
    """A program for the host and for Arm, and a recording; runs the command on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        source = folder / "program.c"
        source.write_text(TEXT)
        identified = ["-Wl,--build-id=0x00112233445566778899aabbccddeeff"]
        self.host = build(folder, "x86-64", [source], identified)
        self.target = build(folder, "arm", [source])
        self.recording = folder / "r.tau"

    def write(self, sizes: list[int], is_wrapped: bool = False, **header: Any) -> None:
        known = {"program": str(self.host)} | header
        write_recording(self.recording, sizes, (str(self.host), 0x1010), is_wrapped, **known)

    def run(self, *options: str | Path, host: Path | None = None, target: Path | None = None,
            out: Path | None = None) -> Result:  # fmt: skip
        words = [self.recording, "--from", host or self.host, "--to", target or self.target, "-o"]
        words += [out or self.folder / "o.tau", *options]
        return CliRunner().invoke(
            translate.command, [str(word) for word in words], standalone_mode=False
        )

    def refused(self, *options: str | Path, **paths: Any) -> TauError:
        """The error of a run that fails and writes nothing."""
        result = self.run(*options, **paths)
        assert isinstance(result.exception, TauError), result.exception
        assert not (self.folder / "o.tau").exists()
        return result.exception


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(tmp_path_factory.mktemp("case"))


@pytest.fixture
def case(built: Case) -> Case:
    """The built case with a fresh recording and no output."""
    built.write([NODE, CONN, NODE])
    (built.folder / "o.tau").unlink(missing_ok=True)
    return built


def test_all_but_the_sizes_is_kept(case: Case) -> None:
    """Operations, objects, times, threads, sites, alignments, misuse, and a copy of a cut trace."""
    rng = np.random.default_rng(5)
    count = 150_000
    alloc = np.arange(count) % 3 == 0
    ops = np.where(alloc, rng.integers(0, 4, count) // 2 * 3, trace_format.OP_FREE)
    ops[1::3] = trace_format.OP_REALLOC
    sizes = np.where(ops == trace_format.OP_FREE, 0, rng.choice([NODE, CONN, 0, OTHER], count))
    header = {"command": ["x"], "abi": "x86-64", "host": "h", "truncated": True}
    with TraceWriter(case.recording, header) as writer:
        sites = {size: writer.site(str(case.host), size) for size in (0, NODE, CONN, OTHER)}
        writer.append(
            op=ops,
            slot=np.zeros(count),
            size_bytes=sizes,
            time_ns=np.arange(count) * 7,
            thread=rng.integers(0, 4, count),
            site=np.array([sites[int(size)] for size in sizes]),
            align_log2=np.where(ops == trace_format.OP_ALIGNED_ALLOC, 6, 0),
        )
    result = case.run("--keep", str(OTHER))
    assert result.exit_code == 0 and result.exception is None, result.exception
    before, after = events_of(case.recording), events_of(case.folder / "o.tau")
    mapped = {NODE: NODE_32, CONN: CONN_32, OTHER: OTHER, 0: 0}
    assert after["size_bytes"].tolist() == [mapped[size] for size in before["size_bytes"].tolist()]
    for name in ("op", "slot", "time_ns", "thread", "site", "align_log2", "flags"):
        assert np.array_equal(before[name], after[name]), name
    with open_trace(case.recording) as first, open_trace(case.folder / "o.tau") as second:
        assert first.sites() == second.sites()
        translated = {"from": "x86-64", "sizes": 2, "kept": 1}
        wanted = {**header, "abi": "arm", "build_id": "", "translated": translated}
        assert second.header == wanted
        assert not second.ending.is_complete, "it is a copy of a recording that stopped"
    problems = check_trace(case.folder / "o.tau").problems
    assert [one.place for one in problems] == [one.place for one in check_trace(
        case.recording).problems]  # fmt: skip


def test_text_and_info(case: Case) -> None:
    result = case.run()
    assert "3 events for arm" in result.stdout and "2 sizes translated" in result.stdout
    assert "struct conn -> 28" in result.stdout and "next: tau plan" in result.stdout
    told = CliRunner().invoke(info.command, [str(case.folder / "o.tau")])
    assert "translated   from x86-64 to arm: 2 sizes translated, 0 kept" in told.stdout
    assert "translated" not in CliRunner().invoke(info.command, [str(case.recording)]).stdout


def test_unknown_sizes_are_listed_with_their_options(case: Case) -> None:
    case.write([NODE, OTHER, OTHER, 17, CONN, 3 * CONN])
    error = case.refused()
    assert error.exit_code == EXIT_FAILED and "3 sizes of 5" in error.message
    said = error.said
    assert "100 bytes, 2 allocations, 200 bytes in all: no type has this size" in said
    assert "struct message with 84 elements -> 92" in said
    assert "3 x struct conn -> 84" in said and "--size 168=84, " in said
    assert "add one of: --size 17=9, --keep 17" in said
    assert "called from: " in said and "--keep-others" in (error.next_step or "")
    result = case.run("--json")
    assert result.return_value == EXIT_FAILED and not (case.folder / "o.tau").exists()
    document = json.loads(result.stdout)
    assert document["unknown"] == 3 and document["output"] is None
    asked = {one["size_bytes"]: one for one in document["sizes"]}
    assert asked[OTHER]["allocations"] == 2 and asked[OTHER]["target_bytes"] is None
    assert asked[OTHER]["options"] == ["--size 100=92", "--keep 100"]
    assert asked[NODE]["by"] == "types" and asked[NODE]["target_bytes"] == NODE_32
    assert asked[OTHER]["sites"][0]["offset"] == 0x1020


def test_stated_sizes(case: Case) -> None:
    """--size and --keep go before types; --keep-others takes the sites left without a type."""
    case.write([NODE, OTHER, 17, CONN, 168])
    result = case.run("--size", "100=50,168=84", "--keep", f"{CONN},17", "--json")
    assert result.exception is None and result.return_value == 0
    assert events_of(case.folder / "o.tau")["size_bytes"].tolist() == [32, 50, 17, CONN, 84]
    document = json.loads(result.stdout)
    assert (document["translated"], document["kept"], document["unknown"]) == (3, 2, 0)
    result = case.run("--size", "168=84", "--keep-others", "--force")
    assert result.exception is None and "2 kept" in result.stdout
    assert events_of(case.folder / "o.tau")["size_bytes"].tolist() == [32, 100, 17, CONN_32, 84]


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--size", "57=48"], "--size 57: the recording does not ask for 57 bytes"),
        (["--keep", "57"], "--keep 57: the recording does not ask for 57 bytes"),
        (["--size", "56=48", "--keep", "56"], "contradict each other"),
        (["--size", "56=48", "--size", "56=44"], "contradict each other"),
        (["--size", "56=48,56=44"], "contradict each other"),
        (["--size", "56"], "not FROM=TO"),
        (["--size", "56=x"], "not a size in bytes"),
        (["--size", "56=0"], "not a size in bytes"),
        (["--size", "56=-1"], "not a size in bytes"),
        (["--keep", "5²"], "not a size in bytes"),
        (["--keep", ""], "not a size in bytes"),
        (["--size", "56=99999999999999999999999"], "not a size in bytes"),
        (["--size", f"56={1 << 32}"], "do not fit an address space"),
    ],
)
def test_wrong_options(case: Case, options: list[str], part: str) -> None:
    error = case.refused(*options)
    assert part in error.message and error.next_step
    assert error.exit_code == (EXIT_FAILED if "fit" in part else EXIT_USAGE)


def test_the_recorded_program_is_compared(case: Case) -> None:
    """By its build id, and by the ABI."""
    known = "00112233445566778899aabbccddeeff"
    case.write([NODE], build_id=known)
    assert case.run().exception is None and "could not be compared" not in case.run().stderr
    (case.folder / "o.tau").unlink()
    case.write([NODE], build_id="ff" * 16)
    error = case.refused()
    assert "is not the recorded program" in error.message
    assert known in error.message and "ff" * 16 in error.message
    case.write([NODE], build_id=known)
    assert "has no build id" in case.refused(host=case.target).message
    case.write([NODE], abi="aarch64")
    error = case.refused()
    assert "recorded on aarch64" in error.message and "for x86-64" in error.message
    case.write([NODE])
    result = case.run()
    assert "could not be compared with the program that was recorded" in result.stderr


def test_what_a_library_asks_for_is_not_translated(case: Case) -> None:
    """Its types are not the program's: strdup of 55 letters is not a structure."""
    write_recording(case.recording, [CONN, NODE], ("/lib/libc.so.6", 0x10), program="/x/p")
    error = case.refused()
    assert "a library asks for it" in error.said and "libc.so.6+0x10" in error.said
    assert "struct conn -> 28" in error.said and "--size 56=28, --keep 56" in error.said
    write_recording(case.recording, [CONN, NODE], ("/x/p", 0x10), program="/x/p")
    assert case.run().exception is None


def test_a_site_that_asks_for_several_sizes(case: Case) -> None:
    """A size that it asks for can be a string's. --trust-types takes the types' word."""
    case.write([CONN, NODE, OTHER], is_wrapped=True)
    error = case.refused("--keep", str(OTHER))
    assert "also ask for other sizes" in error.said
    assert "add one of: --size 48=32, --keep 48" in error.said
    assert "--trust-types" in (error.next_step or "")
    result = case.run("--keep", str(OTHER), "--trust-types")
    assert result.exception is None
    assert "2 sizes with 2 allocations are translated because of --trust-types" in result.stderr
    assert events_of(case.folder / "o.tau")["size_bytes"].tolist() == [CONN_32, NODE_32, OTHER]
    write_recording(case.recording, [CONN, NODE])
    assert isinstance(case.run("--force").exception, TauError), "no sites, so nothing is certain"
    assert case.run("--force", "--trust-types").exception is None


def test_call_sites_are_named_by_function(case: Case) -> None:
    from elftools.elf.elffile import ELFFile

    with open(case.host, "rb") as file:
        elf = ELFFile(file)
        table = elf.get_section_by_name(".symtab")
        address = table.get_symbol_by_name("helper")[0]["st_value"]
        base = min(one["p_vaddr"] for one in elf.iter_segments("PT_LOAD"))
    write_recording(case.recording, [OTHER], (str(case.host), address - base + 5))
    assert "called from: helper" in case.refused().said


def test_recordings_that_cannot_be_translated(case: Case) -> None:
    case.write([NODE])
    assert case.run(out=case.folder / "once.tau").exception is None
    translated = case.recording
    case.recording = case.folder / "once.tau"
    try:
        assert "translated already" in case.refused().message
    finally:
        case.recording = translated
        (case.folder / "once.tau").unlink()
    with TraceWriter(case.recording, {}) as writer:
        writer.append(
            op=np.array([trace_format.OP_MALLOC, trace_format.OP_TOUCH]),
            slot=np.zeros(2),
            size_bytes=np.array([NODE, 16]),
            align_log2=np.array([0, 1]),
        )
    assert "accesses" in case.refused().message
    case.write([NODE])
    for host, target in ((case.host, case.host), (case.target, case.target)):
        error = case.refused(host=host, target=target)
        assert "nothing to translate" in error.message and error.exit_code == EXIT_USAGE
    error = case.refused(out=case.recording)
    assert "same file" in error.message


def test_programs_that_cannot_be_read(case: Case) -> None:
    """Each error names the file and says what to do."""
    folder, source = case.folder, case.folder / "program.c"
    arm = COMPILERS["arm"]

    def made(name: str, *command: str | Path) -> Path:
        run(*command, "-o", folder / name)
        return folder / name

    alone = ("-ffreestanding", "-nostdlib", "-Wl,-e,0", source)
    stripped = folder / "stripped"
    run("arm-none-eabi-objcopy", "--strip-all", case.target, stripped)
    packed = folder / "packed"
    run("objcopy", "--compress-debug-sections=zlib-gnu", case.host, packed)
    split = made("split", "gcc", "-g", "-gsplit-dwarf", *alone)
    cases = {
        stripped: ("is stripped", "-g"),
        made("plain", *arm, *alone): ("has no DWARF", "-g"),
        split: (".dwo", "-gsplit-dwarf"),
        next(folder.glob("*.dwo")): (".dwo file", "program"),
        packed: ("compressed sections", "--decompress-debug-sections"),
        source: ("not an ELF file", "compiler"),
        folder: ("is a folder", "files"),
        folder / "missing": ("no such file", "path"),
    }
    for path, (cause, step) in cases.items():
        error = case.refused(target=path)
        assert str(path) in error.message and cause in error.message, error.message
        assert step in (error.next_step or ""), error.next_step
    modern = folder / "modern"
    run("objcopy", "--compress-debug-sections=zlib", case.host, modern)
    assert case.run(host=modern).exception is None, "zlib in SHF_COMPRESSED is read"


@pytest.mark.parametrize(
    ("machine", "flags", "part"),
    [(20, 0, "PPC"), (40, 0, "before AAPCS"), (243, 8, "ilp32e")],
)
def test_machines_without_an_abi(case: Case, machine: int, flags: int, part: str) -> None:
    """By the header alone: e_machine and e_flags of the Arm program are changed."""
    data = bytearray(case.target.read_bytes())
    data[18:20] = machine.to_bytes(2, "little")
    data[36:40] = flags.to_bytes(4, "little")
    other = case.folder / "other"
    other.write_bytes(data)
    assert part in case.refused(target=other).message


@pytest.mark.parametrize("mutants", [250, pytest.param(8000, marks=pytest.mark.slow)])
def test_damaged_programs(case: Case, mutants: int) -> None:
    """Cut or changed anywhere, a program is read or refused by name, and never takes long."""
    seed = int(os.environ.get("TAU_TEST_SEED", "0")) or time.time_ns() % 2**32
    print("seed", seed)
    source = random.Random(seed)
    types = case.folder / "types"
    run("gcc", "-g", "-fdebug-types-section", "-nostdlib", "-Wl,-e,0", case.folder / "program.c",
        "-o", types)  # fmt: skip
    packed = case.folder / "zlib"
    run("objcopy", "--compress-debug-sections=zlib", case.host, packed)
    samples = [path.read_bytes() for path in (case.host, case.target, types, packed)]
    mutant, refusals = case.folder / "mutant", 0
    for _ in range(mutants):
        data = bytearray(source.choice(samples))
        if source.random() < 0.2:
            data = data[: source.randrange(len(data))]
        for _ in range(source.choice([1, 1, 3, 30])):
            at = source.randrange(max(1, len(data)))
            data[at : at + 1] = bytes([source.choice([*CORNERS, source.randrange(256)])])
        mutant.write_bytes(data)
        started = time.process_time()
        try:
            read_program(mutant)
        except TauError as error:
            refusals += 1
            assert str(mutant) in error.message
        assert time.process_time() - started < 60  # on a slow machine, too; alone: 0.1 s
    assert refusals > mutants // 20
