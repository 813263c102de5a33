// The tile's port of the core, included in front of every file. A failed assert of the core ends
// the simulation with its text. A unit that caches translations by region is notified when pages of
// a region are unmapped.
#ifndef TAU_REPLAY_PORT_H
#define TAU_REPLAY_PORT_H

#ifndef __ASSEMBLER__
_Noreturn void tau_replay_assert_failed(const char *text);
#define TAU_ASSERT_FAILED(text) tau_replay_assert_failed("assertion: " text)

#if TAU_REPLAY_REGION_TLB && !defined(TAU_PORT_FORGET_REGION)
#include "targets/tile/mmu_rtmmu.h"

#define TAU_PORT_FORGET_REGION(space, start) ((void)(space), tau_mmu_rtmmu_forget_region(start))
#endif
#endif

#endif
