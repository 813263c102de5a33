"""The smallest Linux kernel with cold code, from Debian's package to programs that run on it: built
with nothing cached, recorded, linked with its cold code on pages of flash, booted in QEMU.

Method: the first program hashes what some thousand calls of the kernel return, hostile ones too.
The hash is compared with that of the kernel without cold code, for every policy and store, with the
fewest frames, and with all that can be wrong with flash and options.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest

from tautochrone.coldcode.fragment import fragment_text
from tautochrone.coldcode.link_map import read_link_map, with_larger_sizes
from tautochrone.coldcode.linux import build as building
from tautochrone.coldcode.linux import fault_path, kept
from tautochrone.coldcode.linux.build import Built, Wish, build, compiler_tools
from tautochrone.coldcode.linux.initramfs import initramfs
from tautochrone.coldcode.linux.placement import in_link_order
from tautochrone.coldcode.linux.qemu import Boot, Seen, boot
from tautochrone.coldcode.linux.run import POLICIES, STORES, How, run
from tautochrone.errors import TauError
from tautochrone.plan.code.placer import placer

# One line decides whether `make check` builds a kernel: it takes minutes, which that does not have
# yet.
pytestmark = pytest.mark.slow

CPU_SECONDS_MAX = 8 * 60
SECONDS_MAX = 3600.0
SEED = 13
PAGE_BYTES = 4096
IDENTITY = 16  # where the build ID is in the header
WISH = Wish(seconds_max=SECONDS_MAX)
HOW = How(placer(0.999, 16, "round-robin"), 0.999, WISH, seconds_max=SECONDS_MAX)


def cpu_seconds() -> float:
    """CPU time of this process and its children so far."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


@dataclass(frozen=True)
class Kernels:
    """The results of the first run, and kernels to boot: all code in RAM, and none that can go."""

    first: dict[str, object]
    cpu_seconds: float
    plain: Built
    paged: Built
    hash: str
    folder: Path


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernels]:
    """Everything built in a new cache, without ccache."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        patch.setenv("CCACHE_DISABLE", "1")
        before = cpu_seconds()
        first = run(HOW)
        used = cpu_seconds() - before
        plain = build(WISH)
        paged = all_cold(plain, folder)
        start = boot(plain, Boot(archive()))
        yield Kernels(first, used, plain, paged, start.values["hash"], folder)


def archive() -> Path:
    """Our first program."""
    return initramfs(compiler_tools()["compiler"])


def all_cold(plain: Built, folder: Path) -> Built:
    """A kernel of which every function leaves RAM that can be placed, hot ones too."""
    pieces = read_link_map(plain.link_map)
    for _ in range(2):
        swappable = [piece for piece in pieces if piece.is_swappable]
        placement = folder / "all.lds"
        placement.write_text(fragment_text(in_link_order(swappable)))
        built = build(replace(WISH, placement=placement))
        pieces = with_larger_sizes(pieces, read_link_map(built.link_map))
    return built


def booted(kernels: Kernels, pages: bytes | None, *options: str) -> Seen:
    """The kernel of which all is cold, with this in flash; it always gets to the end."""
    how = Boot(archive(), pages, tuple(f"coldcode.{option}" for option in options))
    seen = boot(kernels.paged, how)
    assert seen.values["hash"] == kernels.hash, seen.console
    return seen


def test_results_are_equal_and_memory_comes_back(kernels: Kernels) -> None:
    first = kernels.first
    assert first["outputs_equal"]
    assert first["loads"] > 0
    assert first["pages"] > 100
    assert first["resident_text_bytes"] < first["text_bytes"] / 2
    freed = (first["pages"] - first["pinned_pages"]) * PAGE_BYTES
    came_back = first["memory_total_bytes"] - first["baseline_memory_total_bytes"]
    # Pages of cold code are not quite full, so that the image is larger.
    assert 0.9 * freed <= came_back <= freed
    assert first["worst_fault_instructions"] <= 500
    assert first["worst_load_instructions"] <= 2000


def test_nothing_cached_takes_at_most_eight_minutes(kernels: Kernels) -> None:
    assert kernels.cpu_seconds <= CPU_SECONDS_MAX


def test_the_second_run_builds_nothing(kernels: Kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    def make_none(*_: object, **__: object) -> None:
        raise AssertionError("make was called")

    monkeypatch.setattr(building.Make, "run", make_none)
    assert run(HOW) == kernels.first


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_gives_equal_results(kernels: Kernels, policy: str) -> None:
    seen = booted(kernels, kernels.paged.pages.read_bytes(), f"policy={policy}", "frames=16")
    assert seen.number("loads") > 10_000
    assert seen.number("faults_interrupts_off") > 1000
    assert seen.number("evictions") == seen.number("loads") - 16


@pytest.mark.parametrize("store", STORES)
def test_every_store_gives_equal_results(kernels: Kernels, store: str) -> None:
    pages = kernels.paged.pages.read_bytes() if store == "flash" else None
    seen = booted(kernels, pages, f"store={store}", "frames=64")
    assert seen.number("loads") > 1000
    assert (seen.number("store_bytes") == 0) == (store == "flash")
    # A copy is made after boot, so that no page differs.
    assert (seen.number("pinned_pages") > 0) == (store == "flash")


def test_four_frames_are_enough(kernels: Kernels) -> None:
    seen = booted(kernels, kernels.paged.pages.read_bytes(), "frames=4")
    assert seen.number("loads") >= 100_000


def test_a_page_takes_as_long_as_told(kernels: Kernels) -> None:
    pages = kernels.paged.pages.read_bytes()
    seen = booted(kernels, pages, "delay_us=442", "frames=64")
    expected = 442 * seen.number("loads")
    assert expected <= seen.number("page_microseconds") <= 1.01 * expected


def test_a_second_run_counts_the_same(kernels: Kernels) -> None:
    pages = kernels.paged.pages.read_bytes()
    runs = [booted(kernels, pages, "frames=32").values for _ in range(2)]
    assert runs[0] == runs[1]


# ---- Bad input: the kernel boots, and keeps in RAM what it cannot load


def damaged(content: bytes, how: str) -> bytes | None:
    """The page file, damaged."""
    if how == "absent":
        return None
    if how == "another build":
        return content[:IDENTITY] + bytes([content[IDENTITY] ^ 1]) + content[IDENTITY + 1 :]
    if how == "another version":
        return content[:8] + b"\2" + content[9:]
    return b"\xff" * len(content) if how == "erased" else content[: PAGE_BYTES // 2]


@pytest.mark.parametrize(
    ("how", "cause"),
    [
        ("absent", "the flash holds no page file"),
        ("erased", "the flash holds no page file"),
        ("another build", "the page file is of another build"),
        ("another version", "the page file has another version"),
        ("cut within the header's page", "every page differs from the store"),
    ],
)
def test_without_a_sound_page_file_all_code_stays(kernels: Kernels, how: str, cause: str) -> None:
    seen = booted(kernels, damaged(kernels.paged.pages.read_bytes(), how))
    assert seen.pager == (f"all code stays in RAM: {cause}",)
    assert seen.number("MemTotal") > 0


def test_pages_that_differ_stay(kernels: Kernels) -> None:
    content = bytearray(kernels.paged.pages.read_bytes())
    sound = booted(kernels, bytes(content), "frames=64").number("pinned_pages")
    random = Random(SEED)
    pages = len(content) // PAGE_BYTES - 1
    for page in (flipped := random.sample(range(1, 1 + pages), 5)):
        content[page * PAGE_BYTES + random.randrange(PAGE_BYTES)] ^= 1 << random.randrange(8)
    seen = booted(kernels, bytes(content), "frames=64")
    assert max(sound, len(flipped)) <= seen.number("pinned_pages") <= sound + len(flipped)
    half = bytes(content[: len(content) // 2])
    assert booted(kernels, half, "frames=64").number("pinned_pages") >= pages // 2


@pytest.mark.parametrize(
    ("option", "cause"),
    [
        ("frames=3", "coldcode.frames is too small or too large"),
        ("frames=0", "coldcode.frames is too small or too large"),
        ("frames=65", "coldcode.frames is too small or too large"),
        ("policy=lru", "coldcode.policy is not round-robin, random, nru or aging"),
        ("store=tape", "coldcode.store is not flash, compressed or ram"),
        ("flash=0x20001008", "the flash's address is not that of a page"),
        ("flash=0x1000000", "the flash cannot be read"),
        ("off", "switched off"),
    ],
)
def test_a_wrong_option_keeps_all_code(kernels: Kernels, option: str, cause: str) -> None:
    seen = booted(kernels, kernels.paged.pages.read_bytes(), option)
    assert seen.pager == (f"all code stays in RAM: {cause}",)


def test_a_value_that_is_no_number_is_named(kernels: Kernels) -> None:
    seen = booted(kernels, kernels.paged.pages.read_bytes(), "frames=many")
    assert "`many' invalid for parameter `coldcode.frames'" in seen.console
    assert seen.number("frames") == 16


# ---- Bad input: the tool says what is wrong


def test_a_half_done_folder_is_made_again(kernels: Kernels, tmp_path: Path) -> None:
    folder = kernels.paged.folder
    (folder / kept.COMPLETE).unlink()
    (folder / "Image").write_bytes(b"half")
    placement = kernels.folder / "all.lds"
    assert build(replace(WISH, placement=placement)).folder == folder
    assert (folder / "Image").stat().st_size > PAGE_BYTES


def test_excluded_options_are_named(kernels: Kernels, tmp_path: Path) -> None:
    options = (building.configurations_folder() / "smallest.config").read_text()
    wrong = tmp_path / "wrong.config"
    wrong.write_text(options + "CONFIG_SMP=y\n")
    with pytest.raises(TauError, match="refuses CONFIG_COLD_CODE=y") as raised:
        build(replace(WISH, configuration=str(wrong)))
    assert "code_pager.md" in str(raised.value.next_step)
    with pytest.raises(TauError, match="no configuration none"):
        build(replace(WISH, configuration="none"))


def test_cold_code_on_the_fault_path_stops_the_build(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were the kernel's own handling of faults on the path, much of it would be cold."""
    walk = fault_path.check(kernels.paged.vmlinux)
    assert {"do_page_fault", "tau_cold_fault", "tau_code_cache_fault"} <= set(walk.functions)
    beyond = fault_path.BEYOND - {"handle_page_fault"}
    monkeypatch.setattr(fault_path, "BEYOND", beyond)
    placement = kernels.folder / "other.lds"
    swappable = [piece for piece in read_link_map(kernels.plain.link_map) if piece.is_swappable]
    placement.write_text(fragment_text(in_link_order(swappable[1:])))
    with pytest.raises(
        TauError, match="the fault path is cold: .*do_page_fault.*handle_page_fault"
    ):
        build(replace(WISH, placement=placement))
