// The conventional way to unmap on the same tables as sv39.h, page by page, for comparison.
#ifndef TAU_SV39_LINEAR_H
#define TAU_SV39_LINEAR_H

#include "core/ports/sv39.h"

#ifdef __cplusplus
extern "C" {
#endif

// Does and refuses what tau_sv39_unmap_region does and refuses. Every leaf entry is looked at and
// cleared, its frame linked to the others, every table given back by itself; tables that do not
// exist are passed over in one step. Tables are zero by then, so that they need no cleaning. Cost:
// in proportion to the region.
enum tau_status tau_sv39_linear_unmap_region(struct tau_sv39 *space, struct tau_page start);

#ifdef __cplusplus
}
#endif

#endif
