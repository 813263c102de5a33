"""The applications and base code need nothing but themselves: no library of C, no 64-bit division.

The pages of an application hold this code, so its bytes are pinned.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from tautochrone.compose import code
from tautochrone.targets.build import link

from kernel.systems.jpeg import images
from testing.golden import pinned

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
GOLDEN = HERE / "applications_golden.json"
KERNEL_BYTES_MAX = 14 * 1024
MAIN = "int main(void) { return 0; }\n"
TASKS = {
    "jpeg": ("tau_jpeg_vld_task", "tau_jpeg_idct_task", "tau_jpeg_cc_task"),
    "pipeline": tuple(f"tau_pipeline_task{number}" for number in range(1, 6)),
}


@pytest.mark.parametrize("name", TASKS)
def test_an_application_links_alone(name: str, tmp_path: Path) -> None:
    """Every task is there, and its code, constants and memory have their known sizes."""
    main = tmp_path / "main.c"
    main.write_text(MAIN, encoding="utf-8")
    sources = [main, ROOT / "kernel/base/fifo.c"]
    found = sorted((ROOT / "kernel/systems" / name).rglob("*.c"))
    sources += [path for path in found if path.stem != "application"]  # for the loader
    if name == "jpeg":
        image = tmp_path / "image.c"
        image.write_text(images.c_source(images.path_of("64x64").read_bytes()), encoding="utf-8")
        sources.append(image)
    made = link("tile", ROOT, sources, tmp_path / f"{name}.elf", keep=TASKS[name])
    with open(made, "rb") as file:
        elf = ELFFile(file)
        sizes = {part: elf.get_section_by_name(f".{part}").data_size for part in ("text", "rodata")}
        sizes["bss"] = elf.get_section_by_name(".bss").data_size
    print(name, sizes)
    assert pinned(GOLDEN, {name: sizes})[name] == sizes


def test_the_kernel_is_small(tmp_path: Path) -> None:
    """[P2-25]: with its loader at most 14 KiB; and the base code in its one page."""
    with open(code.kernel(ROOT, tmp_path), "rb") as file:
        segments = [each for each in ELFFile(file).iter_segments() if each["p_type"] == "PT_LOAD"]
        sizes = {"loaded": sum(each["p_filesz"] for each in segments)}
    sizes["base"] = len(code.base_bytes(code.base_code(ROOT, tmp_path)))
    print("kernel", sizes)
    assert sizes["loaded"] <= KERNEL_BYTES_MAX
    assert pinned(GOLDEN, {"kernel": sizes})["kernel"] == sizes
