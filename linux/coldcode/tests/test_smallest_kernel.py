"""The smallest Linux kernel with cold code, from Debian's package to programs that run on it:
built, recorded, linked with its cold code on pages of flash, booted in QEMU.

Method: the first program hashes the results of some thousand calls of the kernel, hostile ones too.
The hash is compared with the hash without cold code. `make check` does that with the planned
kernel, from the user's cache if it is there. `make check-all` also builds it with nothing cached.
It boots a kernel in which every function is cold that can be placed: for every policy and store,
with the fewest frames, and with every fault of flash and options. TAU_TEST_SEED repeats a run.
"""

import os
import random
import resource
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

from linux.coldcode.tests.cold_kernels import all_cold
from tautochrone.coldcode.fragment import fragment_text, misplaced, read_fragment
from tautochrone.coldcode.kernel import read_kernel
from tautochrone.coldcode.link_map import read_link_map
from tautochrone.coldcode.linux import build as building
from tautochrone.coldcode.linux import build_cache, must_stay
from tautochrone.coldcode.linux.build import Built, Wish, build, compiler_tools
from tautochrone.coldcode.linux.flash import START
from tautochrone.coldcode.linux.initramfs import ROUNDS, initramfs
from tautochrone.coldcode.linux.qemu import NANOSECONDS_PER_INSTRUCTION, Boot, Seen, boot
from tautochrone.coldcode.linux.root import Root
from tautochrone.coldcode.linux.run import STORES, How, run
from tautochrone.coldcode.replay import POLICIES
from tautochrone.errors import TauError
from testing.code_kernel import in_link_order

CPU_SECONDS_MAX = 8 * 60
SECONDS_MAX = 3600.0
SEED = int(os.environ.get("TAU_TEST_SEED") or random.randrange(1, 1 << 31))
PAGE_BYTES = 4096
SOAK_ROUNDS = 4  # Rounds of the first program: more than SOAK_LOADS with four frames.
SOAK_LOADS = 100_000
KIB = 1024
READING_LEAST = 2 * PAGE_BYTES // 8  # Instructions: a load and a store for each word.
READING_MOST = 1180
FLASH_END = 0x24000000  # The end of flash in QEMU's machine.
FIELDS_BYTES = 36  # Fields of the header, without the reserved one. The last one is the build ID.
ALTERNATIVE_BYTES = 16  # One row of the table.
ENDLESS = r"""
#include <unistd.h>
int main(void) {
    write(1, "tau: I wait\n", 12);
    for (;;) {
        pause();
    }
}
"""
WISH = Wish(seconds_max=SECONDS_MAX)
HOW = How(0.999, WISH, seconds_max=SECONDS_MAX, is_compared=True)


def cpu_seconds() -> float:
    """CPU time of this process and its children so far."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


@dataclass(frozen=True)
class Kernels:
    """Kernels to boot: all code in RAM, and none that can go. The hash of each number of rounds."""

    plain: Built
    paged: Built
    hashes: dict[int, str]
    folder: Path


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """Results of the first run. Its kernels are kept in the user's cache."""
    return run(HOW)


@pytest.fixture(scope="module")
def kernels(results: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    """The same objects, linked again."""
    folder = tmp_path_factory.mktemp("placements")
    plain = build(WISH)
    paged = all_cold(WISH, plain, folder)
    hashes = {n: boot(plain, Boot(archive(n))).values["hash"] for n in (ROUNDS, SOAK_ROUNDS)}
    return Kernels(plain, paged, hashes, folder)


def archive(rounds: int = ROUNDS) -> Root:
    """Our first program."""
    return Root(initramfs(compiler_tools()["compiler"], rounds))


def booted(kernels: Kernels, pages: bytes | None, *options: str, rounds: int = ROUNDS) -> Seen:
    """The kernel of which all is cold, with this in flash; it always gets to the end."""
    how = Boot(archive(rounds), pages, tuple(f"coldcode.{option}" for option in options))
    print(f"TAU_TEST_SEED={SEED}")
    seen = boot(kernels.paged, how)
    assert seen.values["hash"] == kernels.hashes[rounds], seen.console
    return seen


def test_results_are_equal_and_memory_comes_back(results: dict[str, Any]) -> None:
    found = results
    assert found["outputs_equal"]
    assert found["loads"] > 0
    assert found["replayed_own_loads"] == found["loads"]
    assert found["pages"] > 100
    assert found["resident_text_bytes"] < found["text_bytes"] / 2
    freed = (found["pages"] - found["pinned_pages"]) * PAGE_BYTES
    came_back = found["memory_total_bytes"] - found["baseline_memory_total_bytes"]
    # Pages of cold code are not quite full, so that the image is larger.
    assert 0.9 * freed <= came_back <= freed
    assert found["worst_fault_instructions"] <= 500
    assert found["worst_load_instructions"] <= 2000
    reading = found["worst_load_instructions"] - found["worst_fault_instructions"]
    assert reading >= READING_LEAST
    least = found["loads"] * READING_LEAST * NANOSECONDS_PER_INSTRUCTION
    assert least <= found["page_microseconds"] * 1000 <= 2 * least


def planned(results: dict[str, Any], pages: bytes | None, *options: str) -> Seen:
    """The kernel linked as planned."""
    how = Boot(archive(), pages, tuple(f"coldcode.{option}" for option in options))
    return boot(Built(Path(results["kernel"])), how)


def test_exactly_the_pages_that_leave_come_back(results: dict[str, Any]) -> None:
    """Beside the same kernel that keeps all; and nothing is taken if no page can leave."""
    pages = Built(Path(results["kernel"])).pages.read_bytes()
    off, paged = planned(results, pages, "off"), planned(results, pages, "frames=64")
    assert paged.number("pages") > paged.number("pinned_pages")
    gone = (paged.number("pages") - paged.number("pinned_pages")) * PAGE_BYTES
    assert (paged.number("MemTotal") - off.number("MemTotal")) * KIB == gone
    content = pages[:PAGE_BYTES] + b"\xff" * (len(pages) - PAGE_BYTES)
    erased = planned(results, content, "frames=64")
    assert erased.number("pinned_pages") == erased.number("pages")
    assert erased.number("MemTotal") == off.number("MemTotal")
    assert (off.number("MemFree") - erased.number("MemFree")) * KIB < 16 * PAGE_BYTES


@pytest.mark.parametrize("store", STORES)
def test_pages_leave_their_frames_for_others(results: dict[str, Any], store: str) -> None:
    """From every store, whose bytes are those that the kernel has given it."""
    pages = Built(Path(results["kernel"])).pages.read_bytes()
    off = planned(results, pages, "off")
    seen = planned(results, pages, "frames=4", f"store={store}")
    assert seen.results == off.results
    assert seen.number("evictions") == seen.number("loads") - 4 > 0
    assert seen.number("tables_bytes") == PAGE_BYTES
    taken = (seen.number("VmallocUsed") - off.number("VmallocUsed")) * KIB
    assert seen.number("store_bytes") == taken
    whole = seen.number("pages") * PAGE_BYTES
    least = {"flash": 0, "compressed": 1, "ram": whole}
    assert least[store] <= taken <= whole and (taken < whole) == (store != "ram")


def test_every_piece_is_on_its_page(results: dict[str, Any]) -> None:
    built = Built(Path(results["kernel"]))
    written = (build_cache.cache_folder() / "placements").glob("*.lds")
    fragments = {each.sha256: each for each in map(read_fragment, written)}
    start = read_kernel(built.vmlinux).places[START].address
    pages = fragments[results["placement"]].pages
    assert not misplaced(pages, read_link_map(built.link_map), start)


@pytest.mark.slow
def test_nothing_cached_takes_at_most_eight_minutes(
    results: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CCACHE_DISABLE", "1")
    before = cpu_seconds()
    again = run(HOW)
    passed = cpu_seconds() - before
    print(f"{passed:.0f} CPU seconds")
    assert passed <= CPU_SECONDS_MAX
    assert again | {"kernel": ""} == results | {"kernel": ""}


def test_the_second_run_builds_nothing(
    results: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def make_none(*_: object, **__: object) -> None:
        raise AssertionError("make was called")

    monkeypatch.setattr(building.Make, "run", make_none)
    assert run(HOW) == results


@pytest.mark.slow
def test_code_that_stays_is_not_counted_as_gone(results: dict[str, Any]) -> None:
    found = run(replace(HOW, append="coldcode.off"))
    assert found["pager"] == ["all code stays in RAM: switched off"]
    assert found["cache_bytes"] == found["loads"] == 0
    # Pages of cold code are not quite full.
    assert found["text_bytes"] <= found["resident_text_bytes"] < 1.1 * found["text_bytes"]
    assert found["static_bytes"] >= found["baseline_static_bytes"]


@pytest.mark.slow
def test_a_kernel_without_memory_to_start_is_named(results: dict[str, Any]) -> None:
    with pytest.raises(TauError, match="did not start with 1,048,576 bytes") as raised:
        run(replace(HOW, memory_bytes=1 << 20))
    assert "--memory" in str(raised.value.next_step)


@pytest.mark.slow
def test_a_program_that_never_ends_is_shown(results: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "init.c").write_text(ENDLESS)
    (tmp_path / "root").mkdir()
    compiler = compiler_tools()["compiler"]
    command = [compiler, "-static", "-Os", "init.c", "-o", "root/init"]
    subprocess.run(command, cwd=tmp_path, check=True)
    with pytest.raises(TauError, match="did not power off in 20 s") as raised:
        run(replace(HOW, root=tmp_path / "root", seconds_max=20))
    assert "tau: I wait" in raised.value.said


# ---- All code cold


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_gives_equal_results(kernels: Kernels, policy: str) -> None:
    """Reading a page takes the same each time, so that it is the distance of both maxima."""
    seen = booted(kernels, kernels.paged.pages.read_bytes(), f"policy={policy}", "frames=16")
    assert seen.number("loads") > 10_000
    load, fault = seen.number("worst_load_instructions"), seen.number("worst_fault_instructions")
    assert READING_LEAST <= (load - fault) / NANOSECONDS_PER_INSTRUCTION <= READING_MOST
    assert 1000 < seen.number("faults_interrupts_off") < seen.number("faults") / 2
    assert seen.number("evictions") == seen.number("loads") - 16


@pytest.mark.slow
@pytest.mark.parametrize("store", STORES)
def test_every_store_gives_equal_results(kernels: Kernels, store: str) -> None:
    pages = kernels.paged.pages.read_bytes() if store == "flash" else None
    seen = booted(kernels, pages, f"store={store}", "frames=64")
    assert seen.number("loads") > 1000
    assert (seen.number("store_bytes") == 0) == (store == "flash")
    # A copy is made after boot, so that no page differs.
    assert (seen.number("pinned_pages") > 0) == (store == "flash")


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_four_frames_are_enough(kernels: Kernels, policy: str) -> None:
    """[COLD-6] 100,000 loads and more."""
    pages = kernels.paged.pages.read_bytes()
    options = (f"policy={policy}", "frames=4", f"seed={SEED % 1000 + 1}")
    seen = booted(kernels, pages, *options, rounds=SOAK_ROUNDS)
    assert seen.number("loads") >= SOAK_LOADS
    assert seen.pager[0].endswith(f"4 frames, {policy}, store flash")


@pytest.mark.slow
def test_victims_depend_on_the_options(kernels: Kernels) -> None:
    """With as many recent frames as there are, one is left to choose, as round robin does."""
    pages = kernels.paged.pages.read_bytes()

    def loads(*options: str) -> int:
        return booted(kernels, pages, "frames=8", *options).number("loads")

    in_turn, random = loads("policy=round-robin"), loads("policy=random", "seed=1")
    # A command line of another length would be enough for other numbers.
    assert loads("policy=random", "seed=2") != random
    alone = loads("policy=random", "frames_least=8")
    assert abs(alone - in_turn) < abs(random - in_turn) / 2
    # Without accessed bits it would take the lowest frame that it may.
    assert loads("policy=aging") < 1.1 * in_turn


@pytest.mark.slow
def test_a_page_takes_as_long_as_told(kernels: Kernels) -> None:
    pages = kernels.paged.pages.read_bytes()
    seen = booted(kernels, pages, "delay_us=442", "frames=64")
    expected = 442 * seen.number("loads")
    assert expected <= seen.number("page_microseconds") <= 1.01 * expected


@pytest.mark.slow
def test_a_second_run_counts_the_same(kernels: Kernels) -> None:
    pages = kernels.paged.pages.read_bytes()
    runs = [booted(kernels, pages, "frames=32").values for _ in range(2)]
    assert runs[0] == runs[1]


# ---- Bad input: the kernel boots, and keeps pages in RAM that it cannot load


def damaged(content: bytes, how: str) -> bytes | None:
    """The page file, damaged."""
    if how == "absent":
        return None
    if how == "another build":
        last = FIELDS_BYTES - 1
        return content[:last] + bytes([content[last] ^ 1]) + content[FIELDS_BYTES:]
    if how == "another number of pages":
        return content[:12] + (len(content) // PAGE_BYTES).to_bytes(4, "little") + content[16:]
    if how == "another version":
        return content[:8] + b"\2" + content[9:]
    return b"\xff" * len(content) if how == "erased" else content[: PAGE_BYTES // 2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "cause"),
    [
        ("absent", "the flash holds no page file"),
        ("erased", "the flash holds no page file"),
        ("another build", "the page file is of another build"),
        ("another number of pages", "the page file is of another build"),
        ("another version", "the page file has another version"),
        ("cut within the header's page", "every page differs from the store"),
    ],
)
def test_without_a_sound_page_file_all_code_stays(kernels: Kernels, how: str, cause: str) -> None:
    seen = booted(kernels, damaged(kernels.paged.pages.read_bytes(), how))
    assert seen.pager == (f"all code stays in RAM: {cause}",)
    assert seen.number("MemTotal") > 0


@pytest.mark.slow
def test_the_page_file_of_another_placement_is_refused(
    kernels: Kernels, results: dict[str, Any]
) -> None:
    """Pages of the same objects, linked as planned."""
    other = Built(Path(results["kernel"])).pages.read_bytes()
    seen = booted(kernels, other)
    assert seen.pager == ("all code stays in RAM: the page file is of another build",)


@pytest.mark.slow
def test_a_damaged_header_is_refused(kernels: Kernels) -> None:
    """A bit of any field but the reserved one."""
    chance = random.Random(SEED)
    for _ in range(5):
        content = bytearray(kernels.paged.pages.read_bytes())
        content[chance.randrange(FIELDS_BYTES)] ^= 1 << chance.randrange(8)
        assert booted(kernels, bytes(content)).pager[0].startswith("all code stays in RAM: the ")


@pytest.mark.slow
def test_a_page_that_is_patched_at_boot_stays(kernels: Kernels) -> None:
    """As alternatives are: the code in RAM is not that which was linked, though flash is sound."""
    patched = code_of_patches(kernels.paged)
    seen = booted(kernels, kernels.paged.pages.read_bytes(), "frames=64")
    assert 0 < seen.number("pinned_pages") <= len(patched)
    assert seen.pager[0].startswith(f"{seen.number('pages')} pages, {seen.number('pinned_pages')} ")


def code_of_patches(built: Built) -> set[int]:
    """The pages of cold code that the kernel may patch: a row of .alternative begins with the
    distance from itself to the code."""
    symbols = read_kernel(built.vmlinux).places
    start, end = (symbols[name].address for name in ("tau_cold_start", "tau_cold_end"))
    begin = symbols["__alt_start"].address
    with open(built.vmlinux, "rb") as file:
        table = ELFFile(file).get_section_by_name(".alternative").data()
    places = [
        begin + place + int.from_bytes(table[place : place + 4], "little", signed=True)
        for place in range(0, len(table), ALTERNATIVE_BYTES)
    ]
    return {(place - start) // PAGE_BYTES for place in places if start <= place < end}


@pytest.mark.slow
def test_pages_that_differ_stay(kernels: Kernels) -> None:
    content = bytearray(kernels.paged.pages.read_bytes())
    sound = booted(kernels, bytes(content), "frames=64").number("pinned_pages")
    chance = random.Random(SEED)
    pages = len(content) // PAGE_BYTES - 1
    for page in (flipped := chance.sample(range(1, 1 + pages), 5)):
        content[page * PAGE_BYTES + chance.randrange(PAGE_BYTES)] ^= 1 << chance.randrange(8)
    seen = booted(kernels, bytes(content), "frames=64")
    assert max(sound, len(flipped)) <= seen.number("pinned_pages") <= sound + len(flipped)
    half = bytes(content[: len(content) // 2])
    assert booted(kernels, half, "frames=64").number("pinned_pages") >= pages // 2


@pytest.mark.slow
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
        # The last page of the machine's flash.
        ("flash=0x23fff000", "the flash cannot be read"),
        ("off", "switched off"),
    ],
)
def test_a_wrong_option_keeps_all_code(kernels: Kernels, option: str, cause: str) -> None:
    seen = booted(kernels, kernels.paged.pages.read_bytes(), option)
    assert seen.pager == (f"all code stays in RAM: {cause}",)


@pytest.mark.slow
def test_a_page_file_that_goes_beyond_the_flash_is_not_read(kernels: Kernels) -> None:
    """By its last page alone."""
    pages = kernels.paged.pages.read_bytes()
    address = FLASH_END - len(pages) + PAGE_BYTES
    seen = booted(kernels, pages, f"flash={address:#x}")
    assert seen.pager == ("all code stays in RAM: the flash cannot be read",)


@pytest.mark.slow
@pytest.mark.parametrize("value", ["many", "-1", "4294967300", ""])
def test_a_value_that_is_not_a_number_is_named(kernels: Kernels, value: str) -> None:
    seen = booted(kernels, kernels.paged.pages.read_bytes(), f"frames={value}")
    assert f"`{value}' invalid for parameter `coldcode.frames'" in seen.console
    assert seen.number("frames") == 16


# ---- Bad input: the tool names the cause


@pytest.mark.slow
def test_a_half_done_folder_is_made_again(kernels: Kernels, tmp_path: Path) -> None:
    """It holds the same as before, however many kernels were linked since."""
    folder = kernels.paged.folder
    before = (folder / "vmlinux").read_bytes()
    (folder / build_cache.COMPLETE).unlink()
    (folder / "Image").write_bytes(b"half")
    placement = kernels.folder / "all.lds"
    assert build(replace(WISH, placement=placement)).folder == folder
    assert (folder / "Image").stat().st_size > PAGE_BYTES
    assert (folder / "vmlinux").read_bytes() == before


@pytest.mark.slow
def test_excluded_options_are_named(kernels: Kernels, tmp_path: Path) -> None:
    options = (building.configurations_folder() / "smallest.config").read_text()
    wrong = tmp_path / "wrong.config"
    wrong.write_text(options + "CONFIG_SMP=y\n")
    with pytest.raises(TauError, match="cold code cannot have CONFIG_SMP=y") as raised:
        build(replace(WISH, configuration=str(wrong)))
    assert "code_pager.md" in str(raised.value.next_step)
    wrong.write_text(options + "CONFIG_NO_SUCH=y\n")
    with pytest.raises(TauError, match="Kconfig dropped CONFIG_NO_SUCH=y") as raised:
        build(replace(WISH, configuration=str(wrong)))
    assert "correct the name" in str(raised.value.next_step)
    with pytest.raises(TauError, match="no configuration none"):
        build(replace(WISH, configuration="none"))


@pytest.mark.slow
def test_cold_code_on_the_fault_path_stops_the_build(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were the kernel's own handling of faults on the path, much of it would be cold."""
    walk = must_stay.walk_fault_path(read_kernel(kernels.paged.vmlinux))
    assert {"do_page_fault", "tau_cold_fault", "tau_code_cache_fault"} <= set(walk.functions)
    beyond = must_stay.BEYOND - {"handle_page_fault"}
    monkeypatch.setattr(must_stay, "BEYOND", beyond)
    placement = kernels.folder / "other.lds"
    swappable = [piece for piece in read_link_map(kernels.plain.link_map) if piece.is_swappable]
    placement.write_text(fragment_text(in_link_order(swappable[1:])))
    with pytest.raises(
        TauError, match="the fault path is cold: .*do_page_fault.*handle_page_fault"
    ):
        build(replace(WISH, placement=placement))
