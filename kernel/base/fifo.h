// A FIFO of tokens between two tasks, on one tile or on two: one producer, one consumer, no locks.
//
// Each side has a page of its own and stores into the other side's page, never loads from it: on
// another tile a store arrives a constant time later and a load gives 0.
//
//   word 0 of a page   counter of the other side: tokens produced (reader), consumed (writer)
//   word 1 of a page   the owner's own counter
//   from byte 64 on    the ring of tokens; the reader's page only
//
// Both pages are zero before either side begins, and counters wrap around. The writer stores a
// token and then its count, and stores arrive in order.
#ifndef TAU_FIFO_H
#define TAU_FIFO_H

#include <stdbool.h>
#include <stdint.h>

#define TAU_FIFO_RING_OFFSET_BYTES 64u

// Bytes of a page that holds a ring of TOKENS tokens; for static assertions.
#define TAU_FIFO_PAGE_BYTES(token_bytes, tokens)                                                   \
    (TAU_FIFO_RING_OFFSET_BYTES + (uint32_t)(token_bytes) * (uint32_t)(tokens))

// One end, either the writer's or the reader's. It lies in the caller's memory.
struct tau_fifo {
    volatile uint32_t *own;
    volatile uint32_t *other;
    uint32_t token_bytes;
    uint32_t tokens_count;
    uint32_t place;  // where the next token is, in bytes from the start of the ring
};

// Makes END an end of a FIFO. The other end has the same two pages, exchanged, and the same sizes.
// - The caller grants: TOKEN_BYTES is a multiple of 4, TOKENS_COUNT at least 1, and both pages hold
//   TAU_FIFO_PAGE_BYTES of them.
// - Stores nothing: the other side may have begun already.
void tau_fifo_init(struct tau_fifo *end, void *own_page, void *other_page, uint32_t token_bytes,
                   uint32_t tokens_count);

// The same for end INDEX of the application, at the addresses that facts/compose.toml fixes.
void tau_fifo_open(struct tau_fifo *end, uint32_t index, uint32_t token_bytes,
                   uint32_t tokens_count);

// Whether tau_fifo_write_begin, tau_fifo_read_begin would return at once.
bool tau_fifo_can_write(const struct tau_fifo *end);
bool tau_fifo_can_read(const struct tau_fifo *end);

// Waits for a free place and returns it. The place may be stored to, and not loaded from. Call
// tau_fifo_write_end next, which hands the token over.
void *tau_fifo_write_begin(struct tau_fifo *end);
void tau_fifo_write_end(struct tau_fifo *end);

// Waits for a token and returns it. It stays until tau_fifo_read_end, which frees its place.
const void *tau_fifo_read_begin(struct tau_fifo *end);
void tau_fifo_read_end(struct tau_fifo *end);

#endif
