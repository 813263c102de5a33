// Notices that the program confines itself: prctl and syscall, with which seccomp filters are
// installed. A filter that suffices for the program must not meet the recorder's system calls.
#ifndef TAU_LINUX_RECORDER_CONFINE_H
#define TAU_LINUX_RECORDER_CONFINE_H

// Looks the real functions up; once, before anything makes a system call through them.
void tau_confine_resolve(void);

#endif
