"""The paper's Fig. 6 [P1-25]: code size, here on Cortex-M4 and RV32IMC.

The paper's bars have no numbers (⚠ G-6). malloc + free are compared, since every allocator has
them.
"""

import re
from typing import Any

from bench.allocators import code_size
from bench.allocators.images import ISAS, compile_c, function_sizes
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
    return sum(size for name, size in function_sizes(output).items() if KINGSLEY.match(name))


def measure() -> dict[str, Any]:
    """Rows as bench/allocators/code_size.py has them, and Kingsley."""
    rows = code_size.measure()
    rows += [
        {"name": "kingsley", "isa": isa, "malloc_free": kingsley_bytes(isa)}
        for isa in ("rv32", "m4")
    ]
    return {"rows": rows}
