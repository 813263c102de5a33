// Ends at once and leaves a child running, as a daemon does: it sleeps for MILLISECONDS, makes 5000
// objects (size 55) and ends. With "forever" it goes on making them until it is killed.
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments) {
    const long milliseconds = count > 1 ? atol(arguments[1]) : 0;
    if (fork() != 0) {
        return 5;
    }
    setsid();
    if (fork() != 0) {
        _exit(0);
    }
    close_range(0, ~0u, 0);
    usleep((useconds_t)milliseconds * 1000);
    for (int i = 0; i < 5000; i++) {
        free(malloc(55));
    }
    while (count > 2) {
        free(malloc(55));
        usleep(100);
    }
    return 0;
}
