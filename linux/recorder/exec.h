// Tells `tau record` which programs are started by exec and posix_spawn.
#ifndef TAU_LINUX_RECORDER_EXEC_H
#define TAU_LINUX_RECORDER_EXEC_H

// Looks the real functions up, once.
void tau_exec_resolve(void);

#endif
