// Which module a call site is in: copies of /proc/self/maps in the recording, taken when a site
// lies outside all modules that were copied before, so once at the start and once for each dlopen
// that allocates.
#ifndef TAU_LINUX_RECORDER_MODULES_H
#define TAU_LINUX_RECORDER_MODULES_H

#include <stdint.h>

// Makes sure that the recording has the module of SITE. Cheap if it has.
void tau_modules_cover(uint64_t site);
// A new process knows no module yet.
void tau_modules_reset(void);

#endif
