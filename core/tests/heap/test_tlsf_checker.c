// Goal: the full walk sees each invariant of docs/spec/tlsf.md when it is broken, and says which.
// Method: a sound heap with every kind of block; one word of it is changed, the number is compared,
// the word is put back.

#include "core/private/heap/tlsf_rows.h"
#include "core/tests/heap/tlsf_heap.h"

// A heap of: used, free, aligned, free, used, and the free rest.
struct scene {
    struct test_heap heap;
    tau_word *used;
    tau_word *hole;
    tau_word *aligned;
    tau_word *other_hole;
    tau_word *last;
};

static struct scene scene_open(void) {
    struct scene scene = {.heap = heap_open(8192)};
    struct tau_tlsf *tlsf = scene.heap.tlsf;
    scene.used = tau_tlsf_malloc(tlsf, 100);
    scene.hole = tau_tlsf_malloc(tlsf, 200);
    scene.aligned = tau_tlsf_aligned_alloc(tlsf, 64, 100);
    scene.other_hole = tau_tlsf_malloc(tlsf, 200);
    scene.last = tau_tlsf_malloc(tlsf, 100);
    REQUIRE(scene.used && scene.hole && scene.aligned && scene.other_hole && scene.last);
    EXPECT_EQUAL(tau_tlsf_free(tlsf, scene.hole), TAU_OK);
    EXPECT_EQUAL(tau_tlsf_free(tlsf, scene.other_hole), TAU_OK);
    EXPECT_EQUAL(check_tlsf(tlsf), 0);
    heap_remember(&scene.heap);
    return scene;
}

// The heap as damaged breaks NUMBER first; then it is as it was.
static void expect_broken(struct scene *scene, unsigned number) {
    EXPECT_EQUAL(check_tlsf(scene->heap.tlsf), number);
    memcpy(scene->heap.memory, scene->heap.copy, scene->heap.size_bytes);
    EXPECT_EQUAL(check_tlsf(scene->heap.tlsf), 0);
}

static tau_word *behind(tau_word *payload) {
    return payload + (payload[-1] & SIZE_MASK) / sizeof(tau_word);
}

TEST_CASE(tlsf_1_sizes_and_the_row) {
    struct scene scene = scene_open();
    scene.used[-1] += TAU_ALIGNMENT;
    EXPECT(check_tlsf(scene.heap.tlsf) != 0);
    memcpy(scene.heap.memory, scene.heap.copy, scene.heap.size_bytes);
    static const tau_word sizes[] = {0, TAU_ALIGNMENT, 1 << 14,
                                     (tau_word)-TAU_ALIGNMENT & SIZE_MASK};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        scene.used[-1] = sizes[i];
        expect_broken(&scene, 1);
    }
    tau_word *sentinel = behind(behind(scene.last));
    sentinel[-1] |= TAU_ALIGNMENT;
    expect_broken(&scene, 1);
    sentinel[-1] |= TLSF_FREE;
    expect_broken(&scene, 1);
    if (TAU_ALIGNMENT == 16) {
        scene.used[-1] |= 8;  // no flag
        expect_broken(&scene, 1);
    }
    heap_close(&scene.heap);
}

TEST_CASE(tlsf_2_previous_free) {
    struct scene scene = scene_open();
    scene.used[-1] ^= TLSF_PREVIOUS_FREE;  // the pool's first block has none before it
    expect_broken(&scene, 2);
    scene.last[-1] ^= TLSF_PREVIOUS_FREE;
    expect_broken(&scene, 2);
    scene.hole[-1] ^= TLSF_PREVIOUS_FREE;
    expect_broken(&scene, 2);
    behind(behind(scene.last))[-1] ^= TLSF_PREVIOUS_FREE;
    expect_broken(&scene, 2);
    heap_close(&scene.heap);
}

TEST_CASE(tlsf_3_free_neighbors) {
    struct scene scene = scene_open();
    scene.used[-1] |= TLSF_FREE;
    scene.hole[-1] |= TLSF_PREVIOUS_FREE;
    expect_broken(&scene, 3);
    heap_close(&scene.heap);
}

TEST_CASE(tlsf_4_footers) {
    struct scene scene = scene_open();
    behind(scene.hole)[-2] += TAU_ALIGNMENT;
    expect_broken(&scene, 4);
    heap_close(&scene.heap);
}

TEST_CASE(tlsf_5_lists_hold_the_free_blocks) {
    struct scene scene = scene_open();
    struct tau_tlsf *tlsf = scene.heap.tlsf;
    tau_word *slot = tlsf_slot_at(tlsf, scene.other_hole[1]);
    unsigned class = (unsigned)tlsf_class_at(tlsf, scene.other_hole[1]);
    tau_word *other_slot = tlsf_head_of(tlsf, 1);
    REQUIRE(slot == tlsf_head_of(tlsf, class));
    REQUIRE(*other_slot == tlsf_no_block(tlsf));
    *slot = tlsf_no_block(tlsf);  // lost
    expect_broken(&scene, 5);
    *other_slot = *slot;  // in two lists
    expect_broken(&scene, 5);
    scene.hole[0] = *slot;  // a circle
    expect_broken(&scene, 5);
    scene.hole[0] = tau_link_to(tlsf, scene.used);  // a used block
    expect_broken(&scene, 5);
    *other_slot = *slot;  // another class
    *slot = tlsf_no_block(tlsf);
    expect_broken(&scene, 5);
    heap_close(&scene.heap);
}

TEST_CASE(tlsf_6_back_links) {
    struct scene scene = scene_open();
    scene.hole[1] += TAU_ALIGNMENT;
    expect_broken(&scene, 6);
    scene.other_hole[1] = tau_link_to(scene.heap.tlsf, scene.hole);
    expect_broken(&scene, 6);
    heap_close(&scene.heap);
}

TEST_CASE(tlsf_7_bitmap) {
    struct scene scene = scene_open();
    struct tlsf_fields *fields = tlsf_fields_of(scene.heap.tlsf);
    for (unsigned word = 0; word < tlsf_words_of(scene.heap.tlsf); word++) {
        for (unsigned bit = 0; bit < 32; bit++) {
            scene.heap.tlsf->bitmap[word] ^= 1u << bit;
            expect_broken(&scene, 7);
        }
    }
    for (unsigned bit = 0; bit < 32; bit++) {
        fields->summary ^= 1u << bit;
        EXPECT(!tau_tlsf_invariants_hold(scene.heap.tlsf));
        expect_broken(&scene, 7);
    }
    heap_close(&scene.heap);
}

TEST_CASE(tlsf_8_statistics) {
    struct scene scene = scene_open();
    struct tlsf_fields *fields = tlsf_fields_of(scene.heap.tlsf);
    fields->used_bytes += TAU_ALIGNMENT;
    expect_broken(&scene, 8);
    fields->used_bytes = 8192;
    EXPECT(!tau_tlsf_invariants_hold(scene.heap.tlsf));
    expect_broken(&scene, 8);
    fields->peak_used_bytes = 8192;
    EXPECT(!tau_tlsf_invariants_hold(scene.heap.tlsf));
    expect_broken(&scene, 8);
    heap_close(&scene.heap);
}

TEST_CASE(tlsf_9_alignments) {
    static const tau_word alignments[] = {0, TAU_ALIGNMENT, 96, 63, 4096};
    struct scene scene = scene_open();
    tau_word *stored = behind(scene.aligned) - 2;
    EXPECT_EQUAL(*stored, 64);
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
        *stored = alignments[i];
        expect_broken(&scene, (uintptr_t)scene.aligned % 4096 == 0 && i == 4 ? 0 : 9);
    }
    scene.hole[-1] |= TLSF_ALIGNED;
    expect_broken(&scene, 9);
    heap_close(&scene.heap);
}

TEST_CASE(tlsf_10_canaries) {
    struct scene scene = scene_open();
    behind(scene.used)[-2] ^= 1;
    expect_broken(&scene, TAU_CHECK_LEVEL >= 2 ? 10 : 0);
    behind(scene.aligned)[-3] ^= 1;
    expect_broken(&scene, TAU_CHECK_LEVEL >= 2 ? 10 : 0);
    heap_close(&scene.heap);
}

TEST_CASE(tlsf_11_classes) {
    struct scene scene = scene_open();
    struct tau_tlsf *tlsf = scene.heap.tlsf;
    struct tlsf_fields *fields = tlsf_fields_of(tlsf);
    static const uint8_t levels[] = {0, 1, 6, 31};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        fields->turns = (uint8_t)(tau_bits_turns(levels[i]) | TLSF_NO_ROOM);
        EXPECT(!tau_tlsf_invariants_hold(tlsf));
        expect_broken(&scene, 11);
    }
    fields->leading_zeros++;
    EXPECT(!tau_tlsf_invariants_hold(tlsf));
    expect_broken(&scene, 11);
    fields->classes = 3;
    EXPECT(!tau_tlsf_invariants_hold(tlsf));
    expect_broken(&scene, 11);
    heap_close(&scene.heap);
}
