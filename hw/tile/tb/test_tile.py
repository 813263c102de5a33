"""The tile with a small page table in its socket: programs check themselves, the host the rest.

One simulator is built (half a minute, kept in build/tile). The probe (rtl/tau_probe.sv) is the
unit: it can be slow and irregular and can break the socket's rules. The other units run the same
fault programs in test_units.py.
"""

import json
import os
import random
import struct
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from tautochrone.errors import TauError
from tautochrone.tile import build
from tautochrone.tile.build import Options, simulator
from tautochrone.tile.records import records_of
from testing.tile import TARGETS, compiled, run

PROBE = Options(unit="probe")
HELLO = TARGETS / "programs/hello.c"
FAULTS = ("tb/programs/faults.c", "tb/programs/accesses.S")


def same(summary: dict) -> dict:
    """Return a summary without what depends on the host."""
    return {name: value for name, value in summary.items() if name != "host"}


def test_hello_says_where_it_runs(tmp_path: Path) -> None:
    """The first program runs to its end and counts cycles."""
    done = run(PROBE, "--program", compiled(tmp_path, HELLO))
    assert (done.code, done.messages) == (0, "")
    assert done.console == "hello from tile 0, unit 255, cycles between two readings: 4\n"
    assert done.summary["end"] == "exit" and done.tile["exit_code"] == 0


@pytest.mark.parametrize("stall", [0, 60, 160])
def test_faults_are_precise_and_restartable(tmp_path: Path, stall: int) -> None:
    """Each kind of access, each alignment, each page absent or not, in all memories' moods."""
    program = compiled(tmp_path, *FAULTS)
    words = ("--program", program, "--fill", 77, "--stall", stall, "--stall-seed", 5)
    done = run(PROBE, *words)
    assert (done.code, done.console) == (0, "ok 440\n"), done.console + done.messages


def test_random_accesses_with_interrupts_and_stalls(tmp_path: Path) -> None:
    """Loads and stores, half of them across pages, see the memory that an array says they see."""
    seed = int(os.environ.get("TAU_TEST_SEED", random.randrange(1 << 32)))
    print(f"TAU_TEST_SEED={seed}")
    program = compiled(tmp_path, "tb/programs/stress.c")
    for stall, hold in ((0, 0), (70, 0), (0, 90), (120, 120)):
        words = ("--program", program, "--stall", stall, "--stall-seed", seed & 0xFFFFFF)
        done = run(PROBE, *words, commands=[(seed, hold, 0, 0)])
        assert done.code == 0, (stall, hold, done.console, done.messages)
        _, faults, interrupts = done.console.split()
        assert int(faults) > 200 and int(interrupts) > 500
        assert done.tile["faults_data_unmapped"] >= int(faults)


def test_a_fault_costs_six_cycles_and_its_lookup(tmp_path: Path) -> None:
    """From the unit's answer to the repeated request: 6 cycles and the handler's 3 (nop, mret).

    The record begins with the request, one cycle (the table's latency) before the answer.
    """
    program = compiled(tmp_path, "tb/programs/roundtrip.c", "tb/programs/roundtrip.S")
    done = run(PROBE, "--program", program)
    assert done.code == 0, done.messages
    records = [result for result in done.records() if result[0] == 8]
    lookup, handler = 1, 3
    # Across two pages Ibex waits for the second half before it traps, one cycle more, and the two
    # refusals are one fault.
    assert [record[1:4] for record in records] == [
        (0x80003000, lookup + 6 + handler, 1),
        (0x80003FFC, lookup + 1 + 6 + handler, 1),
    ]
    histogram = {record[1:4] for record in done.records() if record[0] == 0x108}
    assert histogram == {(0, 10, 1), (0, 11, 1)}
    hit, fault, late = map(int, done.console.split())
    assert hit == 4 and fault == hit + lookup + 6 + handler
    # Five loads before the 64 late ones were answered after two cycles; the core's counter shows
    # two cycles more than the bus, as for the hit.
    loads = [(record[2], record[3]) for record in done.records() if record[0] == 0x109]
    assert sum(count for _, count in loads) == 5 + 64
    assert sum(cycles * count for cycles, count in loads) == 5 * 2 + late - 2 * 64


def test_two_runs_are_identical(tmp_path: Path) -> None:
    """Cycle for cycle, with and without stalls; another seed of the stalls is another run."""
    program = compiled(tmp_path, "tb/programs/stress.c")
    seen = []
    for words in ((), (), ("--stall", 90), ("--stall", 90), ("--stall", 90, "--stall-seed", 9)):
        done = run(PROBE, "--program", program, *words, commands=[(5, 40, 0, 0)])
        seen.append((done.code, done.console, same(done.summary), done.records()))
    assert seen[0] == seen[1] and seen[2] == seen[3]
    cycles = [each[2]["cycles"] for each in seen]
    assert len({cycles[0], cycles[2], cycles[4]}) == 3


def test_mailbox_measures_between_two_stores(tmp_path: Path) -> None:
    """Tags, values, exact cycles, faults and histograms come back as mailbox.md says."""
    program = compiled(tmp_path, "tb/programs/mailbox.c")
    commands = [(1, rounds, rounds, 1000 + rounds) for rounds in range(10)]
    commands += [(2, rounds, 4, 0) for rounds in (3, 3, 8, 3)]
    commands += [(3, 1, 6, 9)]
    done = run(PROBE, "--program", program, commands=commands)
    assert (done.code, done.console) == (0, "15 commands\n"), done.messages
    empty, *listed = [result for result in done.records() if result.channel < 8]
    assert empty[:4] == (7, 0xE0E0, 2, 0)
    fault = [result for result in done.records() if result[0] == 8]
    histogram = {result[1:4] for result in done.records() if result[0] == 0x104}
    for rounds, result in enumerate(listed[:10]):
        assert (result.channel, result.tag) == (rounds % 8, rounds)
        assert result.value == 0xFFFFFFFF - rounds and result.sent == 1000 + rounds
        assert result.faults == 0
    times = [result.cycles for result in listed[:10]]
    steps = {later - earlier for earlier, later in zip(times[1:], times[2:], strict=False)}
    assert len(steps) == 1 and steps.pop() > 1, times
    ends = [result.at_cycle for result in listed]
    assert ends == sorted(ends) and ends[-1] < done.summary["cycles"]
    assert histogram == {(3, times[3], 3), (8, times[8], 1)}
    assert listed[10].faults == 1 and listed[10].cycles > fault[0].cycles
    assert fault[0].tag == 0x80009000
    assert done.tile["commands"] == 15


def test_mailbox_waits_for_a_slow_host(tmp_path: Path) -> None:
    """Through pipes, a command a result: the cycles are the same as in a run from a file."""
    program = compiled(tmp_path, "tb/programs/mailbox.c")
    commands = [(1, rounds, 2, 0) for rounds in (9, 2, 30)]
    wanted = run(PROBE, "--program", program, commands=commands).records()
    line = [simulator(PROBE), "--program", program, "--commands", "-", "--results", "-"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        got = process.stdout.read(32)
        for command in commands:
            process.stdin.write(struct.pack("<4I", *command))
            process.stdin.flush()
            got += process.stdout.read(32)
        process.stdin.close()
        got += process.stdout.read()
        assert process.wait(timeout=300) == 0
        assert process.stderr.read() == b"3 commands\n"
    assert records_of(got) == wanted


def test_the_ends_of_a_run(tmp_path: Path) -> None:
    """Exit codes, the cycle limit, and commands that end within a record."""
    program = compiled(tmp_path, "tb/programs/exit_code.c")
    assert run(PROBE, "--program", program, commands=[]).code == 0
    failed = run(PROBE, "--program", program, commands=[(42, 0, 0, 0)])
    assert failed.code == 1 and "tile 0: the program exited with 42" in failed.messages
    forever = [(0xFFFFFFFF, 0, 0, 0)]
    endless = run(PROBE, "--program", program, commands=forever, cycles_max=70_001)
    assert endless.code == 3 and "stopped after 70001 cycles: cycle limit" in endless.messages
    assert endless.summary["end"] == "cycle limit" and endless.tile["exit_code"] is None
    (tmp_path / "short.bin").write_bytes(b"12345")
    short = run(PROBE, "--program", program, "--commands", tmp_path / "short.bin")
    assert short.code == 2 and "the commands end within a record" in short.messages


def test_a_fault_inside_the_handler_stops_the_run(tmp_path: Path) -> None:
    """The message names both faults; nothing hangs."""
    program = compiled(tmp_path, "tb/programs/double_fault.c")
    done = run(PROBE, "--program", program)
    assert done.code == 4 and done.summary["cycles"] < 5000
    assert "tile 0: fault inside the fault handler" in done.messages
    assert "address 0x80005000" in done.messages


def test_a_false_assertion_stops_the_run(tmp_path: Path) -> None:
    """A unit that answers what nobody asked does not get away with it."""
    done = run(PROBE, "--program", compiled(tmp_path, "tb/programs/broken_unit.c"))
    assert done.code == 5 and done.summary["end"] == "assertion"
    assert "assertion ResultWasAskedFor failed in " in done.console + done.messages
    assert "before" in done.console and "after" not in done.console


@pytest.mark.parametrize(
    "name, contents, message",
    [
        ("missing.elf", None, "No such file or directory"),
        ("text.elf", b"not a program at all", "not an ELF file"),
        ("empty.elf", b"", "not an ELF file"),
        ("host.elf", Path("/proc/self/exe").read_bytes()[:64], "not for 32-bit"),
    ],
)
def test_bad_images_are_refused(
    tmp_path: Path, name: str, contents: bytes | None, message: str
) -> None:
    """No core starts on them: exit code 2 and the reason."""
    if contents is not None:
        (tmp_path / name).write_bytes(contents)
    done = run(PROBE, "--program", tmp_path / name)
    assert done.code == 2 and message in done.messages and name in done.messages
    assert done.summary == {}


def test_damaged_programs_are_refused(tmp_path: Path) -> None:
    """An ELF cut short at any place, for other memory or with another entry; wrong options."""
    good = compiled(tmp_path, HELLO).read_bytes()
    bad = tmp_path / "bad.elf"

    def refusal(contents: bytes, *words: object) -> str:
        bad.write_bytes(contents)
        done = run(PROBE, "--program", bad, *words)
        assert done.code == 2 and done.summary == {}, done.messages
        return done.messages

    for length in (10, 51, 60, 100, 0x1100, 0x2010):
        assert ("cut short" if length > 51 else "") in refusal(good[:length])
    first_segment = struct.unpack_from("<I", good, 28)[0]
    for address, message in ((0x50000000, "no memory that a program can fill"),
                             (0x0017FFFC, "the instruction bank ends at 0x00180000")):
        moved = bytearray(good)
        struct.pack_into("<I", moved, first_segment + 12, address)
        assert message in refusal(bytes(moved))
    entry = bytearray(good)
    struct.pack_into("<I", entry, 24, 0x00100000)
    assert "begins at 0x00100000" in refusal(bytes(entry))
    assert "`-1` is not a number" in refusal(good, "--fill", -1)
    assert "unknown option" in refusal(good, "--speed", 1)
    assert "one --program" in refusal(good, "--program", bad)


def test_plain_bytes_run_too(tmp_path: Path) -> None:
    """Bytes for the reset address: two instructions that store 0 to EXIT."""
    program = tmp_path / "program.bin"
    # lui t0, 0x40000; sw zero, 4(t0)
    program.write_bytes(bytes(0x80) + struct.pack("<2I", 0x400002B7, 0x0002A223))
    done = run(PROBE, "--program", program, "--bytes", "0x100000")
    assert (done.code, done.console, done.messages) == (0, "", "")


def test_options_that_no_tile_has() -> None:
    """build.py refuses them before it starts a tool."""
    for options in (
        Options(unit="none"),
        Options(config="large"),
        Options(page_bits=19),
        Options(latencies=(0, 1, 1)),
        Options(unit_parameters=("Depth",)),
    ):
        with pytest.raises(TauError):
            simulator(options)


def test_a_build_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verilator says `No targets`; the cause and the next step name the disk."""
    monkeypatch.setenv("TAU_TILE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "arguments", lambda *_: ["false"])
    for free, cause in ((0, "cache: No space left on device"), (1 << 30, "Verilator or the comp")):
        usage = SimpleNamespace(free=free)
        monkeypatch.setattr(build.shutil, "disk_usage", lambda _, usage=usage: usage)
        with pytest.raises(TauError, match=cause) as caught:
            simulator(PROBE)
        assert (caught.value.next_step or "").startswith("set TAU_TILE_CACHE") == (free == 0)


def test_a_simulator_is_built_once() -> None:
    """The same options give the same file; other options another name."""
    path = simulator(PROBE)
    before = path.stat().st_mtime_ns
    assert simulator(PROBE) == path and path.stat().st_mtime_ns == before
    assert simulator(Options(unit="probe", latencies=(1, 1, 9)), build=False) != path


def test_summary_is_json(tmp_path: Path) -> None:
    """Every access of hello is counted once, on the right side."""
    program = compiled(tmp_path, HELLO)
    tile = run(PROBE, "--program", program).tile
    assert tile["stores_window"] == tile["loads_window"] == tile["fetches_window"] == 0
    assert tile["fetches_local"] > tile["loads_local"] > 0
    assert json.dumps(tile).count("faults") == 6
