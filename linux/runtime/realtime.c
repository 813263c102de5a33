#include "linux/runtime/realtime.h"

#include <stddef.h>
#include <sys/mman.h>

const char *tau_realtime_lock(void) {
    return mlockall(MCL_CURRENT | MCL_FUTURE) == 0
               ? NULL
               : "its memory cannot be locked (the limit `ulimit -l` is too low)";
}
