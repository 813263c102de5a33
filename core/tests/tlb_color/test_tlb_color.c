// Goal: each sentence of core/tlb_color.h, by example.
// Method: the paper's TLB of 16 sets with a linear index, two principals with four sets each, and
// a second array for directory entries.
#include "core/tests/checks/check_tlsf.h"
#include "core/tests/kit/port_test.h"
#include "core/tests/tlb_color/color_world.h"

enum { WINDOW_PAGES = 64, DIRECTORY_PAGES_LOG2 = 4, FULL = 15 };

static const uintptr_t linear[4] = {1, 2, 4, 8};

// Principal 0 owns sets 0 ... 3, principal 1 sets 4 ... 7; of the directory's 4 sets, all and none.
static void open_world(void) {
    memset(heaps, 0, sizeof heaps);
    memset(&world, 0, sizeof world);
    world.arrays[0] = (struct tau_tlb_color_array){16, 4, 4};
    world.arrays[1] = (struct tau_tlb_color_array){4, 4, 4};
    world.arrays[2] = (struct tau_tlb_color_array){1, 72, 1};
    world.structures[0] = (struct tau_tlb_color_structure){.page_log2 = PAGE_LOG2};
    world.structures[1] = (struct tau_tlb_color_structure){
        .role = TAU_TLB_COLOR_CODE, .page_log2 = PAGE_LOG2, .array = 1};
    world.structures[2] = (struct tau_tlb_color_structure){.page_log2 = PAGE_LOG2, .array = 2};
    world.structures[3] = (struct tau_tlb_color_structure){
        .role = TAU_TLB_COLOR_DIRECTORY, .page_log2 = PAGE_LOG2 + DIRECTORY_PAGES_LOG2, .array = 1};
    for (unsigned i = 0; i < STRUCTURES_MAX; i++) {
        memcpy(world.rows[i], linear, sizeof linear);
    }
    world.rows[3][0] = 16;
    world.rows[3][1] = 32;
    for (unsigned i = 0; i < 2; i++) {
        world.owned[i][0] = 15u << 4 * i;
        world.owned[i][1] = i == 0 ? 15 : 0;
        world.owned[i][2] = 0;
        world.windows[i] = (struct tau_tlb_color_window){
            world_start + (uintptr_t)i * WINDOW_PAGES * PAGE_BYTES, PAGE_LOG2 + 6, PAGE_LOG2, 0, 0};
    }
    world_connect(3, 4, 2);
}

// Principal 0 with PAGES pages, mapped and started.
static struct tau_tlb_color *start(uint32_t pages) {
    open_world();
    REQUIRE(world_init(0, pages, TAU_TLB_COLOR_NO_MISS) == TAU_OK);
    world_map(0);
    REQUIRE(tau_tlb_color_start(&heaps[0]) == TAU_OK);
    return &heaps[0];
}

TEST_CASE(a_heap_has_the_pages_of_its_sets) {
    struct tau_tlb_color_run run = {0, 0};
    open_world();
    EXPECT_EQUAL(world_init(0, FULL, TAU_TLB_COLOR_NO_MISS), TAU_OK);
    for (unsigned i = 0; i < 4; i++) {
        EXPECT(tau_tlb_color_next_run(&heaps[0], &run));
        EXPECT_EQUAL(run.start, world_start + 16 * i * PAGE_BYTES);
        EXPECT_EQUAL(run.size_bytes, (i < 3 ? 4 : 3) * PAGE_BYTES);
    }
    EXPECT(!tau_tlb_color_next_run(&heaps[0], &run));
    EXPECT_EQUAL(world_init(1, 1, TAU_TLB_COLOR_ISOLATED), TAU_WINDOW_FULL);  // no directory entry
}

TEST_CASE(an_array_may_have_many_sets) {
    static const uintptr_t rows[6] = {1, 2, 4, 8, 16, 32};
    uint32_t owned[2] = {0, 0x7000};
    open_world();
    world.arrays[0].sets_count = 64;
    memcpy(world.rows[0], rows, sizeof rows);
    world.sets[0][0].owned = owned;
    world.sets[1][0].owned = NULL;
    EXPECT_EQUAL(world_init(0, 4, TAU_TLB_COLOR_ISOLATED), TAU_WINDOW_FULL);
    EXPECT_EQUAL(world_init(0, 3, TAU_TLB_COLOR_ISOLATED), TAU_OK);
    struct tau_tlb_color_run run = {0, 0};
    EXPECT(tau_tlb_color_next_run(&heaps[0], &run));
    EXPECT_EQUAL(run.start, world_start + 44 * PAGE_BYTES);
    EXPECT_EQUAL(run.size_bytes, 3 * PAGE_BYTES);
    world.sets[1][0].owned = owned;
    EXPECT_EQUAL(tau_tlb_color_check(&world.partition), TAU_SETS_OWNED);
    world.sets[0][0].owned = NULL;
    EXPECT_EQUAL(world_init(0, 1, TAU_TLB_COLOR_ISOLATED), TAU_WINDOW_FULL);
}

TEST_CASE(the_last_page_of_a_window_stays_out) {
    open_world();
    world.owned[0][0] = 15 << 12;
    EXPECT_EQUAL(world_init(0, 16, TAU_TLB_COLOR_ISOLATED), TAU_WINDOW_FULL);
    EXPECT_EQUAL(world_init(0, 15, TAU_TLB_COLOR_ISOLATED), TAU_OK);
    world_expect_runs(0, 15);
}

TEST_CASE(safe_ways_are_kept) {
    open_world();
    world.arrays[0].safe_ways = 3;
    EXPECT_EQUAL(world_init(0, 12, TAU_TLB_COLOR_NO_MISS), TAU_OK);
    EXPECT_EQUAL(world_init(0, 13, TAU_TLB_COLOR_NO_MISS), TAU_WAYS_EXCEEDED);
    EXPECT_EQUAL(world_init(0, 13, TAU_TLB_COLOR_ISOLATED), TAU_OK);
    world.sets[0][0].taken = 1;
    EXPECT_EQUAL(world_init(0, 8, TAU_TLB_COLOR_NO_MISS), TAU_OK);
    EXPECT_EQUAL(world_init(0, 9, TAU_TLB_COLOR_NO_MISS), TAU_WAYS_EXCEEDED);
    world.sets[0][0].taken = 4;
    EXPECT_EQUAL(world_init(0, 1, TAU_TLB_COLOR_NO_MISS), TAU_WAYS_EXCEEDED);
    world.sets[0][0].taken = 0;
    world.sets[0][1].taken = 4;  // one directory entry more is one too many
    EXPECT_EQUAL(world_init(0, 1, TAU_TLB_COLOR_NO_MISS), TAU_WAYS_EXCEEDED);
    world.sets[0][1].taken = 3;
    EXPECT_EQUAL(world_init(0, 12, TAU_TLB_COLOR_NO_MISS), TAU_OK);
}

// One change of the world, the question, and the answer.
#define EXPECT_REFUSED(change, status)                                                             \
    do {                                                                                           \
        open_world();                                                                              \
        change;                                                                                    \
        EXPECT_EQUAL(world_init(0, 1, TAU_TLB_COLOR_ISOLATED), (status));                          \
        EXPECT_EQUAL(tau_tlb_color_check(&world.partition), (status));                             \
    } while (0)

TEST_CASE(wrong_geometries_are_refused) {
    EXPECT_REFUSED((void)0, TAU_OK);
    EXPECT_REFUSED(world.arrays[0].ways = 0, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.arrays[0].safe_ways = 0, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.arrays[0].safe_ways = 5, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.arrays[0].sets_count = 0, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.arrays[0].sets_count = 12, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.arrays[0].sets_count = 1 << 17, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.rows[0][3] = 7, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.rows[0][2] = 0, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.rows[3][0] = 24, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.structures[0].constant = 16, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.structures[0].constant = 15, TAU_OK);
    EXPECT_REFUSED(world.structures[0].array = 3, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.structures[0].role = 3, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.structures[0].rows = NULL, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.structures[0].page_log2 = 11, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.structures[2].array = 0, TAU_BAD_ARGUMENT);  // twice the same kind
    EXPECT_REFUSED(world.geometry.page_log2 = 64, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.geometry.arrays = NULL, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.geometry.structures = NULL, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.geometry.structures_count = 0, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.partition.geometry = NULL, TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_tlb_color_check(NULL), TAU_BAD_ARGUMENT);
}

TEST_CASE(wrong_principals_are_refused) {
    const uintptr_t size = (uintptr_t)WINDOW_PAGES * PAGE_BYTES;
    EXPECT_REFUSED(world.owned[1][0] = 0x1e, TAU_SETS_OWNED);
    EXPECT_REFUSED(world.owned[0][0] = 0x1f, TAU_SETS_OWNED);
    EXPECT_REFUSED(world.owned[1][0] = 0x10000, TAU_SETS_OUTSIDE);
    EXPECT_REFUSED(world.owned[1][0] = 0x80000000, TAU_SETS_OUTSIDE);
    EXPECT_REFUSED(world.owned[0][2] = world.owned[1][2] = 3, TAU_OK);  // nobody owns one set
    EXPECT_REFUSED(world.sets[1][0].owned = NULL, TAU_OK);
    EXPECT_REFUSED(world.windows[1].start = world_start, TAU_SETS_OWNED);
    EXPECT_REFUSED((world.windows[1].size_log2--, world.windows[1].start = world_start + size / 2),
                   TAU_SETS_OWNED);
    EXPECT_REFUSED(
        (world.windows[0].size_log2--, world.windows[0].start = world.windows[1].start + size / 2),
        TAU_SETS_OWNED);
    EXPECT_REFUSED(world.windows[1].start += PAGE_BYTES, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.windows[1].size_log2 = 64, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.windows[1].size_log2 = PAGE_LOG2, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.windows[1].page_log2 = PAGE_LOG2 + 1, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.windows[1] = (struct tau_tlb_color_window){0}, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.windows[1].size_log2++, TAU_BAD_ARGUMENT);  // at no multiple of its size
    EXPECT_REFUSED((world.windows[1].size_log2++, world.windows[1].start = world_start - 2 * size),
                   TAU_OK);
    EXPECT_REFUSED(world.principals[1].windows = world.windows, TAU_SETS_OWNED);
    EXPECT_REFUSED(world.principals[0].windows_count = 2, TAU_SETS_OWNED);
    EXPECT_REFUSED((world.partition.principals_count = 1, world.principals[0].windows_count = 2,
                    world.windows[1] = world.windows[0]),
                   TAU_SETS_OWNED);
    EXPECT_REFUSED(world.principals[1].windows = NULL, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.principals[1].sets = NULL, TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(world.partition.principals = NULL, TAU_BAD_ARGUMENT);
}

TEST_CASE(a_refused_init_changes_nothing) {
    struct tau_tlb_color before;
    uint32_t words[WORDS_MAX];
    open_world();
    memset(&heaps[0], 0xa5, sizeof heaps[0]);
    memset(bits[0], 0xa5, sizeof bits[0]);
    before = heaps[0];
    memcpy(words, bits[0], sizeof words);
    world.arrays[0].safe_ways = 3;
    world.windows[1].pages_count = 1;
#define EXPECT_INIT(heap, principal, window, pages, words_count, status)                           \
    EXPECT_EQUAL(                                                                                  \
        tau_tlb_color_init(heap, &world.partition, principal, window, pages, words_count), status)
    EXPECT_EQUAL(world_init(0, 0, TAU_TLB_COLOR_ISOLATED), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(world_init(0, 1, (enum tau_tlb_color_mode)2), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(world_init(0, FULL, TAU_TLB_COLOR_NO_MISS), TAU_WAYS_EXCEEDED);
    EXPECT_EQUAL(world_init(0, UINT32_MAX, TAU_TLB_COLOR_ISOLATED), TAU_WINDOW_FULL);
    EXPECT_EQUAL(world_init(0, 17, TAU_TLB_COLOR_ISOLATED), TAU_WINDOW_FULL);
    world.windows[0].pages_count = 1;
    EXPECT_INIT(&heaps[0], 1, 0, bits[0], WORDS_MAX, TAU_WINDOW_FULL);
    EXPECT_INIT(&heaps[0], 0, 1, bits[0], WORDS_MAX, TAU_BAD_ARGUMENT);
    EXPECT_INIT(&heaps[0], 2, 0, bits[0], WORDS_MAX, TAU_BAD_ARGUMENT);
    EXPECT_INIT(&heaps[0], 0, 0, NULL, WORDS_MAX, TAU_BAD_ARGUMENT);
    EXPECT_INIT(NULL, 0, 0, bits[0], WORDS_MAX, TAU_BAD_ARGUMENT);
    EXPECT_INIT(&heaps[0], 0, 0, bits[0], 1, TAU_BAD_ARGUMENT);
    EXPECT(memcmp(&before, &heaps[0], sizeof before) == 0);
    EXPECT(memcmp(words, bits[0], sizeof words) == 0);
    EXPECT_INIT(&heaps[0], 0, 0, bits[0], 2, TAU_OK);
}

TEST_CASE(the_largest_object_is_a_run_less_its_header) {
    struct tau_tlb_color *const heap = start(FULL);
    const size_t most = tau_tlb_color_object_max_bytes(heap);
    EXPECT(most > 4 * PAGE_BYTES - 64 && most < 4 * PAGE_BYTES);
    EXPECT(tau_tlb_color_malloc(heap, most + 1) == NULL);
    EXPECT(tau_tlb_color_malloc(heap, SIZE_MAX) == NULL);
    void *const one = tau_tlb_color_malloc(heap, most);
    void *const other = tau_tlb_color_malloc(heap, most);
    EXPECT(world_in_one_run(0, one, most) && world_in_one_run(0, other, most));
    EXPECT_EQUAL(tau_tlb_color_usable_size(heap, one), most);
    EXPECT_EQUAL(tau_tlb_color_free(heap, one), TAU_OK);
    EXPECT_EQUAL(tau_tlb_color_free(heap, other), TAU_OK);
    EXPECT_EQUAL(check_tlsf(heap->blocks), 0);
    world_unmap(0);
}

TEST_CASE(of_equal_runs_the_lowest_has_the_control_block) {
    struct tau_tlb_color *const heap = start(FULL - 3);  // three runs of four pages
    const uintptr_t highest = world_start + 32 * PAGE_BYTES;
    EXPECT((uintptr_t)heap->blocks - world_start < PAGE_BYTES);
    const uintptr_t first = (uintptr_t)tau_tlb_color_malloc(heap, 2 * PAGE_BYTES);
    EXPECT(first - highest < 4 * PAGE_BYTES);
    world_unmap(0);
}

TEST_CASE(of_equal_runs_the_highest_is_used_first) {
    struct tau_tlb_color *const heap = start(FULL);  // a run of three pages after one of four
    const uintptr_t highest = world_start + 32 * PAGE_BYTES;
    const uintptr_t first = (uintptr_t)tau_tlb_color_malloc(heap, 3 * PAGE_BYTES);
    EXPECT(first - highest < 4 * PAGE_BYTES);
    world_unmap(0);
}

TEST_CASE(a_heap_of_one_page_works) {
    struct tau_tlb_color *const heap = start(1);
    const size_t most = tau_tlb_color_object_max_bytes(heap);
    void *const object = tau_tlb_color_malloc(heap, most);
    EXPECT(object != NULL && most > PAGE_BYTES - 1024);
    EXPECT(tau_tlb_color_malloc(heap, 1) == NULL);
    EXPECT_EQUAL(tau_tlb_color_free(heap, object), TAU_OK);
    world_unmap(0);
}

TEST_CASE(every_page_is_used_and_then_no_more) {
    struct tau_tlb_color *const heap = start(FULL);
    const size_t size = PAGE_BYTES - 64;
    void *objects[FULL + 1];
    unsigned count = 0;
    while (count <= FULL && (objects[count] = tau_tlb_color_malloc(heap, size)) != NULL) {
        memset(objects[count++], 0x5a, size);
    }
    EXPECT_EQUAL(count, FULL - 1);  // one page has the control block
    while (count > 0) {
        EXPECT_EQUAL(tau_tlb_color_free(heap, objects[--count]), TAU_OK);
    }
    world_unmap(0);
}

TEST_CASE(only_own_objects_are_freed) {
    struct tau_tlb_color *const heap = start(FULL);
    char *const object = tau_tlb_color_malloc(heap, 100);
    const uintptr_t window = world.windows[0].start;
    const uintptr_t foreign[] = {window,
                                 window + 4 * PAGE_BYTES + 64,  // in a gap
                                 window + 16 * PAGE_BYTES,      // its header would be in the gap
                                 window + 63 * PAGE_BYTES,
                                 window + 64 * PAGE_BYTES,
                                 window - 64,
                                 sizeof(tau_word),
                                 UINTPTR_MAX,
                                 (uintptr_t)&heaps};
    EXPECT_EQUAL(tau_tlb_color_free(heap, NULL), TAU_OK);
    EXPECT(tau_tlb_color_realloc(heap, object, 50) == object);
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        const unsigned before = test_port.misuse_count;
        EXPECT_EQUAL(tau_tlb_color_free(heap, (void *)foreign[i]), TAU_FOREIGN_POINTER);
        EXPECT(tau_tlb_color_realloc(heap, (void *)foreign[i], 10) == NULL);
        EXPECT_EQUAL(test_port.misuse_count, before + 2);
        EXPECT(test_port.misuse_pointer == (void *)foreign[i]);
        EXPECT_EQUAL(test_port.misuse_reason, TAU_FOREIGN_POINTER);
        EXPECT_EQUAL(tau_tlb_color_usable_size(heap, (void *)foreign[i]), 0);
    }
    EXPECT_EQUAL(tau_tlb_color_usable_size(heap, NULL), 0);
    EXPECT_EQUAL(tau_tlb_color_free(heap, object), TAU_OK);
    if (TAU_CHECK_LEVEL >= 1) {
        EXPECT_EQUAL(tau_tlb_color_free(heap, object), TAU_DOUBLE_FREE);
        EXPECT_EQUAL(tau_tlb_color_free(heap, object + 1), TAU_MISALIGNED_POINTER);
    }
    EXPECT_EQUAL(check_tlsf(heap->blocks), 0);
    world_unmap(0);
}

TEST_CASE(other_calls_are_those_of_tlsf) {
    struct tau_tlb_color *const heap = start(FULL);
    char *const cleared = tau_tlb_color_calloc(heap, 10, 10);
    char *const aligned = tau_tlb_color_aligned_alloc(heap, PAGE_BYTES, 10);
    for (unsigned i = 0; i < 100; i++) {
        EXPECT(cleared != NULL && cleared[i] == 0);
    }
    EXPECT(aligned != NULL && (uintptr_t)aligned % PAGE_BYTES == 0);
    EXPECT(tau_tlb_color_aligned_alloc(heap, 24, 10) == NULL);
    EXPECT(tau_tlb_color_calloc(heap, SIZE_MAX, 2) == NULL);
    EXPECT(tau_tlb_color_malloc(heap, 0) == NULL);
    EXPECT(tau_tlb_color_realloc(heap, NULL, 0) == NULL);
    char *const grown = tau_tlb_color_realloc(heap, NULL, 10);
    EXPECT(tau_tlb_color_usable_size(heap, grown) >= 10);
    EXPECT(tau_tlb_color_realloc(heap, grown, 0) == NULL);
    EXPECT_EQUAL(tau_tlb_color_free(heap, cleared), TAU_OK);
    EXPECT_EQUAL(tau_tlb_color_free(heap, aligned), TAU_OK);
    EXPECT_EQUAL(tau_tlsf_statistics(heap->blocks).used_bytes, 0);
    world_unmap(0);
}

TEST_CASE(a_heap_starts_once) {
    struct tau_tlb_color *const heap = start(FULL);
    EXPECT_EQUAL(tau_tlb_color_start(heap), TAU_BAD_ARGUMENT);
    world_unmap(0);
}

TEST_CASE(huge_pages_have_structures_of_their_own) {
    open_world();
    world.structures[1] = (struct tau_tlb_color_structure){
        .page_log2 = PAGE_LOG2 + DIRECTORY_PAGES_LOG2, .array = 1, .rows = world.rows[3]};
    world.structures[0].constant = 8;  // says nothing of huge pages, nor do their own directories
    world.structures[3].constant = 2;
    world.owned[0][1] = 6;
    world.windows[0].page_log2 = PAGE_LOG2 + DIRECTORY_PAGES_LOG2;
    EXPECT_EQUAL(world_init(0, 3, TAU_TLB_COLOR_ISOLATED), TAU_WINDOW_FULL);
    EXPECT_EQUAL(world_init(0, 2, TAU_TLB_COLOR_NO_MISS), TAU_OK);
    struct tau_tlb_color_run run = {0, 0};
    EXPECT(tau_tlb_color_next_run(&heaps[0], &run));
    EXPECT_EQUAL(run.start, world_start + 16 * PAGE_BYTES);
    EXPECT_EQUAL(run.size_bytes, 32 * PAGE_BYTES);
}

TEST_CASE(a_page_too_small_for_the_control_block_is_refused) {
    static _Alignas(512) unsigned char memory[4 * 128];
    static const struct tau_tlb_color_array array = {1, 1, 1};
    static const struct tau_tlb_color_structure structure = {.page_log2 = 7};
    static const struct tau_tlb_color_geometry geometry = {&array, &structure, 1, 1, 7};
    static const struct tau_tlb_color_sets none = {NULL, 0};
    const struct tau_tlb_color_window window = {(uintptr_t)memory, 9, 7, 0, 1};
    const struct tau_tlb_color_principal principal = {
        .sets = &none, .windows = &window, .windows_count = 1};
    const struct tau_tlb_color_partition partition = {&geometry, &principal, 1};
    EXPECT_EQUAL(tau_tlb_color_init(&heaps[0], &partition, 0, 0, bits[0], 1), TAU_OK);
    EXPECT_EQUAL(tau_tlb_color_start(&heaps[0]), TAU_POOL_TOO_SMALL);
    EXPECT(heaps[0].blocks == NULL);
}
