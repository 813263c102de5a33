// Goal: hierarchical tables keep their contract at its edges: where chunks begin and end, when
// records or frames run out, on hostile memory, with arguments that are wrong. Method: examples
// with known answers, a full walk after each; a refused call must leave every byte alone [P0-7].
#include "core/private/pages/validity_inline.h"
#include "core/tests/checks/check_frames.h"
#include "core/tests/checks/check_hierarchy.h"
#include "core/tests/kit/test.h"

enum { LOG2 = 12, PAGES = 1 << LOG2, CHUNKS = PAGES / 32, FRAMES = 5000, RECORDS_MAX = 200 };

static uint32_t links[FRAMES];
static uint32_t records_memory[RECORDS_MAX * 68];
static uint32_t memory[(CHUNKS + 2) * 5 + 3000];  // a build for 2^26 pages has a taller tree

struct scene {
    struct tau_frames frames;
    struct tau_frames reserved;
    struct tau_hierarchy_tables tables;
    struct tau_hierarchy space;
    uint32_t records_count;
};

static struct scene scene;

// A space on memory full of BYTE, with RECORDS_COUNT records; COMMITTED frames are its own if not
// 0.
static void open_scene(uint32_t records_count, uint32_t committed, int byte) {
    memset(memory, byte, sizeof memory);
    memset(records_memory, byte, sizeof records_memory);
    scene.records_count = records_count;
    REQUIRE(tau_frames_init(&scene.frames, links, FRAMES, NULL) == TAU_OK);
    REQUIRE(tau_frames_add(&scene.frames, (struct tau_frame){0}, FRAMES) == TAU_OK);
    REQUIRE(tau_hierarchy_tables_init(&scene.tables, records_memory,
                                      tau_hierarchy_tables_size_bytes(records_count)) == TAU_OK);
    if (committed != 0) {
        REQUIRE(tau_frames_reserve(&scene.frames, &scene.reserved, committed) == TAU_OK);
    }
    REQUIRE(tau_hierarchy_init(&scene.space, memory, tau_hierarchy_size_bytes(LOG2), LOG2,
                               &scene.tables, committed == 0 ? &scene.frames : &scene.reserved,
                               committed == 0 ? TAU_HIERARCHY_OVERCOMMIT : TAU_HIERARCHY_COMMIT) ==
            TAU_OK);
}

static uint32_t used_records(void) {
    return scene.records_count - scene.tables.free.ready.count;
}

static void expect_sound(void) {
    static unsigned char records[RECORDS_MAX];
    static unsigned char frames[FRAMES];
    struct check_hierarchy_places places = {records, frames, 0};
    memset(records, 0, sizeof records);
    EXPECT_EQUAL(check_hierarchy(&scene.space, &places), 0);
    EXPECT_EQUAL(places.promised, scene.tables.promised);
    EXPECT_EQUAL(check_frames(&scene.tables.free, records), 0);
    for (uint32_t record = 0; record < scene.records_count; record++) {
        EXPECT_EQUAL(records[record], 1);
    }
}

static enum tau_status map_region(uint32_t start, uint32_t pages) {
    const enum tau_status status =
        tau_hierarchy_map_region(&scene.space, (struct tau_page){start}, pages, TAU_RIGHTS);
    expect_sound();
    return status;
}

static enum tau_status map_page(uint32_t page) {
    return tau_hierarchy_map_page(&scene.space, (struct tau_page){page}, TAU_READ);
}

static enum tau_status unmap_region(uint32_t start) {
    const enum tau_status status =
        tau_hierarchy_unmap_region(&scene.space, (struct tau_page){start});
    expect_sound();
    return status;
}

static enum tau_status translate(uint32_t page, uint32_t *frame) {
    struct tau_frame found = {0};
    const enum tau_status status =
        tau_hierarchy_translate(&scene.space, (struct tau_page){page}, TAU_READ, &found);
    *frame = found.number;
    return status;
}

static void map_all(uint32_t start, uint32_t pages) {
    for (uint32_t page = start; page < start + pages; page++) {
        EXPECT_EQUAL(map_page(page), TAU_OK);
    }
    expect_sound();
}

// ---- Refused calls change nothing --------------------------------------------------------------

static struct {
    struct scene scene;
    uint32_t links[FRAMES];
    uint32_t records_memory[RECORDS_MAX * 68];
    uint32_t memory[sizeof memory / sizeof(uint32_t)];
} copy;

static void remember(void) {
    copy.scene = scene;
    memcpy(copy.links, links, sizeof links);
    memcpy(copy.records_memory, records_memory, sizeof records_memory);
    memcpy(copy.memory, memory, sizeof memory);
}

static void expect_unchanged(void) {
    EXPECT(memcmp(&copy.scene, &scene, sizeof scene) == 0);
    EXPECT(memcmp(copy.links, links, sizeof links) == 0);
    EXPECT(memcmp(copy.records_memory, records_memory, sizeof records_memory) == 0);
    EXPECT(memcmp(copy.memory, memory, sizeof memory) == 0);
}

#define EXPECT_REFUSED(call, status)                                                               \
    do {                                                                                           \
        remember();                                                                                \
        EXPECT_EQUAL(call, status);                                                                \
        expect_unchanged();                                                                        \
    } while (0)

TEST_CASE(misuse) {
    open_scene(20, 0, 0xa5);
    struct tau_hierarchy *const space = &scene.space;
    EXPECT_EQUAL(map_region(100, 50), TAU_OK);
    EXPECT_EQUAL(map_page(101), TAU_OK);
    EXPECT_REFUSED(map_region(1, 0), TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(tau_hierarchy_map_region(space, (struct tau_page){1}, 1, UINT32_C(1) << 30),
                   TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(map_region(0, 1), TAU_PAGE_ZERO);
    EXPECT_REFUSED(map_region(PAGES, 1), TAU_PAGE_OUTSIDE);
    EXPECT_REFUSED(map_region(UINT32_MAX, 1), TAU_PAGE_OUTSIDE);
    EXPECT_REFUSED(map_region(1, PAGES), TAU_REGION_TOO_LARGE);
    EXPECT_REFUSED(map_region(200, UINT32_MAX), TAU_REGION_TOO_LARGE);
    EXPECT_REFUSED(map_region(100, 50), TAU_REGION_OVERLAPS);
    EXPECT_REFUSED(map_region(90, 11), TAU_REGION_OVERLAPS);
    EXPECT_REFUSED(map_region(149, 1), TAU_REGION_OVERLAPS);
    EXPECT_REFUSED(map_region(1, PAGES - 1), TAU_REGION_OVERLAPS);
    EXPECT_REFUSED(map_page(0), TAU_PAGE_ZERO);
    EXPECT_REFUSED(map_page(PAGES), TAU_PAGE_OUTSIDE);
    EXPECT_REFUSED(map_page(UINT32_MAX), TAU_PAGE_OUTSIDE);
    EXPECT_REFUSED(map_page(99), TAU_NOT_IN_REGION);
    EXPECT_REFUSED(map_page(150), TAU_NOT_IN_REGION);
    EXPECT_REFUSED(map_page(101), TAU_PAGE_MAPPED);
    EXPECT_REFUSED(tau_hierarchy_map_page(space, (struct tau_page){102}, 1), TAU_ACCESS_DENIED);
    EXPECT_REFUSED(unmap_region(0), TAU_PAGE_ZERO);
    EXPECT_REFUSED(unmap_region(PAGES), TAU_PAGE_OUTSIDE);
    EXPECT_REFUSED(unmap_region(101), TAU_NOT_A_REGION);
    EXPECT_REFUSED(unmap_region(150), TAU_NOT_A_REGION);  // a start, but of a free region
    EXPECT_REFUSED(unmap_region(2000), TAU_NOT_A_REGION);
    EXPECT_REFUSED(tau_hierarchy_close(space), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(unmap_region(100), TAU_OK);
    EXPECT_REFUSED(unmap_region(100), TAU_NOT_A_REGION);
    EXPECT_EQUAL(tau_hierarchy_close(space), TAU_OK);
    EXPECT_EQUAL(used_records(), 0);
}

TEST_CASE(bad_init) {
    open_scene(2, 0, 0);
    struct tau_hierarchy other;
    struct tau_hierarchy_tables *const tables = &scene.tables;
    struct tau_frames *const frames = &scene.frames;
    static uint32_t room[sizeof memory / sizeof(uint32_t)];
    const size_t bytes = tau_hierarchy_size_bytes(LOG2);
    memset(&other, 0x77, sizeof other);
    const struct tau_hierarchy before = other;
    const enum tau_hierarchy_policy policy = TAU_HIERARCHY_OVERCOMMIT;
#define INIT(at, size, log2, from, pool)                                                           \
    tau_hierarchy_init(&other, at, size, log2, from, pool, policy)
    EXPECT_REFUSED(INIT(room, bytes, 0, tables, frames), TAU_SPACE_TOO_SMALL);
    EXPECT_REFUSED(INIT(room, SIZE_MAX, 36, tables, frames), TAU_SPACE_TOO_LARGE);
    EXPECT_REFUSED(INIT(NULL, bytes, LOG2, tables, frames), TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(INIT(room, bytes, LOG2, NULL, frames), TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(INIT(room, bytes, LOG2, tables, NULL), TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(INIT(room, bytes - 1, LOG2, tables, frames), TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(INIT((char *)room + 2, bytes, LOG2, tables, frames), TAU_BAD_ARGUMENT);
    EXPECT_REFUSED(
        tau_hierarchy_init(&other, room, bytes, LOG2, tables, frames, TAU_HIERARCHY_COMMIT),
        TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(map_region(1, 1), TAU_OK);
    EXPECT_EQUAL(map_region(40, PAGES - 40), TAU_OK);  // the second record
    EXPECT_REFUSED(INIT(room, bytes, LOG2, tables, frames), TAU_NO_TABLE);
    EXPECT(memcmp(&before, &other, sizeof other) == 0);
    struct tau_hierarchy_tables none;
    EXPECT_EQUAL(tau_hierarchy_tables_init(&none, NULL, 1000), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_hierarchy_tables_init(&none, room, 271), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_hierarchy_tables_init(&none, (char *)room + 1, 1000), TAU_BAD_ARGUMENT);
}

TEST_CASE(sizes) {
    EXPECT_EQUAL(tau_hierarchy_tables_size_bytes(1), 272);
    EXPECT_EQUAL(tau_hierarchy_tables_size_bytes(1000), 272000);
    EXPECT_EQUAL(tau_hierarchy_tables_size_bytes(UINT32_MAX),
                 sizeof(size_t) == 4 ? SIZE_MAX : (size_t)272 * UINT32_MAX);
    EXPECT_EQUAL(tau_hierarchy_size_bytes(0), 0);
    EXPECT_EQUAL(tau_hierarchy_size_bytes(TAU_SPACE_PAGES_LOG2_MAX + 1), 0);
    EXPECT_EQUAL(tau_hierarchy_size_bytes(LOG2),
                 20 * (CHUNKS + 1) + tau_region_tree_size_bytes(LOG2 - 5));
    EXPECT_EQUAL(tau_hierarchy_tables_enough(0, 1, 1, 1), 0);
    EXPECT_EQUAL(tau_hierarchy_tables_enough(1, 1, 1, 1), 1);
    EXPECT_EQUAL(tau_hierarchy_tables_enough(LOG2, 10, 5000, 100), 121);
    EXPECT_EQUAL(tau_hierarchy_tables_enough(LOG2, 10, 500, 100), 36);
    EXPECT_EQUAL(tau_hierarchy_tables_enough(LOG2, UINT32_MAX, UINT32_MAX, UINT32_MAX), CHUNKS);
}

// ---- Chunks ------------------------------------------------------------------------------------

TEST_CASE(small_spaces) {
    for (unsigned log2 = 1; log2 <= 7; log2++) {
        open_scene(9, 0, 0xff);
        EXPECT_EQUAL(tau_hierarchy_close(&scene.space), TAU_OK);
        REQUIRE(tau_hierarchy_init(&scene.space, memory, tau_hierarchy_size_bytes(log2), log2,
                                   &scene.tables, &scene.frames,
                                   TAU_HIERARCHY_OVERCOMMIT) == TAU_OK);
        const uint32_t pages = UINT32_C(1) << log2;
        EXPECT_REFUSED(map_region(1, pages), TAU_REGION_TOO_LARGE);
        EXPECT_EQUAL(map_region(1, pages - 1), TAU_OK);
        map_all(1, pages - 1);
        EXPECT_EQUAL(used_records(), (pages + 31) / 32);
        EXPECT_EQUAL(unmap_region(1), TAU_OK);
        EXPECT_EQUAL(used_records(), 1);
        EXPECT_EQUAL(scene.frames.dirty.count + scene.frames.ready.count, FRAMES);
    }
}

// Records come and go as chunks need them, with ends on either side of a border.
TEST_CASE(records_follow_regions) {
    open_scene(RECORDS_MAX, 0, 0x5a);
    EXPECT_EQUAL(used_records(), 1);           // page 0's
    EXPECT_EQUAL(map_region(64, 32), TAU_OK);  // two borders
    EXPECT_EQUAL(used_records(), 3);
    EXPECT_EQUAL(map_region(100, 500), TAU_OK);  // in a chunk that has one, to one that has none
    EXPECT_EQUAL(used_records(), 4);
    map_all(100, 500);  // chunks 4 ... 17
    EXPECT_EQUAL(used_records(), 18);
    EXPECT_EQUAL(map_region(600, 8), TAU_OK);  // up to the border of chunk 19
    EXPECT_EQUAL(used_records(), 19);
    EXPECT_EQUAL(unmap_region(100), TAU_OK);  // 14 given back, its ends' are needed
    EXPECT_EQUAL(used_records(), 5);
    EXPECT_EQUAL(unmap_region(600), TAU_OK);
    EXPECT_EQUAL(used_records(), 3);
    EXPECT_EQUAL(unmap_region(64), TAU_OK);
    EXPECT_EQUAL(used_records(), 1);
}

// A region that starts last in its chunk keeps what lies after when one before it goes.
TEST_CASE(regions_that_share_a_chunk) {
    uint32_t frame;
    open_scene(RECORDS_MAX, 0, 0x11);
    EXPECT_EQUAL(map_region(33, 1), TAU_OK);
    EXPECT_EQUAL(map_region(34, 1), TAU_OK);
    EXPECT_EQUAL(map_region(35, 100), TAU_OK);
    map_all(33, 102);
    EXPECT_EQUAL(unmap_region(34), TAU_OK);
    EXPECT_EQUAL(translate(34, &frame), TAU_NOT_IN_REGION);
    EXPECT_EQUAL(translate(33, &frame), TAU_OK);
    for (uint32_t page = 35; page < 135; page++) {
        EXPECT_EQUAL(translate(page, &frame), TAU_OK);
    }
    EXPECT_EQUAL(unmap_region(33), TAU_OK);
    EXPECT_EQUAL(translate(134, &frame), TAU_OK);
    EXPECT_EQUAL(frame, 101);
    EXPECT_EQUAL(unmap_region(35), TAU_OK);
    EXPECT_EQUAL(used_records(), 1);
    EXPECT_EQUAL(scene.frames.dirty.head, 101);  // the newest of the last one
}

// A chunk's front belongs to a region that starts before it.
TEST_CASE(front_of_a_chunk) {
    uint32_t frame;
    open_scene(RECORDS_MAX, 0, 0x22);
    EXPECT_EQUAL(map_region(40, 60), TAU_OK);  // 40 ... 99, into chunk 3
    EXPECT_EQUAL(map_region(100, 10), TAU_OK);
    map_all(40, 70);
    EXPECT_EQUAL(unmap_region(40), TAU_OK);
    for (uint32_t page = 40; page < 110; page++) {
        EXPECT_EQUAL(translate(page, &frame), page < 100 ? TAU_NOT_IN_REGION : TAU_OK);
    }
    EXPECT_EQUAL(map_region(40, 60), TAU_OK);  // nothing of it is there again
    for (uint32_t page = 40; page < 100; page++) {
        EXPECT_EQUAL(translate(page, &frame), TAU_NOT_IN_REGION);
    }
}

// ---- Running out -------------------------------------------------------------------------------

TEST_CASE(records_run_out) {
    open_scene(3, 0, 0x33);
    EXPECT_EQUAL(map_region(40, 200), TAU_OK);  // all three
    EXPECT_EQUAL(map_page(41), TAU_OK);
    EXPECT_EQUAL(map_page(239), TAU_OK);  // in the chunk of its end
    EXPECT_REFUSED(map_page(64), TAU_NO_TABLE);
    EXPECT_REFUSED(map_region(300, 5), TAU_NO_TABLE);
    EXPECT_EQUAL(map_region(1, 31), TAU_OK);  // ends at a chunk that has one
    EXPECT_EQUAL(unmap_region(1), TAU_OK);
    EXPECT_EQUAL(map_region(1, 39), TAU_OK);
    EXPECT_EQUAL(unmap_region(40), TAU_OK);
    EXPECT_EQUAL(map_page(5), TAU_OK);
}

TEST_CASE(frames_run_out) {
    open_scene(RECORDS_MAX, 0, 0x44);
    EXPECT_EQUAL(map_region(1, PAGES - 1), TAU_OK);
    struct tau_frames others;
    REQUIRE(tau_frames_reserve(&scene.frames, &others, FRAMES - 3) == TAU_OK);
    map_all(1, 3);
    EXPECT_REFUSED(map_page(4), TAU_NO_FRAME);
    EXPECT_REFUSED(map_page(1000), TAU_NO_FRAME);  // and no record is taken
    EXPECT_EQUAL(unmap_region(1), TAU_OK);
}

// What a space that commits has admitted can be mapped to the last page.
TEST_CASE(commitment) {
    open_scene(1 + 2 + 2, 150, 0x55);
    EXPECT_REFUSED(map_region(40, 151), TAU_NOT_ADMITTED);
    EXPECT_REFUSED(map_region(40, 150), TAU_NO_TABLE);  // ends in chunk 5: three between
    EXPECT_EQUAL(map_region(63, 66), TAU_OK);           // 63 ... 128: chunks 1, 2, 3, 4
    EXPECT_EQUAL(scene.tables.promised, 2);
    EXPECT_REFUSED(map_region(1, 85), TAU_REGION_OVERLAPS);
    EXPECT_REFUSED(map_region(129, 85), TAU_NOT_ADMITTED);
    EXPECT_EQUAL(map_region(129, 30), TAU_OK);
}

TEST_CASE(promises_are_kept) {
    open_scene(1 + 2 + 3, 150, 0x55);
    EXPECT_EQUAL(map_region(63, 100), TAU_OK);
    EXPECT_REFUSED(map_region(200, 20), TAU_NO_TABLE);  // the three left are promised
    static uint32_t room[sizeof memory / sizeof(uint32_t)];
    struct tau_hierarchy other;
    EXPECT_EQUAL(tau_hierarchy_init(&other, room, tau_hierarchy_size_bytes(LOG2), LOG2,
                                    &scene.tables, &scene.frames, TAU_HIERARCHY_OVERCOMMIT),
                 TAU_NO_TABLE);
    for (uint32_t page = 162; page >= 63; page--) {
        EXPECT_EQUAL(map_page(page), TAU_OK);
    }
    EXPECT_EQUAL(scene.tables.promised, 0);
    EXPECT_EQUAL(used_records(), 6);
    expect_sound();
    EXPECT_EQUAL(unmap_region(63), TAU_OK);
    EXPECT_EQUAL(used_records(), 1);
    EXPECT_EQUAL(map_region(63, 100), TAU_OK);
    EXPECT_EQUAL(map_page(100), TAU_OK);
    EXPECT_EQUAL(scene.tables.promised, 2);
    EXPECT_EQUAL(unmap_region(63), TAU_OK);  // two promises are taken back
    EXPECT_EQUAL(scene.tables.promised, 0);
}

// A space that overcommits gets none of the records that are promised to another.
TEST_CASE(promises_against_others) {
    static uint32_t room[sizeof memory / sizeof(uint32_t)];
    struct tau_hierarchy other;
    open_scene(1 + 2 + 3 + 3, 150, 0x56);
    REQUIRE(tau_hierarchy_init(&other, room, tau_hierarchy_size_bytes(LOG2), LOG2, &scene.tables,
                               &scene.frames, TAU_HIERARCHY_OVERCOMMIT) == TAU_OK);
    EXPECT_EQUAL(tau_hierarchy_map_region(&other, (struct tau_page){33}, PAGES - 33, TAU_RIGHTS),
                 TAU_OK);
    EXPECT_EQUAL(tau_hierarchy_map_region(&scene.space, (struct tau_page){63}, 100, TAU_RIGHTS),
                 TAU_OK);
    EXPECT_EQUAL(scene.tables.promised, 3);
    EXPECT_EQUAL(scene.tables.free.ready.count, 4);
    EXPECT_EQUAL(tau_hierarchy_map_page(&other, (struct tau_page){1000}, TAU_READ), TAU_OK);
    EXPECT_REFUSED(tau_hierarchy_map_page(&other, (struct tau_page){2000}, TAU_READ), TAU_NO_TABLE);
    for (uint32_t page = 63; page < 163; page++) {
        EXPECT_EQUAL(map_page(page), TAU_OK);
    }
    EXPECT_EQUAL(tau_hierarchy_map_page(&other, (struct tau_page){1001}, TAU_READ), TAU_OK);
    EXPECT_EQUAL(scene.tables.free.ready.count, 0);
}

// tau_hierarchy_tables_enough is enough, and no less would be.
TEST_CASE(enough_is_enough) {
    const uint32_t regions = 4;
    const uint32_t pages = 66;  // from the last page of a chunk: two whole chunks, and both ends'
    const uint32_t enough = tau_hierarchy_tables_enough(LOG2, regions, regions * pages, 8);
    EXPECT_EQUAL(enough, 1 + 2 * regions + 8);
    for (uint32_t missing = 0; missing < 2; missing++) {
        open_scene(enough - missing, 0, 0x66);
        enum tau_status last = TAU_OK;
        for (uint32_t i = 0; i < regions; i++) {
            const uint32_t start = 63 + 160 * i;
            EXPECT_EQUAL(map_region(start, pages), TAU_OK);
        }
        for (uint32_t i = 0; i < regions && last == TAU_OK; i++) {
            last = map_page(64 + 160 * i);
            last = last == TAU_OK ? map_page(96 + 160 * i) : last;
        }
        EXPECT_EQUAL(last, missing == 0 ? TAU_OK : TAU_NO_TABLE);
        expect_sound();
    }
}

// Dense mappings: at most half of what five words a page take, in addition to the constant part.
TEST_CASE(bytes_of_dense_mappings) {
    for (uint32_t pages = 32; pages <= 2048; pages *= 2) {
        open_scene(RECORDS_MAX, 0, 0x77);
        EXPECT_EQUAL(map_region(32, pages), TAU_OK);
        map_all(32, pages);
        const size_t bytes = tau_hierarchy_tables_size_bytes(used_records() - 1);
        EXPECT(bytes <= 272 * (pages / 32 + 1));
        EXPECT(2 * (bytes - 272) <= 5 * sizeof(uint32_t) * pages);
        EXPECT_EQUAL(unmap_region(32), TAU_OK);
    }
}

// ---- Hostile memory ----------------------------------------------------------------------------

// The arrays over the chunks say whatever makes a stale or invented entry look right; only sp is
// ours. Each of the four cases of Lemma 1, one level up [P0-25].
TEST_CASE(lies_about_chunks) {
    uint32_t frame;
    open_scene(RECORDS_MAX, 0, 0);
    EXPECT_EQUAL(map_region(64, 320), TAU_OK);
    map_all(64, 40);  // chunks 2, 3
    struct tau_validity *const chunks = &scene.space.chunks;
    const uint32_t victim = 6 + 1;  // in the region, without a record
    const uint32_t liar = chunks->data[3];
    memset(&scene.tables.records[scene.tables.free.ready.head], 0xff, 268);
    for (uint32_t cache = 0; cache < chunks->pages_count; cache++) {         // any c
        for (uint32_t helper = 0; helper < chunks->pages_count; helper++) {  // any h
            chunks->regions[victim].cache = cache;
            chunks->stacks[victim].helper = helper;
            chunks->data[victim] = liar;
            const uint32_t page = chunks->stacks[helper].page;
            // Any s that belongs to no stack; those that do are the lemma's own.
            const bool is_ours = helper == 1 || (helper >= 3 && helper <= 4) || helper == 13;
            if (!is_ours) {
                chunks->stacks[helper].page = victim;
            }
            EXPECT_EQUAL(translate(6 * 32, &frame), TAU_NOT_IN_REGION);
            if (!is_ours) {
                chunks->stacks[helper].page = page;
            }
        }
    }
    EXPECT_EQUAL(map_page(6 * 32), TAU_OK);
    EXPECT_EQUAL(translate(6 * 32, &frame), TAU_OK);
    EXPECT_EQUAL(frame, 40);
    EXPECT_EQUAL(translate(6 * 32 + 1, &frame), TAU_NOT_IN_REGION);
    expect_sound();
}

// Records that another space gave back full of mapped pages.
TEST_CASE(stale_records) {
    uint32_t frame;
    open_scene(40, 0, 0xff);
    for (int round = 0; round < 20; round++) {
        const uint32_t start = 1 + 37 * (uint32_t)round;
        EXPECT_EQUAL(map_region(start, 1000), TAU_OK);
        for (uint32_t page = start; page < start + 1000; page++) {
            EXPECT_EQUAL(translate(page, &frame), TAU_NOT_IN_REGION);
        }
        for (uint32_t page = start; page < start + 1000; page += 33) {
            EXPECT_EQUAL(map_page(page), TAU_OK);
        }
        for (uint32_t page = start; page < start + 1000; page++) {
            EXPECT_EQUAL(translate(page, &frame),
                         (page - start) % 33 == 0 ? TAU_OK : TAU_NOT_IN_REGION);
        }
        expect_sound();
        EXPECT_EQUAL(unmap_region(start), TAU_OK);
    }
}

// ---- The checker -------------------------------------------------------------------------------

static void expect_broken(unsigned number) {
    static unsigned char records[RECORDS_MAX];
    static unsigned char frames[FRAMES];
    struct check_hierarchy_places places = {records, frames, 0};
    EXPECT_EQUAL(check_hierarchy(&scene.space, &places), number);
    scene = copy.scene;
    memcpy(records_memory, copy.records_memory, sizeof records_memory);
    memcpy(memory, copy.memory, sizeof memory);
    memcpy(links, copy.links, sizeof links);
    expect_sound();
}

static struct tau_hierarchy_record *record_at(uint32_t chunk) {
    return &scene.tables.records[scene.space.chunks.data[chunk + 1]];
}

TEST_CASE(checker) {
    open_scene(RECORDS_MAX, 0, 0x88);
    EXPECT_EQUAL(map_region(64, 320), TAU_OK);
    map_all(64, 100);  // chunks 2 ... 5, the last of them up to page 163
    struct tau_validity *const chunks = &scene.space.chunks;
    remember();
    record_at(0)->starts = 0;
    expect_broken(1);
    scene.space.mapped_pages = scene.space.committed_pages + 1;
    expect_broken(1);
    chunks->regions[8 + 1].top = 9;  // no start
    expect_broken(2);
    chunks->stacks[4].page = 3;  // its place is another
    expect_broken(3);
    chunks->regions[4].cache = 1;
    expect_broken(3);
    chunks->data[4] = RECORDS_MAX;
    expect_broken(4);
    record_at(3)->starts = 1;  // which the tree does not say
    expect_broken(4);
    record_at(5)->mapped = 0;  // a record for nothing
    expect_broken(4);
    record_at(2)->header[32] &= ~VALIDITY_STATE;  // free, after another free one
    expect_broken(5);
    record_at(2)->header[32] |= VALIDITY_STATE;  // a heap's
    expect_broken(5);
    record_at(5)->mapped |= 1;  // one more than counted
    expect_broken(6);
    record_at(2)->data[0] ^= TAU_READ;
    expect_broken(6);
    record_at(2)->header[32]++;  // another frame is the oldest
    links[99] = 5;
    expect_broken(7);
    scene.space.mapped_pages--;
    expect_broken(8);
}
