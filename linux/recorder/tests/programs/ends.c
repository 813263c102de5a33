// Makes 5000 objects (size 33), frees 4000, and ends as its argument says.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **arguments) {
    static void *objects[5000];
    for (int i = 0; i < 5000; i++) {
        objects[i] = malloc(33);
    }
    for (int i = 0; i < 4000; i++) {
        free(objects[i]);
    }
    const char *how = count > 1 ? arguments[1] : "exit";
    if (strcmp(how, "_exit") == 0) {
        _exit(41);
    } else if (strcmp(how, "abort") == 0) {
        abort();
    } else if (strcmp(how, "segv") == 0) {
        *(volatile int *)8 = 1;
    } else if (strcmp(how, "kill") == 0) {
        kill(getpid(), SIGKILL);
    } else if (strcmp(how, "thread") == 0) {
        pthread_exit(NULL);
    } else if (strcmp(how, "exec") == 0) {
        execl(arguments[0], arguments[0], "exit", (char *)NULL);
    }
    return 42;
}
