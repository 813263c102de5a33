"""The calls that a plan's header defines: one name for each, whether the plan has pools or not.

They refer to the constant that only a core of the planned build has (core/config.h). So a firmware
whose core was built with another check level, or for speed instead of size, does not link.
"""

from __future__ import annotations

from tautochrone.plan.build import WORD_BITS, build_of
from tautochrone.plan.file import Plan

# Result, verb, parameters, arguments.
CALLS = (
    ("void *", "malloc", "size_t size_bytes", "size_bytes"),
    ("void *", "calloc", "size_t count, size_t size_bytes", "count, size_bytes"),
    ("void *", "aligned_alloc", "size_t alignment, size_t size_bytes", "alignment, size_bytes"),
    ("void *", "realloc", "void *pointer, size_t size_bytes", "pointer, size_bytes"),
    ("enum tau_status ", "free", "void *pointer", "pointer"),
    ("size_t ", "usable_size", "const void *pointer", "pointer"),
)


def lines(plan: Plan) -> list[str]:
    """The definitions, and the constant that they refer to."""
    system = "budget" if plan.classes else "tlsf"
    build = build_of(plan)
    symbol = build.symbol(WORD_BITS[plan.layout])
    start = (
        [
            f"    struct tau_budget *heap = NULL;",
            f"    const bool is_as_planned = {symbol} == {build.check_level}u;",
            "    return is_as_planned && tau_budget_init(&heap, memory, TAU_PLAN_HEAP_BYTES,",
            "                                            tau_plan_classes,",
            "                                            TAU_PLAN_CLASSES_COUNT) == TAU_OK",
            "               ? heap",
            "               : NULL;",
        ]
        if plan.classes
        else [
            f"    const bool is_as_planned = {symbol} == {build.check_level}u;",
            "    return is_as_planned ? tau_tlsf_init(memory, TAU_PLAN_HEAP_BYTES, 0) : NULL;",
        ]
    )
    found = [
        "// If this name is missing when the firmware is linked, its core was built with other",
        "// options than the plan says: build it so, or plan for it with `tau plan --build`.",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        f"extern const unsigned char {symbol};",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        f"typedef struct tau_{system} tau_plan_heap;",
        "",
        "// Makes the heap in TAU_PLAN_HEAP_BYTES at MEMORY, which is aligned to TAU_ALIGNMENT. Returns",
        "// NULL if and only if MEMORY is NULL or not so aligned.",
        "static inline tau_plan_heap *tau_plan_init(void *memory) {",
        *start,
        "}",
    ]
    for result, verb, parameters, arguments in CALLS:
        heap = "const tau_plan_heap *heap" if verb == "usable_size" else "tau_plan_heap *heap"
        found += [
            "",
            f"static inline {result}tau_plan_{verb}({heap}, {parameters}) {{",
            f"    return tau_{system}_{verb}(heap, {arguments});",
            "}",
        ]
    return [*found, ""]
