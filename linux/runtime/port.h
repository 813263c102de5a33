// What the core calls in this library: the lock, the notes about each object, misuse.
#ifndef TAU_LINUX_RUNTIME_PORT_H
#define TAU_LINUX_RUNTIME_PORT_H

#include "linux/runtime/lock.h"
#include "linux/runtime/misuse.h"
#include "linux/runtime/notes.h"

struct tau_budget;
struct tau_tlsf;

#ifndef TAU_PORT_ALONE
#define TAU_PORT_LOCK(heap) ((void)(heap), tau_lock_take())
#define TAU_PORT_UNLOCK(heap) ((void)(heap), tau_lock_release())
#endif
#define TAU_PORT_TRACE(heap, old, pointer, size_bytes, alignment)                                  \
    ((void)(old), (void)(alignment),                                                               \
     _Generic((heap), struct tau_budget *                                                          \
              : tau_notes_bucket, struct tau_tlsf *                                                \
              : tau_notes_block)((pointer), (size_bytes)))
#define TAU_PORT_MISUSE(heap, pointer, reason) ((void)(heap), tau_misuse_stop((pointer), (reason)))

#endif
