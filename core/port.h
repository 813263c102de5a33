// A machine's macros for the core. Everything is optional: the defaults suit one thread without
// an operating system. A build that needs more names its own header with
// -DTAU_PORT_HEADER='"my_port.h"'. That header defines any of the macros below before the defaults
// do. Two more hooks stand with their mechanism: TAU_PORT_PEAK in core/pools.h, and
// TAU_PORT_FORGET_REGION in core/vspace.h.
#ifndef TAU_PORT_H
#define TAU_PORT_H

#include <stddef.h>

#ifdef TAU_PORT_HEADER
#include TAU_PORT_HEADER
#endif

// Every operation on a heap takes this lock, operations that only read too. Initialization takes no
// lock. Calls never nest, so the lock need not be recursive. HEAP is the address that identifies
// the lock. It is never const. It is one of:
// - a TLSF
// - the `blocks` of a heap on pages
// - the budgeted heap or pools, for their regions, or the TLSF behind these. An operation holds one
//   of these two locks at a time.
//
// The time under the lock is bounded, because payload bytes are copied, cleared and filled outside
// it. Two cases are not bounded: a walk, and filling freed memory with TAU_JUNK_FILL. All heaps on
// pages of one space or one frame pool need one common lock. The fault handler needs it too.
#ifdef TAU_PORT_LOCK
#define TAU_PORT_HAS_LOCK 1  // another call may run whenever the lock is free
#else
#define TAU_PORT_HAS_LOCK 0
#define TAU_PORT_LOCK(heap) ((void)(heap))
#define TAU_PORT_UNLOCK(heap) ((void)(heap))
#endif

// Called when misuse is detected, outside the lock. REASON is an enum tau_status. The operation has
// changed nothing. POINTER is NULL if malloc found an overwritten block.
#ifndef TAU_PORT_MISUSE
#define TAU_PORT_MISUSE(heap, pointer, reason) ((void)(heap), (void)(pointer), (void)(reason))
#endif

// Called exactly once for each request that is refused for want of memory, and for no other
// request. It is called outside the lock. SIZE_BYTES is the request's size, or SIZE_MAX if a
// product overflowed. HEAP identifies the lock under which the refusal was counted.
#ifndef TAU_PORT_OUT_OF_MEMORY
#define TAU_PORT_OUT_OF_MEMORY(heap, size_bytes) ((void)(heap), (void)(size_bytes))
#endif

// Called for each object that is allocated, resized in place or freed. The lock is held, so the
// calls have the order of the heap's states.
// - OLD is NULL for a new object. POINTER is NULL for a freed one.
// - Both are set if the object was resized without a copy.
// - A resize that copies is reported as a new object and then a freed one.
// - Refused operations are not reported.
#ifndef TAU_PORT_TRACE
#define TAU_PORT_TRACE(heap, old, pointer, size_bytes, alignment)                                  \
    ((void)(heap), (void)(old), (void)(pointer), (void)(size_bytes), (void)(alignment))
#endif

// Payload moves and fills: two functions with the C library's meaning, on every machine.
#ifndef TAU_PORT_MOVE
void *memmove(void *to, const void *from, size_t size_bytes);
void *memset(void *to, int value, size_t size_bytes);
#define TAU_PORT_MOVE(to, from, size_bytes) ((void)memmove((to), (from), (size_bytes)))
#define TAU_PORT_FILL(to, value, size_bytes) ((void)memset((to), (value), (size_bytes)))
#endif

#endif
