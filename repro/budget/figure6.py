"""The paper's Fig. 6 [P1-25]: code size, here on Cortex-M4 and RV32IMC.

The paper's bars have no numbers (⚠ G-6). malloc + free are compared, since every allocator has
them.
"""

import re
import subprocess
from typing import Any

from bench.allocators import code_size
from bench.allocators.images import ISAS, compile_c
from repro.budget.traces import RESULTS
from repro.engine.results import REPOSITORY

# The functions of the replayer's Kingsley that malloc and free need.
KINGSLEY = re.compile(r"(kingsley_(malloc|free)|grow|class_of|block_of|word_(read|write))(\.\w+)*$")


def kingsley_bytes(isa_name: str) -> int:
    """Bytes of malloc and free of the replayer's Kingsley, cross-compiled -Os; the sum of its
    functions.
    """
    isa = ISAS[isa_name]
    output = RESULTS.out / f"kingsley-{isa_name}.o"
    flags = ("-Os", "-ffunction-sections")
    compile_c(isa, REPOSITORY / "peers" / "kingsley.c", flags, output)
    symbols = subprocess.run(
        [isa.compiler.replace("gcc", "nm"), "-S", str(output)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    total = 0
    for line in symbols.splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[2] in "tT" and KINGSLEY.match(fields[3]):
            total += int(fields[1], 16)
    return total


def measure() -> dict[str, Any]:
    """Rows as bench/allocators/code_size.py has them, and Kingsley."""
    rows = code_size.measure()
    rows += [
        {"name": "kingsley", "isa": isa, "malloc_free": kingsley_bytes(isa)}
        for isa in ("rv32", "m4")
    ]
    return {"rows": rows}
