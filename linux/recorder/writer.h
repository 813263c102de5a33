// A writer: one chunk of the raw recording, mapped, and the state of its rows. A thread has at most
// one; when the thread ends, its writer is handed to the next thread that needs one.
#ifndef TAU_LINUX_RECORDER_WRITER_H
#define TAU_LINUX_RECORDER_WRITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/recorder/encode.h"
#include "linux/recorder/process.h"

struct tau_writer {
    struct tau_encode encode;
    uint8_t *end;  // no row may start after this
    uint8_t *chunk;
    size_t chunk_bytes;
    uint32_t thread;  // whose rows are being written
    // With --stacks: the chunk for stacks, or NULL, and where the next one goes.
    struct tau_raw_chunk *stacks;
    size_t stacks_bytes;
    uint64_t *stacks_at;
    uint64_t *stacks_end;
};

// The state of each thread. All zero at its start.
struct tau_writer_thread {
    struct tau_writer *writer;
    uintptr_t inside;        // not 0: a call is under way, so a nested one is not an event
    uint64_t operator_site;  // with `inside` == TAU_CALL_OPERATOR
    uint32_t number;         // 1 …, 0 = not given yet
    uint16_t ending;         // the thread's end was announced: it must not keep a writer any more
    uint16_t resizing;       // between the two rows of a realloc
};

// In a forked child: forgets THREAD's writer, which is the parent's.
void tau_writer_forget(struct tau_writer_thread *thread);

// Makes sure that THREAD has a writer with room for a row, in this process's recording. False if
// there is none, because recording had to stop.
bool tau_writer_take(struct tau_writer_thread *thread);

// After a row: releases the writer if the thread is about to end.
void tau_writer_release(struct tau_writer_thread *thread);

// In a forked child: puts private memory where THREAD's chunk was, if nothing is there. The row
// that THREAD may be in the middle of ends there; the next begins the child's recording.
void tau_writer_keep_off(const struct tau_writer_thread *thread);

// Makes writers for threads to come, before no memory can be mapped any more.
void tau_writer_stock(void);

// Called once in each new process (also a forked one), before its first chunk.
void tau_writer_reset(void);

static inline bool tau_writer_ready(const struct tau_writer_thread *thread) {
    return atomic_load_explicit(tau_process_hot.alive, memory_order_relaxed) == 1 &&
           thread->writer != NULL && thread->writer->encode.at <= thread->writer->end;
}

#endif
