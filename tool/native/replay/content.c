// One bit for each 4 bytes, and a word at each end of an object. See content.h.
#include "tool/native/replay/content.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define GRANULE_BYTES 4u
#define WORD_GRANULES 64u
#define BLOCK_GRANULES (UINT64_C(1) << 19)  // 2 MiB
#define WHOLE UINT32_MAX

static bool prepare_blocks(struct tau_content *content, uint64_t arena_bytes) {
    const uint64_t blocks = arena_bytes / (GRANULE_BYTES * BLOCK_GRANULES) + 2;
    if (blocks > content->blocks_capacity) {
        free(content->blocks);
        content->blocks_capacity = 0;
        content->blocks = calloc(blocks, sizeof *content->blocks);
        if (content->blocks == NULL) {
            return false;
        }
        content->blocks_capacity = blocks;
    } else {
        memset(content->blocks, 0, blocks * sizeof *content->blocks);
    }
    return true;
}

bool tau_content_start(struct tau_content *content, uint8_t *arena, uint64_t arena_bytes) {
    const uint64_t words = arena_bytes / (GRANULE_BYTES * WORD_GRANULES) + 2;
    if (!prepare_blocks(content, arena_bytes)) {
        return false;
    }
    if (words > content->live_capacity) {
        if (content->live != NULL) {
            (void)munmap(content->live, content->live_capacity * sizeof(uint64_t));
        }
        content->live = NULL;
        content->live_capacity = 0;
        // Mapped and not allocated: an arena far larger than its use costs only the pages that are
        // used.
        void *live = mmap(NULL, words * sizeof(uint64_t), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (live == MAP_FAILED) {
            return false;
        }
        content->live = live;
        content->live_capacity = words;
    } else if (words * sizeof(uint64_t) > (1u << 20)) {
        (void)madvise(content->live, content->live_capacity * sizeof(uint64_t), MADV_DONTNEED);
    } else {
        memset(content->live, 0, words * sizeof(uint64_t));
    }
    content->arena = arena;
    content->arena_bytes = arena_bytes;
    content->placement_hash = 0;
    return true;
}

void tau_content_release(struct tau_content *content) {
    if (content->live != NULL) {
        (void)munmap(content->live, content->live_capacity * sizeof(uint64_t));
    }
    content->live = NULL;
    content->live_capacity = 0;
    free(content->blocks);
    content->blocks = NULL;
    content->blocks_capacity = 0;
}

// Whether a bit, or a whole block, is set from FIRST to before END.
static bool any_bit(const struct tau_content *content, uint64_t first, uint64_t end) {
    for (uint64_t block = first / BLOCK_GRANULES; first < end && block * BLOCK_GRANULES < end;
         block++) {
        if (content->blocks[block] == WHOLE) {
            return true;
        }
    }
    for (uint64_t granule = first; granule < end;) {
        const uint64_t word = granule / WORD_GRANULES;
        const uint64_t word_end = (word + 1) * WORD_GRANULES;
        const uint64_t stop = end < word_end ? end : word_end;
        const uint64_t mask = (UINT64_MAX >> (WORD_GRANULES - (stop - granule)))
                              << (granule % WORD_GRANULES);
        if ((content->live[word] & mask) != 0) {
            return true;
        }
        granule = stop;
    }
    return false;
}

// Sets the bits if IS_NEW, else clears them.
static void flip_bits(struct tau_content *content, uint64_t first, uint64_t end, bool is_new) {
    for (uint64_t block = first / BLOCK_GRANULES; first < end && block * BLOCK_GRANULES < end;
         block++) {
        content->blocks[block] += is_new ? 1u : UINT32_MAX;
    }
    for (uint64_t granule = first; granule < end;) {
        const uint64_t word = granule / WORD_GRANULES;
        const uint64_t word_end = (word + 1) * WORD_GRANULES;
        const uint64_t stop = end < word_end ? end : word_end;
        content->live[word] ^= (UINT64_MAX >> (WORD_GRANULES - (stop - granule)))
                               << (granule % WORD_GRANULES);
        granule = stop;
    }
}

// The blocks that lie wholly between two granules; none if the object is small.
struct middle {
    uint64_t first;
    uint64_t end;
};

static struct middle middle_of(uint64_t first, uint64_t end) {
    if (end < first + 2 * BLOCK_GRANULES) {
        return (struct middle){0, 0};
    }
    return (struct middle){(first + BLOCK_GRANULES - 1) / BLOCK_GRANULES, end / BLOCK_GRANULES};
}

static bool any_live(const struct tau_content *content, uint64_t first, uint64_t end) {
    const struct middle middle = middle_of(first, end);
    if (middle.first == middle.end) {
        return any_bit(content, first, end);
    }
    for (uint64_t block = middle.first; block < middle.end; block++) {
        if (content->blocks[block] != 0) {
            return true;
        }
    }
    return any_bit(content, first, middle.first * BLOCK_GRANULES) ||
           any_bit(content, middle.end * BLOCK_GRANULES, end);
}

static void flip_live(struct tau_content *content, uint64_t first, uint64_t end, bool is_new) {
    const struct middle middle = middle_of(first, end);
    if (middle.first == middle.end) {
        flip_bits(content, first, end, is_new);
        return;
    }
    for (uint64_t block = middle.first; block < middle.end; block++) {
        content->blocks[block] = is_new ? WHOLE : 0;
    }
    flip_bits(content, first, middle.first * BLOCK_GRANULES, is_new);
    flip_bits(content, middle.end * BLOCK_GRANULES, end, is_new);
}

static uint64_t word_of_slot(uint32_t slot) {
    const uint64_t mixed = (slot + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
    return mixed ^ (mixed >> 32);
}

static size_t head_bytes(uint64_t size_bytes) {
    return size_bytes < sizeof(uint64_t) ? (size_t)size_bytes : sizeof(uint64_t);
}

static size_t tail_bytes(uint64_t size_bytes) {
    return head_bytes(size_bytes - head_bytes(size_bytes));
}

static uint64_t granule_end(const struct tau_content *content,
                            const struct tau_content_object *object) {
    const uint64_t offset = (uint64_t)(object->pointer - content->arena);
    return (offset + object->size_bytes + GRANULE_BYTES - 1) / GRANULE_BYTES;
}

bool tau_content_has_room(const struct tau_content *content, const uint8_t *pointer,
                          uint64_t size_bytes) {
    const uint64_t offset = (uint64_t)((uintptr_t)pointer - (uintptr_t)content->arena);
    return offset <= content->arena_bytes && size_bytes <= content->arena_bytes - offset;
}

enum tau_replay_fault tau_content_take(struct tau_content *content,
                                       struct tau_content_object *object,
                                       const struct tau_replay_op *op,
                                       const struct tau_content_answer *answer) {
    *object = (struct tau_content_object){NULL, op->size_bytes, answer->alignment};
    if (answer->offset > content->arena_bytes) {
        return TAU_REPLAY_OUTSIDE;
    }
    object->pointer = content->arena + answer->offset;
    content->placement_hash =
        (content->placement_hash ^ answer->event) * UINT64_C(0x9e3779b97f4a7c15) + answer->offset;
    return tau_content_add(content, object, op->slot, answer->is_cleared);
}

enum tau_replay_fault tau_content_add(struct tau_content *content,
                                      const struct tau_content_object *object, uint32_t slot,
                                      bool is_cleared) {
    uint8_t *pointer = object->pointer;
    const uint64_t size_bytes = object->size_bytes;
    const uint64_t offset = (uint64_t)((uintptr_t)pointer - (uintptr_t)content->arena);
    if (!tau_content_has_room(content, pointer, size_bytes)) {
        return TAU_REPLAY_OUTSIDE;
    }
    if (((uintptr_t)pointer & (object->alignment - 1)) != 0) {
        return TAU_REPLAY_MISALIGNED;
    }
    const uint64_t first = offset / GRANULE_BYTES;
    const uint64_t end = granule_end(content, object);
    if (any_live(content, first, end)) {
        return TAU_REPLAY_OVERLAPS;
    }
    flip_live(content, first, end, true);
    const size_t head = head_bytes(size_bytes);
    const size_t tail = tail_bytes(size_bytes);
    static const uint8_t zeros[sizeof(uint64_t)];
    if (is_cleared && (memcmp(pointer, zeros, head) != 0 ||
                       memcmp(pointer + size_bytes - tail, zeros, tail) != 0)) {
        return TAU_REPLAY_NOT_CLEARED;
    }
    const uint64_t word = word_of_slot(slot);
    memcpy(pointer, &word, head);
    memcpy(pointer + size_bytes - tail, &word, tail);
    return TAU_REPLAY_COMPLETED;
}

bool tau_content_remove(struct tau_content *content, const struct tau_content_object *object,
                        uint32_t slot) {
    const uint64_t offset = (uint64_t)(object->pointer - content->arena);
    flip_live(content, offset / GRANULE_BYTES, granule_end(content, object), false);
    const uint64_t word = word_of_slot(slot);
    const size_t tail = tail_bytes(object->size_bytes);
    return memcmp(object->pointer, &word, head_bytes(object->size_bytes)) == 0 &&
           memcmp(object->pointer + object->size_bytes - tail, &word, tail) == 0;
}

bool tau_content_survives(const struct tau_content *content, const uint8_t *pointer,
                          uint64_t old_bytes, uint64_t new_bytes, uint32_t slot) {
    const uint64_t kept = old_bytes < new_bytes ? old_bytes : new_bytes;
    if (!tau_content_has_room(content, pointer, kept)) {
        return true;  // tau_content_add names this fault
    }
    const uint64_t word = word_of_slot(slot);
    const size_t tail = tail_bytes(old_bytes);
    return memcmp(pointer, &word, head_bytes(kept)) == 0 &&
           (kept < old_bytes || memcmp(pointer + old_bytes - tail, &word, tail) == 0);
}
