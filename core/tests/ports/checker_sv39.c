// Two checks on a workstation. tau_sv39_init refuses wrong arguments and then changes nothing. The
// full walk of check_sv39.c reports the number of each invariant of docs/spec/sv39.md that a
// changed word breaks, and nothing once the word is restored.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tests/ports/check_sv39.h"

#define FRAMES 64u
#define PHYSICAL UINT64_C(0x80000)
#define SMALL_START 600u
#define LARGE_START ((1u << 18) + 500u)

static uint32_t links[FRAMES];
static unsigned char memory[FRAMES][4096] __attribute__((aligned(4096)));
static struct tau_sv39_table records[FRAMES];
static unsigned char marks[FRAMES];
static struct tau_frames pool;
static struct tau_sv39 space;

static void fail(const char *what, int line) {
    printf("FAILED line %d: %s\n", line, what);
    exit(1);
}
#define EXPECT(condition) ((condition) ? (void)0 : fail(#condition, __LINE__))

static int walk(void) {
    struct tau_sv39 *spaces[] = {&space};
    return check_sv39(&(struct check_sv39_machine){
        .spaces = spaces, .spaces_count = 1, .frames_count = FRAMES, .marks = marks});
}

static void refusals(void) {
    struct tau_frames reserved;
    struct tau_frames wrong;
    struct tau_sv39 made;
    EXPECT(tau_frames_reserve(&pool, &reserved, 2) == TAU_OK);
    memset(&made, 0x77, sizeof made);
    const struct tau_sv39 before = made;
    const uint32_t free_count = tau_frames_free_count(&pool);
#define REFUSED(...) EXPECT(tau_sv39_init(&made, __VA_ARGS__) == TAU_BAD_ARGUMENT)
    REFUSED(NULL, &pool, records, PHYSICAL, 1);
    REFUSED(&pool, NULL, records, PHYSICAL, 1);
    REFUSED(&pool, &pool, NULL, PHYSICAL, 1);
    REFUSED(&pool, &pool, records, PHYSICAL, 0x10000);
    REFUSED(&pool, &pool, records, (UINT64_C(1) << 44) - FRAMES + 1, 1);
    REFUSED(&pool, &reserved, records, PHYSICAL, 1);
    wrong = pool;
    wrong.released = &wrong.dirty;
    wrong.memory = NULL;
    REFUSED(&pool, &wrong, records, PHYSICAL, 1);
    wrong.memory = memory[0] + 8;
    REFUSED(&pool, &wrong, records, PHYSICAL, 1);
    wrong.memory = memory[0];
    wrong.links = links + 1;
    REFUSED(&pool, &wrong, records, PHYSICAL, 1);
    wrong.links = links;
    wrong.frames_count = FRAMES - 1;
    REFUSED(&pool, &wrong, records, PHYSICAL, 1);
    wrong.frames_count = FRAMES;
    wrong.ready.count = wrong.dirty.count = 0;
    EXPECT(tau_sv39_init(&made, &pool, &wrong, records, PHYSICAL, 1) == TAU_NO_TABLE);
    EXPECT(memcmp(&made, &before, sizeof made) == 0);
    EXPECT(tau_frames_free_count(&pool) == free_count);
    tau_frames_return(&pool, &reserved);
    // A reserved pool is one for pages, which need no zeroing between two uses of one space.
    EXPECT(tau_frames_reserve(&pool, &reserved, 2) == TAU_OK);
    EXPECT(tau_sv39_init(&made, &reserved, &pool, records, PHYSICAL, 0xffff) == TAU_OK);
    EXPECT(tau_sv39_satp(&made) >> 44 == 0x8ffff);
    tau_sv39_close(&made);
    tau_frames_return(&pool, &reserved);
    EXPECT(tau_frames_free_count(&pool) == FRAMES);
}

static uint64_t *entry_of(uint64_t above, uint32_t index) {
    return (uint64_t *)(void *)memory[(above >> 10) - PHYSICAL] + index;
}

static struct tau_sv39_table *record_of(uint64_t entry) {
    return &records[(entry >> 10) - PHYSICAL];
}

static void changed_64(uint64_t *word, uint64_t value, int broken, int line) {
    const uint64_t before = *word;
    *word = value;
    const int found = walk();
    *word = before;
    if (found != broken || walk() != 0) {
        printf("found %d, not %d\n", found, broken);
        fail("the walk", line);
    }
}

static void changed_32(uint32_t *word, uint32_t value, int broken, int line) {
    const uint32_t before = *word;
    *word = value;
    const int found = walk();
    *word = before;
    if (found != broken || walk() != 0) {
        printf("found %d, not %d\n", found, broken);
        fail("the walk", line);
    }
}
#define ENTRY(word, value, broken) changed_64((word), (value), (broken), __LINE__)
#define FIELD(word, value, broken) changed_32(&(word), (value), (broken), __LINE__)

static void every_invariant(void) {
    EXPECT(tau_sv39_init(&space, &pool, &pool, records, PHYSICAL, 3) == TAU_OK);
    EXPECT(tau_sv39_map_region(&space, (struct tau_page){SMALL_START}, 9, TAU_READ) == TAU_OK);
    EXPECT(tau_sv39_map_region(&space, (struct tau_page){LARGE_START}, 99, TAU_READ | TAU_WRITE) ==
           TAU_OK);
    for (uint32_t i = 0; i < 4; i++) {
        const struct tau_page small = {SMALL_START + i};
        const struct tau_page large = {LARGE_START + 7 * i};
        EXPECT(tau_sv39_map_page(&space, small, TAU_READ) == TAU_OK);
        EXPECT(tau_sv39_map_page(&space, large, TAU_WRITE) == TAU_OK);
        EXPECT(walk() == 0);
    }
    while (pool.ready.count < 3) {
        EXPECT(tau_frames_clean_one(&pool));
    }
    uint64_t *root = space.root;
    uint64_t *shared = entry_of(root[0], 0);
    uint64_t *small = entry_of(shared[1], SMALL_START % 512);
    uint64_t *large = entry_of(root[1], 0);
    uint64_t *leaf = entry_of(large[0], LARGE_START % 512);
    struct tau_sv39_table *own = record_of(shared[1]);
    struct tau_sv39_table *wide = record_of(root[1]);
    ENTRY(&root[0], root[0] | 4, 1);
    ENTRY(&root[9], root[0], 1);
    ENTRY(&shared[1], shared[1] & ~UINT64_C(256), 2);
    ENTRY(&shared[5], shared[1], 2);
    FIELD(record_of(root[0])->used, 2, 3);
    FIELD(record_of(root[0])->pages, 1, 3);
    FIELD(space.mapped_pages, 9, 3);
    FIELD(own->start, SMALL_START + 512, 4);
    FIELD(own->pages, 0, 4);
    FIELD(wide->pages, 2, 4);
    FIELD(own->pages, 3, 5);
    FIELD(wide->start, LARGE_START + 1, 5);
    FIELD(own->flags, own->flags | 4, 6);
    ENTRY(small, *small & ~UINT64_C(64), 6);
    ENTRY(leaf, *small, 6);
    ENTRY(&large[0], large[0] | 2, 7);
    ENTRY(&large[5], large[1], 7);
    FIELD(own->used, 3, 8);
    FIELD(wide->tables_count, 2, 8);
    FIELD(own->oldest, own->newest, 9);
    FIELD(wide->tables_newest, wide->newest, 9);
    FIELD(links[own->newest], own->newest, 9);
    FIELD(pool.dirty.head, own->newest, 10);
    FIELD(pool.dirty.count, pool.dirty.count - 1, 11);
    ENTRY((uint64_t *)(void *)memory[pool.ready.head] + 511, 1, 12);
    tau_sv39_close(&space);
    EXPECT(tau_frames_free_count(&pool) == FRAMES);
}

int main(void) {
    memset(memory, 0xa5, sizeof memory);
    memset(records, 0x5a, sizeof records);
    EXPECT(tau_frames_init(&pool, links, FRAMES, memory) == TAU_OK);
    EXPECT(tau_frames_add(&pool, (struct tau_frame){0}, FRAMES) == TAU_OK);
    refusals();
    every_invariant();
    puts("ok: every refusal and every invariant");
    return 0;
}
