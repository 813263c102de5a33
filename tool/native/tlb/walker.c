// Pointer chases over pages, docs/spec/discover.md [DISC-3], [DISC-4].
#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tool/native/tlb/walker.h"

enum { LINE_BYTES = 64, LINES_PER_PAGE = 64, PAGE_BYTES_LEAST = 4096, NS_PER_S = 1000000000 };

// ---- The clock ---------------------------------------------------------------------------------

#if defined(__x86_64__)
const char *tau_walker_clock(void) {
    return "tsc";
}

uint64_t tau_walker_now(void) {
    __builtin_ia32_lfence();
    const uint64_t now = __builtin_ia32_rdtsc();
    __builtin_ia32_lfence();
    return now;
}
#elif defined(__aarch64__)
const char *tau_walker_clock(void) {
    return "cntvct";
}

uint64_t tau_walker_now(void) {
    uint64_t now;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(now)::"memory");
    return now;
}
#else
const char *tau_walker_clock(void) {
    return "monotonic";
}

uint64_t tau_walker_now(void) {
    struct timespec now;
    return clock_gettime(CLOCK_MONOTONIC, &now) == 0
               ? (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec
               : 0;
}
#endif

// ---- Memory ------------------------------------------------------------------------------------

int tau_walker_map(uint64_t address, size_t bytes) {
    void *const wanted = (void *)(uintptr_t)address;  // NOLINT: the address decides the TLB's set
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    void *const mapped = mmap(wanted, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (mapped == MAP_FAILED) {
        return errno;
    }
    if (mapped != wanted) {  // a kernel that does not know MAP_FIXED_NOREPLACE
        munmap(mapped, bytes);
        return EEXIST;
    }
    // A huge page would be one entry. Without huge pages in the kernel there is nothing to refuse.
    (void)madvise(mapped, bytes, MADV_NOHUGEPAGE);
    return 0;
}

void tau_walker_unmap(uint64_t address, size_t bytes) {
    munmap((void *)(uintptr_t)address, bytes);
}

// ---- Chains ------------------------------------------------------------------------------------

static uint64_t next_random(uint64_t *state) {  // xorshift64*
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545F4914F6CDD1D);
}

static void shuffle(uint64_t *items, size_t count, uint64_t *state) {
    for (size_t left = count; left > 1; left--) {  // bound: the items
        const size_t other = next_random(state) % left;
        const uint64_t kept = items[left - 1];
        items[left - 1] = items[other];
        items[other] = kept;
    }
}

static void **cell_at(uint64_t address) {
    assert(address % sizeof(void *) == 0);
    return (void **)(uintptr_t)address;
}

// Each cell holds the address of the next one; the last one the first one's.
static void **link_cells(const uint64_t *cells, size_t count) {
    assert(count > 0);
    for (size_t i = 0; i < count; i++) {  // bound: the cells
        *cell_at(cells[i]) = cell_at(cells[i + 1 < count ? i + 1 : 0]);
    }
    return cell_at(cells[0]);
}

static void **follow(void **cell, uint64_t steps) {
    for (uint64_t step = 0; step < steps; step++) {  // bound: the steps
        cell = *(void **volatile *)cell;
    }
    return cell;
}

static uint64_t timed(void **cell, uint64_t steps) {
    const uint64_t start = tau_walker_now();
    cell = follow(cell, steps);
    __asm__ volatile("" : : "r"(cell) : "memory");
    return tau_walker_now() - start;
}

// ---- Walks -------------------------------------------------------------------------------------

bool tau_walker_run(const struct tau_walker_walk *walk, uint64_t *ticks) {
    uint64_t state = walk->seed | 1;
    uint64_t *const cells = calloc(walk->count, sizeof *cells);
    uint64_t *const order = calloc(walk->count, sizeof *order);
    assert(walk->count > 0 && walk->passes > 0);
    for (uint32_t turn = 0; cells != NULL && order != NULL && turn < walk->shuffles; turn++) {
        for (size_t i = 0; i < walk->count; i++) {  // bound: the pages
            order[i] = i;
        }
        // Lines are spread evenly over the data cache, differently in each order.
        shuffle(order, walk->count, &state);
        for (size_t i = 0; i < walk->count; i++) {  // bound: the pages
            cells[i] = walk->pages[order[i]] + i % LINES_PER_PAGE * LINE_BYTES;
        }
        shuffle(cells, walk->count, &state);
        void **const first = link_cells(cells, walk->count);
        follow(first, walk->count * walk->settling);
        for (uint32_t burst = 0; burst < walk->bursts; burst++) {  // bound: the bursts
            *ticks++ = timed(first, walk->count * walk->passes);
        }
    }
    const bool is_done = cells != NULL && order != NULL;
    free(cells);
    free(order);
    return is_done;
}

uint64_t tau_walker_after(const uint64_t *before, size_t before_count, const uint64_t *pages,
                          size_t pages_count) {
    assert(pages_count > 0);
    void **const timed_first = link_cells(pages, pages_count);
    uintptr_t nothing = 0;
    if (before_count > 0) {
        void **const first = link_cells(before, before_count);
        // The timed walk begins when the other one has ended: its start depends on the last cell.
        nothing = (uintptr_t)follow(first, before_count) ^ (uintptr_t)first;
    }
    return timed((void **)((uintptr_t)timed_first + nothing), pages_count);
}

uint64_t tau_walker_lines(uint64_t address, size_t count, uint32_t lines, uint32_t passes,
                          uint64_t seed) {
    uint64_t state = seed | 1;
    uint64_t *const cells = calloc(count, sizeof *cells);
    assert(count > 0 && lines > 0 && lines <= LINES_PER_PAGE);
    if (cells == NULL) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {  // bound: the lines
        const uint64_t page = i / lines, line = (i % lines + page * lines) % LINES_PER_PAGE;
        cells[i] = address + page * PAGE_BYTES_LEAST + line * LINE_BYTES;
    }
    shuffle(cells, count, &state);
    void **const first = link_cells(cells, count);
    follow(first, count);
    const uint64_t ticks = timed(first, count * passes);
    free(cells);
    return ticks;
}

// ---- Counters ----------------------------------------------------------------------------------

int tau_walker_counter_open(uint32_t type, uint64_t config) {
    struct perf_event_attr event = {
        .type = type,
        .size = sizeof event,
        .config = config,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    const long counter = syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return counter < 0 ? -errno : (int)counter;
}

uint64_t tau_walker_counter_read(int counter) {
    uint64_t events = 0;
    return read(counter, &events, sizeof events) == (ssize_t)sizeof events ? events : 0;
}
