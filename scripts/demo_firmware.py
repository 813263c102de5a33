"""The other job: a firmware that runs on its plan, on a Cortex-M4 in QEMU.

docs/tutorials/size-a-heap.md, step by step: the firmware records itself, its heap is planned,
verified on the machine code of the target, built in, and verified again as it is linked.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = "tests/firmware/programs/router.c"
BOARD = ("tests/firmware/board.c", "-T", "tests/firmware/board.ld")
BUILD = (
    *("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-Os", "-std=gnu17", "-I."),
    *("--specs=nano.specs", "--specs=rdimon.specs", "-Wl,--no-warn-rwx-segments"),
)
RECORDER = ("core/ports/record_wrap.c", "@core/ports/record_wrap.flags")
HEAP = ("-DTAU_SINGLE_THREAD", "core/ports/newlib/heap.c", "core/tlsf.c", "core/budget.c")
QEMU = (
    *("timeout", "60", "qemu-system-arm", "-M", "mps2-an386", "-display", "none"),
    *("-monitor", "none", "-serial", "none"),
)
SEED = 1
Step = Callable[..., dict[str, Any]]


def run(*words: str, cwd: Path) -> str:
    """Run a command that must succeed; return its output."""
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"demo: `{' '.join(words)}` failed: {done.stderr[-2000:]}")
    return done.stdout


def emulated(elf: Path) -> str:
    """Run a firmware in QEMU; return its output."""
    words = f"enable=on,target=native,arg={elf.stem},arg={SEED}"
    return run(*QEMU, "-semihosting-config", words, "-kernel", str(elf), cwd=elf.parent)


def on_its_plan(step: Step, out: Path) -> str:
    """Do all steps in the folder `out`; return what came of it, in a sentence."""
    folder = ROOT / out
    folder.mkdir(parents=True, exist_ok=True)
    recording, planned = folder / "recording.elf", folder / "planned.elf"
    capture = '-DTAU_RECORD_CAPTURE="capture.bin"'
    run(*BUILD, capture, PROGRAM, *RECORDER, *BOARD, "-o", str(recording), cwd=ROOT)
    emulated(recording)
    trace, plan, header = (str(out / name) for name in ("router.tau", "plan.toml", "heap_plan.h"))
    step("importing what the firmware sent", "import", str(out / "capture.bin"), "-o", trace)
    step("planning its heap", "plan", trace, "-o", plan, "--header", header)
    step("verifying it on the targets' machine code", "verify", plan, trace)
    run(*BUILD, f"-I{out}", PROGRAM, *HEAP, *BOARD, "-o", str(planned), cwd=ROOT)
    said = emulated(planned).split()
    linked = ("verify", plan, trace, "--elf", str(out / planned.name))
    verified = step("verifying it as it is linked", *linked)
    calls = {row["operation"]: row for row in verified["runs"][0]["operations"]}
    costs = " and ".join(
        f"{name} {calls[name]['instructions_max']:,} (bound {calls[name]['bound']:,})"
        for name in ("malloc", "free")
    )
    return (
        f"A firmware on a Cortex-M4 runs on its plan of {verified['heap_bytes']:,} bytes:"
        f" {said[-1]} failed mallocs, {verified['runs'][0]['calls']:,} calls verified as it is"
        f" linked. Instructions at most: {costs}."
    )
