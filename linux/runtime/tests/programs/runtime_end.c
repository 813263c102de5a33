// Objects that reach the end of the heap: each is the largest that fits after a first one of some
// size. Prints how many of them ended with a byte that is not zero: with malloc, and with calloc.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// The last word of objects of these sizes is the last one of a block.
#define LARGEST (((size_t)1 << 17) + 8)
#define LEAST 4096

static int is_dirty(size_t first, int is_cleared) {
    char *volatile kept = malloc(first);
    for (size_t bytes = LARGEST; kept != NULL && bytes >= LEAST; bytes -= 16) {
        const char *const object = is_cleared ? calloc(1, bytes) : malloc(bytes);
        if (object != NULL) {
            static const char zero[64];
            return memcmp(object + bytes - sizeof zero, zero, sizeof zero) != 0;
        }
    }
    return 2;
}

int main(void) {
    unsigned dirty[2] = {0, 0};
    for (int is_cleared = 0; is_cleared < 2; is_cleared++) {
        for (size_t first = LEAST; first < 3 * LEAST; first += 16) {
            const pid_t child = fork();
            if (child == 0) {
                _exit(is_dirty(first, is_cleared));
            }
            int status;
            waitpid(child, &status, 0);
            if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) {
                return 1;
            }
            dirty[is_cleared] += WEXITSTATUS(status) != 0;
        }
    }
    printf("%u %u\n", dirty[0], dirty[1]);
    return 0;
}
