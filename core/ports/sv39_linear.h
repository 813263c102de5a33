// The conventional way to unmap, page by page, on the same tables as sv39.h. It is the baseline.
#ifndef TAU_SV39_LINEAR_H
#define TAU_SV39_LINEAR_H

#include "core/ports/sv39.h"

#ifdef __cplusplus
extern "C" {
#endif

// The contract is as for tau_sv39_unmap_region. It reads and clears every leaf entry, links its
// frame to the others, and releases every table by itself. A missing table is skipped in one step.
// The tables are zero afterwards, so they need no zeroing.
// Cost: linear in the region's size.
enum tau_status tau_sv39_linear_unmap_region(struct tau_sv39 *space, struct tau_page start);

#ifdef __cplusplus
}
#endif

#endif
