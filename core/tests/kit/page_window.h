// An MMU for tests of heaps on pages. A window of addresses is closed (PROT_NONE). At a touch, the
// tables under test are asked for the page's frame, and that frame is mapped there. Frames are
// pages of a file in memory, so two pages or two spaces that share a frame by mistake share memory.
//
// A touch by the allocator itself must find its page mapped, because a heap on pages may not fault
// inside. A touch by the program may fault. Then the tables under test are asked to map the page.
#ifndef TAU_PAGE_WINDOW_H
#define TAU_PAGE_WINDOW_H

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/page.h"
#include "core/tests/kit/port_test.h"
#include "core/tests/kit/test.h"

#define WINDOW_FRAME_NONE UINT32_MAX
#define WINDOW_ALIGNMENT ((size_t)1 << 20)

enum window_user {
    WINDOW_ALLOCATOR,  // nothing may fault
    WINDOW_CALL,       // as ALLOCATOR under the heap's lock, as PROGRAM outside (payload is copied)
    WINDOW_PROGRAM,    // an object of the program's
};

struct window {
    unsigned char *base;  // page 0's address
    unsigned char *reserved;
    unsigned char *frames;
    size_t pages_count;
    size_t frames_count;
    int file;
    enum window_user user;
    bool is_open;           // some page of it
    unsigned faults_count;  // pages that were mapped because the program touched them
    // What the tables under test say: the frame of PAGE, WINDOW_FRAME_NONE if it is not mapped.
    uint32_t (*frame_of)(uint32_t page);
    // The fault handler under test.
    enum tau_status (*map)(uint32_t page);
};

static struct window window;

static inline void window_stop(const char *what, uint32_t page, int code) {
    printf("%s page %u, status %d\n", what, (unsigned)page, code);
    fflush(stdout);
    _exit(1);
}

static inline void window_on_touch(int number, siginfo_t *info, void *context) {
    const uintptr_t offset = (uintptr_t)info->si_addr - (uintptr_t)window.base;
    (void)context;
    if (offset >= window.pages_count * TAU_PAGE_BYTES) {
        signal(number, SIG_DFL);  // not ours: the instruction is repeated, and ends the program
        return;
    }
    const uint32_t page = (uint32_t)(offset / TAU_PAGE_BYTES);
    uint32_t frame = window.frame_of(page);
    window.is_open = true;
    if (frame == WINDOW_FRAME_NONE) {
        if (window.user == WINDOW_ALLOCATOR ||
            (window.user == WINDOW_CALL && test_port.lock_depth != 0)) {
            window_stop("the allocator touches unmapped", page, 0);
        }
        const enum tau_status status = window.map(page);
        if (status != TAU_OK) {
            window_stop("a fault is refused at", page, status);
        }
        window.faults_count++;
        frame = window.frame_of(page);
    }
    if (frame >= window.frames_count ||
        mmap(window.base + (size_t)page * TAU_PAGE_BYTES, TAU_PAGE_BYTES, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED, window.file, (off_t)frame * TAU_PAGE_BYTES) == MAP_FAILED) {
        window_stop("no such frame at", page, (int)frame);
    }
}

// The window's mappings may be out of date: each page is looked up again from here on.
static inline void window_flush(void) {
    if (!window.is_open) {
        return;
    }
    window.is_open = false;
    REQUIRE(mmap(window.base, window.pages_count * TAU_PAGE_BYTES, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED);
}

// Opens a window over PAGES_COUNT pages, and memory for FRAMES_COUNT frames, full of 0xdb.
static inline void window_open(size_t pages_count, size_t frames_count) {
    window = (struct window){.pages_count = pages_count, .frames_count = frames_count};
    REQUIRE(sysconf(_SC_PAGESIZE) == (long)TAU_PAGE_BYTES);
    window.file = memfd_create("frames", 0);
    REQUIRE(window.file >= 0 &&
            ftruncate(window.file, (off_t)(frames_count * TAU_PAGE_BYTES)) == 0);
    window.frames = mmap(NULL, frames_count * TAU_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                         window.file, 0);
    window.reserved = mmap(NULL, pages_count * TAU_PAGE_BYTES + WINDOW_ALIGNMENT, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(window.frames != MAP_FAILED && window.reserved != MAP_FAILED);
    // So that alignments of objects are the models', whose page 0 lies at 0.
    window.base =
        window.reserved + WINDOW_ALIGNMENT - (uintptr_t)window.reserved % WINDOW_ALIGNMENT;
    memset(window.frames, 0xdb, frames_count * TAU_PAGE_BYTES);
    struct sigaction action = {.sa_sigaction = window_on_touch,
                               .sa_flags = SA_SIGINFO | SA_NODEFER};
    REQUIRE(sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGBUS, &action, NULL) == 0);
}

static inline void window_close(void) {
    munmap(window.reserved, window.pages_count * TAU_PAGE_BYTES + WINDOW_ALIGNMENT);
    munmap(window.frames, window.frames_count * TAU_PAGE_BYTES);
    close(window.file);
}

// Runs STATEMENT with touches by USER, on a window that knows nothing from before. The compiler
// moves no touch across the borders.
#define WINDOW_RUN(who, statement)                                                                 \
    do {                                                                                           \
        window_flush();                                                                            \
        window.user = (who);                                                                       \
        __asm__ volatile("" ::: "memory");                                                         \
        statement;                                                                                 \
        __asm__ volatile("" ::: "memory");                                                         \
        window.user = WINDOW_ALLOCATOR;                                                            \
        window_flush();                                                                            \
    } while (0)

#endif
