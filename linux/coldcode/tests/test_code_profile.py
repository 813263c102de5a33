"""A kernel recorded on QEMU: counts, order and times against a naive model and against a count by
hand; what cannot be recorded is refused.

Method: a bare-metal kernel runs on QEMU with the plugin, and one instruction a step on an emulated
processor.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from linux.coldcode.tests import kernel_model
from tautochrone import native
from tautochrone.coldcode.kernel import Kernel
from tautochrone.coldcode.profile import PLUGIN, How, profile
from tautochrone.coldcode.recording import (
    CodeRecording,
    Settings,
    load,
    patched_blocks,
    prepared,
    problems_of,
    refuse_other_kernel,
)
from tautochrone.errors import TauError
from testing.code_kernel import build
from testing.command import tau, tau_done

SECONDS_MAX = 300
MARKED = How("steady_begins", seconds_max=SECONDS_MAX)
ICOUNT = ("-icount", "shift=3,sleep=off")
# Executions of each function's first instruction, in boot and in steady state, by hand.
BY_HAND = {
    "boot_only": (7, 0),
    "cold": (1, 2),
    "hot": (0, 100),
    "never": (0, 0),
    "steady_begins": (0, 1),
    "loops": (0, 1),
    "run_other_code": (0, 1),
    "falls_through": (0, 1),
    "falls_into": (0, 1),
    "traps": (0, 1),
    "trap_entry": (0, 1),
    "kernel_main": (1, 0),
    "stopped": (0, 0),
}


def qemu(kernel: Kernel, *options: str) -> list[str]:
    """The command that runs a kernel until it powers off."""
    emulator = shutil.which("qemu-system-riscv64")
    assert emulator, "qemu-system-riscv64 is missing: apt install qemu-system-misc"
    machine = ["-machine", "virt", "-m", "32M", "-nographic", "-monitor", "none", "-bios", "none"]
    return [emulator, *machine, "-no-reboot", "-kernel", str(kernel.path), *options]


def counts(recording: CodeRecording, kernel: Kernel, phase: str) -> Counter[int]:
    """Executions of each instruction, by address: the sum over all blocks that hold it."""
    found: Counter[int] = Counter()
    for start, size, executed in recording.blocks[["start", "bytes", phase]].tolist():
        address = start
        while executed and address < start + size:
            found[address] += executed
            is_compressed = kernel.code_at(address, 1)[0] & 3 != 3
            address += 2 if is_compressed else 4
    return found


def sequence(recording: CodeRecording) -> list[tuple[str, int]]:
    """The touches, as names and times."""
    names = recording.functions.names
    rows = zip(recording.touches.tolist(), recording.times.tolist(), strict=True)
    return [(names[number], moment) for number, moment in rows]


@pytest.mark.parametrize("options", [(), ("-singlestep",), ICOUNT], ids=" ".join)
@pytest.mark.parametrize("marker", ["steady_begins", None])
@pytest.mark.parametrize("touches_max", [65536, 3, 0])
def test_the_recording_is_the_models(
    kernel: Kernel, tmp_path: Path, options: tuple[str, ...], marker: str | None, touches_max: int
) -> None:
    how = replace(MARKED, marker=marker, touches_max=touches_max)
    recording = profile(qemu(kernel, *options), kernel, tmp_path / "kernel.taucode", how)
    model = kernel_model.run(kernel, marker and kernel.address_of(marker), touches_max)
    assert counts(recording, kernel, "boot") == model.boot
    assert counts(recording, kernel, "steady") == model.steady
    assert sequence(recording) == model.touches
    assert recording.end_time == model.time
    assert recording.marker_time == (model.marker_time if marker else None)
    assert not problems_of(recording.path)


def test_counts_are_those_by_hand(kernel: Kernel, tmp_path: Path) -> None:
    recording = profile(qemu(kernel), kernel, tmp_path / "kernel.taucode", MARKED)
    boot, steady = (counts(recording, kernel, phase) for phase in ("boot", "steady"))
    for name, expected in BY_HAND.items():
        address = kernel.address_of(name)
        assert (boot[address], steady[address]) == expected, name
    # The marker, 100 calls of hot, three of others, and two each of falls_through and traps.
    touched = Counter(name for name, _ in sequence(recording))
    assert touched["hot"] == 100 and touched["cold"] == 2 and touched["boot_only"] == 0
    assert touched["loops"] == touched["falls_into"] == touched["trap_entry"] == 1
    assert touched["traps"] == 2
    assert sequence(recording)[:4:3] == [
        ("steady_begins", recording.marker_time),
        ("kernel_main", sequence(recording)[2][1] + 6),
    ]


def test_a_recording_repeats(kernel: Kernel, tmp_path: Path) -> None:
    made = []
    for name in ("one", "other"):
        path = tmp_path / f"{name}.taucode"
        made.append(profile(qemu(kernel, *ICOUNT), kernel, path, MARKED))
    assert made[0].path.read_bytes() == made[1].path.read_bytes()


def test_a_marker_that_is_not_executed_is_a_problem(kernel: Kernel, tmp_path: Path) -> None:
    how = replace(MARKED, marker="never")
    recording = profile(qemu(kernel), kernel, tmp_path / "kernel.taucode", how)
    assert recording.marker_time is None and not len(recording.touches)
    assert not recording.blocks["steady"].any() and recording.blocks["boot"].any()
    (problem,) = problems_of(recording.path)
    assert problem.place == "marker" and problem.next_step
    assert problem.cause == "never was not executed, so steady state never began"


def test_names_with_commas_and_spaces_are_recorded(kernel: Kernel, tmp_path: Path) -> None:
    folder = tmp_path / "a folder, with a comma"
    folder.mkdir()
    assert len(profile(qemu(kernel), kernel, folder / "a,b=c.taucode", MARKED).blocks)


def test_the_command(kernel: Kernel, tmp_path: Path) -> None:
    path = tmp_path / "kernel.taucode"
    words = ["coldcode", "profile", "--kernel", kernel.path, "--marker", "steady_begins", "--json"]
    words += ["-o", path, "--", *qemu(kernel)]
    done = tau_done(*words)
    said = json.loads(done.stdout)
    recording = load(path)
    assert said["recording"] == str(path) and said["settings"] == recording.settings.document
    assert said["steady"]["instructions"] == int(recording.instructions("steady").sum())
    again = tau(*words, expect=2)
    assert "exists" in again.stderr


# ---- Refusals


def test_a_function_that_is_not_there(kernel: Kernel, tmp_path: Path) -> None:
    with pytest.raises(TauError, match="has no function nowhere") as refused:
        profile(qemu(kernel), kernel, tmp_path / "x.taucode", replace(MARKED, marker="nowhere"))
    assert refused.value.next_step


def test_a_recording_of_another_kernel(
    kernel: Kernel, other_kernel: Kernel, tmp_path: Path
) -> None:
    recording = profile(qemu(kernel), kernel, tmp_path / "kernel.taucode", MARKED)
    refuse_other_kernel(recording, kernel)
    with pytest.raises(TauError, match="was recorded on another kernel than") as refused:
        refuse_other_kernel(recording, other_kernel)
    assert "record" in refused.value.next_step


def test_qemu_runs_another_kernel_than_said(
    kernel: Kernel, other_kernel: Kernel, tmp_path: Path
) -> None:
    path = tmp_path / "kernel.taucode"
    with pytest.raises(TauError, match="QEMU did not run") as refused:
        profile(qemu(other_kernel), kernel, path, MARKED)
    assert "image" in refused.value.next_step
    assert not list(tmp_path.iterdir())


def test_code_that_was_patched_is_told(kernel: Kernel, tmp_path: Path) -> None:
    """QEMU gets a file in which one instruction, a branch never taken, is another one."""
    recording = profile(qemu(kernel), kernel, tmp_path / "whole.taucode", MARKED)
    assert not len(patched_blocks(recording, kernel))
    address = kernel.address_of("loops")
    code = kernel.code_at(address, 8)
    content = kernel.path.read_bytes()
    assert content.count(code) == 1
    patched = tmp_path / "patched.elf"
    patched.write_bytes(content.replace(code, bytes.fromhex("13000000") + code[4:]))  # a nop
    image = replace(kernel, path=patched)
    recording = profile(qemu(image), kernel, tmp_path / "patched.taucode", MARKED)
    assert recording.blocks["start"][patched_blocks(recording, kernel)].tolist() == [address]


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (("-smp", "2"), "only one processor can be recorded"),
        (("-machine", "nonsense"), "unsupported machine type"),
    ],
)
def test_qemu_that_does_not_start(
    kernel: Kernel, tmp_path: Path, options: tuple[str, ...], cause: str
) -> None:
    with pytest.raises(TauError, match="nothing was recorded") as refused:
        profile(qemu(kernel, *options), kernel, tmp_path / "kernel.taucode", MARKED)
    assert cause in refused.value.said and refused.value.next_step
    assert not list(tmp_path.iterdir())


def test_qemu_that_is_missing_or_does_not_end(kernel: Kernel, tmp_path: Path) -> None:
    with pytest.raises(TauError, match="is not installed"):
        profile(["qemu-system-nothing"], kernel, tmp_path / "x.taucode", MARKED)
    with pytest.raises(TauError, match="did not end within 1 s") as refused:
        how = replace(MARKED, seconds_max=1)
        profile([*qemu(kernel), "-S"], kernel, tmp_path / "x.taucode", how)
    assert "power off" in refused.value.next_step
    assert not list(tmp_path.iterdir())


def plugin_option(kernel: Kernel, path: Path) -> list[str]:
    """Prepare a recording; return QEMU's option for it."""
    path.write_bytes(prepared(kernel, Settings(None, 100, {"code_sha256": kernel.code_sha256})))
    return ["-plugin", f"{native.DIRECTORY / PLUGIN},recording={path}"]


def wait_for_cpu_seconds(running: subprocess.Popen[bytes], seconds: float) -> None:
    """Until a process has run for so long, however slow the machine is."""
    ticks, deadline = seconds * os.sysconf("SC_CLK_TCK"), time.monotonic() + SECONDS_MAX
    stat = Path(f"/proc/{running.pid}/stat")
    while sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13])) < ticks:
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(("number", "is_sound"), [(signal.SIGTERM, True), (signal.SIGKILL, False)])
def test_qemu_that_is_killed(tmp_path: Path, number: signal.Signals, is_sound: bool) -> None:
    """A signal that QEMU handles ends the recording; another one leaves it cut short."""
    waits = build(tmp_path / "waits.elf", "-DWAITS")
    running = subprocess.Popen([*qemu(waits), *plugin_option(waits, tmp_path / "by-hand.taucode")])
    wait_for_cpu_seconds(running, 1)
    running.send_signal(number)
    running.wait(SECONDS_MAX)
    path = tmp_path / "by-hand.taucode"
    if is_sound:
        assert not problems_of(path) and load(path).touches_count().max() == 100
    else:
        (problem,) = problems_of(path)
        assert "QEMU did not start" in problem.cause and problem.next_step


def start(kernel: Kernel, option: list[str]) -> str:
    """Run QEMU with an option for the plugin; return its output."""
    command = [*qemu(kernel), *option]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX)
    return done.stderr


def test_the_plugin_refuses_what_was_not_prepared(kernel: Kernel, tmp_path: Path) -> None:
    path = tmp_path / "by-hand.taucode"
    option = plugin_option(kernel, path)
    whole = path.read_bytes()
    without = ["-plugin", str(native.DIRECTORY / PLUGIN)]
    assert "only argument is recording=FILE" in start(kernel, without)
    for content, cause in (
        (b"", "it is not a prepared recording"),
        (whole[:-1], "it is not a prepared recording"),
        (whole[:8] + b"\x09" + whole[9:], "it was prepared by another version of tau"),
        (whole[:-1] + b"?", "it is damaged"),
        (whole + b"?", "it holds a recording already"),
    ):
        path.write_bytes(content)
        assert f"by-hand.taucode: {cause}" in start(kernel, option)
        assert path.read_bytes() == content
    path.unlink()
    assert "it cannot be opened: No such file" in start(kernel, option)


def test_a_recording_is_made_once(kernel: Kernel, tmp_path: Path) -> None:
    option = plugin_option(kernel, tmp_path / "by-hand.taucode")
    assert "tau:" not in start(kernel, option)
    assert "it holds a recording already" in start(kernel, option)
