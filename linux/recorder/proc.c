#include "linux/recorder/proc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/interpose/machine.h"

uint32_t tau_proc_read(const char *path, char *to, size_t bytes) {
    size_t got = 0;
    const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    while (file >= 0 && got < bytes) {  // bound: bytes, a read gives one at least
        const long more = syscall(SYS_read, file, to + got, bytes - got);
        if (more <= 0) {
            break;
        }
        got += (size_t)more;
    }
    if (file >= 0) {
        syscall(SYS_close, file);
    }
    return (uint32_t)got;
}

bool tau_proc_trusts_counter(void) {
    char source[8] = {0};
    if (TAU_MACHINE_HAS_COUNTER) {
        tau_proc_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
                      sizeof(source) - 1);
    }
    return TAU_MACHINE_HAS_COUNTER &&
           strncmp(source, TAU_MACHINE_COUNTER, sizeof(TAU_MACHINE_COUNTER) - 1) == 0;
}

uint32_t tau_proc_seccomp_filters(void) {
    char text[4096] = {0};
    tau_proc_read("/proc/self/status", text, sizeof(text) - 1);
    const char *line = strstr(text, "\nSeccomp_filters:");
    if (line == NULL) {
        line = strstr(text, "\nSeccomp:");
    }
    return line == NULL ? 0 : (uint32_t)strtoul(strchr(line, ':') + 1, NULL, 10);
}
