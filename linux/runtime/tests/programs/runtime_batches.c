// How a thread's magazine of one size is filled and emptied. The arguments are the size, and a step
// that has no divisor in common with COUNT. Prints four lines: for each of COUNT requests how many
// blocks the heap gave for it; where these objects lie, in units of 16 bytes, in the order in which
// a thread frees them, each STEP-th in turn; and the objects that the thread's next requests get,
// until it gets the first that it freed. Last, how many of the others could be freed twice.
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT 100

static size_t size_bytes;
static char *made[COUNT], *objects[COUNT];

static void *free_and_take(void *unused) {
    int index;
    for (index = 0; index < COUNT; index++) {
        free(objects[index]);
    }
    do {
        char *const object = malloc(size_bytes);
        for (index = 0; index < COUNT && objects[index] != object; index++) {
        }
        printf("%d ", index);
        objects[index % COUNT] = NULL;
    } while (index != 0);
    puts("");
    return unused;
}

// Whether a child that frees OBJECT again goes on.
static bool is_freed_again(void *object) {
    const pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO);
        free(object);
        _exit(0);
    }
    int status = 0;
    return waitpid(child, &status, 0) != child || !WIFSIGNALED(status);
}

int main(int count, char **words) {
    pthread_t thread;
    static char text[4096];
    setvbuf(stdout, text, _IOFBF, sizeof text);
    if (count != 3) {
        return 2;
    }
    size_bytes = strtoul(words[1], NULL, 0);
    const size_t step = strtoul(words[2], NULL, 0);
    const size_t block_bytes = (size_bytes + 7) / 16 * 16 + 16;
    if (malloc(1 << 20) == NULL) {  // as much was never in use before
        return 1;
    }
    for (int index = 0; index < COUNT; index++) {
        const size_t before = mallinfo2().arena;
        made[index] = malloc(size_bytes);
        printf("%zu ", (mallinfo2().arena - before) / block_bytes);
    }
    puts("");
    for (size_t index = 0; index < COUNT; index++) {
        objects[index] = made[index * step % COUNT];
        printf("%td ", (objects[index] - made[0]) / 16);
    }
    puts("");
    pthread_create(&thread, NULL, free_and_take, NULL);
    pthread_join(thread, NULL);
    fflush(stdout);
    int twice = 0;
    for (int index = 0; index < COUNT; index++) {
        twice += objects[index] != NULL && is_freed_again(objects[index]);
    }
    printf("%d\n", twice);
    return 0;
}
