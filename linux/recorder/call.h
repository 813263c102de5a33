// One call into the allocator: whether it is the program's own call, and its rows.
//
// While a call is under way, the thread's `inside` is the address of a mark in the call's frame,
// and the mark holds its own address. A nested call, from the real allocator, the recorder or a
// signal handler, is not an event. A call that is left by siglongjmp or by an exception never ends.
// Its mark is then above the stack or overwritten, so the next call detects it, and recording
// continues.
#ifndef TAU_LINUX_RECORDER_CALL_H
#define TAU_LINUX_RECORDER_CALL_H

#include "linux/interpose/boot.h"
#include "linux/interpose/family.h"
#include "linux/recorder/stacks.h"
#include "linux/recorder/writer.h"

#define TAU_CALL_SITE ((uint64_t)(uintptr_t)__builtin_return_address(0))
// An address above every local variable of the calling function and below its caller's.
#define TAU_CALL_POSITION ((uintptr_t)__builtin_dwarf_cfa())

// Values of `inside` other than the address of a mark:
// - OPERATOR: in an operator of C++, until the first call beneath takes over its site
// - WATCHED: an operator delete has its row, and is watched for a call of free beneath it
// - WATCHED_SEEN: that call of free came
#define TAU_CALL_OPERATOR ((uintptr_t)1)
#define TAU_CALL_WATCHED ((uintptr_t)2)
#define TAU_CALL_WATCHED_SEEN ((uintptr_t)3)

extern _Thread_local struct tau_writer_thread tau_call_thread;

// For a forked child. A signal handler may have forked in the middle of a row, to which the child
// returns. The chunk is the parent's, so the child gets private memory for the rest of that row.
void tau_call_forked(void);
// For a thread whose `inside` is not 0: the site of the call that begins at POSITION, which is SITE
// or the site of the operator above it; 0 if the call is not an event.
uint64_t tau_call_outside(struct tau_writer_thread *thread, uint64_t site, uintptr_t position);
// Ensures space for a row; false if recording is off.
bool tau_call_prepare(struct tau_writer_thread *thread);
// Ensures that the recording has the module of SITE. Preserves errno.
void tau_call_cover(uint64_t site);
// A control row.
void tau_call_control(struct tau_writer_thread *thread, enum tau_record_control code);
static inline void tau_call_enter(struct tau_writer_thread *thread, volatile uintptr_t *mark) {
    *mark = (uintptr_t)mark;
    thread->inside = (uintptr_t)mark;
}

static inline void tau_call_leave(struct tau_writer_thread *thread) {
    thread->inside = 0;
}

// Begins a call with its SITE and its MARK, a local variable of the caller's; false if the call is
// not an event, because another is under way.
static inline __attribute__((always_inline)) bool
tau_call_begin(struct tau_writer_thread *thread, uint64_t *site, volatile uintptr_t *mark) {
    if (TAU_UNLIKELY(thread->inside)) {
        *site = tau_call_outside(thread, *site, TAU_CALL_POSITION);
        if (*site == 0) {
            return false;
        }
    }
    tau_call_enter(thread, mark);
    return true;
}

static inline __attribute__((always_inline)) void
tau_call_row(struct tau_writer_thread *thread, enum tau_record_op op, const void *pointer,
             size_t size, size_t alignment, uint64_t site) {
    // The time comes first: a handler that forks after it leaves the row to the parent's time, one
    // that forks before it leaves the child a row in its own recording.
    const uint64_t ticks = tau_clock_now(tau_process_hot.clock);
    atomic_signal_fence(memory_order_seq_cst);
    if (TAU_UNLIKELY(!tau_writer_ready(thread)) && !tau_call_prepare(thread)) {
        return;
    }
    if (TAU_UNLIKELY(tau_process_hot.stack_frames != 0) && op != TAU_RECORD_FREE &&
        op != TAU_RECORD_REALLOC_BEGIN) {
        site = tau_stacks_site(thread, site);
    }
    struct tau_encode *encode = &thread->writer->encode;
    unsigned int index;
    const bool known = tau_encode_knows_site(encode, site, &index);
    if (TAU_UNLIKELY(!known) && (site & TAU_RAW_STACK_BIT) == 0) {
        tau_call_cover(site);
    }
    const unsigned int align_log2 = alignment == 0 ? 0 : (unsigned int)__builtin_ctzll(alignment);
    tau_encode_row(encode, op, ticks, (uintptr_t)pointer, size, align_log2, site, index, known);
    if (TAU_UNLIKELY(thread->ending)) {
        tau_writer_release(thread);
    }
}

// Ends a call that made POINTER, or failed and made NULL; returns it.
static inline __attribute__((always_inline)) void *
tau_call_made(struct tau_writer_thread *thread, void *pointer, enum tau_record_op op, size_t size,
              size_t alignment, uint64_t site) {
    if (pointer != NULL && !tau_boot_owns(pointer)) {
        tau_call_row(thread, op, pointer, size, alignment, site);
    }
    tau_call_leave(thread);
    return pointer;
}

#endif
