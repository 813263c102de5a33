// Allocates before it confines itself with seccomp, and N rounds afterwards. The first argument:
// - "strict" uses strict mode.
// - "filter" kills on any call that the program does not need itself.
// - "child" does so in a forked child.
// - "refused" and "refused-syscall" ask for a filter that the kernel refuses. The program and a
//   child that it forks then go on.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALLOW(CALL)                                                                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CALL, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int is_refused(const char *how) {
    const struct sock_fprog none = {0, NULL};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (strcmp(how, "refused") == 0) {
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &none) < 0;
    }
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &none) < 0;
}

static void confine(const char *how) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_exit),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    if (strcmp(how, "strict") == 0) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        return;
    }
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (strcmp(how, "filter") == 0) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    } else {
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    }
}

int main(int count, char **arguments) {
    const char *how = count > 1 ? arguments[1] : "filter";
    const long rounds = count > 2 ? atol(arguments[2]) : 1000;
    void *first = malloc(1033);
    if (count > 3) {
        const pid_t child = fork();
        int status = 0;
        if (child != 0) {
            waitpid(child, &status, 0);
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        }
    }
    pid_t child = 0;
    if (strncmp(how, "refused", 7) != 0) {
        confine(how);
    } else if (!is_refused(how) || (child = fork()) < 0) {
        return 1;
    }
    free(first);
    for (long i = 0; i < rounds; i++) {
        free(malloc((size_t)(i % 50 + 33)));
    }
    if (child > 0) {
        waitpid(child, NULL, 0);
    }
    syscall(SYS_exit, 9);
    return 1;
}
