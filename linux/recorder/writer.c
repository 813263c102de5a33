// Hands out chunks of the file (process.c maps them). No lock, and no system call between two
// chunks.
//
// Chunks grow from 16 to 256 KiB with their writer and with the file, so that neither a thousand
// short threads nor a short program waste much space. A dead thread's writer goes to a small table.
// The next thread takes it from there and continues in the same chunk.
#include "linux/recorder/writer.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "facts/recording.h"
#include "linux/recorder/chunk.h"

#define CHUNK_BYTES_FIRST (16u << 10)
#define CHUNK_BYTES_LAST (256u << 10)
#define ORPHANS_MAX 64
#define STOCK_WRITERS 32

static struct tau_writer *_Atomic orphans[ORPHANS_MAX];
static _Atomic uint32_t threads_count;
static pthread_key_t thread_end_key;
static bool thread_end_key_is_set;

// ---- Writers without a thread ----

static struct tau_writer *orphan_take(void) {
    for (unsigned int i = 0; i < ORPHANS_MAX; i++) {
        if (atomic_load_explicit(&orphans[i], memory_order_relaxed) != NULL) {
            struct tau_writer *writer =
                atomic_exchange_explicit(&orphans[i], NULL, memory_order_acquire);
            if (writer != NULL) {
                return writer;
            }
        }
    }
    return NULL;
}

static void orphan_give(struct tau_writer *writer) {
    for (unsigned int i = 0; i < ORPHANS_MAX; i++) {
        struct tau_writer *expected = NULL;
        if (atomic_compare_exchange_strong_explicit(&orphans[i], &expected, writer,
                                                    memory_order_release, memory_order_relaxed)) {
            return;
        }
    }
    if (writer->chunk != NULL) {
        tau_process_unmap(writer->chunk, writer->chunk_bytes);
    }
    if (writer->stacks != NULL) {
        tau_process_unmap(writer->stacks, writer->stacks_bytes);
    }
    tau_process_unmap(writer, sizeof(*writer));
}

static void thread_ends(void *value) {
    struct tau_writer_thread *thread = value;
    thread->ending = 1;
    tau_writer_release(thread);
}

// ---- Chunks ----

static bool chunk_next(struct tau_writer *writer) {
    size_t bytes = tau_chunk_rounded(CHUNK_BYTES_FIRST);
    if (writer->chunk != NULL) {
        const uint64_t share = tau_process_file_bytes() / 4;
        while (bytes < CHUNK_BYTES_LAST && bytes < writer->chunk_bytes * 4 && bytes * 2 <= share) {
            bytes *= 2;
        }
        tau_process_unmap(writer->chunk, writer->chunk_bytes);
        writer->chunk = NULL;
    }
    struct tau_raw_chunk *chunk = tau_chunk_map(TAU_RAW_ROWS, writer->thread, bytes);
    if (chunk == NULL) {
        return false;
    }
    writer->chunk = (uint8_t *)chunk;
    writer->chunk_bytes = bytes;
    writer->end = writer->chunk + bytes - 2 * TAU_ENCODE_SLACK_BYTES;
    writer->encode.at = writer->chunk + sizeof(*chunk);
    writer->encode.last_ticks = chunk->started_ticks;
    writer->encode.last_address = 0;
    writer->encode.last_site = 0;
    memset(writer->encode.sites, 0, sizeof(writer->encode.sites));
    return true;
}

static struct tau_writer *writer_new(void) {
    struct tau_writer *writer = tau_process_map_private(sizeof(*writer));
    if (writer == NULL) {
        tau_process_stop(tau_process_is_confined() ? TAU_RAW_STOP_CONFINED : ENOMEM);
    }
    return writer;
}

static bool writer_get(struct tau_writer_thread *thread) {
    if (thread->number == 0) {
        thread->number = atomic_fetch_add(&threads_count, 1) + 1;
    }
    struct tau_writer *writer = orphan_take();
    if (writer == NULL) {
        writer = writer_new();
        if (writer == NULL) {
            return false;
        }
        writer->thread = thread->number;
    }
    thread->writer = writer;
    if (thread_end_key_is_set && !thread->ending) {
        pthread_setspecific(thread_end_key, thread);
    }
    if (writer->chunk != NULL && writer->thread != thread->number) {
        // The slack after `end` has room for this row and one more.
        tau_encode_control(&writer->encode, TAU_RECORD_THREAD, thread->number);
    }
    writer->thread = thread->number;
    return true;
}

// ---- Public ----

void tau_writer_forget(struct tau_writer_thread *thread) {
    thread->writer = NULL;
    thread->number = 0;
    thread->ending = 0;
}

bool tau_writer_take(struct tau_writer_thread *thread) {
    bool ready = thread->writer != NULL || writer_get(thread);
    if (ready &&
        (thread->writer->chunk == NULL || thread->writer->encode.at > thread->writer->end)) {
        ready = chunk_next(thread->writer);
    }
    if (!ready && thread->writer != NULL) {
        // It has no chunk and recording has stopped, so no thread will ask for a writer again.
        tau_process_unmap(thread->writer, sizeof(*thread->writer));
        thread->writer = NULL;
    }
    return ready;
}

void tau_writer_keep_off(const struct tau_writer_thread *thread) {
    if (thread->writer != NULL && thread->writer->chunk != NULL) {
        tau_process_map_over(thread->writer->chunk, thread->writer->chunk_bytes);
    }
    if (thread->writer != NULL && thread->writer->stacks != NULL) {
        tau_process_map_over(thread->writer->stacks, thread->writer->stacks_bytes);
    }
}

void tau_writer_stock(void) {
    for (unsigned int i = 0; i < STOCK_WRITERS; i++) {
        struct tau_writer *writer = tau_process_map_private(sizeof(*writer));
        if (writer != NULL) {
            orphan_give(writer);
        }
    }
}

void tau_writer_release(struct tau_writer_thread *thread) {
    struct tau_writer *writer = thread->writer;
    if (writer != NULL && atomic_load_explicit(tau_process_hot.alive, memory_order_relaxed) == 1) {
        thread->writer = NULL;
        orphan_give(writer);
    }
}

void tau_writer_reset(void) {
    for (unsigned int i = 0; i < ORPHANS_MAX; i++) {
        atomic_store_explicit(&orphans[i], NULL, memory_order_relaxed);
    }
    atomic_store(&threads_count, 0);
    if (!thread_end_key_is_set) {
        thread_end_key_is_set = pthread_key_create(&thread_end_key, thread_ends) == 0;
    }
}
