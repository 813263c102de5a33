// The port of the tests: counts every call of the core's hooks and notes what must not happen.
// Built in with -DTAU_PORT_HEADER='"core/tests/kit/port_test.h"'.
#ifndef TAU_PORT_TEST_H
#define TAU_PORT_TEST_H

#include <stddef.h>

struct test_port {
    unsigned locks_count;    // times the lock was entered
    unsigned lock_depth;     // 1 inside, 0 outside
    unsigned nested_count;   // entered while inside, or left while outside
    unsigned inside_count;   // payload bytes handled, or refusals told, under the lock
    unsigned outside_count;  // traces outside of it
    unsigned misuse_count;
    const void *misuse_pointer;
    int misuse_reason;
    unsigned out_of_memory_count;
    size_t out_of_memory_bytes;
    unsigned trace_count;
    const void *trace_old;
    const void *trace_pointer;
    size_t trace_size_bytes;
    size_t trace_alignment;
    unsigned peaks_count;
    size_t peak_size_bytes, peak_used_count, peak_limit_count;
    unsigned warnings_count;  // as core/pools.h shows it
    unsigned moves_count;
    void (*on_move)(void);    // another thread that runs just before and after a move, if set
    void (*on_unlock)(void);  // another thread that has waited for the lock, if set
    void (*on_forget)(const void *space, unsigned start);  // an MMU that keeps translations, if set
};

extern struct test_port test_port;

void test_port_lock(const void *heap);
void test_port_unlock(const void *heap);
void test_port_misuse(const void *heap, const void *pointer, int reason);
void test_port_out_of_memory(const void *heap, size_t size_bytes);
void test_port_trace(const void *heap, const void *old, const void *pointer, size_t size_bytes,
                     size_t alignment);
void test_port_peak(size_t size_bytes, size_t count, size_t limit_count);
void test_port_forget_region(const void *space, unsigned start);
void test_port_move(void *to, const void *from, size_t size_bytes);
void test_port_fill(void *to, int value, size_t size_bytes);

#define TAU_PORT_LOCK(heap) test_port_lock(heap)
#define TAU_PORT_UNLOCK(heap) test_port_unlock(heap)
#define TAU_PORT_MISUSE(heap, pointer, reason) test_port_misuse((heap), (pointer), (int)(reason))
#define TAU_PORT_OUT_OF_MEMORY(heap, size_bytes) test_port_out_of_memory((heap), (size_bytes))
#define TAU_PORT_TRACE(heap, old, pointer, size_bytes, alignment)                                  \
    test_port_trace((heap), (old), (pointer), (size_bytes), (alignment))
#define TAU_PORT_PEAK(heap, size_bytes, count, limit_count)                                        \
    ((void)(heap), test_port_peak((size_bytes), (count), (limit_count)))
#define TAU_PORT_FORGET_REGION(space, start) test_port_forget_region((space), (start))
#define TAU_PORT_MOVE(to, from, size_bytes) test_port_move((to), (from), (size_bytes))
#define TAU_PORT_FILL(to, value, size_bytes) test_port_fill((to), (value), (size_bytes))

#endif
