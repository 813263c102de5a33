#include "linux/runtime/magazines.h"

#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "core/status.h"
#include "linux/runtime/calls.h"
#include "linux/runtime/high_water.h"
#include "linux/runtime/report.h"
#include "linux/runtime/spill.h"

// A class has at most so many blocks in a magazine, and so many bytes.
#define BLOCKS_MAX 64u
#define CLASS_MAX_BYTES 8192u
// One call moves at most so many blocks between the heap and a magazine, and half a magazine.
#define BATCH_MAX 32u
// Emptying frees at most so many rows of neighbors at once: each costs a free of TLSF.
#define ROWS_MAX 8u
// Magazines are made so many at once.
#define GROUP_BYTES ((size_t)64 << 10)

// Not yet open, and closed for good.
static struct tau_magazines unopened = {.state = TAU_MAGAZINES_CLOSED};
static struct tau_magazines ended = {.state = TAU_MAGAZINES_CLOSED};

__thread struct tau_magazines *tau_magazines_mine = &unopened;
bool tau_magazines_are_on;

// Under the lock.
static struct tau_magazines *all;     // of threads, and orphans
static struct tau_magazines *unused;  // made, and of no thread
static uint64_t ended_calls;
static pthread_key_t key;
static uint64_t mark;  // random

static unsigned block_bytes(unsigned class) {
    return 16 * class + 16;
}

static unsigned blocks_max(unsigned class) {
    const unsigned count = CLASS_MAX_BYTES / block_bytes(class);
    return count < BLOCKS_MAX ? count : BLOCKS_MAX;
}

static unsigned batch_of(unsigned class) {
    const unsigned half = blocks_max(class) / 2;
    return half < BATCH_MAX ? half : BATCH_MAX;
}

// A change of MINE begins and ends: a handler that interrupts it must not see the half of it.
static void enter(struct tau_magazines *mine) {
    tau_magazines_set(mine, TAU_MAGAZINES_INSIDE);
}

static void leave(struct tau_magazines *mine) {
    tau_magazines_set(mine, TAU_MAGAZINES_OPEN);
}

void tau_magazines_stop(const void *pointer) {
    tau_report_stop(pointer, TAU_DOUBLE_FREE);
}

// ---- Giving to the heap ------------------------------------------------------------------------

// Blocks that follow each other: the heap gets them as one.
struct row {
    uintptr_t *first;
    size_t bytes;
};

// Takes COUNT of the newest blocks of CLASS, or fewer: all, or so many that they are ROWS_MAX rows.
// At least one if there are any. Returns the rows. A block after the first of its row says from now
// on that it is free: nobody looks for it inside the row.
static __attribute__((noinline)) unsigned take_rows(struct tau_magazines *magazines, unsigned class,
                                                    unsigned count, struct row *rows) {
    struct row *row = rows;
    *row = (struct row){NULL, 0};
    // bound: BATCH_MAX
    for (; count > 0 && magazines->blocks[class] != NULL && row < rows + ROWS_MAX - 1; count--) {
        uintptr_t *const block = tau_magazines_pop(magazines, class);
        const uintptr_t offset = (uintptr_t)block - (uintptr_t)row->first;
        if (offset == row->bytes) {
            block[-1] |= TAU_UNLOCKED_FREE;
        } else if (offset == -(uintptr_t)block_bytes(class)) {
            row->first[-1] |= TAU_UNLOCKED_FREE;
            row->first = block;
        } else {
            row += row->bytes != 0;
            *row = (struct row){block, 0};
        }
        row->bytes += block_bytes(class);
    }
    return (unsigned)(row - rows) + (row->bytes != 0);
}

static __attribute__((noinline)) void free_rows(const struct row *rows, unsigned count) {
    tau_high_water.calls_count -= count;  // the objects counted when they came here
    for (; count > 0; count--, rows++) {  // bound: ROWS_MAX
        tau_unlocked_tlsf_free_row(tau_heap.spill, rows->first, rows->bytes);
    }
}

// The lock is held.
static void empty_class(struct tau_magazines *magazines, unsigned class, unsigned count) {
    struct row rows[ROWS_MAX];
    free_rows(rows, take_rows(magazines, class, count, rows));
}

// How many of the newest blocks of CLASS hold together, at most as many as one call moves. A thread
// that is missing since a fork may have been in the middle of a change, of which the child sees a
// part.
static unsigned count_sound(const struct tau_magazines *orphan, unsigned class) {
    const uintptr_t *block = orphan->blocks[class];
    unsigned count = 0;
    while (count < batch_of(class) && block != NULL && tau_magazines_class_at(block) == class &&
           tau_magazines_hold(block, orphan->mark)) {  // bound: BATCH_MAX
        block = (const uintptr_t *)block[0];
        count++;
    }
    return count;
}

// Whether there were any blocks. IS_TORN: what does not hold together stays in use for good.
static bool empty(struct tau_magazines *magazines, bool is_torn) {
    bool has_blocks = false;
    for (unsigned class = 1; class < TAU_MAGAZINES_CLASSES; class++) {
        while (magazines->blocks[class] != NULL) {  // bound: BLOCKS_MAX
            has_blocks = true;
            tau_lock_take();
            enter(magazines);
            const unsigned count = is_torn ? count_sound(magazines, class) : batch_of(class);
            if (count == 0) {
                magazines->blocks[class] = NULL;
            }
            empty_class(magazines, class, count);
            leave(magazines);
            tau_lock_release();
        }
    }
    return has_blocks;
}

// ---- Of a thread -------------------------------------------------------------------------------

static void make_group(void) {
    unsigned char *const group = mmap(NULL, GROUP_BYTES, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (group == MAP_FAILED) {
        return;
    }
    for (size_t at = 0; at + sizeof *unused <= GROUP_BYTES; at += sizeof *unused) {
        struct tau_magazines *const magazines = (struct tau_magazines *)(void *)(group + at);
        magazines->next = unused;
        unused = magazines;
    }
}

// An orphan, which nobody else finds from now on, or NULL.
static struct tau_magazines *claim_orphan(void) {
    tau_lock_take();
    struct tau_magazines *found = all;
    while (found != NULL && !found->is_orphan) {  // bound: threads
        found = found->next;
    }
    if (found != NULL) {
        found->is_orphan = false;
    }
    tau_lock_release();
    return found;
}

// Empty magazines for this thread, or NULL.
static struct tau_magazines *make(void) {
    static struct tau_magazines first;
    static bool is_first_used;
    tau_lock_take();
    if (!is_first_used) {  // no system call for the only thread of most programs
        is_first_used = true;
        unused = &first;
    } else if (unused == NULL) {
        make_group();
    }
    struct tau_magazines *const made = unused;
    if (made != NULL) {
        unused = made->next;
        *made = (struct tau_magazines){.mark = mark, .next = all};
        for (unsigned class = 1; class < TAU_MAGAZINES_CLASSES; class++) {
            made->room[class] = (uint8_t)blocks_max(class);
            made->refill_count[class] = 1;
        }
        all = made;
    }
    tau_lock_release();
    return made;
}

// IS_TORN: they were an orphan's. They stay in the list meanwhile, so that a child of another
// thread's fork finds them.
static bool drop(struct tau_magazines *magazines, bool is_torn) {
    const bool has_blocks = empty(magazines, is_torn);
    tau_lock_take();
    struct tau_magazines **place = &all;
    while (*place != magazines) {  // bound: threads
        place = &(*place)->next;
    }
    *place = magazines->next;
    ended_calls += magazines->calls;
    magazines->next = unused;
    unused = magazines;
    tau_lock_release();
    return has_blocks;
}

static bool drop_orphans(void) {
    bool has_blocks = false;
    struct tau_magazines *found;
    while ((found = claim_orphan()) != NULL) {  // bound: threads that are missing since a fork
        has_blocks = drop(found, true) || has_blocks;
    }
    return has_blocks;
}

// At the end of a thread. What it frees later goes to the heap.
static void end(void *magazines) {
    tau_magazines_mine = &ended;
    if (tau_calls_enter()) {
        (void)drop(magazines, false);
        tau_spill_return_if_due();
        tau_lock_leave();
    } else {
        ((struct tau_magazines *)magazines)->is_orphan = true;
    }
}

// A thread's first call.
static __attribute__((noinline, cold)) void open_mine(void) {
    tau_magazines_mine = &ended;  // calls that the next steps make go to the heap
    (void)drop_orphans();
    struct tau_magazines *const made = make();
    if (made != NULL && pthread_setspecific(key, made) == 0) {
        tau_magazines_mine = made;
    } else if (made != NULL) {
        (void)drop(made, false);
    }
}

static struct tau_magazines *opened(void) {
    if (TAU_UNLIKELY(tau_magazines_mine == &unopened && tau_magazines_are_on)) {
        open_mine();
    }
    return tau_magazines_mine;
}

// ---- Slow calls --------------------------------------------------------------------------------

void *tau_magazines_allocate(size_t size_bytes) {
    struct tau_magazines *const mine = opened();
    if (size_bytes > TAU_MAGAZINES_OBJECT_MAX_BYTES || mine->state != TAU_MAGAZINES_OPEN) {
        return tau_tlsf_malloc(tau_heap.spill, size_bytes);
    }
    const unsigned class = tau_magazines_class_of(size_bytes);
    tau_lock_take();
    enter(mine);
    unsigned count = mine->refill_count[class];
    count = count <= mine->room[class] ? count : 1;
    unsigned char *first = tau_unlocked_tlsf_carve(tau_heap.spill, block_bytes(class), count);
    void *object = NULL;
    if (first != NULL) {
        while (--count > 0) {  // bound: BATCH_MAX
            tau_magazines_push(mine, class, (uintptr_t *)(void *)first);
            first += block_bytes(class);
        }
        object = first;
        const unsigned more = 2u * mine->refill_count[class];
        mine->refill_count[class] = (uint8_t)(more < batch_of(class) ? more : batch_of(class));
    }
    leave(mine);
    tau_lock_release();
    return object;
}

bool tau_magazines_take_back(void *pointer) {
    struct tau_magazines *const mine = opened();
    const unsigned long class = tau_magazines_class_at(pointer);
    if (class >= TAU_MAGAZINES_CLASSES) {
        return false;
    }
    if (tau_magazines_hold(pointer, mark)) {
        tau_magazines_stop(pointer);
    }
    if (mine->state != TAU_MAGAZINES_OPEN) {
        return false;
    }
    if (mine->room[class] == 0) {
        tau_lock_take();
        enter(mine);
        empty_class(mine, (unsigned)class, batch_of((unsigned)class));
        leave(mine);
        tau_lock_release();
    }
    return tau_magazines_put(mine, pointer);
}

bool tau_magazines_empty(void) {
    const bool had_orphans = tau_magazines_are_on && drop_orphans();
    struct tau_magazines *const mine = tau_magazines_mine;
    return (mine->state == TAU_MAGAZINES_OPEN && empty(mine, false)) || had_orphans;
}

bool tau_magazines_hold_freed(const void *pointer) {
    return tau_magazines_class_at(pointer) < TAU_MAGAZINES_CLASSES &&
           tau_magazines_hold(pointer, mark);
}

// ---- All of them -------------------------------------------------------------------------------

// Other threads change theirs meanwhile.
size_t tau_magazines_bytes(void) {
    size_t bytes = 0;
    tau_lock_take();
    for (const struct tau_magazines *each = all; each != NULL; each = each->next) {
        for (unsigned class = 1; class < TAU_MAGAZINES_CLASSES; class++) {
            bytes += (size_t)(blocks_max(class) - each->room[class]) * block_bytes(class);
        }
    }
    tau_lock_release();
    return bytes;
}

uint64_t tau_magazines_calls(void) {
    uint64_t calls = ended_calls;
    for (const struct tau_magazines *each = all; each != NULL; each = each->next) {
        calls += each->calls;
    }
    return calls;
}

void tau_magazines_in_child(void) {
    for (struct tau_magazines *each = all; each != NULL; each = each->next) {
        each->is_orphan = each != tau_magazines_mine;
    }
}

void tau_magazines_forgo(void) {
    unopened.state = TAU_MAGAZINES_PLANNED;
}

void tau_magazines_start(void) {
    const void *const random = (const void *)getauxval(AT_RANDOM);
    if (unopened.state != TAU_MAGAZINES_PLANNED && random != NULL &&
        pthread_key_create(&key, end) == 0) {
        memcpy(&mark, (const char *)random + sizeof mark, sizeof mark);
        tau_magazines_are_on = true;
    }
}
