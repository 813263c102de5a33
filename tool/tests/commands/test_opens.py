"""A command opens a trace once, so all that it says is about one file.

Method: the kernel reports each open of the trace (inotify), whoever opens it: Python, the native
library, or a process that the command starts. A read lies between two opens, so that the kernel
does not merge their reports.
"""

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from testing.command import tau_done
from testing.paging_reference import events_with_touches
from testing.random_trace import random_trace, write_events

IN_ACCESS, IN_OPEN, IN_NONBLOCK = 0x1, 0x20, 0o4000
EVENT_BYTES = 16


@contextmanager
def opens_counted(path: Path) -> Iterator[list[int]]:
    """Count opens of a file; the number is in the list afterward."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.inotify_init1(IN_NONBLOCK)
    assert descriptor >= 0, os.strerror(ctypes.get_errno())
    assert libc.inotify_add_watch(descriptor, os.fsencode(path), IN_OPEN | IN_ACCESS) >= 0
    found: list[int] = []
    try:
        yield found
        data = os.read(descriptor, 1 << 20)
        masks = [
            struct.unpack_from("iI", data, at)[1] for at in range(0, len(data), EVENT_BYTES)
        ]
        found.append(sum(bool(mask & IN_OPEN) for mask in masks))
    finally:
        os.close(descriptor)


def opens_of(path: Path, *words: str | Path) -> int:
    """How often `tau WORDS…` opens a file."""
    with opens_counted(path) as found:
        tau_done(*words)
    return found[0]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of accesses, for which `tau plan` makes every section."""
    return write_events(tmp_path_factory.mktemp("opens") / "t.tau", events_with_touches(1, 300, 20))


def test_each_open_is_counted(trace: Path) -> None:
    with opens_counted(trace) as found:
        for _ in range(3):
            trace.read_bytes()
        with open(trace, "rb") as first:
            first.read(1)
            assert trace.read_bytes()
    assert found == [5]


@pytest.mark.parametrize(
    "words",
    [
        ("info",),
        ("check",),
        ("export",),
        ("replay", "--on", "tlsf,glibc,rtvm,conventional", "--instructions", "rv32"),
        ("replay", "--on", "tlsf", "--events", "100"),
        ("plan", "--classes-max", "2"),
    ],
    ids=" ".join,
)
def test_a_command_opens_a_trace_once(trace: Path, words: tuple[str, ...]) -> None:
    assert opens_of(trace, words[0], trace, *words[1:]) == 1


def test_a_plan_opens_each_of_several_traces_once(trace: Path, tmp_path: Path) -> None:
    others = [random_trace(tmp_path / f"{seed}.tau", seed, events=100) for seed in range(5)]
    for path in (trace, others[0], others[4]):
        assert opens_of(path, "plan", trace, *others, "--classes-max", "2") == 1


def test_a_report_opens_its_trace_once(trace: Path, tmp_path: Path) -> None:
    """With replays that are read from files, with replays that are made, and with a plan."""
    plan, replayed = tmp_path / "plan.toml", tmp_path / "replayed.json"
    tau_done("plan", trace, "--classes-max", "2", "-o", plan)
    replayed.write_text(tau_done("replay", trace, "--plan", plan, "--json").stdout)
    out = ("-o", tmp_path / "report.html")
    words = ("--plan", plan, "--replay", replayed, "--on", "kingsley,rtvm")
    assert opens_of(trace, "report", trace, *words, *out) == 1
