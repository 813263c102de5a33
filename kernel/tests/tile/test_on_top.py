"""What composability costs on top of virtual memory: the decoder, user slots of 50,000 [P2-23]."""

from __future__ import annotations

from pathlib import Path

import pytest
from tautochrone.compose import check, code
from tautochrone.compose.run import Run, Slot, run
from tautochrone.compose.system import Application, Command, Fifo, System, system_file

from tautochrone.tile.build import Options
from kernel.systems.jpeg import images
from model import composable

ROOT = Path(__file__).resolve().parents[3]
JPEG = ROOT / "kernel/systems/jpeg"
USER_SLOT, OS_SLOT, START = 50_000, 800, 400_000
TASKS = ("vld", "idct", "cc")
PERCENT_MAX = 0.5


def decoded(folder: Path, image: str, page_bytes: int, frames: tuple[int, int], leak: str) -> Run:
    """The decoder alone on one tile, from a major frame, by which it is loaded, up to another."""
    width, height = map(int, image.split("x"))
    base = code.base_code(ROOT, folder)
    source = folder / "image.c"
    source.write_text(images.c_source(images.path_of(image).read_bytes()), encoding="utf-8")
    flags = [f"-DTAU_JPEG_PIXELS_MAX={width * height}u"]
    made = code.application(
        ROOT, "jpeg", [source, *sorted(JPEG.rglob("*.c"))], base, folder, flags, page_bytes
    )
    fifos = (Fifo("vld", "idct"), Fifo("idct", "cc"))
    decoder = Application("jpeg", made, TASKS, page_bytes, page_bytes, fifos)
    slots = ("loader", *[f"jpeg.{task}" for task in TASKS])
    load = Command("load", "jpeg", frames[0])
    system = System((decoder,), (slots,), (load,), USER_SLOT, OS_SLOT, START)
    cycles = START + frames[1] * len(slots) * (USER_SLOT + OS_SLOT)
    content = system_file(system, code.base_bytes(base), code.base_hash(base))
    done = run(folder, code.kernel(ROOT, folder, leak), content, 1, cycles)
    assert any("decoded" in line for line in done.output(0)), done.console + done.messages
    return done


def busy(done: Run, first_frame: int) -> list[Slot]:
    """The slots up to the end of the last task: what comes later is idle."""
    slots = check.slots_of(done, 0, 0)
    last = max(mark.cycle for mark in done.tiles[0].marks)
    return [slot for slot in slots if slot.first_cycle <= last][len(TASKS) * first_frame :]


def misses(slots: list[Slot]) -> int:
    """Misses of both ports."""
    return sum(slot.misses_fetch + slot.misses_data for slot in slots)


@pytest.mark.parametrize(
    ("image", "page_bytes", "frames"),
    [
        ("64x64", 16384, (8, 20)),
        pytest.param("64x64", 4096, (8, 20), marks=pytest.mark.slow),
        pytest.param("160x120", 16384, (26, 60), marks=pytest.mark.slow),
        pytest.param("160x120", 4096, (26, 60), marks=pytest.mark.slow),
    ],
)
def test_loading_and_forgetting_cost_little(
    tmp_path: Path, image: str, page_bytes: int, frames: tuple[int, int]
) -> None:
    """The same run without forgetting is the leak "tlb": nobody else is there to be disturbed."""
    forgetting = busy(decoded(tmp_path, image, page_bytes, frames, "none"), frames[0])
    keeping = busy(decoded(tmp_path, image, page_bytes, frames, "tlb"), frames[0])
    user = USER_SLOT * len(forgetting)
    load = (composable.LOAD_CYCLES + Options(unit="composable").latencies[0]) * len(forgetting)
    more = composable.MISS_CYCLES * (misses(forgetting) - misses(keeping))
    print(
        f"{image}, pages of {page_bytes}: {len(forgetting)} slots,"
        f" table loads {load / user:.3%}, misses {more / user:.3%} of user cycles"
    )
    assert abs(len(forgetting) - len(keeping)) <= 1
    assert 0 < more and 100 * (load + more) / user <= PERCENT_MAX
