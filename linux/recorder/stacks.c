// Which stacks are written already: a table by their hash, without a lock. A stack that another one
// displaced, or that two threads find at once, is written again.
#include "linux/recorder/stacks.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unwind.h>

#include "facts/recording.h"
#include "linux/recorder/chunk.h"
#include "linux/recorder/modules.h"
#include "linux/recorder/process.h"

#define WRITTEN_BITS 16u
#define CHUNK_BYTES (64u << 10)
#define HEAD_WORDS 2u
// Frames between the walk and the program: ours, and the operators of a C++ library.
#define OWN_FRAMES_MAX 12u

static struct {
    _Unwind_Reason_Code (*walk)(_Unwind_Trace_Fn, void *);
    _Unwind_Ptr (*address_of)(struct _Unwind_Context *);
} unwinder;

static _Atomic uint64_t written[1u << WRITTEN_BITS];

void tau_stacks_start(void) {
    const unsigned int frames = tau_process_hot.stack_frames_wanted;
    void *const library = frames > 0 ? dlopen("libgcc_s.so.1", RTLD_NOW) : NULL;
    if (library != NULL) {
        *(void **)&unwinder.walk = dlsym(library, "_Unwind_Backtrace");
        *(void **)&unwinder.address_of = dlsym(library, "_Unwind_GetIP");
    }
    if (unwinder.walk != NULL && unwinder.address_of != NULL) {
        tau_process_hot.stack_frames =
            frames < TAU_RAW_STACK_FRAMES_MAX ? frames : TAU_RAW_STACK_FRAMES_MAX;
    }
}

void tau_stacks_reset(void) {
    if (tau_process_hot.stack_frames != 0) {
        memset(written, 0, sizeof(written));
    }
}

static uint64_t hash_of(void *const *frames, unsigned int count) {
    uint64_t hash = count;
    for (unsigned int i = 0; i < count; i++) {
        hash = (hash ^ (uintptr_t)frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}

// Makes sure that the writer's chunk of stacks has room for WORDS and the 0 after them.
static bool has_room(struct tau_writer *writer, size_t words) {
    if (writer->stacks != NULL && (size_t)(writer->stacks_end - writer->stacks_at) > words) {
        return true;
    }
    sigset_t signals;
    const bool calls = tau_process_calls_begin(&signals);
    const size_t bytes = tau_chunk_rounded(CHUNK_BYTES);
    if (writer->stacks != NULL) {
        tau_process_unmap(writer->stacks, writer->stacks_bytes);
    }
    struct tau_raw_chunk *chunk = tau_chunk_map(TAU_RAW_STACKS, writer->thread, bytes);
    writer->stacks = chunk;
    writer->stacks_bytes = bytes;
    if (chunk != NULL) {
        writer->stacks_at = (uint64_t *)(chunk + 1);
        writer->stacks_end = (uint64_t *)((uint8_t *)chunk + bytes);
    }
    if (calls) {
        tau_process_calls_end(&signals);
    }
    return chunk != NULL;
}

static bool write_stack(struct tau_writer *writer, uint64_t site, void *const *frames,
                        unsigned int count) {
    if (!has_room(writer, HEAD_WORDS + count)) {
        return false;
    }
    uint64_t *const at = writer->stacks_at;
    at[1] = count;
    for (unsigned int i = 0; i < count; i++) {
        at[HEAD_WORDS + i] = (uintptr_t)frames[i];
        tau_modules_cover((uintptr_t)frames[i]);
    }
    atomic_signal_fence(memory_order_seq_cst);
    at[0] = site;  // last: a stack is there whole or not at all
    writer->stacks_at = at + HEAD_WORDS + count;
    return true;
}

// ---- The walk ----

struct walk {
    uint64_t site;  // where the program's part of the stack begins
    unsigned int wanted;
    unsigned int count;
    unsigned int own_count;  // frames before it
    bool has_ended;          // at the thread's first function, after which the unwinder finds NULL
    void *frames[TAU_RAW_STACK_FRAMES_MAX];
};

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *argument) {
    struct walk *const walk = argument;
    const uintptr_t address = unwinder.address_of(context);
    if (address == 0) {
        walk->has_ended = true;
        return _URC_END_OF_STACK;
    }
    if (walk->count == 0 && address != walk->site) {
        return walk->own_count++ < OWN_FRAMES_MAX ? _URC_NO_REASON : _URC_END_OF_STACK;
    }
    walk->frames[walk->count++] = (void *)address;
    return walk->count < walk->wanted ? _URC_NO_REASON : _URC_END_OF_STACK;
}

__attribute__((noinline)) uint64_t tau_stacks_site(struct tau_writer_thread *thread,
                                                   uint64_t site) {
    const int error = errno;
    struct walk walk = {.site = site, .wanted = tau_process_hot.stack_frames};
    (void)unwinder.walk(take_frame, &walk);
    if (walk.count > 0) {
        const uint64_t hash = hash_of(walk.frames, walk.count);
        const uint64_t stack = TAU_RAW_STACK_BIT | (hash & (TAU_RAW_STACK_BIT - 1));
        _Atomic uint64_t *const place = &written[hash >> (64u - WRITTEN_BITS)];
        if (atomic_load_explicit(place, memory_order_relaxed) == stack) {
            site = stack;
        } else if (write_stack(thread->writer, stack, walk.frames, walk.count)) {
            atomic_store_explicit(place, stack, memory_order_relaxed);
            tau_process_note_stack(walk.count < walk.wanted && !walk.has_ended);
            site = stack;
        }
    }
    errno = error;
    return site;
}
