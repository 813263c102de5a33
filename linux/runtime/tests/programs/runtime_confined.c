// Gives up rights before its end: to make system calls, to write files, or to see the folder of the
// report.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENDED 7

static int filter(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

int main(int count, char **words) {
    const char *const right = count > 1 ? words[1] : "";
    int failed = 0;
    for (int index = 0; index < 100; index++) {
        free(malloc(5000));
        (void)!malloc(5000);
    }
    if (strcmp(right, "calls") == 0) {
        failed = filter();
    } else if (strcmp(right, "files") == 0) {
        failed = setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
    } else if (strcmp(right, "descriptors") == 0) {
        failed = setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0});
    } else if (strcmp(right, "folder") == 0) {
        failed = chroot("/proc");
    }
    return failed != 0 ? 1 : ENDED;
}
