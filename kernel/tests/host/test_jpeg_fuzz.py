"""Whatever the data are, the decoder stays inside them and its buffers: under both sanitizers."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from kernel.systems.jpeg.images import natural, path_of
from kernel.tests.host.host_build import JPEG_FILES, SANITIZERS, build, counts_of, run
from kernel.tests.host.jpeg_library import encoded

SEED = int(os.environ.get("TAU_TEST_SEED", "1"))
MUTATIONS = 10_000
FUZZ_SECONDS = 60  # it is to end early
SOURCES = ["kernel/tests/host/fuzz_jpeg.c", *JPEG_FILES]
REASONS_MIN = 12  # Different reasons for a refusal, so that the changes are not all alike.


def images(folder: Path) -> list[Path]:
    """Small images of every layout, with and without restarts and with tables of their own."""
    kinds = [
        {"subsampling": "4:2:0", "restart_marker_blocks": 1},
        {"subsampling": "4:2:2", "optimize": True},
        {"subsampling": "4:4:4", "quality": 95},
        {"gray": True, "restart_marker_blocks": 2},
    ]
    paths = [path_of("64x64")]
    for number, kind in enumerate(kinds):
        paths.append(folder / f"{number}.jpg")
        pixels = natural(37, 21, number)
        pixels[:8] = np.random.default_rng(number).integers(0, 256, pixels[:8].shape)
        paths[-1].write_bytes(encoded(pixels, **kind).data)
    return paths


@pytest.fixture(scope="module")
def fuzz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, sanitized."""
    return build(tmp_path_factory.mktemp("fuzz") / "fuzz_jpeg", SOURCES, SANITIZERS)


def test_every_truncation(fuzz: Path, tmp_path: Path) -> None:
    """Only the whole image decodes."""
    paths = images(tmp_path)
    counts = counts_of(run(fuzz, "truncations", *paths))
    assert counts["decoded"] == len(paths), counts
    assert sum(counts.values()) == sum(path.stat().st_size + 1 for path in paths)


def test_random_mutations(fuzz: Path, tmp_path: Path) -> None:
    """Up to eight changes each, in headers and in data."""
    print("seed", SEED)
    counts = counts_of(run(fuzz, "mutations", SEED, MUTATIONS, *images(tmp_path)))
    print(counts)
    assert len(counts) >= REASONS_MIN


@pytest.mark.slow
def test_fuzzer_finds_nothing(tmp_path: Path) -> None:
    """A minute of libFuzzer, which looks for data that reach new code."""
    flags = [*SANITIZERS, "-DTAU_FUZZER", "-fsanitize=fuzzer"]
    fuzzer = build(tmp_path / "fuzzer", SOURCES, flags, compiler="clang-14")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for path in images(tmp_path):
        (corpus / path.name).write_bytes(path.read_bytes())
    arguments = [f"-max_total_time={FUZZ_SECONDS}", "-max_len=4000", f"-seed={SEED}"]
    print(run(fuzzer, *arguments, f"-artifact_prefix={tmp_path}/", corpus)[-1000:])
