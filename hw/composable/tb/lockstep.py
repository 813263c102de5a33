"""Run a unit in the MMU socket and its model side by side and compare every output of every cycle.

`simulate` is for pytest: it builds the unit and runs a cocotb module on it in a process of its own.
`lockstep` is for that module.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from model.mmu_cycle import DATA, INSTR, Inputs, Outputs

ROOT = Path(__file__).resolve().parents[3]
BUILD_AND_RUN_SECONDS_MAX = 600
NAMES = ("instr", "data")

SCRIPT = """
import os, sys
from pathlib import Path
from cocotb_tools.runner import get_runner
top, module, folder, parameters, *sources = sys.argv[1:]
values = dict(each.split("=") for each in parameters.split(","))
runner = get_runner("verilator")
runner.build(sources=[Path(each) for each in sources], includes=[os.environ["TAU_INCLUDE"]],
  hdl_toplevel=top, build_dir=folder, parameters={n: int(v) for n, v in values.items()},
  build_args=["-Wall", "-CFLAGS", "-O0"])
runner.test(hdl_toplevel=top, test_module=module, build_dir=folder,
  test_filter=os.environ.get("TAU_FILTER"))
"""


class Model(Protocol):
    """A model of a unit."""

    def step(self, inputs: Inputs) -> Outputs:
        """One cycle."""


def simulate(
    unit: str, tests: Path, folder: Path, parameters: dict[str, int], seed: int, only: str = ""
) -> str:
    """Build `unit` with `parameters` in `folder`, run the cocotb tests of the file `tests` (those
    whose names match `only`) on it, and return what was printed; it ends with cocotb's counts."""
    from hw.build import HW, TILE, search_path

    environment = os.environ | {
        "PATH": search_path(),
        "PYTHONPATH": os.pathsep.join((str(tests.parent), str(ROOT))),
        "TAU_TEST_SEED": str(seed),
        "TAU_UNIT_PARAMETERS": ",".join(f"{name}={value}" for name, value in parameters.items()),
        "TAU_INCLUDE": str(TILE / "rtl"),
    }
    if only:
        environment["TAU_FILTER"] = only
    sources = map(str, sorted((HW / unit / "rtl").glob("*.sv")))
    line = [sys.executable, "-c", SCRIPT, f"tau_{unit}", tests.stem, str(folder)]
    line += [environment["TAU_UNIT_PARAMETERS"], *sources]
    done = subprocess.run(
        line, env=environment, capture_output=True, text=True, timeout=BUILD_AND_RUN_SECONDS_MAX
    )
    return done.stdout + done.stderr


def unit_parameters() -> dict[str, int]:
    """Inside the simulation: the parameters that it was built with."""
    words = os.environ["TAU_UNIT_PARAMETERS"].split(",")
    return {name: int(value) for name, value in (word.split("=") for word in words)}


def drive(dut: Any, inputs: Inputs) -> None:
    """Put the inputs of a cycle on the unit's ports."""
    for port, name in enumerate(NAMES):
        lookup = inputs.lookups[port]
        getattr(dut, f"{name}_lookup_valid_i").value = int(lookup is not None)
        if lookup is not None:
            getattr(dut, f"{name}_lookup_page_i").value = lookup.page
            getattr(dut, f"{name}_lookup_access_i").value = lookup.access
    dut.table2_rvalid_i.value = int(inputs.word is not None)
    if inputs.word is not None:
        dut.table2_rdata_i.value = inputs.word
    dut.reg_req_i.value = int(inputs.write is not None or inputs.read is not None)
    dut.reg_write_i.value = int(inputs.write is not None)
    if inputs.write is not None:
        dut.reg_addr_i.value, dut.reg_wdata_i.value = inputs.write
    elif inputs.read is not None:
        dut.reg_addr_i.value = inputs.read


def compare(dut: Any, wanted: Outputs, where: str) -> None:
    """Compare the outputs of a cycle."""
    for port, name in enumerate(NAMES):
        assert bool(getattr(dut, f"{name}_lookup_ready_o").value) == wanted.ready[port], where
        result = wanted.results[port]
        seen = bool(getattr(dut, f"{name}_result_valid_o").value)
        assert seen == (result is not None), (where, name, result)
        if result is not None:
            assert int(getattr(dut, f"{name}_result_cause_o").value) == result.cause, (where, name)
            assert bool(getattr(dut, f"{name}_result_fault_o").value) == (result.cause != 0)
            if result.frame is not None:
                frame = int(getattr(dut, f"{name}_result_frame_o").value)
                assert frame == result.frame, (where, name, result)
    assert bool(dut.table2_req_o.value) == (wanted.request is not None), (where, wanted.request)
    if wanted.request is not None:
        assert int(dut.table2_addr_o.value) == wanted.request, where
    for other in (0, 1, 3, 4):
        assert not getattr(dut, f"table{other}_req_o").value
    if wanted.read is not None:
        assert int(dut.reg_rdata_o.value) == wanted.read, (where, hex(wanted.read))
    hits = wanted.hits[INSTR] | wanted.hits[DATA] << 1
    misses = wanted.misses[INSTR] | wanted.misses[DATA] << 1
    assert (int(dut.event_hit_o.value), int(dut.event_miss_o.value)) == (hits, misses), where


async def lockstep(
    dut: Any,
    model: Model,
    stimulus: Callable[[Outputs | None, int | None], Inputs],
    cycles: int,
    latency: int = 1,
    words: Callable[[int], int] = lambda page: 0,
) -> None:
    """Reset the unit, then run `cycles`.

    `stimulus(outputs of the cycle before, word of table 2 that is due)` gives each cycle's inputs;
    `words(page)` is that word, read when it is asked for and delivered `latency` cycles later.
    """
    from cocotb import start_soon
    from cocotb.clock import Clock
    from cocotb.triggers import FallingEdge, ReadOnly

    for signal in ("rst_ni", "instr_lookup_user_i", "data_lookup_user_i", "clk_i"):
        getattr(dut, signal).value = 0
    drive(dut, Inputs())
    for table in (0, 1, 3, 4):
        getattr(dut, f"table{table}_rvalid_i").value = 0
    start_soon(Clock(dut.clk_i, 10, "ns").start())
    dut.rst_ni.value = 1
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 0
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    due: deque[int | None] = deque([None] * latency)
    before: Outputs | None = None
    for cycle in range(cycles):
        inputs = stimulus(before, due.popleft())
        drive(dut, inputs)
        await ReadOnly()
        before = model.step(inputs)
        compare(dut, before, f"cycle {cycle}, {inputs}")
        due.append(None if before.request is None else words(before.request))
        await FallingEdge(dut.clk_i)
