"""The code cache is proved with CBMC on the shipped code: no call breaks an invariant, and no
policy takes a recent frame.

Fetches CBMC (cbmc.py), so all of it is slow. What `make check` has instead is an enumeration: every
reachable state of small caches (explore_code_cache.c).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from core.tests.proofs.cbmc import ROOT, Cbmc, Verdict, changed_core

pytestmark = pytest.mark.slow
SECONDS_MAX = 900
PROOF, FILE = "tests/proofs/prove_code_cache.c", "code_cache.c"
PROOFS = ("init", "fault", "others")
FRAMES, PAGES = 4, 6
# OLD becomes NEW, and a proof fails: (defect, old, new, proof).
MUTANTS = [
    ("too few frames", "settings->frames_count < settings->frames_least",
     "settings->frames_count + 1 < settings->frames_least", "init"),
    ("last page not absent", "page < settings->pages_count; page++",
     "page + 1 < settings->pages_count; page++", "init"),
    ("recent frames evicted", "left = cache->candidates;",
     "left = cache->policy == TAU_CODE_CACHE_NRU ? cache->occupied : cache->candidates;", "fault"),
    ("recent stays a candidate", "    code_cache_clear(&cache->candidates, frame);\n", "", "fault"),
    ("oldest stays recent", "code_cache_set(&cache->candidates, cache->recent[place]);", "(void)0;",
     "fault"),
    ("evicted page not absent", "        cache->page_frames[evicted] = CODE_CACHE_ABSENT;\n", "",
     "fault"),
    ("eviction not counted", "        cache->counts.evictions++;\n", "", "fault"),
    ("pinned page loaded", "if (found == CODE_CACHE_PINNED) {", "if (found == 0xfd) {", "fault"),
    ("dropped page not absent",
     "cache->page_frames[cache->frame_pages[frame.number]] = CODE_CACHE_ABSENT;", "", "others"),
    ("loaded page pinned", "if (cache->page_frames[page.number] != CODE_CACHE_ABSENT) {",
     "if (cache->page_frames[page.number] == CODE_CACHE_PINNED) {", "others"),
]  # fmt: skip


def prove(
    cbmc: Cbmc, name: str, core: Path, folder: Path, arguments: tuple[str, ...] = ()
) -> Verdict:
    """One proof of the sources in CORE."""
    sizes = [f"-DPROOF_FRAMES={FRAMES}", f"-DPROOF_PAGES={PAGES}"]
    flags = ["-DTAU_CODE_CACHE_FRAMES_MAX=32u", "-DTAU_WORD_BITS=32", *sizes, *arguments]
    program = cbmc.replaced(core / PROOF, [f"-I{core.parent}", *flags], {}, folder / "program")
    return cbmc.prove(program, f"prove_{name}", ["--unwind", "9"], SECONDS_MAX)


@pytest.mark.parametrize("name", PROOFS)
def test_the_cache_is_proved(cbmc: Cbmc, name: str, tmp_path: Path) -> None:
    verdict = prove(cbmc, name, ROOT / "core", tmp_path)
    assert verdict.holds, verdict.failed
    print(f"{name}: {verdict.goals} goals")


@pytest.mark.parametrize("name", PROOFS)
def test_no_proof_is_empty(cbmc: Cbmc, name: str, tmp_path: Path) -> None:
    """The assumptions leave states: a false assert at the end fails, and only that."""
    verdict = prove(cbmc, name, ROOT / "core", tmp_path, ("-DPROOF_REACHED",))
    assert len(verdict.failed) == 1, verdict.failed
    assert verdict.failed[0].endswith("reached")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda row: f"{row[0]} {row[3]}")
def test_no_mutant_is_proved(cbmc: Cbmc, mutant: tuple[str, ...], tmp_path: Path) -> None:
    core = changed_core(tmp_path, FILE, *mutant[1:3])
    verdict = prove(cbmc, mutant[3], core, tmp_path)
    assert verdict.failed, "proved in spite of the change"
    print(verdict.failed)
