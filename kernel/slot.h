// Time: user slots and OS slots of fixed length, whoever runs [P2-7].
//
//   release k                       release k + 1
//      |<------- user slot ------->|<-- OS slot -->|<-------
//
// The OS slot ends with the gate: the core sleeps until the release and wakes a constant time
// later.
#ifndef TAU_KERNEL_SLOT_H
#define TAU_KERNEL_SLOT_H

#include "kernel/context.h"

// Ends the slot that runs, and returns the context of the next one's owner behind the gate.
// Stops the tile if and only if
// - the gate is reached less than TAU_COMPOSE_GATE_MARGIN_CYCLES ahead of the release, or
// - a task of the next slot should run and its application is not loaded yet.
// Cost: whatever it takes, the first instruction of the owner runs a constant time behind the
// release. The longest path is the bound of the OS slot
// (tool/tautochrone/compose/bounds.py).
struct tau_context *tau_slot_end(void);

#endif
