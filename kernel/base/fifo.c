#include "kernel/base/fifo.h"

#include "facts/gen/tau_compose_format.h"

enum { OTHER_COUNTER, OWN_COUNTER };  // words of an own page

// What a waiting end does in each turn. Tests on a host give the processor to the other end.
#ifndef TAU_FIFO_PAUSE
#define TAU_FIFO_PAUSE() (void)0
#endif

void tau_fifo_init(struct tau_fifo *end, void *own_page, void *other_page, uint32_t token_bytes,
                   uint32_t tokens_count) {
    *end = (struct tau_fifo){
        .own = own_page,
        .other = other_page,
        .token_bytes = token_bytes,
        .tokens_count = tokens_count,
    };
}

void tau_fifo_open(struct tau_fifo *end, uint32_t index, uint32_t token_bytes,
                   uint32_t tokens_count) {
    const uintptr_t page = TAU_COMPOSE_ADDRESS_FIFO + TAU_COMPOSE_SIZE_FIFO_STRIDE_BYTES * index;
    tau_fifo_init(end, (void *)page, (void *)(page + TAU_COMPOSE_SIZE_FIFO_PAGE_BYTES_MAX),
                  token_bytes, tokens_count);
}

bool tau_fifo_can_write(const struct tau_fifo *end) {
    return end->own[OWN_COUNTER] - end->own[OTHER_COUNTER] < end->tokens_count;
}

bool tau_fifo_can_read(const struct tau_fifo *end) {
    return end->own[OTHER_COUNTER] != end->own[OWN_COUNTER];
}

// Tells the other side that one more token is produced or consumed; ours are done with it before.
static void advance(struct tau_fifo *end) {
    const uint32_t count = end->own[OWN_COUNTER] + 1;
    end->place += end->token_bytes;
    if (end->place == end->token_bytes * end->tokens_count) {
        end->place = 0;
    }
    end->own[OWN_COUNTER] = count;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    end->other[OTHER_COUNTER] = count;
}

void *tau_fifo_write_begin(struct tau_fifo *end) {
    while (!tau_fifo_can_write(end)) {  // bound: the reader's next token, in its slots
        TAU_FIFO_PAUSE();
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return (unsigned char *)end->other + TAU_FIFO_RING_OFFSET_BYTES + end->place;
}

void tau_fifo_write_end(struct tau_fifo *end) {
    advance(end);
}

const void *tau_fifo_read_begin(struct tau_fifo *end) {
    while (!tau_fifo_can_read(end)) {  // bound: the writer's next token, in its slots
        TAU_FIFO_PAUSE();
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return (unsigned char *)end->own + TAU_FIFO_RING_OFFSET_BYTES + end->place;
}

void tau_fifo_read_end(struct tau_fifo *end) {
    advance(end);
}
