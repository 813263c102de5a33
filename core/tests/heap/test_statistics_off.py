"""TLSF, budgeted heap and pools built with TAU_STATISTICS=0: the same placements and answers."""

from __future__ import annotations

import ctypes
import itertools
import random
import subprocess
from pathlib import Path

import pytest

from core.tests.kit.core_build import (
    ALIGNMENT_4,
    ASSERTS,
    ROOT,
    Build,
    CompileError,
    build_library,
    compile_c,
)
from tautochrone.declarations import Library

OFF = "TAU_STATISTICS=0"
HEAP_BYTES, CALLS = 16 * 1024, 20_000
CLASSES = ((16, 20), (24, 10), (100, 5))
SYSTEMS = ("tlsf", "budget", "pools")
BUILDS = [
    *(Build(word_bits, level) for word_bits in (32, 64) for level in (0, 1, 2)),
    Build(32, 1, defines=ALIGNMENT_4),
]
STATISTICS = [f"tau_{system}_statistics" for system in SYSTEMS]


class Heap:
    """A heap of one build in an arena of its own. Objects are offsets from the arena's start."""

    def __init__(self, library: Path, system: str) -> None:
        self.core, self.system = Library(library), system
        self.memory = ctypes.create_string_buffer(HEAP_BYTES + 4096)
        self.start = (ctypes.addressof(self.memory) + 4095) & ~4095
        if system == "tlsf":
            self.handle = self.core.tau_tlsf_init(self.start, HEAP_BYTES, 0)
            return
        heap = ctypes.c_void_p()
        rows = (ctypes.c_uint32 * 6)(*itertools.chain(*CLASSES))
        words = [ctypes.addressof(heap), self.start, HEAP_BYTES, ctypes.addressof(rows), 3]
        words += [0] if system == "pools" else []
        assert self.core[f"tau_{system}_init"](*words) == 0
        self.handle = heap.value

    def call(self, verb: str, *words: int) -> int | None:
        """Call a function that returns an object, or None."""
        found = self.core[f"tau_{self.system}_{verb}"](self.handle, *words)
        return None if found is None else int(found) - self.start

    def free(self, offset: int) -> int:
        """The status."""
        return int(self.core[f"tau_{self.system}_free"](self.handle, self.start + offset))

    def holds(self) -> bool:
        """The self test."""
        return bool(self.core[f"tau_{self.system}_invariants_hold"](self.handle))


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("build", BUILDS, ids=str)
def test_random_calls_go_as_with_statistics(build: Build, system: str, tmp_path: Path) -> None:
    """Exhaustion, refused frees and moves included; with asserts and invariants in each call."""
    defines = (*build.defines, ASSERTS)
    words = (build.word_bits, build.check_level, 0, "-O1", "gcc", False)
    made = [Build(*words, defines=(*defines, *more)) for more in ((), (OFF,))]
    heaps = [Heap(build_library(each, tmp_path), system) for each in made]
    seed = random.randrange(1 << 32)
    print("seed", seed)
    choose = random.Random(seed)
    live: list[int] = []
    refused = misused = 0
    for _ in range(CALLS):
        verb = choose.choice(("malloc", "malloc", "aligned_alloc", "realloc", "free", "free"))
        size = choose.choice((16, 24, 100, choose.randrange(1, 600)))
        if verb in ("malloc", "aligned_alloc") or not live:
            words = (64, size) if verb == "aligned_alloc" else (size,)
            verb = "aligned_alloc" if verb == "aligned_alloc" else "malloc"
            places = [heap.call(verb, *words) for heap in heaps]
            live += [places[0]] if places[0] is not None else []
            refused += places[0] is None
        else:
            offset = live.pop(choose.randrange(len(live)))
            if verb == "realloc":
                places = [heap.call(verb, heap.start + offset, size) for heap in heaps]
                live.append(offset if places[0] is None else places[0])
            else:
                places = [heap.free(offset) for heap in heaps]
                if build.check_level >= 1 and choose.random() < 0.1:
                    again = [heap.free(offset) for heap in heaps]
                    assert again[0] == again[1] != 0
                    misused += 1
        assert places[0] == places[1]
    assert refused > 0 and (misused > 0) == (build.check_level >= 1)
    assert all(heap.holds() for heap in heaps)
    for offset in live:
        assert {heap.free(offset) for heap in heaps} == {0}
    assert all(heap.holds() for heap in heaps)


@pytest.mark.parametrize("system", SYSTEMS)
def test_statistics_are_not_declared(system: str, tmp_path: Path) -> None:
    """A caller does not compile, and the library has no such function."""
    user = tmp_path / "user.c"
    user.write_text(
        f'#include "core/{system}.h"\nint main(void) {{ (void)tau_{system}_statistics(0); }}\n'
    )
    compile_c(Build(), [user], tmp_path / "user.o", ["-I.", "-c"])
    with pytest.raises(CompileError, match=f"tau_{system}_statistics"):
        compile_c(Build(defines=(OFF,)), [user], tmp_path / "user.o", ["-I.", "-c"])
    library = build_library(Build(defines=(OFF,)), tmp_path)
    names = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
    assert not any(f" {each}\n" in names for each in STATISTICS)
    assert "_speed_uncounted" in names


def test_heaps_of_both_do_not_link(tmp_path: Path) -> None:
    """A budgeted heap without, a TLSF with statistics: the constant's name is missing."""
    sources = [ROOT / "core/budget.c", ROOT / "core/tlsf.c"]
    user, other = tmp_path / "user.c", tmp_path / "tlsf.o"
    user.write_text('#include "core/budget.h"\nint main(void) { return 0; }\n')
    off = Build(defines=(OFF,))
    compile_c(off, [*sources, user], tmp_path / "user", ["-I."])
    compile_c(Build(), [sources[1]], other, ["-I.", "-r", "-nostdlib"])
    with pytest.raises(CompileError, match="tau_tlsf_built_word64_check1_fill0_speed_uncounted"):
        compile_c(off, [sources[0], user], tmp_path / "user", ["-I.", str(other)])


def test_other_values_are_refused(tmp_path: Path) -> None:
    """It is 0 or 1."""
    user = tmp_path / "user.c"
    user.write_text('#include "core/tlsf.h"\nint main(void) { return 0; }\n')
    with pytest.raises(CompileError, match="TAU_STATISTICS is 0 or 1"):
        compile_c(Build(defines=("TAU_STATISTICS=2",)), [user], tmp_path / "user", ["-I."])


@pytest.mark.parametrize("port", ["newlib", "freertos", "zephyr", "rust"])
def test_ports_that_report_bytes_refuse_it(port: str) -> None:
    """Each includes the refusal, in its own file or by core/ports/heap_count.h."""
    (source,) = (ROOT / "core/ports" / port).glob("heap*.c")
    count = (ROOT / "core/ports/heap_count.h").read_text()
    text = source.read_text()
    text += count if '"core/ports/heap_count.h"' in text else ""
    assert "#if !TAU_STATISTICS\n#error" in text
