// Free blocks that each thread keeps for its next requests of the same size, so that most calls
// need neither the lock nor the heap. Only without a plan: what a plan states is the heap's use
// without them. docs/design/runtime.md, "Magazines".
#ifndef TAU_LINUX_RUNTIME_MAGAZINES_H
#define TAU_LINUX_RUNTIME_MAGAZINES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/runtime/heap.h"
#include "linux/runtime/lock.h"

// A class is a size of blocks: class c has blocks of 16 * c + 16 bytes, for objects of up to
// 16 * c + 8 bytes. Class 0 is empty.
#define TAU_MAGAZINES_CLASSES 66u
#define TAU_MAGAZINES_OBJECT_MAX_BYTES (16u * TAU_MAGAZINES_CLASSES - 8u)
#define TAU_MAGAZINES_BLOCK_MAX_BYTES (16u * TAU_MAGAZINES_CLASSES)

enum tau_magazines_state {
    TAU_MAGAZINES_OPEN,
    TAU_MAGAZINES_INSIDE,   // in the middle of a change: a signal handler calls
    TAU_MAGAZINES_CLOSED,   // the thread has none yet, or none any more
    TAU_MAGAZINES_PLANNED,  // there is a plan
};

struct tau_magazines {
    volatile uint8_t state;
    bool is_orphan;  // of a thread that is missing since a fork
    uint64_t mark;   // the same in all: a random number
    uint64_t calls;  // objects made and freed here
    // The newest block of each class, whose first word is the next one.
    uintptr_t *blocks[TAU_MAGAZINES_CLASSES];
    uint8_t room[TAU_MAGAZINES_CLASSES];          // so many more fit
    uint8_t refill_count[TAU_MAGAZINES_CLASSES];  // so many are made when it is empty
    struct tau_magazines *next;
};

// This thread's.
extern __thread struct tau_magazines *tau_magazines_mine;
extern bool tau_magazines_are_on;

// There are none in this process: it has a plan.
void tau_magazines_forgo(void);
// Unless that was called: calls from now on may use them. The heaps exist.
void tau_magazines_start(void);
// In a forked child.
void tau_magazines_in_child(void);

// For the calls of calls.c, in a call that has entered. There is no plan.

// An object from the heap, and blocks for the next requests of its class. NULL if the heap has no
// room for all of them. It may have room for the object, or grow.
void *tau_magazines_allocate(size_t size_bytes);
// As tau_magazines_put, also if they are full. False if this thread has none, or the block is of no
// class. A block of a magazine is misuse.
bool tau_magazines_take_back(void *pointer);
// Returns all blocks of this thread's, and of threads that are missing since a fork, to the heap.
// Whether there were any.
bool tau_magazines_empty(void);
// Bytes of blocks in all magazines.
size_t tau_magazines_bytes(void);
// Objects made and freed in all magazines, ever.
uint64_t tau_magazines_calls(void);

// Whether POINTER, an address in the spill heap, is a free block of a magazine.
bool tau_magazines_hold_freed(const void *pointer);

// A free block that was overwritten, or POINTER was freed twice.
__attribute__((noreturn, cold)) void tau_magazines_stop(const void *pointer);

// Whether this thread is in the middle of a change: a handler calls.
static inline bool tau_magazines_are_inside(void) {
    return tau_magazines_mine->state == TAU_MAGAZINES_INSIDE;
}

// A handler that interrupts a change finds it begun before and ended after it.
static inline void tau_magazines_set(struct tau_magazines *mine, enum tau_magazines_state state) {
    atomic_signal_fence(memory_order_seq_cst);
    mine->state = (uint8_t)state;
    atomic_signal_fence(memory_order_seq_cst);
}

// The first two words of a block in a magazine: the next block, and this sum. Nobody else can write
// it but by copying a free block.
static inline uintptr_t tau_magazines_sum(const uintptr_t *block, uintptr_t next, uint64_t mark) {
    return next ^ (uintptr_t)block ^ mark;
}

// Whether POINTER, an aligned address in the spill heap, is a block of a magazine.
static inline bool tau_magazines_hold(const void *pointer, uint64_t mark) {
    const uintptr_t *const block = pointer;
    return block[1] == tau_magazines_sum(block, block[0], mark);
}

static inline unsigned tau_magazines_class_of(size_t size_bytes) {
    const unsigned class = (unsigned)((size_bytes + 7) / 16);
    return class + (class == 0);
}

static inline void tau_magazines_push(struct tau_magazines *mine, unsigned class,
                                      uintptr_t *block) {
    const uintptr_t next = (uintptr_t)mine->blocks[class];
    block[0] = next;
    block[1] = tau_magazines_sum(block, next, mine->mark);
    mine->blocks[class] = block;
    mine->room[class]--;
}

// The newest block of CLASS, which has one.
static inline __attribute__((always_inline)) void *tau_magazines_pop(struct tau_magazines *mine,
                                                                     unsigned class) {
    uintptr_t *const block = mine->blocks[class];
    if (TAU_UNLIKELY(!tau_magazines_hold(block, mine->mark) ||
                     (block[-1] & ~(uintptr_t)2) != 16 * (uintptr_t)class + 16)) {
        tau_magazines_stop(NULL);
    }
    mine->blocks[class] = (uintptr_t *)block[0];
    block[1] = 0;  // so that it is not taken for a block of a magazine when it is freed
    mine->room[class]++;
    return block;
}

// An object from MINE, this thread's, which are open, or NULL. A constant number of steps without a
// lock.
static inline __attribute__((always_inline)) void *tau_magazines_take(struct tau_magazines *mine,
                                                                      size_t size_bytes) {
    void *block = NULL;
    if (TAU_UNLIKELY(size_bytes > TAU_MAGAZINES_OBJECT_MAX_BYTES)) {
        return NULL;
    }
    const unsigned class = tau_magazines_class_of(size_bytes);
    tau_magazines_set(mine, TAU_MAGAZINES_INSIDE);
    if (TAU_LIKELY(mine->blocks[class] != NULL)) {
        block = tau_magazines_pop(mine, class);
        mine->calls++;
    }
    tau_magazines_set(mine, TAU_MAGAZINES_OPEN);
    return block;
}

// The class of the block at POINTER, which is used or in a magazine. At least
// TAU_MAGAZINES_CLASSES: none. Its own header and the next one's flag are looked at, which no other
// thread changes. What may be damaged besides, the heap looks at when it gets the block back.
static inline unsigned long tau_magazines_class_at(const void *pointer) {
    const uintptr_t *const block = pointer;
    if (TAU_UNLIKELY(((uintptr_t)pointer & 15) != 0 ||
                     (uintptr_t)pointer - tau_heap.spill_start >=
                         tau_heap.spill_bytes - TAU_MAGAZINES_BLOCK_MAX_BYTES)) {
        return TAU_MAGAZINES_CLASSES;
    }
    const uintptr_t size = block[-1] & ~(uintptr_t)2;  // without the flag that the previous is free
    const uintptr_t units = (size - 32) >> 4 | (size - 32) << 60;
    if (TAU_UNLIKELY(units >= TAU_MAGAZINES_CLASSES - 1 ||
                     (block[size / sizeof *block - 1] & 2) != 0)) {
        return TAU_MAGAZINES_CLASSES;
    }
    return units + 1;
}

// Takes the block at POINTER, whichever thread made it, into MINE, this thread's, which are open.
// False if it is of no class, or there is no room. A constant number of steps without a lock.
static inline __attribute__((always_inline)) bool tau_magazines_put(struct tau_magazines *mine,
                                                                    void *pointer) {
    const unsigned long class = tau_magazines_class_at(pointer);
    if (TAU_UNLIKELY(class >= TAU_MAGAZINES_CLASSES)) {
        return false;
    }
    if (TAU_UNLIKELY(tau_magazines_hold(pointer, mine->mark))) {
        tau_magazines_stop(pointer);
    }
    tau_magazines_set(mine, TAU_MAGAZINES_INSIDE);
    const bool has_room = mine->room[class] != 0;
    if (TAU_LIKELY(has_room)) {
        tau_magazines_push(mine, (unsigned)class, pointer);
        mine->calls++;
    }
    tau_magazines_set(mine, TAU_MAGAZINES_OPEN);
    return has_room;
}

#endif
