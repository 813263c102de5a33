// Allocates and frees N times, after doing to itself what its second argument says.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int count, char **arguments) {
    const long n = count > 1 ? atol(arguments[1]) : 1000;
    const char *what = count > 2 ? arguments[2] : "";
    if (strcmp(what, "close-all") == 0) {
        close_range(3, ~0u, 0);
    } else if (strcmp(what, "limit-files") == 0) {
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){300000, 300000});
    } else if (strcmp(what, "no-files") == 0) {
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3});
    }
    for (long i = 0; i < n; i++) {
        free(malloc(16 + (size_t)(i * 7919LL % 1000)));
    }
    return 0;
}
