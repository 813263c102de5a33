"""Each leak in each of twelve systems: the check finds and names it, or says why it cannot show.

Short-lived applications, programs without marks, and several tiles are among the systems. A check
that does not find its leak never says that all is well.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tautochrone.commands.compose import check
from tautochrone.compose.leaks import LEAKS
from tautochrone.errors import EXIT_FAILED, EXIT_LIMIT_EXCEEDED, TauError

ROOT = Path(__file__).resolve().parents[3]
HEAD = """\
format = "tautochrone system"
version = 1
[time]
user_slot_cycles = {user}
os_slot_cycles = 900
start_cycle = 300_000
[memory]
frame_first = 64
frame_count = 256
"""
WORKER = """\
#include "kernel/base/application.h"
#include "kernel/base/base.h"
static volatile uint32_t state[1500];
static void work(void) {
    for (uint32_t round = 0; round < ROUNDS; round++) {
        MARK(0, round, 0);
        for (uint32_t i = 0; i < 1500; i += 20) {
            state[i] = (state[i] + round) * 5 / (i + 3);
        }
        MARK(0, round, 1);
    }
    tau_base_print("done\\n");
}
TAU_TASK(work, 512);
TAU_APPLICATION(1, TAU_TASK_OF(work));
"""
MARKS = "-DMARK=tau_system_page_mark"
NO_MARKS = "-DMARK(task,round,end)=(void)0"


@dataclass(frozen=True)
class Case:
    """A system, and the leaks that must be found in it, with the name that each has."""

    tiles: tuple[str, ...]
    flags: tuple[str, ...]
    found: dict[str, str]
    only: str | None = None
    user_slot_cycles: int = 3000
    path: Path | None = None  # An example, instead of the rest.
    refused: str = "the leak {leak} cannot show in"


ALL = {
    "tlb": "TLB",
    "gate": "gate",
    "load-time": "table load",
    "kernel-path": "kernel path",
    "one-table": "TLB",
}
PROMISES = {
    "rights": "rights",
    "alias": "alias",
    "uncleared": "memory",
    "stale-token": "token",
    "kernel-state": "kernel state",
    "late-load": "availability",
}
BOTH = {leak: name for leak, name in ALL.items() if leak != "tlb"}  # Each clears the other's TLB.
NAMES = {**ALL, **PROMISES, "page-mix": "page mix", "dma": "DMA"}
# All applications' pages in one table are also rights that nobody was given. Where the lines of the
# unit or a transfer move first, the check names only these.
NAMED_ALSO = {"one-table": "rights"}
AFTER_LOADER = {"tlb": "TLB", "gate": "gate", "one-table": "TLB"}
A, B = "a.work", "b.work"
CASES = {
    "behind a neighbor": Case((f"loader {A} idle {A}",), (MARKS, "-DROUNDS=60u"), ALL),
    "short": Case((f"loader idle {A}",), (MARKS, "-DROUNDS=3u"), ALL),
    "very short": Case((f"loader idle {A}",), (MARKS, "-DROUNDS=1u"), ALL),
    "without marks": Case((f"loader idle {A}",), (NO_MARKS, "-DROUNDS=20u"), ALL),
    "short without marks": Case((f"loader idle {A}",), (NO_MARKS, "-DROUNDS=3u"), ALL),
    "behind the loader": Case((f"idle loader {A}",), (MARKS, "-DROUNDS=20u"), AFTER_LOADER),
    "two, one compared": Case((f"loader {B} {A}",), (MARKS, "-DROUNDS=20u"), ALL, "a"),
    "two, both compared": Case((f"loader idle {A} idle {B}",), (MARKS, "-DROUNDS=20u"), BOTH),
    "two tiles": Case((f"loader idle {A}", f"loader idle {B}"), (MARKS, "-DROUNDS=20u"), ALL),
    "long slots": Case((f"loader idle {A}",), (MARKS, "-DROUNDS=60u"), ALL, None, 10_000),
    "fragmented": Case(
        (), (), {"page-mix": "page mix"}, "late",
        path=ROOT / "kernel/systems/metronome/fragmented.toml",
        refused="late does not fit on tile 0",
    ),
    "dma": Case(
        (), (), {"dma": "DMA"}, "sender", path=ROOT / "kernel/systems/dma/system.toml"
    ),
}  # fmt: skip
# The part of it that `make check` tries.
QUICK = [("short", "tlb"), ("without marks", "kernel-path"), ("behind the loader", "load-time")]
QUICK += [("very short", leak) for leak in PROMISES]
WITHOUT_NEIGHBORS = ("fragmented", "dma", "two, one compared")  # No prober, and no FIFO of one.
FOUND = {
    name: case.found if name in WITHOUT_NEIGHBORS else {**case.found, **PROMISES}
    for name, case in CASES.items()
}
FOUND["two, one compared"] |= {leak: PROMISES[leak] for leak in ("rights", "alias", "uncleared")}
FOUND["dma"] |= {leak: PROMISES[leak] for leak in ("rights", "uncleared", "stale-token")}


def system_of(case: Case, folder: Path) -> Path:
    """The file of a case, next to its source."""
    if case.path is not None:
        return case.path
    (folder / "worker.c").write_text(WORKER, encoding="utf-8")
    text = HEAD.format(user=case.user_slot_cycles)
    for slots in case.tiles:
        text += f"[[tile]]\nslots = {json.dumps(slots.split())}\n"
    names = sorted({word[0] for slots in case.tiles for word in slots.split() if ".work" in word})
    for number, name in enumerate(names):
        text += f'[[application]]\nname = "{name}"\nsources = ["worker.c"]\ntasks = ["work"]\n'
        text += f"flags = {json.dumps(case.flags)}\npage_bytes = 1024\n"
        text += f"address = {0x80100000 + (number << 20)}\n"
        text += f'[[command]]\noperation = "load"\napplication = "{name}"\nepoch = 40\n'
    path = folder / "system.toml"
    path.write_text(text, encoding="utf-8")
    return path


def checked(case: Case, leak: str, folder: Path) -> Result:
    """The command's answer."""
    neighbors = "1" if leak in PROMISES else "2"
    words = [str(system_of(case, folder)), "--json", "--leak", leak, "--neighbors", neighbors]
    if case.only:
        words += ["--application", case.only]
    words += ["--epochs", "60"]
    return CliRunner().invoke(check.command, words, standalone_mode=False)


APART = Case((f"loader {A}", "loader idle"), (MARKS, "-DROUNDS=20u"), {})
APART_BELOW = Case((f"loader {A} idle", f"loader {B}"), (MARKS, "-DROUNDS=20u"), {})


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (APART, "no neighbor shares the processor of a"),
        (APART_BELOW, "no neighbor shares the processor of b"),
    ],
)
def test_neighbors_of_another_tile_are_not_company(case: Case, said: str, tmp_path: Path) -> None:
    """A system whose only idle slot is on the tile that an application does not use: the check
    fails and names the tile that needs one."""
    path = system_of(case, tmp_path)
    words = [str(path), "--neighbors", "2", "--epochs", "60"]
    done = CliRunner().invoke(check.command, words, standalone_mode=False)
    assert isinstance(done.exception, TauError), done.output
    assert done.exception.message == said
    tile = 0 if case is APART else 1
    assert done.exception.next_step == f"leave an idle slot on tile {tile}"


@pytest.mark.slow
def test_applications_that_share_the_link_are_company_across_tiles(tmp_path: Path) -> None:
    """The DMA example without a leak: on the receiver's tile the other one hardly runs, but its
    transfers meet there, so the check passes."""
    words = [str(system_of(CASES["dma"], tmp_path)), "--application", "sender", "--neighbors", "1"]
    done = CliRunner().invoke(check.command, words, standalone_mode=False)
    assert done.return_value == 0, done.output


@pytest.mark.parametrize("leak", ["tlb", "one-table"])
def test_a_leak_of_one_core_cannot_show_without_company_there(leak: str, tmp_path: Path) -> None:
    """A system whose only neighbor is on another tile: the leak is refused before any run."""
    done = checked(APART, leak, tmp_path)
    assert isinstance(done.exception, TauError), done.output
    assert f"the leak {leak} cannot show in a: " in done.exception.message
    assert "nobody else has a slot on their tiles" in done.exception.message


@pytest.mark.slow
def test_slots_together_are_counted_on_one_tile(tmp_path: Path) -> None:
    """Two tiles with an idle slot each: every application meets the neighbor of its own tile only,
    in slots enough, and another tile's neighbor is not reported as its company."""
    words = [str(system_of(CASES["two tiles"], tmp_path)), "--neighbors", "2", "--json"]
    words += ["--epochs", "90"]
    done = CliRunner().invoke(check.command, words, standalone_mode=False)
    assert done.return_value == 0, done.output
    met = json.loads(done.stdout)["alive_together"]
    assert [(each["application"], each["tile"]) for each in met] == [("a", 0), ("b", 1)]
    assert len({each["other"] for each in met}) == 2 and min(each["slots"] for each in met) >= 10


@pytest.mark.parametrize(
    ("name", "leak"),
    [
        pytest.param(name, leak, marks=() if (name, leak) in QUICK else pytest.mark.slow)
        for name in CASES
        for leak in LEAKS
    ],
)
def test_a_leak_is_found_and_named_or_refused(name: str, leak: str, tmp_path: Path) -> None:
    """Found: exit status 3 and the resource. Otherwise: exit status 1 with the reason."""
    case = CASES[name]
    done = checked(case, leak, tmp_path)
    assert leak not in FOUND[name] or done.return_value == EXIT_LIMIT_EXCEEDED, done.exception
    if done.return_value == EXIT_LIMIT_EXCEEDED:
        found: dict[str, Any] = json.loads(done.stdout)
        first = [found["first_difference"]] if found["first_difference"] else []
        named = {each["resource"] for each in first + found["broken_promises"]}
        assert named & {NAMES[leak], NAMED_ALSO.get(leak)}
    elif done.exception is not None:
        assert isinstance(done.exception, TauError), done.exception
        assert case.refused.format(leak=leak) in done.exception.message
    else:
        assert done.return_value == EXIT_FAILED, done.output
        said = json.loads(done.stdout)["failure"]
        assert f"the leak {leak} is built in and was not found: " in said
