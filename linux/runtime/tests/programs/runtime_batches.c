// How a thread's magazine of one size is filled and emptied. The argument is the size. Prints two
// lines: for each of COUNT requests how many blocks the heap gave for it; and for a thread that
// frees COUNT objects in order, the objects that its next requests get, until one is new.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 100

static size_t size_bytes;
static void *objects[COUNT];

static void *free_and_take(void *unused) {
    int index;
    for (index = 0; index < COUNT; index++) {
        free(objects[index]);
    }
    do {
        void *const object = malloc(size_bytes);
        for (index = 0; index < COUNT && objects[index] != object; index++) {
        }
        printf("%d ", index);
        objects[index % COUNT] = NULL;
    } while (index != 0);
    puts("");
    return unused;
}

int main(int count, char **words) {
    pthread_t thread;
    static char text[4096];
    setvbuf(stdout, text, _IOFBF, sizeof text);
    size_bytes = count > 1 ? strtoul(words[1], NULL, 0) : 1;
    const size_t block_bytes = (size_bytes + 7) / 16 * 16 + 16;
    if (malloc(1 << 20) == NULL) {  // as much was never in use before
        return 1;
    }
    for (int index = 0; index < COUNT; index++) {
        const size_t before = mallinfo2().arena;
        objects[index] = malloc(size_bytes);
        printf("%zu ", (mallinfo2().arena - before) / block_bytes);
    }
    puts("");
    pthread_create(&thread, NULL, free_and_take, NULL);
    pthread_join(thread, NULL);
    return 0;
}
