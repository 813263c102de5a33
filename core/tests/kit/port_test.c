// See port_test.h.
#include "core/tests/kit/port_test.h"

#include <string.h>

struct test_port test_port;

// Its own calls run undisturbed.
static void run_other_thread(void (**thread)(void)) {
    void (*const other)(void) = *thread;
    *thread = NULL;
    if (other) {
        other();
    }
    *thread = other;
}

void test_port_lock(const void *heap) {
    (void)heap;
    test_port.nested_count += test_port.lock_depth != 0;
    test_port.lock_depth++;
    test_port.locks_count++;
}

void test_port_unlock(const void *heap) {
    (void)heap;
    if (test_port.lock_depth == 0) {
        test_port.nested_count++;
    } else {
        test_port.lock_depth--;
        run_other_thread(&test_port.on_unlock);
    }
}

void test_port_misuse(const void *heap, const void *pointer, int reason) {
    (void)heap;
    test_port.inside_count += test_port.lock_depth;
    test_port.misuse_count++;
    test_port.misuse_pointer = pointer;
    test_port.misuse_reason = reason;
}

void test_port_out_of_memory(const void *heap, size_t size_bytes) {
    (void)heap;
    test_port.inside_count += test_port.lock_depth;
    test_port.out_of_memory_count++;
    test_port.out_of_memory_bytes = size_bytes;
}

void test_port_trace(const void *heap, const void *old, const void *pointer, size_t size_bytes,
                     size_t alignment) {
    (void)heap;
    test_port.outside_count += test_port.lock_depth != 1;
    test_port.trace_count++;
    test_port.trace_old = old;
    test_port.trace_pointer = pointer;
    test_port.trace_size_bytes = size_bytes;
    test_port.trace_alignment = alignment;
}

void test_port_peak(size_t size_bytes, size_t count, size_t limit_count) {
    test_port.inside_count += test_port.lock_depth;
    test_port.peaks_count++;
    test_port.peak_size_bytes = size_bytes;
    test_port.peak_used_count = count;
    test_port.peak_limit_count = limit_count;
    test_port.warnings_count += count == limit_count - limit_count / 5;
}

void test_port_forget_region(const void *space, unsigned start) {
    if (test_port.on_forget != NULL) {
        test_port.on_forget(space, start);
    }
}

void test_port_move(void *to, const void *from, size_t size_bytes) {
    test_port.inside_count += test_port.lock_depth;
    test_port.moves_count++;
    run_other_thread(&test_port.on_move);
    memmove(to, from, size_bytes);
    run_other_thread(&test_port.on_move);
}

void test_port_fill(void *to, int value, size_t size_bytes) {
    const int freed = 0x55;  // filled inside, so that nobody has the memory again meanwhile
    test_port.inside_count += value == freed ? 0 : test_port.lock_depth;
    memset(to, value, size_bytes);
}
