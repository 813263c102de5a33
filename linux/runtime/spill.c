#include "linux/runtime/spill.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "linux/runtime/heap.h"
#include "linux/runtime/high_water.h"
#include "linux/runtime/lock.h"
#include "linux/runtime/settings.h"
#include "linux/runtime/unlocked.h"

#define PAGE_BYTES ((size_t)4096)
// The system maps from the top of the address space down, so what lies this far below is the last
// to meet the heap when it grows.
#define ROOM_BYTES ((uintptr_t)1 << 42)
#define STEP_BYTES ((size_t)64 << 20)
// Where memory is limited, unused memory must not be in the way of stacks.
#define STEP_LIMITED_BYTES ((size_t)1 << 20)
#define STEP_PART 8  // a step is 1/8 of the spill heap
// Beside the object: headers, and links of the block after it.
#define EXTRA_BYTES ((size_t)256)
#define CLASS_PART 16  // a class of blocks has at most this part more than the object
// A free block's header, links and size lie this near to its ends.
#define BLOCK_EDGE_BYTES ((size_t)32)
// Free runs that are worth a system call, and how many of them lose their pages at once.
#define RUN_MIN_BYTES ((size_t)64 << 10)
#define RUNS_MAX 256u
// Pages are returned again when a part of what was in use is free, but at least some bytes. These
// become four times as many each time that the program has used again what it had returned, else
// they are halved: several returns often follow one growth.
#define DROP_PART 8
#define DROP_MIN_BYTES ((size_t)16 << 10)
#define DROP_MAX_BYTES ((size_t)32 << 20)

struct tau_spill_returns tau_spill_returns = {.drop_bytes = DROP_MIN_BYTES};
static _Atomic uint32_t changes;  // a futex: how often a return began or ended
static __thread bool is_mine;  // this thread returns
static void *held;  // runs that are not in the heap, under the lock: each holds the next one

static uintptr_t rounded(uintptr_t bytes, size_t unit) {
    return (bytes + unit - 1) & ~(uintptr_t)(unit - 1);
}

static void *map_at(uintptr_t start, size_t bytes, int more_flags) {
    void *const wanted = (void *)start;
    void *const found = mmap(wanted, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | more_flags, -1, 0);
    if (found != wanted && found != MAP_FAILED) {
        munmap(found, bytes);  // an old kernel takes the address for a wish
        return MAP_FAILED;
    }
    return found;
}

void *tau_spill_place(size_t front_bytes, size_t bytes, size_t alignment, bool populate) {
    const int more_flags = populate ? MAP_POPULATE : MAP_NORESERVE;
    void *const highest = mmap(NULL, PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *found = MAP_FAILED;
    if (highest == MAP_FAILED) {
        return found;
    }
    for (uintptr_t room = ROOM_BYTES; found == MAP_FAILED && room != 0; room /= 2) {
        const uintptr_t below = room + bytes + alignment;
        if (below < (uintptr_t)highest) {
            const uintptr_t start = rounded((uintptr_t)highest - below + front_bytes, alignment);
            found = map_at(start - front_bytes, bytes, more_flags);
        }
    }
    munmap(highest, PAGE_BYTES);
    return found;
}

static bool is_limited(int resource) {
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

static size_t step_bytes(void) {
    return is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA) ? STEP_LIMITED_BYTES : STEP_BYTES;
}

size_t tau_spill_first_bytes(size_t max_bytes) {
    const size_t step = step_bytes();
    return max_bytes < step ? max_bytes : step;
}

// The lock is held meanwhile: nobody is to find an object in memory that is not the heap's yet.
static bool add(size_t bytes) {
    tau_lock_take();
    const uintptr_t start = tau_heap.spill_start + tau_heap.spill_bytes;
    const bool is_added = bytes <= tau_heap.spill_max_bytes - tau_heap.spill_bytes &&
                          map_at(start, bytes, MAP_NORESERVE) != MAP_FAILED;
    if (is_added) {
        tau_unlocked_tlsf_extend(tau_heap.spill, bytes);
        tau_heap.spill_bytes += bytes;
        if (tau_high_water.spill_fresh > start) {
            tau_high_water.spill_fresh = start;  // what was unmapped is clear again
        }
    }
    tau_lock_release();
    return is_added;
}

bool tau_spill_grow(size_t alignment, size_t size_bytes) {
    const int error = errno;
    const size_t left_bytes = (tau_heap.spill_max_bytes - tau_heap.spill_bytes) & ~(PAGE_BYTES - 1);
    if (left_bytes == 0 || size_bytes > tau_heap.spill_max_bytes ||
        alignment > tau_heap.spill_max_bytes) {
        return false;
    }
    const size_t object_bytes = size_bytes + (alignment > 16 ? alignment : 0);
    const size_t needed_bytes =
        rounded(object_bytes + object_bytes / CLASS_PART + EXTRA_BYTES, PAGE_BYTES);
    const size_t step = step_bytes();
    const size_t part = rounded(tau_heap.spill_bytes / STEP_PART, PAGE_BYTES);
    const size_t wanted_bytes = part > step ? part : step;
    const bool is_added = (wanted_bytes > needed_bytes && add(wanted_bytes)) ||
                          add(needed_bytes < left_bytes ? needed_bytes : left_bytes);
    errno = error;
    return is_added;
}

static bool give_back(uintptr_t start, uintptr_t end) {
    const uintptr_t first = rounded(start, PAGE_BYTES);
    const uintptr_t last = end & ~(uintptr_t)(PAGE_BYTES - 1);
    return first < last && !tau_settings.is_locked &&
           madvise((void *)first, last - first, MADV_DONTNEED) == 0;
}

static bool give_block_back(void *context, void *payload, size_t size_bytes, bool is_free) {
    const uintptr_t start = (uintptr_t)payload;
    if (is_free && size_bytes > 2 * BLOCK_EDGE_BYTES &&
        give_back(start + BLOCK_EDGE_BYTES, start + size_bytes - BLOCK_EDGE_BYTES)) {
        *(bool *)context = true;
    }
    return true;
}

bool tau_spill_shorten(void) {
    const int error = errno;
    size_t bytes = 0;
    if (tau_heap.spill != NULL && !tau_settings.is_locked) {
        tau_lock_take();
        bytes = tau_unlocked_tlsf_shorten(tau_heap.spill, PAGE_BYTES, &tau_heap.spill_peak_bytes);
        tau_heap.spill_bytes -= bytes;
        munmap((void *)(tau_heap.spill_start + tau_heap.spill_bytes), bytes);
        tau_lock_release();
    }
    errno = error;
    return bytes != 0;
}

bool tau_spill_trim(void) {
    bool is_given = tau_spill_shorten();
    const int error = errno;
    if (tau_heap.spill != NULL) {
        tau_tlsf_walk(tau_heap.spill, give_block_back, &is_given);
    }
    errno = error;
    return is_given;
}

// Takes a free block of at least LEAST_BYTES out of the heap; *SIZE_BYTES are its own.
typedef void *(*taker)(struct tau_tlsf *heap, size_t least_bytes, size_t *size_bytes);

static void *hold(taker take, size_t *size_bytes) {
    tau_lock_take();
    void *const run = take(tau_heap.spill, RUN_MIN_BYTES, size_bytes);
    if (run != NULL) {
        memcpy(run, &held, sizeof held);
        held = run;
    }
    tau_lock_release();
    return run;
}

static bool unhold(void) {
    tau_lock_take();
    void *const run = held;
    if (run != NULL) {
        memcpy(&held, run, sizeof held);
        tau_unlocked_tlsf_unhold(tau_heap.spill, run);
    }
    tau_lock_release();
    return run != NULL;
}

// Sets when it is time again.
static void adapt(struct tau_spill_returns *returns) {
    static size_t least_bytes = DROP_MIN_BYTES;
    static size_t low_bytes;  // in use the last time
    const size_t high_bytes = returns->high_bytes;
    const size_t used_bytes = tau_unlocked_tlsf_used_bytes(tau_heap.spill);
    if (high_bytes >= low_bytes + least_bytes / 2) {
        least_bytes = 4 * least_bytes < DROP_MAX_BYTES ? 4 * least_bytes : DROP_MAX_BYTES;
    } else if (high_bytes < low_bytes + least_bytes / 8 && least_bytes > DROP_MIN_BYTES) {
        least_bytes /= 2;
    }
    low_bytes = used_bytes;
    const size_t part_bytes = used_bytes / DROP_PART;
    __atomic_store_n(&returns->high_bytes, used_bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&returns->drop_bytes, part_bytes > least_bytes ? part_bytes : least_bytes,
                     __ATOMIC_RELAXED);
}

// Returns the pages of at most COUNT runs.
static void return_runs(taker take, unsigned count) {
    size_t bytes;
    for (; count > 0; count--) {  // bound: RUNS_MAX
        const uintptr_t start = (uintptr_t)hold(take, &bytes);
        if (start == 0) {
            break;
        }
        (void)give_back(start + BLOCK_EDGE_BYTES, start + bytes - BLOCK_EDGE_BYTES);
    }
    while (unhold()) {  // bound: RUNS_MAX
    }
}

void tau_spill_return(void) {
    uint32_t ended = changes & ~1u;
    if (tau_settings.is_locked || !atomic_compare_exchange_strong(&changes, &ended, ended + 1)) {
        return;
    }
    const int error = errno;
    is_mine = true;
    adapt(&tau_spill_returns);
    return_runs(tau_unlocked_tlsf_hold_wild, 1);
    return_runs(tau_unlocked_tlsf_hold, RUNS_MAX);
    is_mine = false;
    changes++;
    syscall(SYS_futex, &changes, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    errno = error;
}

uint32_t tau_spill_changes(void) {
    return changes;
}

bool tau_spill_wait(uint32_t before, bool is_short) {
    static const struct timespec short_time = {.tv_nsec = 100000000};
    const int error = errno;
    uint32_t now = changes;
    bool is_over = is_mine;
    while (!is_over && now % 2 != 0) {  // bound: one return, mostly
        is_over = syscall(SYS_futex, &changes, FUTEX_WAIT_PRIVATE, now,
                          is_short ? &short_time : NULL, NULL, 0) != 0 && errno == ETIMEDOUT;
        now = changes;
    }
    errno = error;
    return now != before;
}

// A handler may have forked in the middle of a call that holds the lock, or that returns pages: it
// goes on in the child. What others held is put back by the next return then.
void tau_spill_in_child(void) {
    while (!is_mine && !tau_lock_is_mine() && unhold()) {  // bound: RUNS_MAX
    }
    changes += !is_mine && changes % 2 != 0;
}

void tau_spill_give_back(void *pointer, size_t size_bytes) {
    const int error = errno;
    (void)give_back((uintptr_t)pointer, (uintptr_t)pointer + size_bytes);
    errno = error;
}

void tau_spill_clear(unsigned char *start, size_t size_bytes) {
    const int error = errno;
    const uintptr_t first = rounded((uintptr_t)start, PAGE_BYTES);
    const uintptr_t last = ((uintptr_t)start + size_bytes) & ~(uintptr_t)(PAGE_BYTES - 1);
    if (size_bytes >= TAU_SPILL_LARGE_BYTES && give_back(first, last)) {
        memset(start, 0, first - (uintptr_t)start);
        memset((void *)last, 0, (uintptr_t)start + size_bytes - last);
    } else {
        memset(start, 0, size_bytes);
    }
    errno = error;
}
