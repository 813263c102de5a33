// A writer: one chunk of the raw recording, mapped, and the state of its rows. A thread has at most
// one; when the thread ends, its writer is handed to the next thread that needs one.
#ifndef TAU_LINUX_RECORDER_WRITER_H
#define TAU_LINUX_RECORDER_WRITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/recorder/clock.h"
#include "linux/recorder/encode.h"

struct tau_writer {
    struct tau_encode encode;
    uint8_t *end;  // no row may start behind this
    uint8_t *chunk;
    size_t chunk_bytes;
    uint32_t thread;  // whose rows are being written
};

// What each thread has of its own. All zero at its start.
struct tau_writer_thread {
    struct tau_writer *writer;
    uintptr_t inside;        // not 0: a call is under way, so what comes is no event (call.h)
    uint64_t operator_site;  // with `inside` == TAU_CALL_OPERATOR
    uint32_t number;         // 1 …, 0 = not given yet
    uint16_t ending;         // the thread's end was announced: it must not keep a writer any more
    uint16_t resizing;       // between the two rows of a realloc
};

// The process's state that the hot path reads.
struct tau_writer_process {
    // One page that reads 0 in a forked child (MADV_WIPEONFORK): 0 = this process has no recording
    // yet.
    _Atomic uint32_t *alive;
    enum tau_clock clock;
};

extern struct tau_writer_process tau_writer_process;

// Makes sure that THREAD has a writer with room for a row, in a recording of this very process.
// False if there is none, because recording is off or had to stop.
bool tau_writer_prepare(struct tau_writer_thread *thread);

// After a row: gives the writer back if the thread is about to be gone.
void tau_writer_release(struct tau_writer_thread *thread);

// In a forked child: puts private memory where THREAD's chunk was, if nothing is there. The row
// that THREAD may be in the middle of ends there; the next begins the child's recording.
void tau_writer_keep_off(const struct tau_writer_thread *thread);

// A chunk of BYTES for another use, mapped; NULL if the disk is full or recording stopped.
struct tau_raw_chunk *tau_writer_chunk_map(uint32_t kind, uint32_t thread, size_t bytes);

// Makes writers for threads to come, before no memory can be mapped any more.
void tau_writer_stock(void);

// Called once in each new process (also a forked one), before its first chunk.
void tau_writer_reset(void);

static inline bool tau_writer_ready(const struct tau_writer_thread *thread) {
    return atomic_load_explicit(tau_writer_process.alive, memory_order_relaxed) == 1 &&
           thread->writer != NULL && thread->writer->encode.at <= thread->writer->end;
}

#endif
