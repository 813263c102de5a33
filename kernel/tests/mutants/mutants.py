"""Small wrong changes of the kernel, and the tests on the tile that notice them."""

from __future__ import annotations

from testing.mutants import Group, Mutant, mutants_of

TILE = "kernel/tests/tile"
LOADER_TESTS = (f"{TILE}/test_loader.py",)
SLOT_TESTS = (
    f"{TILE}/test_os_slot.py::test_the_bound_holds_whatever_a_slot_ends_in",
    f"{TILE}/test_os_slot.py::test_an_os_slot_that_is_too_short_stops_the_tile",
)
COMPOSABILITY_TESTS = (
    f"{TILE}/test_composability.py::test_neighbors_do_not_change_one_cycle[1]",
)

LOADED = [
    (
        "memory not cleared",
        "pages.c",
        "if (has_own_frame(page) || is_communication) {",
        "if (is_communication) {",
    ),
    (
        "communication memory not cleared",
        "pages.c",
        "if (has_own_frame(page) || is_communication) {",
        "if (has_own_frame(page) || (is_communication && false)) {",
    ),
    ("a pool not cleared", "pages.c", "        clear(application->pool[i], 0, 0);\n", ""),
    (
        "three quarters cleared",
        "pages.c",
        "page_bytes(order) / 4 - first);",
        "(page_bytes(order) / 4 - first) * 3 / 4);",
    ),
    (
        "a page that the image ends in not cleared",
        "pages.c",
        "const uint32_t rest = segment->file_bytes - offset;",
        "const uint32_t rest = segment->file_bytes;",
    ),
    (
        "memory without an image not cleared",
        "pages.c",
        "if (offset < segment->file_bytes) {",
        "if (offset < segment->memory_bytes) {",
    ),
    ("any right is enough", "pages.c", "page->rights != segment->rights)) {", "false)) {"),
    ("segments in any page", "pages.c", "(!has_own_frame(page) || page->rights", "(page->rights"),
    (
        "refused with its frames",
        "loader.c",
        '        tau_pages_release(number);\n        return "a segment',
        '        return "a segment',
    ),
    (
        "too few frames kept",
        "pages.c",
        '        tau_pages_release(number);\n        return "no frames',
        '        return "no frames',
    ),
    (
        "frames not given back",
        "pages.c",
        "const enum tau_status given = tau_buddy_give(&buddy, page->frame, page->order);",
        "const enum tau_status given = TAU_OK;",
    ),
    (
        "frames of a pool not given back",
        "pages.c",
        "const enum tau_status given = tau_buddy_give(&buddy, application->pool[i], 0);",
        "const enum tau_status given = TAU_OK;",
    ),
    (
        "a pool in any order",
        "pages.c",
        "page->page == application->pages[application->pool_entry].page + index;",
        "true;",
    ),
    ("pages between those of a pool", "pages.c", "entry == application->pool_entry + index &&", ""),
    ("pages of the pool of before", "pages.c", "    application->pool_pages_count = 0;\n", ""),
    (
        "a page behind the pool's",
        "pages.c",
        "index >= application->pool_pages_count ||",
        "index > application->pool_pages_count ||",
    ),
    (
        "a page of a pool twice",
        "pages.c",
        " || application->pages[first + index].is_mapped) {",
        ") {",
    ),
    (
        "more than a pool has",
        "pages.c",
        "if (application->pool_used_count == application->pool_count ||\n        address",
        "if (address",
    ),
    ("a pool never starts anew", "pages.c", "    application->pool_used_count = 0;\n", ""),
    (
        "the table of before the fault",
        "pages.c",
        "    tau_mmu_switch(number);\n    return true;",
        "    return true;",
    ),
    (
        "unloaded at once",
        "loader.c",
        "while (tau_kernel.major_frame < command_word",
        "while (tau_kernel.major_frame + 2 < command_word",
    ),
    ("loaded with its errors", "loader.c", "    application->stopped_tasks = 0;\n", ""),
    (
        "refused and absent",
        "loader.c",
        "application->state = TAU_APPLICATION_REFUSED;",
        "application->state = TAU_APPLICATION_ABSENT;",
    ),
    ("starts by the next load", "loader.c", "if (is_load && !is_started) {", "if (is_load) {"),
    ("never stops", "loader.c", "            stop_frame = major_frame;\n", ""),
    (
        "the first command again",
        "loader.c",
        "schedule(number, command + 1);",
        "schedule(number, 0);",
    ),
    (
        "stops a frame late",
        "slot.c",
        "major_frame < application->stop_frame;",
        "major_frame <= application->stop_frame;",
    ),
    (
        "starts a frame late",
        "slot.c",
        "application->start_frame <= major_frame",
        "application->start_frame < major_frame",
    ),
    (
        "stopped tasks run",
        "slot.c",
        "(application->stopped_tasks >> slot.task & 1) != 0) {",
        "false) {",
    ),
    ("the refused run", "slot.c", "if (application->state == TAU_APPLICATION_REFUSED ||", "if ("),
    (
        "absent and idle",
        "slot.c",
        'tau_stop("an application is loaded too late for its major frame");',
        "return &kernel->idle;",
    ),
    ("always the first table", "slot.c", "*table = slot.application;", "*table = 0;"),
    ("a slot too many", "slot.c", "if (kernel->slot >= header", "if (kernel->slot > header"),
    (
        "a table is not loaded",
        "mmu_switch.h",
        "    tau_mmu_composable_load_begin(table);",
        "    (void)table;",
    ),
    (
        "a call calls again",
        "exception.c",
        "context->words[TAU_CONTEXT_PC] += 4;",
        "context->words[TAU_CONTEXT_PC] += 0;",
    ),
    (
        "any call waits",
        "exception.c",
        "if (context->words[TAU_CONTEXT_A7] == TAU_COMPOSE_CALL_WAIT) {",
        "if (context->words[TAU_CONTEXT_A7] != 0) {",
    ),
    (
        "an error stops the first task",
        "exception.c",
        "|= UINT32_C(1) << task;",
        "|= UINT32_C(1) << (task & 0);",
    ),
    ("faults are errors", "exception.c", "if (is_fault && tau", "if (is_fault && false && tau"),
    (
        "errors are waiting",
        "exception.c",
        "    application->stopped_tasks |= UINT32_C(1) << task;\n",
        "    (void)application, (void)task;\n",
    ),
    ("x31 not saved", "trap.S", "30, 31\n    sw x", "30\n    sw x"),
    (
        "x1 not restored",
        "trap.S",
        "1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, "
        "25, 26, 27, 28, 29, 30, 31\n    lw x",
        "3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, "
        "25, 26, 27, 28, 29, 30, 31\n    lw x",
    ),
    ("the mode of before", "trap.S", "    csrw mstatus, t0\n", ""),
    ("the stack pointer of before", "trap.S", "    sw t0, 4 * TAU_CONTEXT_SP(sp)\n", ""),
]
ENDS = [
    ("no gate", "slot.c", '    __asm__ volatile("wfi" ::: "memory");\n', ""),
    (
        "late slots go on",
        "slot.c",
        '        tau_stop("a slot is late: the OS slot is too short");\n',
        "",
    ),
    (
        "the timer counts from now",
        "slot.c",
        "set_timer(kernel->release_cycle + header[TAU_COMPOSE_HEADER_USER_SLOT_CYCLES]);",
        "set_timer(tau_tile_cycle() + header[TAU_COMPOSE_HEADER_USER_SLOT_CYCLES]);",
    ),
    (
        "a fault walks all pages",
        "pages.c",
        "    const uint32_t first = application->pool_entry;\n",
        "    const uint32_t first = application->pool_entry;\n"
        "    for (volatile uint32_t i = 0; i < application->pages_count; i++) {\n    }\n",
    ),
]
FORGOTTEN = [
    (
        "nothing forgotten when the table stays",
        "mmu_switch.h",
        "    tau_mmu_composable_load_begin(table);",
        "    static uint32_t last = UINT32_MAX;\n"
        "    if (table != last && table != TAU_MMU_SWITCH_EMPTY) {\n        last = table;\n"
        "        tau_mmu_composable_load_begin(table);\n    }",
    ),
]
MARGIN = [
    (
        "no margin in front of the gate",
        "slot.c",
        "if (tau_tile_cycle() + TAU_COMPOSE_GATE_MARGIN_CYCLES > release_cycle) {",
        "if (tau_tile_cycle() > release_cycle) {",
    ),
]
GROUPS = [
    Group("loaded", LOADER_TESTS, mutants_of("kernel/slots", LOADED)),
    Group("ends", SLOT_TESTS, mutants_of("kernel/slots", ENDS)),
    Group("forgotten", COMPOSABILITY_TESTS, mutants_of("kernel/slots", FORGOTTEN)),
    Group(
        "margin",
        [f"{TILE}/test_os_slot.py::test_what_is_shorter_holds_or_stops"],
        mutants_of("kernel/slots", MARGIN),
        slow=True,
    ),
]
ALL: list[tuple[Group, Mutant]] = [(group, each) for group in GROUPS for each in group.mutants]
