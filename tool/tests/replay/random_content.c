// Random objects of all sizes, some of which overlap, against a list that is searched naively.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tool/native/replay/content.h"
#include "tool/native/replay/replay.h"

#define ARENA_BYTES (UINT64_C(96) << 20)
#define OBJECTS 24u

static struct tau_content_object objects[OBJECTS];

static uint64_t random_below(uint64_t limit) {
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 24) % limit;
}

// Shares a granule of 8 bytes with a live object.
static int overlaps(const struct tau_content_object *object) {
    const uintptr_t start = (uintptr_t)object->pointer / 8;
    const uintptr_t end = ((uintptr_t)object->pointer + object->size_bytes + 7) / 8;
    for (size_t i = 0; i < OBJECTS; i++) {
        const struct tau_content_object *other = &objects[i];
        const uintptr_t other_start = (uintptr_t)other->pointer / 8;
        const uintptr_t other_end = ((uintptr_t)other->pointer + other->size_bytes + 7) / 8;
        if (other->pointer != NULL && other_start < end && start < other_end) {
            return 1;
        }
    }
    return 0;
}

int main(int count, char **words) {
    const unsigned long steps = count > 1 ? strtoul(words[1], NULL, 10) : 20000;
    uint8_t *arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct tau_content content = {0};
    unsigned long overlapping = 0;
    unsigned long large = 0;
    if (arena == MAP_FAILED) {
        return 2;
    }
    for (unsigned long step = 0; step < steps; step++) {
        if (step % 5000 == 0 && !tau_content_start(&content, arena, ARENA_BYTES)) {
            return 2;
        }
        if (step % 5000 == 0) {
            for (size_t i = 0; i < OBJECTS; i++) {
                objects[i].pointer = NULL;
            }
        }
        const uint32_t slot = (uint32_t)random_below(OBJECTS);
        if (objects[slot].pointer != NULL) {
            (void)tau_content_remove(&content, &objects[slot], slot);
            objects[slot].pointer = NULL;
            continue;
        }
        const uint64_t size_bytes = 1 + random_below(UINT64_C(1) << (3 + random_below(22)));
        const uint64_t place = random_below((ARENA_BYTES - size_bytes) / 8) * 8;
        const struct tau_content_object object = {arena + place, size_bytes, 8};
        const int expected = overlaps(&object) ? TAU_REPLAY_OVERLAPS : TAU_REPLAY_COMPLETED;
        if (tau_content_add(&content, &object, slot, false) != expected) {
            printf("step %lu: %d was expected\n", step, expected);
            return 1;
        }
        overlapping += expected != TAU_REPLAY_COMPLETED ? 1 : 0;
        large += size_bytes > (UINT64_C(4) << 20) && expected == TAU_REPLAY_COMPLETED ? 1 : 0;
        if (expected == TAU_REPLAY_COMPLETED) {
            objects[slot] = object;
        }
    }
    printf("%lu overlapped, %lu were large\n", overlapping, large);
    tau_content_release(&content);
    return overlapping < steps / 30 || large < steps / 150;
}
