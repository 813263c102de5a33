// Memory that never faults: for programs that must not wait.
#ifndef TAU_LINUX_RUNTIME_REALTIME_H
#define TAU_LINUX_RUNTIME_REALTIME_H

// Locks every page of the process, present and future. Returns NULL, or what was impossible.
const char *tau_realtime_lock(void);

#endif
