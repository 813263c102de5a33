// Goal: no calls make plain page tables or the frames that they share unsound.
// Method: two tables on one pool; random calls, right ones and wrong ones; full walks on the way.
// Each status and frame is compared with model/pagetable.py.
#include "peers/conventional/pagetable.h"
#include "core/tests/checks/check_frames.h"
#include "core/tests/checks/check_pagetable.h"
#include "core/tests/kit/mechanism.h"

enum { TABLES = 2, PAGES_LOG2_MAX = 9, FRAMES_MAX = 200, RUN_PAGES = 70 };

struct place {
    struct tau_pagetable table;
    size_t memory_bytes;
    uint32_t memory[(1 << PAGES_LOG2_MAX) + (1 << PAGES_LOG2_MAX) / 32];
};

static struct place places[TABLES];
static struct tau_frames pool;
static uint32_t links[FRAMES_MAX];

static uint32_t some_page(const struct place *place) {
    const uint32_t count = place->table.pages_count;
    const uint32_t odd[] = {0, count, count + 1, UINT32_MAX};
    return choose(32) == 0 ? odd[choose(4)] : 1 + choose(count - 1);
}

static enum tau_status map(unsigned index, uint32_t page) {
    const uint32_t rights = choose(32) == 0 ? choose(32) << 27 : (1 + choose(7)) << 27;
    const enum tau_status status =
        tau_pagetable_map_page(&places[index].table, (struct tau_page){page}, rights);
    LOG("P %u %u %u %d\n", index, page, rights >> 27, status);
    return status;
}

static enum tau_status map_page(void) {
    const unsigned index = choose(TABLES);
    return map(index, some_page(&places[index]));
}

// So that whole words become mapped.
static enum tau_status map_a_run(void) {
    const unsigned index = choose(TABLES);
    const uint32_t first = some_page(&places[index]);
    for (uint32_t i = 0; i < RUN_PAGES && first < places[index].table.pages_count; i++) {
        (void)map(index, first + i);
    }
    return TAU_OK;
}

static enum tau_status unmap(void) {
    const unsigned index = choose(TABLES);
    const uint32_t start = some_page(&places[index]);
    uint32_t pages = choose(choose(2) == 0 ? places[index].table.pages_count : 40);
    if (choose(32) == 0) {
        pages = UINT32_MAX - choose(2);
    }
    const enum tau_status status =
        tau_pagetable_unmap(&places[index].table, (struct tau_page){start}, pages);
    LOG("U %u %u %u %d\n", index, start, pages, status);
    return status;
}

static enum tau_status translate(void) {
    const unsigned index = choose(TABLES);
    const uint32_t page = some_page(&places[index]);
    const uint32_t access = choose(8) << 27;
    struct tau_frame frame = {0};
    const enum tau_status status =
        tau_pagetable_translate(&places[index].table, (struct tau_page){page}, access, &frame);
    LOG("T %u %u %u %d %u\n", index, page, access >> 27, status, frame.number);
    return status;
}

static void open_tables(void) {
    const uint32_t frames_count = 1 + choose(FRAMES_MAX);
    REQUIRE(tau_frames_init(&pool, links, frames_count, NULL) == TAU_OK);
    REQUIRE(tau_frames_add(&pool, (struct tau_frame){0}, frames_count) == TAU_OK);
    LOG("M %u\n", frames_count);
    for (unsigned i = 0; i < TABLES; i++) {
        struct place *const place = &places[i];
        const unsigned pages_log2 = 1 + choose(PAGES_LOG2_MAX);
        const enum tau_pagetable_walk walk =
            choose(2) == 0 ? TAU_PAGETABLE_RESERVED : TAU_PAGETABLE_MAPPED;
        place->memory_bytes = tau_pagetable_size_bytes(pages_log2, walk);
        memset(place->memory, 0xa5, sizeof place->memory);
        REQUIRE(tau_pagetable_init(&place->table, place->memory, place->memory_bytes, pages_log2,
                                   &pool, walk) == TAU_OK);
        LOG("S %u %u\n", i, pages_log2);
    }
}

static void check(void) {
    unsigned char seen[FRAMES_MAX] = {0};
    EXPECT_EQUAL(check_frames(&pool, seen), 0);
    for (unsigned i = 0; i < TABLES; i++) {
        EXPECT_EQUAL(check_pagetable(&places[i].table, seen), 0);
    }
    for (uint32_t frame = 0; frame < pool.frames_count; frame++) {
        EXPECT_EQUAL(seen[frame], 1);
    }
}

static void parts(void) {
    mechanism_part(&pool, sizeof pool);
    mechanism_part(links, sizeof links);
    mechanism_part(places, sizeof places);
}

static const struct operation operations[] = {
    {20, map_page}, {1, map_a_run}, {3, unmap}, {8, translate}, {0, NULL},
};

static struct mechanism calls_of_pagetable = {
    .name = "pagetable",
    .operations = operations,
    .calls_max = 3000,
    .check_every = 64,
    .open = open_tables,
    .check = check,
    .parts = parts,
};

MECHANISM(calls_of_pagetable)
