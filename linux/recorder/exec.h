// Reports to `tau record` which programs exec and posix_spawn start.
#ifndef TAU_LINUX_RECORDER_EXEC_H
#define TAU_LINUX_RECORDER_EXEC_H

// Looks the real functions up, once.
void tau_exec_resolve(void);

#endif
