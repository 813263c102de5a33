"""What cannot include the generated constants of facts/tile.toml says the same by hand."""

import re
import tomllib
from pathlib import Path

TILE = Path(__file__).resolve().parents[1]
SOFTWARE = TILE.parents[1] / "targets/tile"
FACTS = tomllib.loads((TILE.parents[1] / "facts/tile.toml").read_text())


def test_linker_script_has_the_banks() -> None:
    text = (SOFTWARE / "tile.ld").read_text()
    found = re.findall(r"ORIGIN = (\w+), LENGTH = (\d+)K", text)
    banks = [(int(origin, 16), int(kilobytes) * 1024) for origin, kilobytes in found]
    bytes_each = FACTS["size"]["bank_bytes"]
    assert banks == [(FACTS["address"][name], bytes_each) for name in ("instr", "data")]


def test_start_code_ends_by_the_exit_register() -> None:
    base, offset = re.search(
        r"li t0, (0x\w+)\n\s+sw a0, (\d+)\(t0\)", (SOFTWARE / "crt0.S").read_text()
    ).groups()
    assert int(base, 16) == FACTS["address"]["device"]
    assert int(offset) == FACTS["register"]["exit"]


def test_the_summary_names_the_counters_in_their_order() -> None:
    text = (TILE / "sim/main.cpp").read_text()
    names = re.search(r"COUNTER_NAMES\[COUNTERS\] = \{(.*?)\};", text, re.DOTALL).group(1)
    counters = FACTS["counter"]
    assert re.findall(r'"(\w+)"', names) == [*counters, "cycles"]
    assert list(counters.values()) == list(range(FACTS["size"]["counters"]))
