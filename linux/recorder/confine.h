// Interposes prctl and syscall, which install seccomp filters. A filter made for the program may
// forbid the recorder's system calls.
#ifndef TAU_LINUX_RECORDER_CONFINE_H
#define TAU_LINUX_RECORDER_CONFINE_H

// Looks the real functions up; once, before anything makes a system call through them.
void tau_confine_resolve(void);

#endif
