"""A translated recording of the host's build asks, call by call, for what the firmware asks for.

Method: a program is recorded on this machine, and as a firmware on a Cortex-M4 in QEMU that records
itself. Both make the same calls. The sizes that `tau translate` knows by types are compared call by
call. The sizes that it asks for are stated from the firmware's recording; then the whole recordings
are equal.
"""

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Tau

from tautochrone.errors import EXIT_FAILED
from tautochrone.trace.file import open_trace
from tautochrone.translate.recording import SOURCES, Calls, calls_of
from testing import firmware

# Without this, `grab` is one call site for structures and strings.
INLINED = "-Dinline=inline __attribute__((always_inline))"
FREE = 4
# Programs, and the part of calls that types tell. In strings and frames most objects are buffers.
PROGRAMS = [("json", 0.5), ("router", 0.9)]
MORE_PROGRAMS = [("tree", 0.25), ("frames", 0.0), ("cache", 0.3)]


def allocations(path: Path) -> np.ndarray:
    """The events of a trace that ask for a size."""
    with open_trace(path) as reader:
        events = np.concatenate(list(reader.blocks()))
    return events[events["op"] < FREE]


@pytest.mark.parametrize(
    ("program", "part_by_types"),
    [*PROGRAMS, *(pytest.param(*each, marks=pytest.mark.slow) for each in MORE_PROGRAMS)],
)
def test_the_translated_sizes_are_the_firmwares(
    tau: Tau, tmp_path: Path, program: str, part_by_types: float
) -> None:
    host = firmware.on_host(program, tmp_path, "-g", INLINED)
    recording, translated = tmp_path / "host.tau", tmp_path / "translated.tau"
    tau("record", "-o", recording, "--", host, "7")
    (tmp_path / "m4").mkdir()
    capture = (f'-DTAU_RECORD_CAPTURE="{firmware.CAPTURE}"', f"-I{firmware.ROOT}", firmware.WRAPS)
    sources = [firmware.source_of(program), firmware.RECORDER]
    elf = firmware.firmware(sources, tmp_path / "m4", (*capture, "-g"))
    firmware.record(elf, tmp_path / "m4.tau", "7")
    with open_trace(recording) as reader:
        calls = calls_of(reader, lambda site: site[0] == str(host))
    ours = allocations(recording)
    ours = ours[calls.sources[ours["site"]] != SOURCES.index("library")]
    theirs = allocations(tmp_path / "m4.tau")
    theirs = theirs[len(theirs) - len(ours) :]  # before main, newlib allocates for the arguments
    assert np.array_equal(ours["op"], theirs["op"])
    words = ["translate", recording, "--from", host, "--to", elf, "-o", translated]
    answers = answers_of(ours, theirs, calls)
    done = json.loads(tau(*words, "--json", expect=EXIT_FAILED).stdout)
    stated, by_types = [], 0
    for row in done["sizes"]:
        if row["call_sites"] == "library":
            continue
        wanted = answers[(row["size_bytes"], row["call_sites"])]
        if row["by"] == "types":
            assert wanted == {row["target_bytes"]}, row
            by_types += row["allocations"]
        else:
            assert len(wanted) == 1, "the program makes it so"
            stated += [f"--size={row['size_bytes']}={min(wanted)}"]
    assert by_types >= part_by_types * len(ours)
    tau(*words, *stated, "--keep-others")
    result = allocations(translated)
    result = result[calls.sources[allocations(recording)["site"]] != SOURCES.index("library")]
    assert np.array_equal(result["size_bytes"], theirs["size_bytes"])


def answers_of(
    ours: np.ndarray, theirs: np.ndarray, calls: Calls
) -> dict[tuple[int, str], set[int]]:
    """The firmware's sizes for each size of the host, by the kind of its call site."""
    answers: dict[tuple[int, str], set[int]] = defaultdict(set)
    for our, their in zip(ours, theirs, strict=True):
        source = SOURCES[calls.sources[our["site"]]]
        answers[(int(our["size_bytes"]), source)].add(int(their["size_bytes"]))
    return answers
