// Packs and unpacks operations. See spool.h.
#include "tool/native/replay/spool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A packed operation is its slot, then size, alignment and kind in one word.
#define SIZE_BITS 24u
#define SIZE_ESCAPE ((UINT32_C(1) << SIZE_BITS) - 1)  // the operation itself follows
#define ALIGN_SHIFT SIZE_BITS
#define ALIGN_MAX 31u
#define KIND_SHIFT 29u
#define KIND_SKIP 7u

_Static_assert(TAU_TRACE_OPS_COUNT <= KIND_SKIP, "an operation's kind fits into 3 bits");

struct place {
    uint64_t offset;
    uint32_t bytes;
    uint32_t count;
};

struct tau_spool {
    int file;
    uint64_t end;
    struct place *places;
    uint64_t blocks;
    uint64_t capacity;
};

struct tau_spool *tau_spool_open(void) {
    struct tau_spool *spool = calloc(1, sizeof *spool);
    const char *folder = getenv("TMPDIR");
    if (spool == NULL) {
        return NULL;
    }
    spool->file = open(folder != NULL && folder[0] != '\0' ? folder : "/var/tmp",
                       O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (spool->file < 0) {
        free(spool);
        return NULL;
    }
    return spool;
}

void tau_spool_close(struct tau_spool *spool) {
    if (spool != NULL) {
        (void)close(spool->file);
        free(spool->places);
    }
    free(spool);
}

static uint8_t *pack(uint8_t *at, const struct tau_replay_op *op) {
    const bool is_skip = op->op == TAU_REPLAY_OP_SKIP;
    const uint64_t asked_bytes = op->size_bytes - op->is_empty;
    const bool is_short = asked_bytes < SIZE_ESCAPE && op->align_log2 <= ALIGN_MAX;
    assert(is_skip || op->op < TAU_TRACE_OPS_COUNT);
    const uint32_t word = (is_short ? (uint32_t)asked_bytes : SIZE_ESCAPE) |
                          (is_short ? (uint32_t)op->align_log2 : 0) << ALIGN_SHIFT |
                          (is_skip ? KIND_SKIP : (uint32_t)op->op) << KIND_SHIFT;
    memcpy(at, &op->slot, sizeof op->slot);
    memcpy(at + sizeof op->slot, &word, sizeof word);
    at += sizeof op->slot + sizeof word;
    if (!is_short) {
        memcpy(at, op, sizeof *op);
        at += sizeof *op;
    }
    return at;
}

static const uint8_t *unpack(const uint8_t *at, struct tau_replay_op *op) {
    uint32_t word = 0;
    uint32_t slot = 0;
    memcpy(&slot, at, sizeof slot);
    memcpy(&word, at + sizeof slot, sizeof word);
    at += sizeof slot + sizeof word;
    const uint32_t size_bytes = word & SIZE_ESCAPE;
    if (size_bytes == SIZE_ESCAPE) {
        memcpy(op, at, sizeof *op);
        return at + sizeof *op;
    }
    const uint32_t kind = word >> KIND_SHIFT;
    const bool is_empty = kind <= TAU_TRACE_ALIGNED_ALLOC && size_bytes == 0;
    *op = (struct tau_replay_op){
        .size_bytes = is_empty ? 1 : size_bytes,
        .slot = slot,
        .op = kind == KIND_SKIP ? TAU_REPLAY_OP_SKIP : (uint8_t)kind,
        .align_log2 = (uint8_t)(word >> ALIGN_SHIFT & ALIGN_MAX),
        .is_empty = is_empty,
    };
    return at;
}

bool tau_spool_write(struct tau_spool *spool, uint8_t *buffer, const struct tau_replay_op *ops,
                     size_t count) {
    uint8_t *end = buffer;
    assert(count <= TAU_TRACE_BLOCK_EVENTS_MAX);
    for (size_t i = 0; i < count; i++) {
        end = pack(end, &ops[i]);
    }
    if (spool->blocks == spool->capacity) {
        const uint64_t larger = spool->capacity == 0 ? 64 : 2 * spool->capacity;
        struct place *places = realloc(spool->places, larger * sizeof *places);
        if (places == NULL) {
            return false;
        }
        spool->places = places;
        spool->capacity = larger;
    }
    const uint32_t bytes = (uint32_t)(end - buffer);
    spool->places[spool->blocks] = (struct place){spool->end, bytes, (uint32_t)count};
    for (uint32_t written = 0; written < bytes;) {
        const ssize_t step = pwrite(spool->file, buffer + written, bytes - written,
                                    (off_t)(spool->end + written));
        if (step <= 0 && errno != EINTR) {
            return false;
        }
        written += step > 0 ? (uint32_t)step : 0;
    }
    spool->blocks++;
    spool->end += bytes;
    return true;
}

bool tau_spool_read(const struct tau_spool *spool, uint64_t block, uint8_t *buffer,
                    struct tau_replay_op *ops, size_t *count) {
    assert(block < spool->blocks);
    const struct place *place = &spool->places[block];
    for (uint32_t read = 0; read < place->bytes;) {
        const ssize_t step =
            pread(spool->file, buffer + read, place->bytes - read, (off_t)(place->offset + read));
        if (step == 0 || (step < 0 && errno != EINTR)) {
            return false;
        }
        read += step > 0 ? (uint32_t)step : 0;
    }
    const uint8_t *at = buffer;
    for (uint32_t i = 0; i < place->count; i++) {
        at = unpack(at, &ops[i]);
    }
    *count = place->count;
    return true;
}
