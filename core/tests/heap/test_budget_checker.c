// Goal: the full walk sees each invariant of docs/spec/budget.md when it is broken, and
// says which. Method: a sound heap with used, freed and fresh buckets; one word of it is changed,
// the number is compared, the word is put back.
#include "core/private/heap/budget_table.h"

#include "core/tests/heap/budget_heap.h"

static const struct tau_budget_class plan[] = {{24, 40}, {100, 8}, {400, 2}};

struct scene {
    struct test_budget heap;
    struct budget_class *class;  // 100 bytes: one freed bucket, two used ones, five fresh ones
    tau_word *freed;
    tau_word *shared;  // an object in the shared region
};

static struct scene scene_open(void) {
    struct scene scene = {.heap = budget_open(plan, COUNT_OF(plan), 4096)};
    void *objects[3];
    for (size_t i = 0; i < 3; i++) {
        objects[i] = tau_budget_malloc(scene.heap.budget, 100);
    }
    scene.shared = tau_budget_malloc(scene.heap.budget, 300);
    REQUIRE(scene.shared != NULL);
    EXPECT_EQUAL(tau_budget_free(scene.heap.budget, objects[1]), TAU_OK);
    scene.freed = objects[1];
    scene.class = budget_candidate(scene.heap.budget, budget_bucket_for(100));
    EXPECT_BUDGET_SOUND(&scene.heap);
    heap_remember(&scene.heap.memory);
    return scene;
}

static void expect_broken(struct scene *scene, unsigned number) {
    struct test_heap *memory = &scene->heap.memory;
    EXPECT_EQUAL(check_budget(scene->heap.budget), number);
    memcpy(memory->memory, memory->copy, memory->size_bytes);
    EXPECT_BUDGET_SOUND(&scene->heap);
}

TEST_CASE(budget_1_lists) {
    struct scene scene = scene_open();
    struct tau_budget *budget = scene.heap.budget;
    scene.class->free = 0;  // lost
    expect_broken(&scene, 1);
    scene.freed[0] = tau_link_to(budget, scene.freed);  // a circle
    expect_broken(&scene, 1);
    scene.class->free += TAU_ALIGNMENT;  // no bucket's start
    expect_broken(&scene, 1);
    scene.class->free =  // beyond the region
        scene.class->start + scene.class->count * scene.class->bucket_bytes;
    expect_broken(&scene, 1);
    scene.class->used_count++;  // one more than is missing in the list
    expect_broken(&scene, 1);
    budget_close(&scene.heap);
}

TEST_CASE(budget_2_counts) {
    struct scene scene = scene_open();
    scene.class->used_count = scene.class->fresh_count + 1;
    EXPECT(!tau_budget_invariants_hold(scene.heap.budget));
    expect_broken(&scene, 2);
    scene.class->fresh_count = scene.class->count + 1;
    EXPECT(!tau_budget_invariants_hold(scene.heap.budget));
    expect_broken(&scene, 2);
    budget_close(&scene.heap);
}

TEST_CASE(budget_3_regions) {
    struct scene scene = scene_open();
    scene.class->start += TAU_ALIGNMENT;
    EXPECT(!tau_budget_invariants_hold(scene.heap.budget));
    expect_broken(&scene, 3);
    scene.class->count++;
    EXPECT(!tau_budget_invariants_hold(scene.heap.budget));
    expect_broken(&scene, 3);
    budget_fields_of(scene.heap.budget)->dedicated_bytes += TAU_ALIGNMENT;
    expect_broken(&scene, 3);
    budget_fields_of(scene.heap.budget)->shared = budget_fields_of(scene.heap.budget)->dedicated;
    expect_broken(&scene, 3);
    budget_close(&scene.heap);
}

TEST_CASE(budget_4_size_table) {
    struct scene scene = scene_open();
    struct tau_budget *budget = scene.heap.budget;
    uint8_t *slots = &budget->owner[budget_fields_of(budget)->sizes];
    size_t seen_count = 0;
    for (size_t slot = 0; slot < (size_t)1 << (32 - budget_fields_of(budget)->hash_shift); slot++) {
        slots[slot] ^= 1;
        seen_count += check_budget(budget) == 4;
        slots[slot] ^= 1;
        slots[slot] = 200;
        EXPECT_EQUAL(check_budget(budget), 4);
        memcpy(scene.heap.memory.memory, scene.heap.memory.copy, scene.heap.memory.size_bytes);
    }
    EXPECT(seen_count >= COUNT_OF(plan));
    budget_close(&scene.heap);
}

TEST_CASE(budget_5_owner_table) {
    struct scene scene = scene_open();
    struct tau_budget *budget = scene.heap.budget;
    size_t seen_count = 0;
    for (size_t step = 1; step < budget_fields_of(budget)->sizes; step++) {
        uint8_t was = budget->owner[step];
        budget->owner[step] = was == 0 ? 1 : 0;
        seen_count += check_budget(budget) == 5;
        budget->owner[step] = was;
    }
    EXPECT(seen_count >= COUNT_OF(plan));
    expect_broken(&scene, 0);
    budget_close(&scene.heap);
}

TEST_CASE(budget_6_bits) {
    struct scene scene = scene_open();
    uint32_t *bits = (uint32_t *)(void *)tau_link_follow(scene.heap.budget, scene.class->bits);
    for (unsigned bit = 0; TAU_CHECK_LEVEL >= 1 && bit < scene.class->count; bit++) {
        *bits ^= 1u << bit;
        expect_broken(&scene, 6);
    }
    budget_close(&scene.heap);
}

TEST_CASE(budget_7_shared) {
    struct scene scene = scene_open();
    scene.shared[-1] ^= 2;  // the flag that says whether the block before is free
    expect_broken(&scene, 7);
    budget_close(&scene.heap);
}
