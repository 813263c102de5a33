// The pages of applications: allocated by exactly the sizes of the page list, bound, cleared, and
// given back [P2-10, P2-11].
#ifndef TAU_SLOTS_PAGES_H
#define TAU_SLOTS_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/slots/executable.h"
#include "kernel/slots/kernel.h"

// Hands the system file's frames to the buddy and loads the base code. Returns NULL, or the reason
// why not.
const char *tau_pages_begin(void);

// Takes the frames of APPLICATION's page list. NULL, or why not; then it has none.
const char *tau_pages_allocate(uint32_t application);

// Clears what the executable's image does not fill of the frames that APPLICATION took, writes its
// table, and sets its DMA channels.
void tau_pages_bind(uint32_t application, const struct tau_executable *executable);

// Copies the executable's segments from IMAGE into the frames. Its segments lie in the pages
// (tau_pages_hold).
void tau_pages_load(uint32_t application, const struct tau_executable *executable,
                    const volatile uint32_t *image);

// Whether what the image fills of each segment lies in pages of APPLICATION, and all its pages have
// the segment's rights. The rest of a segment may have holes: the guards of stacks.
bool tau_pages_hold(uint32_t application, const struct tau_executable *executable);

// Empties the table, ends DMA transfers and gives the frames back.
void tau_pages_release(uint32_t application);

// Maps the page of a pool that ADDRESS lies in, in the table that is loaded. False if there is none
// or the pool is used up. Cost: constant.
bool tau_pages_serve_fault(uint32_t application, uint32_t address);

#endif
