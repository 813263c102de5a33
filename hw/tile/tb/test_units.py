"""Every unit in the socket of the tile, every configuration of the core, and tiles side by side.

Each needs a simulator of its own (half a minute each, kept in build/tile), so all but one are slow.
"""

from pathlib import Path

import pytest

from tautochrone.facts import config_format
from tautochrone.tile.build import Options
from tautochrone.tile.units import units
from testing.tile import TARGETS, compiled, run

FAULTS = ("tb/programs/faults.c", "tb/programs/accesses.S")
SPEED_CYCLES_PER_CPU_SECOND_MIN = 2_000_000


def test_two_tiles_side_by_side(tmp_path: Path) -> None:
    """Two programs with their own memories, mailboxes and exit codes in one simulation.

    Each takes the cycles it takes alone, in a larger window too.
    """
    options = Options(unit="probe", page_bits=8, frame_bits=8)
    hello = compiled(tmp_path, TARGETS / "programs/hello.c")
    faults = compiled(tmp_path, *FAULTS)
    alone = Options(unit="probe")
    wanted = [run(alone, "--program", program).tile for program in (hello, faults)]
    done = run(options, "--program", hello, "--program", faults, tiles=2)
    assert done.code == 0, done.messages
    assert sorted(done.console.splitlines()) == [
        "[0] hello from tile 0, unit 255, cycles between two readings: 4",
        "[1] ok 440",
    ]
    for tile, lonely in zip(done.summary["tiles"], wanted, strict=True):
        for name in ("exit_code", "stores_window", "loads_window", "faults_data_unmapped"):
            assert tile[name] == lonely[name], name
    assert done.summary["cycles"] == wanted[1]["cycles"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit, latencies",
    [
        *((unit, (1, 1, 2)) for unit in units() if unit not in ("bare", "probe")),
        ("pagetable", (1, 1, 1)),
        ("rtmmu", (1, 1, 1)),
        ("rtmmu", (3, 2, 5)),
    ],
)
def test_faults_with_each_unit(tmp_path: Path, unit: str, latencies: tuple[int, int, int]) -> None:
    """What the probe passes, the units pass: same program, same traps, with stalls too."""
    options = Options(unit=unit, latencies=latencies)
    program = compiled(tmp_path, *FAULTS)
    for stall in (0, 90):
        done = run(options, "--program", program, "--fill", 5, "--stall", stall)
        assert (done.code, done.console) == (0, "ok 440\n"), done.console + done.messages
    program = compiled(tmp_path, "tb/programs/stress.c")
    words = ("--program", program, "--stall", 60, "--stall-seed", 3)
    assert run(options, *words, commands=[(7, 0, 0, 0)]).code == 0


@pytest.mark.slow
def test_parallel_tables_cost_nothing(tmp_path: Path) -> None:
    """With tables 0 and 1 twice as fast as the page table the whole run is as long, to a cycle."""
    program = compiled(tmp_path, TARGETS / "programs/smoke.c")
    consoles = {}
    for unit in ("pagetable", "rtmmu"):
        for latencies in ((1, 1, 1), (1, 1, 2)):
            options = Options(unit=unit, latencies=latencies)
            done = run(options, "--program", program)
            assert done.code == 0, done.messages
            consoles[unit, latencies[2]] = (done.console, done.summary["cycles"])
    assert consoles["rtmmu", 2] == consoles["pagetable", 2]
    loads = {key: value[0].splitlines()[1] for key, value in consoles.items()}
    text = "load from the window, cycles: "
    assert loads["pagetable", 1] == text + "4" and loads["rtmmu", 1] == text + "5"
    assert loads["pagetable", 2] == text + "5"


@pytest.mark.slow
@pytest.mark.parametrize("config", sorted(config_format.CONFIGS.keys() - {"small"}))
def test_faults_in_each_configuration(tmp_path: Path, config: str) -> None:
    """Precise and restartable with the write-back stage too; a fault still costs 6 cycles."""
    options = Options(unit="probe", config=config)
    program = compiled(tmp_path, *FAULTS)
    for stall in (0, 60, 160):
        done = run(options, "--program", program, "--fill", 5, "--stall", stall)
        assert (done.code, done.console) == (0, "ok 440\n"), done.console + done.messages
    program = compiled(tmp_path, "tb/programs/roundtrip.c", "tb/programs/roundtrip.S")
    done = run(options, "--program", program)
    first = next(record for record in done.records() if record[0] == 8)
    assert first[2] == 1 + 6 + 3


@pytest.mark.slow
def test_bit_manipulation_is_a_configuration(tmp_path: Path) -> None:
    """sh2add runs where the unit is and is an illegal instruction where it is not."""
    source = tmp_path / "sh2add.c"
    source.write_text(
        '#include "targets/tile/tile.h"\n'
        "int main(void) {\n"
        "    uint32_t five = 5, result;\n"
        '    __asm__(".option arch, +zba\\n sh2add %0, %1, %1" : "=r"(result) : "r"(five));\n'
        "    return result != 25;\n"
        "}\n"
    )
    program = compiled(tmp_path, str(source))
    with_unit = Options(unit="probe", config="small-b")
    assert run(with_unit, "--program", program).code == 0
    without = run(Options(unit="probe"), "--program", program)
    assert without.code == 1 and "trap, cause 00000002" in without.console


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["bare", "rtmmu"])
def test_speed(tmp_path: Path, unit: str) -> None:
    """Two million cycles a CPU second; the best of three, since the machine has other work.

    Alone it is over three million (tile.md). Busy neighbors share caches, so that even CPU seconds
    differ between machines; the limit notices what makes the simulator slow.
    """
    program = compiled(tmp_path, "tb/programs/busy.c")
    speeds = []
    for _ in range(3):
        done = run(Options(unit=unit), "--program", program, cycles_max=8_000_000)
        assert done.code == 3
        speeds.append(done.summary["host"]["cycles_per_cpu_second"])
    assert max(speeds) >= SPEED_CYCLES_PER_CPU_SECOND_MIN, speeds
