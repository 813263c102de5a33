// Other allocators as systems of a replay.
#ifndef TAU_PEERS_PEERS_H
#define TAU_PEERS_PEERS_H

#include "tool/native/replay/replay.h"

// NULL: no memory.
TAU_TRACE_EXPORT struct tau_replay_system *tau_system_kingsley_open(void);
TAU_TRACE_EXPORT struct tau_replay_system *tau_system_static_open(struct tau_replay *replay);

#endif
