// Functions of this library that the core calls: the lock, the notes about each object, misuse.
#ifndef TAU_LINUX_RUNTIME_PORT_H
#define TAU_LINUX_RUNTIME_PORT_H

#include "linux/runtime/high_water.h"
#include "linux/runtime/lock.h"
#include "linux/runtime/report.h"

struct tau_budget;
struct tau_tlsf;

#ifndef TAU_PORT_UNLOCKED
#define TAU_PORT_LOCK(heap) ((void)(heap), tau_lock_take())
#define TAU_PORT_UNLOCK(heap) ((void)(heap), tau_lock_release())
#endif
#define TAU_PORT_TRACE(heap, old, pointer, size_bytes, alignment)                                  \
    ((void)(old), (void)(alignment),                                                               \
     _Generic((heap), struct tau_budget *                                                          \
              : tau_high_water_bucket, struct tau_tlsf *                                           \
              : tau_high_water_block)((pointer), (size_bytes)))
#define TAU_PORT_MISUSE(heap, pointer, reason) ((void)(heap), tau_report_stop((pointer), (reason)))

#endif
