// Runs a command and prints its CPU seconds and its peak of resident KiB, children included. It is
// small, because a process inherits the peak of the one that starts it.
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **words) {
    struct rusage usage;
    int status;
    if (count < 4) {
        return 2;
    }
    // The result's file, then the LD_PRELOAD of the command: measured without it, this stays small.
    const pid_t child = fork();
    if (child == 0) {
        setenv("LD_PRELOAD", words[2], 1);
        execvp(words[3], &words[3]);
        _exit(127);
    }
    wait4(child, &status, 0, &usage);
    FILE *const out = fopen(words[1], "w");
    if (out == NULL) {
        return 2;
    }
    const struct timeval user = usage.ru_utime, system = usage.ru_stime;
    fprintf(out, "%.6f %ld\n",
            (double)(user.tv_sec + system.tv_sec) + 1e-6 * (double)(user.tv_usec + system.tv_usec),
            usage.ru_maxrss);
    return fclose(out) != 0 || !WIFEXITED(status) ? 1 : WEXITSTATUS(status);
}
