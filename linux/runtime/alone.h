// The calls of alone.c that are used. The contracts are those of core/budget.h and core/tlsf.h. The
// caller is the only thread and holds the lock by tau_lock_enter_alone, or has taken it.
#ifndef TAU_LINUX_RUNTIME_ALONE_H
#define TAU_LINUX_RUNTIME_ALONE_H

#include "core/budget.h"
#include "core/tlsf.h"

enum tau_status tau_alone_tlsf_add_pool(struct tau_tlsf *heap, void *memory, size_t size_bytes);
void *tau_alone_tlsf_malloc(struct tau_tlsf *heap, size_t size_bytes);
enum tau_status tau_alone_tlsf_free(struct tau_tlsf *heap, void *pointer);
void *tau_alone_budget_malloc(struct tau_budget *heap, size_t size_bytes);
enum tau_status tau_alone_budget_free(struct tau_budget *heap, void *pointer);

#endif
