// Goal: an aligned object is served if and only if frames and commitment suffice for the headers in
// front of it and behind it, and a refusal changes nothing. Method: one place of an object for each
// case, worked out by hand, with none to three frames or pages of commitment left.
#include "core/tests/page_heap/page_heap_world.h"

// What an aligned object needs, however much memory is free: a frame for each page that gets its
// first header, in front of the object and behind it.
static const struct need {
    bool is_behind_a_page;  // the free block is where allocate_up_to_a_page leaves it
    bool is_in_hole;        // and ends in the next page
    size_t alignment;
    uint32_t pages_count;
} needs[] = {
    {false, false, 8 * PAGE, 2},  // both in pages of their own
    {false, false, PAGE, 1},      // behind alone: in front it is the free block's own page
    {true, false, 2 * UNIT, 1},   // in front alone: both are in one page
    {true, true, 2 * UNIT, 0},    // both in the page where the free block ends
};

static unsigned char *allocate_with(const struct need *need, uint32_t frames_left,
                                    uint32_t commitment_left) {
    struct tau_frames taken;
    const uint32_t frames_count = tau_frames_free_count(&pool);
    REQUIRE(tau_frames_reserve(&pool, &taken, frames_count - frames_left) == TAU_OK);
    heap.commit_max_pages = heap.committed_pages + commitment_left;
    take_image();
    unsigned char *const object = allocate_aligned(need->alignment, 300);
    EXPECT(object != NULL || is_as_image());
    EXPECT_EQUAL(broken(), 0);
    tau_frames_return(&pool, &taken);
    return object;
}

// If the check of frames counted one of the two headers alone, an object that needs two frames
// would be handed out with one left, and the other header written to a page that is not mapped.
static void aligned_objects_need_a_frame_a_header(void) {
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        const struct need *const need = &needs[i];
        begin(FRAMES, UINT32_MAX);
        if (need->is_behind_a_page) {
            allocate_up_to_a_page();
        }
        if (need->is_in_hole) {
            unsigned char *const hole = allocate(600);
            EXPECT(hole != NULL && allocate(2 * UNIT) != NULL);
            EXPECT_EQUAL(give_back(hole), TAU_OK);
        }
        for (uint32_t left = 0; left <= 3; left++) {
            for (unsigned is_commitment = 0; is_commitment < 2; is_commitment++) {
                unsigned char *const object =
                    allocate_with(need, is_commitment ? 3 : left, is_commitment ? left : 3);
                EXPECT_EQUAL(object != NULL, left >= need->pages_count);
                EXPECT_EQUAL(give_back(object), TAU_OK);
            }
        }
        end();
    }
}

static const struct test tests[] = {
    TEST(aligned_objects_need_a_frame_a_header),
};

TEST_MAIN(tests)
