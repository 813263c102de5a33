"""The baselines: cold code is counted right, and stored results hold together."""

import subprocess
from pathlib import Path

import numpy as np

from repro.coldcode import baselines
from repro.coldcode.baselines import CONFIGURATION, LINE_BYTES, PAGE_MICROSECONDS, Executed
from repro.engine.results import results_of
from tautochrone.coldcode.fragment import OUTPUT, PAGE_BYTES, Fragment
from tautochrone.coldcode.functions import Functions
from tautochrone.coldcode.link_map import Piece
from tautochrone.coldcode.linux.build import compiler_tools
from tautochrone.coldcode.recording import BLOCK, CodeRecording, Settings


def recording() -> CodeRecording:
    """Three functions of 256 bytes: hot, cold, and cold without being executed after boot."""
    starts = np.array([0x1000, 0x1100, 0x1200], np.uint64)
    functions = Functions(starts, np.full(3, 256, np.uint64), ("hot", "cold", "boot"))
    rows = [
        (0x1000, 1, 900, 8, 2, 1),
        (0x1100, 0, 10, 6, 2, 1),
        # Over the end of a line.
        (0x113C, 0, 4, 8, 3, 1),
        (0x1200, 7, 0, 16, 4, 1),
    ]
    touches = np.array([0, 1, 0, 1], np.int64)
    return CodeRecording(
        Path("none"), Settings(None, 100, {}), functions, np.array(rows, BLOCK),
        np.array([0, 1, 1, 2]), touches, np.arange(4, dtype=np.uint64), 0, 100,
    )  # fmt: skip


def test_only_cold_code_after_boot_counts() -> None:
    pages = tuple(
        (Piece(address, 256, "a.o", f".text.{name}", OUTPUT),)
        for address, name in ((0x1200, "boot"), (0x1100, "cold"))
    )
    executed = baselines.executed_cold(recording(), Fragment((*pages, ()), ""))
    lines = 2 * LINE_BYTES  # in each of two touches
    assert executed == Executed(10 * 2 + 4 * 3, 10 * 6 + 4 * 8, 2 * lines, 1)
    assert baselines.executed_cold(recording(), Fragment((pages[0],), "")).instructions == 0


def test_in_place_is_better_where_little_of_a_page_is_executed() -> None:
    """Without a handler, as many bytes as a page has are as good in place as loaded."""
    paged = {"loads": 10, "worst_load_instructions": 0}
    for size, is_better in ((PAGE_BYTES - 1, True), (PAGE_BYTES + 1, False)):
        executed = Executed(0, 10 * size, 10 * size, 10)
        row = baselines.in_place(executed, paged, 442)
        assert row["is_better_in_place"] == row["is_better_in_place_cached"] == is_better
        assert row["break_even_bytes"] == PAGE_BYTES
    assert row["paging_microseconds"] == 4420


def test_options_are_those_of_the_configuration_without_the_pager() -> None:
    options = baselines.options_of("smallest")
    assert baselines.COLD_CODE not in options
    assert {"CONFIG_PROC_FS=y", "CONFIG_LD_DEAD_CODE_DATA_ELIMINATION=y"} <= set(options)
    assert len(options) == len(set(options))


def test_of_a_module_only_what_stays_counts(tmp_path: Path) -> None:
    path = tmp_path / "module.o"
    program = """
        .section .init.text,"ax"; .zero 1000; .section .rodata,"a"; .zero 30
        .text; .zero 200; .bss; .zero 4; .section .comment; .zero 500
    """
    compiler = compiler_tools()["compiler"]
    command = [compiler, "-x", "assembler", "-c", "-", "-o", str(path)]
    subprocess.run(command, input=program, text=True, check=True, timeout=300)
    assert baselines.module_bytes(path) == 200 + 30 + 4


def test_stored_results_hold_together() -> None:
    found = results_of("coldcode").stored("baselines")[CONFIGURATION]
    flash, compressed = found["paging"]["flash"], found["paging"]["compressed"]
    assert flash["outputs_equal"] and compressed["outputs_equal"]
    assert flash["text_bytes"] > found["plain"]["text_bytes"] > 0, "the pager is code too"
    # Packed pages take RAM, pages in flash none; neither comes near without paging.
    gains = [flash["out_of_ram_bytes"], compressed["out_of_ram_bytes"]]
    assert gains == sorted(gains, reverse=True)
    assert found["modules"]["out_of_ram_bytes"] < flash["out_of_ram_bytes"]
    elimination = found["dead_code_elimination"]
    assert elimination["with"] == found["plain"]
    assert elimination["out_of_ram_bytes"] > 0
    rows = found["paging"]["in_place"]
    assert [row["page_microseconds"] for row in rows] == list(PAGE_MICROSECONDS)
    for row in rows:
        executed = found["paging"]["bytes_executed_per_load"]
        assert row["is_better_in_place"] == (executed < row["break_even_bytes"])
