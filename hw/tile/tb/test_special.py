"""Special frames: the link between two tiles, DMA channels and the memory tile.

tb/programs/special.c prints its observations; docs/spec/kernel.md has the cycles.
"""

import struct
from collections import defaultdict
from pathlib import Path

import pytest

from tautochrone.tile.build import Options
from testing.tile import Simulation, compiled, run

OPTIONS = Options(unit="composable", special_frames=True)
PROGRAM = "tb/programs/special.c"
LINK_CYCLES, MEMORY_TILE_CYCLES, DMA_CHANNELS = 8, 16, 8
WORDS = 12


def said(done: Simulation) -> dict[tuple[int, str], list[int]]:
    """What the program printed: by tile and name."""
    found: dict[tuple[int, str], list[int]] = defaultdict(list)
    for line in done.console.splitlines():
        tile, rest = line.split("] ", 1)
        name, _, value = rest.rpartition(" ")
        if value.isdigit():
            found[int(tile[1:]), name].append(int(value))
    return found


def image(folder: Path) -> Path:
    """A file of five words."""
    path = folder / "image.bin"
    path.write_bytes(struct.pack("<5I", 11, 22, 33, 44, 55))
    return path


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Simulation:
    """One run of the program on two tiles."""
    folder = tmp_path_factory.mktemp("special")
    words = ("--program", compiled(folder, PROGRAM), "--image", f"{image(folder)}@0")
    done = run(OPTIONS, *words, tiles=2)
    assert done.code == 0, done.console + done.messages
    return done


def test_a_word_arrives_a_constant_time_later(done: Simulation) -> None:
    assert said(done)[1, "link"] == [LINK_CYCLES]


def test_a_ready_word_arrives_like_a_word_of_the_link(done: Simulation) -> None:
    assert said(done)[1, "ready"] == [LINK_CYCLES]
    assert [said(done)[tile, "ready behind"] for tile in (0, 1)] == [[0], [0]]


def test_stores_of_bytes_arrive_and_others_do_not(done: Simulation) -> None:
    assert said(done)[1, "link bytes"] == [1]
    assert said(done)[1, "link outside"] == [0]
    assert said(done)[0, "link load"] == [0]


def test_a_channel_moves_its_words_in_its_turns(done: Simulation) -> None:
    seen = said(done)
    assert seen[1, "dma wrong"] == [0]
    (cycles,) = seen[0, "dma cycles"]
    assert WORDS - 1 <= cycles / DMA_CHANNELS <= WORDS + 3
    assert seen[0, "dma beside"] == [0]


def test_without_turns_channels_delay_each_other(tmp_path: Path) -> None:
    words = ("--no-dma-turns", "--program", compiled(tmp_path, PROGRAM))
    done = run(OPTIONS, *words, tiles=2)
    assert done.code == 0, done.messages
    assert said(done)[0, "dma beside"] != [0]


def test_a_channel_stays_in_its_frames(done: Simulation) -> None:
    assert said(done)[1, "dma outside"] == [0]
    assert said(done)[0, "dma left"] == [0] * 6


def test_the_system_page_has_clock_number_mark_and_console(done: Simulation) -> None:
    seen = said(done)
    assert 0 < seen[0, "cycle"][0] < 10 and seen[0, "cycle high"] == [0]
    assert seen[0, "application"] == [7]
    assert "[0] application 7: hi\n" in done.console
    assert "[0] application 7: !\n" in done.console
    owner, mark = (next(r for r in done.records() if r.channel == channel) for channel in (11, 14))
    assert owner.tag == 0x102
    assert mark.value >= owner.cycles and mark.faults >= owner.value and mark.sent >= owner.sent
    assert mark[1:3] == (0xABC, 7) and owner.at_cycle < mark.at_cycle < owner.at_cycle + 3000


def test_traps_are_recorded_from_the_first_owner_on(done: Simulation) -> None:
    traps = [record for record in done.records() if record[0] == 12]
    resumes = [record for record in done.records() if record[0] == 13]
    assert [(trap[1], trap[3]) for trap in traps] == [(7, 0x50000000)]
    assert len(resumes) == 1 and resumes[0].at_cycle > traps[0].at_cycle


def test_the_memory_tile_takes_the_same_time_for_each_word(done: Simulation) -> None:
    seen = said(done)
    assert seen[0, "memory word"] == [11, 55, 0]
    assert seen[0, "memory store"] == [7]
    # The core needs one cycle more than the memory for a load.
    assert seen[0, "memory"] == [MEMORY_TILE_CYCLES + 1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--image", "{image}"], "it is FILE@OFFSET"),
        (["--image", "{folder}/none@0"], "No such file"),
        (["--image", "{folder}@0"], "Is a directory"),
        (["--image", "{image}@x"], "is not a number"),
        (["--image", "{image}@0x3fffff0"], "reaches beyond the memory tile"),
        (["--image", "{image}@0", "--image", "{image}@16"], "overlaps another image at 16"),
    ],
)
def test_bad_images_are_refused(tmp_path: Path, words: list[str], message: str) -> None:
    names = {"image": image(tmp_path), "folder": tmp_path}
    given = [word.format(**names) for word in words]
    program = compiled(tmp_path, "tb/programs/exit_code.c")
    done = run(OPTIONS, "--program", program, *given)
    assert done.code == 2 and message in done.messages, done.messages
