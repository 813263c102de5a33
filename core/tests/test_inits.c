// Goal: no init accepts memory that leads around the end of the address space, so none writes to
// low addresses. Method: every init is given memory near the highest address, where nothing is
// mapped, with every size that may fool it. A size accepted by mistake crashes.
#include "core/buddy.h"
#include "core/budget.h"
#include "peers/conventional/pagetable.h"
#include "core/frames.h"
#include "core/hierarchy.h"
#include "core/region_tree.h"
#include "core/tests/kit/test.h"
#include "core/tlsf.h"
#include "core/validity.h"
#include "core/vspace.h"

enum { LOG2 = 8, PAGES = 1 << LOG2, TABLE_BYTES = 32 * PAGES };
#define POOL_MAX_BYTES ((size_t)1 << (TAU_WORD_BITS == 64 ? 36 : 30))

// The last BYTES of the address space.
static void *last_bytes(size_t bytes) {
    return (void *)(UINTPTR_MAX - bytes + 1);
}

// Regression: tau_tlsf_init(0xfffffe00, 0x1f8, 1 << 30) wrote to low addresses on 32 bits. The
// control block for such pools is larger than the memory.
TEST_CASE(a_heap_does_not_wrap_around) {
    const size_t control_bytes = tau_tlsf_control_bytes(POOL_MAX_BYTES);
    EXPECT(tau_tlsf_init(last_bytes(0x200), 0x1f8, POOL_MAX_BYTES) == NULL);
    for (size_t bytes = 1; bytes < control_bytes; bytes++) {
        EXPECT(tau_tlsf_init(last_bytes(bytes), bytes - 1, POOL_MAX_BYTES) == NULL);
        EXPECT(tau_tlsf_init(last_bytes(bytes), bytes, POOL_MAX_BYTES) == NULL);
        EXPECT(tau_tlsf_init(last_bytes(bytes), POOL_MAX_BYTES, POOL_MAX_BYTES) == NULL);
    }
}

TEST_CASE(a_pool_does_not_wrap_around) {
    static _Alignas(64) unsigned char memory[16384];
    struct tau_tlsf *const heap = tau_tlsf_init(memory, sizeof memory, POOL_MAX_BYTES);
    REQUIRE(heap != NULL);
    for (size_t bytes = 1; bytes < 4 * TAU_ALIGNMENT; bytes++) {
        const enum tau_status status = tau_tlsf_add_pool(heap, last_bytes(bytes), bytes - 1);
        EXPECT(status == TAU_POOL_TOO_SMALL || status == TAU_BAD_ARGUMENT);
        EXPECT_EQUAL(tau_tlsf_add_pool(heap, last_bytes(bytes), bytes), TAU_BAD_ARGUMENT);
    }
}

// Regression: the aligned start of the last bytes of the address space is address 0.
TEST_CASE(a_budgeted_heap_does_not_wrap_around) {
    static const struct tau_budget_class class = {64, 4};
    struct tau_budget *heap = NULL;
    for (size_t bytes = 1; bytes < 48; bytes++) {  // fewer than any heap takes
        for (size_t count = 0; count < 2; count++) {
            void *const memory = last_bytes(bytes);
            EXPECT(tau_budget_init(&heap, memory, bytes - 1, &class, count) != TAU_OK);
            EXPECT(tau_budget_init(&heap, memory, bytes, &class, count) == TAU_BAD_ARGUMENT);
        }
    }
    for (size_t bytes = 0; bytes < 256; bytes++) {
        EXPECT_EQUAL(tau_budget_size(&class, 1, SIZE_MAX - bytes), 0);
    }
}

TEST_CASE(tables_do_not_wrap_around) {
    static uint32_t links[PAGES];
    static uint32_t records[4096];
    struct tau_frames frames;
    struct tau_region_tree tree;
    struct tau_validity validity;
    struct tau_vspace space;
    struct tau_hierarchy_tables tables;
    struct tau_hierarchy hierarchy;
    struct tau_pagetable table;
    struct tau_buddy buddy;
    REQUIRE(tau_frames_init(&frames, links, PAGES, NULL) == TAU_OK);
    REQUIRE(tau_hierarchy_tables_init(&tables, records, sizeof records) == TAU_OK);
    for (size_t bytes = 4; bytes < 64; bytes += 4) {
        void *const memory = last_bytes(bytes);
        const size_t size_bytes = TABLE_BYTES;
        const enum tau_status answers[] = {
            tau_validity_init(&validity, memory, size_bytes, PAGES),
            tau_vspace_init(&space, memory, size_bytes, LOG2, &frames, TAU_VSPACE_OVERCOMMIT),
            tau_hierarchy_tables_init(&tables, memory, size_bytes),
            tau_pagetable_init(&table, memory, size_bytes, LOG2, &frames, TAU_PAGETABLE_MAPPED),
            tau_buddy_init(&buddy, memory, size_bytes, PAGES),
            tau_frames_init(&frames, memory, PAGES, NULL),
            tau_frames_init(&frames, links, PAGES, memory),
        };
        for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
            EXPECT_EQUAL(answers[i], TAU_BAD_ARGUMENT);
        }
    }
    EXPECT_EQUAL(tau_region_tree_init(&tree, last_bytes(8), TABLE_BYTES, LOG2), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_hierarchy_init(&hierarchy, last_bytes(8), TABLE_BYTES, LOG2, &tables, &frames,
                                    TAU_HIERARCHY_OVERCOMMIT),
                 TAU_BAD_ARGUMENT);
}

// The last frame may end where the address space ends.
TEST_CASE(frames_may_end_with_the_address_space) {
    static uint32_t links[PAGES];
    struct tau_frames frames;
    const size_t bytes = (size_t)PAGES * TAU_PAGE_BYTES;
    EXPECT_EQUAL(tau_frames_init(&frames, links, PAGES, last_bytes(bytes)), TAU_OK);
    EXPECT_EQUAL(tau_frames_init(&frames, links, PAGES, last_bytes(bytes - 1)), TAU_BAD_ARGUMENT);
}
