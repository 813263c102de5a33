"""What a tile and its simulator do with bad input: programs, images, options, files, tables.

Everything ends soon, with an exit code for the kind of end and a message that names the cause. The
probe's simulator is the one of test_tile.py; the RTMMU and the page table use the simulators of the
replays.
"""

import os
import random
import struct
import subprocess
import time
from pathlib import Path

import pytest

from tautochrone.tile.build import Options, simulator
from tautochrone.tile.units import units
from testing.tile import TARGETS, compiled, run

PROBE = Options(unit="probe")
UNTABLED = ("bare", "probe")  # no MMU, and the unit of all other tests here
SMALL = Options(unit="probe", page_bits=8, frame_bits=8)
PARALLEL = (1, 1, 2)
# The units with tables of pages of 4 KiB, which `hostile.c` and `borders.c` fill.
TABLED = [
    unit for unit in units().values() if unit.granule_bytes == 4096 and unit.name not in UNTABLED
]
# Those of the replays in `make check`: for each kind of tables the first unit that reads them.
REPLAYED = {
    unit.space: Options(unit=unit.name, latencies=PARALLEL) for unit in TABLED[::-1] if unit.space
}.values()
NUMBERS = ("--cycles-max", "--stall", "--stall-seed", "--fill", "--bytes", "--parent")
OTHERS = (
    *(
        options
        for unit in TABLED
        if (options := Options(unit=unit.name, latencies=PARALLEL)) not in REPLAYED
    ),
    Options(unit="rtmmu"),
    Options(unit="rtmmu", config="fast-b", latencies=PARALLEL),
)
BORDERS = ("tb/programs/borders.c", "tb/programs/accesses.S")
HOSTILE = ("tb/programs/hostile.c", "tb/programs/accesses.S")
PASSED, USAGE, LIMIT, DOUBLE_FAULT = 0, 2, 3, 4
SECONDS_MAX = 300


@pytest.fixture(scope="module")
def hello(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The smallest program."""
    return compiled(tmp_path_factory.mktemp("hello"), TARGETS / "programs/hello.c")


@pytest.fixture(scope="module")
def mailbox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that sends a result for each command."""
    return compiled(tmp_path_factory.mktemp("mailbox"), "tb/programs/mailbox.c")


def called(*words: object, **settings: object) -> subprocess.CompletedProcess[str]:
    """The probe's simulator with a command line of one's own."""
    line = [str(simulator(PROBE)), *map(str, words)]
    settings = {"capture_output": True, "text": True, "timeout": SECONDS_MAX} | settings
    return subprocess.run(line, **settings)  # type: ignore[call-overload]


def refusal(*words: object, **settings: object) -> str:
    """What the simulator says when it does not start, or gives up: exit code 2."""
    done = called(*words, **settings)
    assert done.returncode == USAGE, (done.returncode, done.stderr)
    assert done.stderr.startswith("tau_sim: "), done.stderr
    return done.stderr


# ---- accesses ----


@pytest.mark.parametrize(
    "options, said",
    [(PROBE, ["ok 62 "]), (SMALL, ["[0] ok 70 ", "[1] ok 70 "])],
    ids=["large", "small"],
)
def test_the_sides_of_the_window(tmp_path: Path, options: Options, said: list[str]) -> None:
    """Loads, stores and fetches on both sides of the window, of the banks and of the frames.

    With the window that ends where the frames begin, and in two tiles with a smaller one.
    """
    program = compiled(tmp_path, *BORDERS)
    for stall in (0, 120):
        words = ("--program", program, "--stall", stall, "--fill", 9)
        done = run(options, *words, tiles=len(said))
        assert done.code == PASSED, done.console
        assert all(line in done.console for line in said), done.console


@pytest.mark.parametrize("options", REPLAYED, ids=lambda options: options.unit)
def test_tables_that_hold_anything(tmp_path: Path, options: Options) -> None:
    """The unit grants what the definition grants of these very words, and nothing else."""
    seed = int(os.environ.get("TAU_TEST_SEED", random.randrange(1 << 32)))
    print(f"TAU_TEST_SEED={seed}")
    program = compiled(tmp_path, *HOSTILE)
    words = ("--program", program, "--fill", seed | 1, "--stall", seed % 3 * 50)
    done = run(options, *words, commands=[(seed, 0, 0, 0)])
    assert done.code == PASSED, done.console + done.messages
    _, granted, refused = done.console.split()
    assert int(granted) > 200 and int(refused) > 200


@pytest.mark.slow
@pytest.mark.parametrize("options", OTHERS, ids=lambda options: f"{options.unit}-{options.config}")
def test_sides_and_tables_with_other_units(tmp_path: Path, options: Options) -> None:
    """The same with the units that no replay in `make check` builds."""
    test_tables_that_hold_anything(tmp_path, options)
    done = run(options, "--program", compiled(tmp_path, *BORDERS), "--fill", 9)
    assert done.code == PASSED and done.console.startswith("ok 62 "), done.console


def test_handlers_that_fault(tmp_path: Path) -> None:
    """By a store, load, stack, call, illegal instruction, ecall; handlers that are not there."""
    program = compiled(tmp_path, "tb/programs/bad_handler.c")
    for way in range(9):
        done = run(PROBE, "--program", program, commands=[(way, 0, 0, 0)])
        assert done.code == DOUBLE_FAULT and done.summary["cycles"] < 1000, (way, done.messages)
        assert "tile 0: fault inside the fault handler" in done.messages
        assert "address 0x80005000" in done.messages


def test_plain_bytes_that_are_not_a_program(tmp_path: Path) -> None:
    """Zeros, ones, random bytes, code for elsewhere: no core spins beyond the limit."""
    for number, contents in enumerate((bytes(4096), b"\xff" * 4096, os.urandom(4096))):
        image = tmp_path / f"{number}.bin"
        image.write_bytes(contents)
        done = run(PROBE, "--program", image, "--bytes", "0x100000", cycles_max=100_000)
        assert done.code in (LIMIT, DOUBLE_FAULT), (contents[:64].hex(), done.messages)
    for address in ("0x50000000", "0x17FFFF", "0xFFFFFFFF"):
        assert str(image) in refusal("--program", image, "--bytes", address)


# ---- images ----


def segments_of(elf: bytes) -> list[int]:
    """Where the program headers of an ELF lie in the file."""
    first, _, _, _, size, count = struct.unpack_from("<IIIHHH", elf, 28)
    return [first + size * number for number in range(count)]


def test_images_for_something_else(tmp_path: Path, hello: Path) -> None:
    """Each field that can be wrong, and paths that are not files."""
    good = hello.read_bytes()
    first, second = segments_of(good)
    text_address, text_bytes = struct.unpack_from("<I4xI", good, first + 12)
    for offset, form, value, message in (
        (4, "B", 2, "not for 32-bit little-endian RISC-V"),  # 64-bit
        (5, "B", 2, "not for 32-bit little-endian RISC-V"),  # big-endian
        (18, "<H", 40, "not for 32-bit little-endian RISC-V"),  # Arm
        (16, "<H", 1, "not linked to fixed addresses"),  # an object file
        (16, "<H", 3, "not linked to fixed addresses"),  # a shared library
        (24, "<I", 0, "begins at 0x00000000"),
        (28, "<I", 0xFFFFFFF0, "cut short"),  # program headers after the end
        (44, "<H", 0, "nothing at the reset address"),  # no segment
        (44, "<H", 0xFFFF, "cut short"),
        (first + 4, "<I", 0xFFFFFF00, "cut short"),  # the segment's bytes after the end
        (first + 16, "<I", 0xFFFFFFFF, "cut short"),
        (first + 20, "<I", text_bytes - 4, "cut short"),  # less memory than bytes
        (first + 20, "<I", 0x80001, "the instruction bank ends at 0x00180000"),
        (second + 12, "<I", text_address + 0x80, "two segments for 0x00100080"),
        (second + 12, "<I", 0x20000000, "no memory that a program can fill"),
        (first + 12, "<I", text_address + 0x1000, "nothing at the reset address"),
    ):
        bad = bytearray(good)
        struct.pack_into(form, bad, offset, value)
        (tmp_path / "bad.elf").write_bytes(bad)
        said = refusal("--program", tmp_path / "bad.elf")
        assert message in said and "bad.elf" in said, (offset, said)
    assert "Is a directory" in refusal("--program", tmp_path)
    assert "larger than any program" in refusal("--program", "/dev/zero")
    assert "not an ELF file" in refusal("--program", "/dev/null")
    (tmp_path / "closed.elf").symlink_to("closed.elf")
    assert "symbolic links" in refusal("--program", tmp_path / "closed.elf")


def test_segments_that_meet_within_a_word(tmp_path: Path) -> None:
    """Both keep their bytes: one that ends within a word and one that begins in it."""
    # lui t0, 0x40000; sw zero, 4(t0): the cut goes through the second instruction.
    code = struct.pack("<2I", 0x400002B7, 0x0002A223)
    parts = [(0x100080, code[:6]), (0x100086, code[6:])]
    header = b"\x7fELF\x01\x01\x01" + bytes(9)
    header += struct.pack("<2H5I6H", 2, 243, 1, 0x100080, 52, 0, 0, 52, 32, 2, 40, 0, 0)
    elf, bytes_at = header, 52 + 64
    for address, contents in parts:
        size = len(contents)
        elf += struct.pack("<8I", 1, bytes_at, address, address, size, size, 5, 2)
        bytes_at += size
    (tmp_path / "two.elf").write_bytes(elf + code)
    assert called("--program", tmp_path / "two.elf").returncode == PASSED


# ---- options ----


@pytest.mark.parametrize("option", NUMBERS)
def test_numbers_that_are_none(hello: Path, option: str) -> None:
    """Negative, with blanks, with a tail, in another notation, too large, missing."""
    for bad in ("-1", " -1", " 1", "1 ", "1x", "1e9", "1.5", "", "ten", "0x", "9" * 30, "--fill"):
        assert f"{option}: `{bad}` is not a number" in refusal("--program", hello, option, bad)
    assert "its value is missing" in refusal("--program", hello, option)


def test_options_that_make_no_sense(hello: Path) -> None:
    """None, twice, too many, unknown."""
    assert "one --program" in refusal()
    assert "one --program" in refusal("--program", hello, "--program", hello)
    assert "more --commands or --results than tiles" in refusal(
        "--program", hello, "--results", "/dev/null", "--results", "/dev/null"
    )
    assert "--speed: unknown option" in refusal("--program", hello, "--speed", "1")
    assert "--tiles: at least 1" in refusal("--program", hello, "--tiles", "0")
    assert "`9` is not a number from 0 to 8" in refusal("--program", hello, "--tiles", "9")
    said = refusal("--program", hello, "--stall", "256")
    assert "--stall: `256` is not a number from 0 to 255" in said
    two = [str(simulator(PROBE)), "--program", str(hello), "--tiles", "2"]
    for option in ("--commands", "--results"):
        done = subprocess.run([*two, option, "-", option, "-"], capture_output=True, text=True)
        assert done.returncode == USAGE and "one tile only" in done.stderr
    assert called("--program", hello, "--cycles-max", "0").returncode == LIMIT


# ---- commands and results ----


def test_files_that_cannot_be_used(tmp_path: Path, hello: Path) -> None:
    """Missing, a directory, not writable."""
    missing, folder = tmp_path / "missing" / "x", tmp_path
    assert f"{missing}: No such file" in refusal("--program", hello, "--commands", missing)
    assert f"{missing}: No such file" in refusal("--program", hello, "--results", missing)
    assert f"{folder}: Is a directory" in refusal("--program", hello, "--results", folder)
    assert "could not be written" in refusal("--program", hello, "--summary", missing)
    assert "could not be written" in refusal("--program", hello, "--summary", "/dev/full")


def test_commands_that_cannot_be_read(tmp_path: Path, mailbox: Path) -> None:
    """A directory opens but cannot be read; a file ends within a record."""
    assert "the commands cannot be read: Is a directory" in refusal(
        "--program", mailbox, "--commands", tmp_path
    )
    for size in (1, 15, 17, 31):
        (tmp_path / "short").write_bytes(struct.pack("<4I", 1, 2, 3, 4) * 2)
        os.truncate(tmp_path / "short", size)
        words = ("--program", mailbox, "--commands", tmp_path / "short")
        assert "the commands end within a record" in refusal(*words)


def test_results_on_a_full_disk(tmp_path: Path, mailbox: Path) -> None:
    """It stops when the first results are lost, however many there would be; so for the console."""
    commands = tmp_path / "commands"
    for count in (1, 20_000):
        commands.write_bytes(struct.pack("<4I", 1, 1, 1, 1) * count)
        words = ("--program", mailbox, "--commands", commands, "--results", "/dev/full")
        said = refusal(*words)
        assert "results" in said and "written" in said
        # 4096 bytes of them are kept back: 128 results.
        if count > 1:
            assert int(said.split("stopped after ")[1].split()[0]) < 60_000, said
    with open("/dev/full", "w") as full:
        line = [str(simulator(PROBE)), "--program", str(mailbox)]
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == USAGE and "the console cannot be written: No space" in done.stderr


def test_a_reader_that_goes_away(tmp_path: Path, mailbox: Path) -> None:
    """The pipe's end closed after one result: an error, neither a hang nor a silent death."""
    commands = tmp_path / "commands"
    commands.write_bytes(struct.pack("<4I", 1, 1, 1, 1) * 200_000)
    line = [str(simulator(PROBE)), "--program", str(mailbox), "--commands", str(commands)]
    with subprocess.Popen(
        [*line, "--results", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=False
    ) as process:
        process.stdout.read(32)
        process.stdout.close()
        assert process.wait(timeout=SECONDS_MAX) == USAGE
        assert b"the results cannot be written: Broken pipe" in process.stderr.read()


def test_a_writer_that_goes_away(mailbox: Path) -> None:
    """Commands end with the pipe: before a record that is the end, within one an error."""
    line = [str(simulator(PROBE)), "--program", str(mailbox), "--commands", "-"]
    record = struct.pack("<4I", 1, 1, 1, 1)
    for sent, code in ((record, PASSED), (record + record[:7], USAGE)):
        done = subprocess.run(line, input=sent, capture_output=True, timeout=SECONDS_MAX)
        assert done.returncode == code, done.stderr


def test_a_parent_that_goes_away(tmp_path: Path) -> None:
    """With --parent nobody has to look for simulators that were left behind."""
    program = compiled(tmp_path, "tb/programs/busy.c")
    said = tmp_path / "said"
    script = f"{simulator(PROBE)} --program {program} --parent $$ 2> {said} & echo $!; read x"
    with subprocess.Popen(
        ["bash", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as shell:
        child = int(shell.stdout.readline())
        assert Path(f"/proc/{child}").exists()
        shell.kill()
    deadline = time.monotonic() + SECONDS_MAX
    while not said.exists() or "is gone" not in said.read_text():
        assert time.monotonic() < deadline, "the simulator goes on"
        time.sleep(0.05)
