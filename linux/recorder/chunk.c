#include "linux/recorder/chunk.h"

#include "linux/recorder/process.h"

struct tau_raw_chunk *tau_chunk_map(uint32_t kind, uint32_t thread, size_t bytes) {
    uint64_t offset;
    struct tau_raw_chunk *chunk = tau_process_map(bytes, &offset);
    if (chunk == NULL) {
        return NULL;
    }
    chunk->kind = kind;
    chunk->bytes = (uint32_t)bytes;
    chunk->thread = thread;
    chunk->started_ticks = tau_clock_now(tau_process_hot.clock);
    chunk->offset = offset;
    atomic_signal_fence(memory_order_release);
    chunk->magic = TAU_RAW_CHUNK_MAGIC;
    return chunk;
}
