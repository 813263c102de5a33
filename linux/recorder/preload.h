// The real functions behind the interposed ones.
#ifndef TAU_LINUX_RECORDER_PRELOAD_H
#define TAU_LINUX_RECORDER_PRELOAD_H

#include <stdbool.h>

// Looks all real functions up and starts the recorder, once; for a call that comes before any of
// malloc's. False while that is under way.
bool tau_preload_resolve(void);

#endif
