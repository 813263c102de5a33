// What a machine provides to the core. Everything is optional: the defaults suit one thread without
// an operating system. A build that needs more names its own header with
// -DTAU_PORT_HEADER='"my_port.h"', which defines any of these before the defaults.
#ifndef TAU_PORT_H
#define TAU_PORT_H

#include <stddef.h>

#ifdef TAU_PORT_HEADER
#include TAU_PORT_HEADER
#endif

// Entered and left by every operation on a heap, those that only read it too, never nested: a lock
// that its holder may not enter again will do. HEAP is the address whose lock it is, never const: a
// TLSF, the `blocks` of a heap on pages, or one of the two of a budgeted heap (its own, for the
// dedicated regions, and its shared TLSF), of which an operation holds one at a time. Making a heap
// takes no lock. Payload bytes are copied, cleared and filled outside, so the lock is held for a
// bounded time; two things are not bounded: a walk, and with TAU_JUNK_FILL the filling of freed
// memory. Heaps on pages of one space or frame pool need one lock for all, the fault handler too.
#ifndef TAU_PORT_LOCK
#define TAU_PORT_LOCK(heap) ((void)(heap))
#define TAU_PORT_UNLOCK(heap) ((void)(heap))
#endif

// Called when misuse is found, outside the lock; REASON is an enum tau_status. The operation has
// changed nothing. POINTER is NULL where malloc found an overwritten block.
#ifndef TAU_PORT_MISUSE
#define TAU_PORT_MISUSE(heap, pointer, reason) ((void)(heap), (void)(pointer), (void)(reason))
#endif

// Called once for every request that is refused for want of memory, and for no other, with its size
// in bytes (SIZE_MAX for a product that overflows), outside the lock. HEAP is the address whose
// lock the refusal was counted under.
#ifndef TAU_PORT_OUT_OF_MEMORY
#define TAU_PORT_OUT_OF_MEMORY(heap, size_bytes) ((void)(heap), (void)(size_bytes))
#endif

// Called for each object that is handed out, resized in place or given up, inside the lock, so that
// the order of the calls is the order of the heap's states. OLD is NULL for a new object, POINTER
// is NULL for a freed one; both are set when an object was resized without a copy. A resize that
// must copy is a new object and then a freed one. Refused operations are not traced.
#ifndef TAU_PORT_TRACE
#define TAU_PORT_TRACE(heap, old, pointer, size_bytes, alignment)                                  \
    ((void)(heap), (void)(old), (void)(pointer), (void)(size_bytes), (void)(alignment))
#endif

// Called after the word of the region that starts at page START was stored with fewer mapped pages
// than before: an MMU that keeps translations by region (hw/rtmmu, the TLB of regions) forgets
// those of this region here. Never called for a region that gains pages, which an MMU that keeps no
// faults need not know. No operation changes the rights of mapped pages. What the hook stores must
// come behind the stores before it, for the compiler and the processor.
#ifndef TAU_PORT_FORGET_REGION
#define TAU_PORT_FORGET_REGION(space, start) ((void)(space), (void)(start))
#endif

// Payload moves and fills: two functions with the C library's meaning, on every machine.
#ifndef TAU_PORT_MOVE
#ifdef __cplusplus
extern "C" {
#endif
void *memmove(void *to, const void *from, size_t size_bytes);
void *memset(void *to, int value, size_t size_bytes);
#ifdef __cplusplus
}
#endif
#define TAU_PORT_MOVE(to, from, size_bytes) ((void)memmove((to), (from), (size_bytes)))
#define TAU_PORT_FILL(to, value, size_bytes) ((void)memset((to), (value), (size_bytes)))
#endif

#endif
