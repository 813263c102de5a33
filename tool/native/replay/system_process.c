// Replays a trace in a separate process on its allocator, and measures the memory that it takes.
//
// The tool starts a small program with this library (and the allocator, if it is not the C
// library's) in LD_PRELOAD and TAU_REPLAY_CHILD set; the constructor below then runs instead of
// that program's main. Operations come from standard input (tau_replay_dump); the only memory used
// besides the replayed objects is mapped and touched before the baseline is taken. Objects are
// touched on every page, as a program would. Memory is read from the page tables (smaps_rollup,
// which is exact, where the peak counter of the kernel is not below a few hundred KiB): at the
// event of peak live bytes, and at SAMPLES more.
//
// The answer, on standard output: "<baseline> <peak> <failed event or -1>", in bytes.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tool/native/replay/replay.h"

#define SAMPLES 64u
#define PAGE_BYTES 4096u
#define BUFFER_OPS 4096u
#define TEXT_BYTES 4096u

struct child {
    uint64_t events;
    uint64_t slots_count;
    uint64_t peak_event;
    uint64_t event;
    uint64_t peak_bytes;
    void **pointers;
    struct tau_replay_op *buffer;
};

// Anonymous memory of this process in bytes, 0 if the kernel does not report it.
static uint64_t memory_bytes(void) {
    static char text[TEXT_BYTES];
    const int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    size_t length = 0;
    ssize_t got = 0;
    while (length + 1 < sizeof text &&
           (got = read(file, text + length, sizeof text - 1 - length)) > 0) {
        length += (size_t)got;
    }
    (void)close(file);
    text[length] = '\0';
    const char *line = strstr(text, "\nAnonymous:");
    return line == NULL ? 0 : strtoull(line + sizeof "\nAnonymous:" - 1, NULL, 10) * 1024;
}

static void sample(struct child *child) {
    const uint64_t bytes = memory_bytes();
    if (bytes > child->peak_bytes) {
        child->peak_bytes = bytes;
    }
}

static void touch(uint8_t *pointer, uint64_t size_bytes) {
    for (uint64_t at = 0; at < size_bytes; at += PAGE_BYTES) {
        *(volatile uint8_t *)(pointer + at) = 0x5a;
    }
    if (size_bytes > 0) {
        *(volatile uint8_t *)(pointer + size_bytes - 1) = 0x5a;
    }
}

static bool child_op(struct child *child, const struct tau_replay_op *op) {
    void **pointer = &child->pointers[op->slot];
    const size_t size_bytes = (size_t)op->size_bytes;
    void *fresh = NULL;
    if (tau_replay_passes_over(op)) {
        return true;
    }
    if (op->op == TAU_TRACE_FREE) {
        free(*pointer);
        *pointer = NULL;
        return true;
    }
    if (op->op == TAU_TRACE_REALLOC) {
        fresh = realloc(*pointer, size_bytes);
    } else if (op->align_log2 > 3) {
        (void)posix_memalign(&fresh, (size_t)1 << op->align_log2, size_bytes);
    } else {
        fresh = op->op == TAU_TRACE_CALLOC ? calloc(1, size_bytes) : malloc(size_bytes);
    }
    if (fresh == NULL && size_bytes != 0) {
        return false;
    }
    touch(fresh, op->size_bytes);
    *pointer = fresh;
    return true;
}

static int64_t child_run(struct child *child) {
    const uint64_t stride = child->events / SAMPLES + 1;
    for (;;) {
        size_t length = 0;
        ssize_t got = 0;
        const size_t wanted = BUFFER_OPS * sizeof(struct tau_replay_op);
        while (length < wanted &&
               (got = read(0, (uint8_t *)child->buffer + length, wanted - length)) > 0) {
            length += (size_t)got;
        }
        const size_t count = length / sizeof(struct tau_replay_op);
        for (size_t i = 0; i < count; i++, child->event++) {
            if (child->buffer[i].slot >= child->slots_count &&
                !tau_replay_passes_over(&child->buffer[i])) {
                return (int64_t)child->event;
            }
            if (!child_op(child, &child->buffer[i])) {
                return (int64_t)child->event;
            }
            if (child->event == child->peak_event || child->event % stride == stride - 1) {
                sample(child);
            }
        }
        if (count < BUFFER_OPS) {
            return -1;
        }
    }
}

static void *mapped(uint64_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

__attribute__((constructor)) static void child_main(void) {
    const char *request = getenv("TAU_REPLAY_CHILD");
    if (request == NULL) {
        return;
    }
    struct child child = {0};
    char *end = NULL;
    child.events = strtoull(request, &end, 10);
    child.slots_count = strtoull(end, &end, 10);
    child.peak_event = strtoull(end, &end, 10);
    child.pointers = mapped((child.slots_count + 1) * sizeof(void *));
    child.buffer = mapped(BUFFER_OPS * sizeof(struct tau_replay_op));
    if (child.pointers == NULL || child.buffer == NULL) {
        _exit(1);
    }
    free(malloc(1));  // the allocator's own start belongs to the baseline
    memset(child.buffer, 0, BUFFER_OPS * sizeof(struct tau_replay_op));
    (void)memory_bytes();
    const uint64_t baseline = memory_bytes();
    const int64_t failed_at = child_run(&child);
    sample(&child);
    (void)dprintf(1, "%llu %llu %lld\n", (unsigned long long)baseline,
                  (unsigned long long)child.peak_bytes, (long long)failed_at);
    _exit(0);
}
