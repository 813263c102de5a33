"""Trained simulators: every cycle is the plain one's, and a training that fails costs only time.

Method: most tests replace Verilator and make by a shell that writes a simulator of one line.
"""

import threading
from pathlib import Path

import pytest

from tautochrone.tile import build
from tautochrone.tile.build import Options, simulator
from tautochrone.tile.simulation import simulate
from testing.tile import compiled

PROBE = Options(unit="probe")
TRAINING = ["--program", "p.elf"]
COUNTS = "echo > counts.gcda;"


class FakeTools:
    """Stands for Verilator and make. A counting simulator runs `trained_by` in the shell."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cache: Path, trained_by: str) -> None:
        self.cache, self.trained_by = cache, trained_by
        self.log = cache.parent / "log"
        self.last = "true"  # another command of the last compilation
        monkeypatch.setenv("TAU_TILE_CACHE", str(cache))
        monkeypatch.setattr(build, "key", lambda _, is_trained=False: f"trained{is_trained}")
        monkeypatch.setattr(build, "arguments", lambda _, folder, __: ["mkdir", str(folder)])
        monkeypatch.setattr(build, "make_line", self.make_line)

    def make_line(self, folder: Path, flags: str, is_counting: bool = False) -> list[str]:
        """Write a simulator; each call is a line of the log."""
        said = self.trained_by if is_counting else "exit 0"
        script = f"echo '{flags}' >> {self.log}; cd {folder}; touch main.o lib.a;"
        script += f" printf '#!/bin/sh\\n%s\\n' '{said}' > tau_sim; chmod +x tau_sim;"
        return ["sh", "-c", script + (self.last if flags == build.TRAINED else "true")]

    def built(self) -> list[str]:
        """The flags of each compilation so far."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    def kept(self) -> list[str]:
        """The finished simulators in the cache."""
        return sorted(path.parent.name for path in self.cache.glob("*/tau_sim")
                      if path.parent.suffix != ".building")


PLAIN, TRAINED = "probe-small-trainedFalse", "probe-small-trainedTrue"


@pytest.mark.parametrize(
    "trained_by, reason",
    [
        (COUNTS, None),
        (COUNTS + "exit 3", None),  # the cycle limit
        ("echo no such program >&2; exit 2", "no such program"),
        ("exit 5", "exit status 5"),
        ("kill -9 $$", "exit status -9"),
        ("exit 0", "left no counts"),
    ],
)
def test_a_training_that_fails_gives_a_plain_simulator(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    trained_by: str,
    reason: str | None,
) -> None:
    tools = FakeTools(monkeypatch, tmp_path / "cache", trained_by)
    path = simulator(PROBE, training=TRAINING)
    wanted = PLAIN if reason else TRAINED
    assert path is not None and path.parent.name == wanted and tools.kept() == [wanted]
    said = capfd.readouterr().err
    assert ("training failed" in said) == (reason is not None) and (reason or "") in said
    assert tools.built() == [build.COUNTING, build.LEVEL if reason else build.TRAINED]


def test_a_trained_simulator_that_cannot_be_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    tools = FakeTools(monkeypatch, tmp_path / "cache", COUNTS)
    tools.last = "echo error: no libgcov; exit 1"
    path = simulator(PROBE, training=TRAINING)
    assert path is not None and path.parent.name == PLAIN and tools.kept() == [PLAIN]
    assert "no libgcov" in capfd.readouterr().err


def test_an_interrupted_training_leaves_no_simulator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = FakeTools(monkeypatch, tmp_path / "cache", COUNTS)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as inner, pytest.raises(KeyboardInterrupt):
        inner.setattr(build, "_train", interrupted)
        simulator(PROBE, training=TRAINING)
    assert tools.kept() == []
    assert simulator(PROBE, training=TRAINING) is not None
    assert tools.kept() == [TRAINED]


def test_only_long_runs_have_a_trained_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = FakeTools(monkeypatch, tmp_path / "cache", COUNTS)
    assert simulator(PROBE, build=False, training=TRAINING) is None and tools.built() == []
    for training, wanted in ((None, PLAIN), (TRAINING, TRAINED), (None, PLAIN)):
        path = simulator(PROBE, training=training)
        assert path is not None and path.parent.name == wanted
    assert tools.built() == [build.LEVEL, build.COUNTING, build.TRAINED]


def test_two_builds_at_once_train_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = FakeTools(monkeypatch, tmp_path / "cache", "sleep 1;" + COUNTS)
    found: list[Path | None] = []
    threads = [
        threading.Thread(target=lambda: found.append(simulator(PROBE, training=TRAINING)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2 and len(set(found)) == 1
    assert tools.built() == [build.COUNTING, build.TRAINED]


def test_the_name_has_the_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain and trained simulators, and those of other flags, never share a name."""
    names = [build.key(PROBE), build.key(PROBE, is_trained=True)]
    for flags in ("LEVEL", "COUNTING", "TRAINED"):
        with monkeypatch.context() as inner:
            inner.setattr(build, flags, "-O0")
            names += [build.key(PROBE), build.key(PROBE, is_trained=True)]
    plain, trained = names[::2], names[1::2]
    assert len(set(plain)) == 2 and len(set(trained)) == 4 and not set(plain) & set(trained)


@pytest.mark.slow
def test_every_cycle_is_the_plain_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One tile and three, with stalls, faults and interrupts: trained with another program."""
    cache = build.cache_folder()
    plain = simulator(PROBE)
    hello = compiled(tmp_path, "tb/programs/mailbox.c")
    monkeypatch.setenv("TAU_TILE_CACHE", str(tmp_path / "cache"))
    trained = simulator(PROBE, training=["--program", str(hello)])
    assert plain is not None and trained is not None and trained != plain
    assert plain.is_relative_to(cache) and not (tmp_path / "cache" / plain.parent.name).exists()
    commands = tmp_path / "commands.bin"
    commands.write_bytes((5).to_bytes(4, "little") + (40).to_bytes(12, "little"))  # seed, hold
    words = ["--program", compiled(tmp_path, "tb/programs/stress.c"), "--stall", "60"]
    for tiles in (1, 3):
        given = [*words, *["--commands", commands] * tiles]
        seen = [simulate(path, given, 20_000_000, tiles=tiles) for path in (plain, trained)]
        for each in seen:
            del each.summary["host"]
        first, second = seen
        assert first.code == 0 and first.summary["cycles"] > 10_000
        assert first == second, tiles
