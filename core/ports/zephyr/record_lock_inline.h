// What record_wrap.c needs of Zephyr: a lock that nests. irq_lock is a global one on several cores.
#ifndef TAU_ZEPHYR_RECORD_LOCK_INLINE_H
#define TAU_ZEPHYR_RECORD_LOCK_INLINE_H

#include <zephyr/init.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/heap_listener.h>

// Of a call, of the listener's event in it, and of the row.
#define RECORD_LOCKS_MAX 3u

static unsigned int record_keys[RECORD_LOCKS_MAX];
static unsigned int record_locks;

static inline void record_lock(void) {
    const unsigned int key = irq_lock();
    record_keys[record_locks++] = key;
}

static inline void record_unlock(void) {
    irq_unlock(record_keys[--record_locks]);
}

#define TAU_RECORD_LOCK(record) ((void)(record), record_lock())
#define TAU_RECORD_UNLOCK(record) ((void)(record), record_unlock())

#endif
