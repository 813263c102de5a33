"""Every translated size is the compiler's sizeof on the target, for random types.

Oracle: the compiler. A table of sizeof, compiled without -g, has every type of the program for both
builds. A size has a target size if and only if all rows with that size on the host agree, and one
of them is not an array.
"""

from __future__ import annotations

import os
import random
import time
from collections import defaultdict
from pathlib import Path

import pytest

from tautochrone.translate.making import BY_TYPES, Stated, translate
from tool.tests.translate.builds import build_with_table, events_of, write_recording

BASES = ("char", "signed char", "short", "int", "unsigned", "long", "unsigned long", "long long")
BASES += ("float", "double", "_Bool", "void *", "callback", "word")
START = """typedef int (*callback)(int);
typedef unsigned long word;
enum e0 { SMALL }; enum e1 { MIDDLE = 300 }; enum e2 { LARGE = 1 << 20 };
"""
FORMS = ("-gdwarf-4", "-gdwarf-5", "-gdwarf-5 -fdebug-types-section", "-gdwarf-4 -gz",
         "-gdwarf-4 -fdebug-types-section", "-gdwarf-3", "-gdwarf-5 -O2")  # fmt: skip
SITE = ("p.x86-64", 0x1010)  # In the program, of the first size.
NOTHING = Stated({}, frozenset())


class Types:
    """Random structures and unions as C, and an expression for each type in them."""

    def __init__(self, source: random.Random, count: int) -> None:
        self.source = source
        self.names: list[str] = []
        self.arrays: set[str] = set()
        self.expressions = [*BASES, "enum e0", "enum e1", "enum e2"]
        self.text = START
        for number in range(count):
            kind = source.choice(["struct", "struct", "union"])
            tag, alias = f"{kind} s{number}", f"t{number}"
            is_tagged = source.random() < 0.6
            name = tag if is_tagged else alias
            members = self.members(f"(*({name} *)0)", 0)
            self.text += f"{tag} {{ {members} }};\n" if is_tagged else ""
            self.text += "" if is_tagged else f"typedef {kind} {{ {members} }} {alias};\n"
            self.names.append(name)
            self.expressions.append(name)
        variables = [*self.names, *BASES, "enum e0", "enum e1", "enum e2"]
        lines = [f"{name} v{number};" for number, name in enumerate(variables)]
        self.text += "#ifndef TABLE\n" + "\n".join(lines) + "\n#endif\n"

    def members(self, owner: str, depth: int) -> str:
        """Members of a structure; their types are added to the expressions."""
        return " ".join(
            self.member(f"m{number}", f"{owner}.m{number}", depth)
            for number in range(self.source.randint(1, 6))
        )

    def member(self, name: str, whole: str, depth: int) -> str:
        kind = self.source.choice(["base", "base", "base", "array", "bits", "enum", "inner"])
        if kind == "bits":
            return f"unsigned {name} : {self.source.randint(1, 31)};"
        self.expressions.append(whole)
        if kind == "inner" and depth < 2:
            # A line of its own: DWARF of an anonymous structure may name the line only.
            word = self.source.choice(["struct", "union"])
            return f"\n{word} {{ {self.members(whole, depth + 1)} }} {name};"
        if kind == "enum":
            return f"enum e{self.source.randrange(3)} {name};"
        of = self.source.choice([*BASES, *self.names])
        if kind != "array":
            return f"{of} {name};"
        bounds = [self.source.randint(1, 5) for _ in range(self.source.choice([1, 1, 2]))]
        self.arrays.add(whole)
        self.expressions.append(whole + "[0]" * len(bounds))
        return f"{of} {name}" + "".join(f"[{bound}]" for bound in bounds) + ";"


@pytest.mark.parametrize("abi", ["arm", "riscv32"])
@pytest.mark.parametrize("rounds", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_sizes_are_the_compilers(tmp_path: Path, abi: str, rounds: int) -> None:
    first = int(os.environ.get("TAU_TEST_SEED", "0")) or time.time_ns() % 2**32
    translated = 0
    for seed in range(first, first + rounds):
        print("seed", seed)
        source = random.Random(seed)
        types = Types(source, source.randint(3, 25))
        form = tuple(source.choice(FORMS).split())
        folder = tmp_path / str(seed)
        folder.mkdir()
        known = (types.text, types.expressions, form)
        host, ours = build_with_table(folder, "x86-64", *known)
        target, theirs = build_with_table(folder, abi, *known)
        targets = defaultdict(set)
        for size, target_size in zip(ours, theirs, strict=True):
            targets[size].add(target_size)
        rows = zip(types.expressions, ours, strict=True)
        told_by_types = {size for name, size in rows if name not in types.arrays}
        others = {size for size in source.sample(range(1, 400), 5)} - targets.keys()
        sizes = [*targets, *others]
        source.shuffle(sizes)
        recording, out = write_recording(folder / "r.tau", sizes, SITE), folder / "o.tau"
        told = translate(recording, host, target, out, NOTHING)
        for one in told.sizes:
            wanted = targets.get(one.call.size_bytes, set())
            is_told = len(wanted) == 1 and one.call.size_bytes in told_by_types
            assert one.target_bytes == (min(wanted) if is_told else None), one
            assert set(one.match.target_sizes) == wanted or not one.match.has_type, one
        translated += told.count(BY_TYPES)
        assert out.exists() is not bool(told.unknown)
        stated = {one.call.size_bytes: source.randint(1, 500) for one in told.unknown}
        given = Stated(stated, frozenset())
        whole = translate(recording, host, target, out, given, force=True)
        assert not whole.unknown
        wanted_sizes = [stated.get(size) or min(targets[size]) for size in sizes]
        assert events_of(out)["size_bytes"].tolist() == wanted_sizes
    assert translated > 3 * rounds
