// One kind of misuse, by name; the allocator should stop the program at it. A second word is "pool"
// (the object is of a pool's size) or "beside" (there was a second thread). A third one says how
// many bytes before the object are overwritten.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *beside(void *argument) {
    free(malloc(10));
    return argument;
}

static volatile int is_freed;

static void *frees(void *object) {
    free(object);
    is_freed = 1;
    for (;;) {
    }
}

static pthread_key_t late;

static void *ends(void *object) {
    free(malloc(10));
    pthread_setspecific(late, object);
    return NULL;
}

int main(int count, char **words) {
    const char *const more = count > 2 ? words[2] : "";
    if (strcmp(more, "beside") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, beside, NULL);
        pthread_join(thread, NULL);
    }
    char *volatile object = malloc(strcmp(more, "pool") == 0 ? 64 : 1000);
    char *volatile other = malloc(1000);
    char local[64] = "";
    other[0] = local[0];
    if (strcmp(words[1], "twice") == 0) {
        free(object);
        free(object);
    } else if (strcmp(words[1], "twice-elsewhere") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, frees, object);
        while (!is_freed) {  // the thread goes on, with what it freed
        }
        free(object);
    } else if (strcmp(words[1], "twice-late") == 0) {  // by a thread that has ended its magazines
        pthread_t thread;
        free(object);
        pthread_key_create(&late, free);
        pthread_create(&thread, NULL, ends, object);
        pthread_join(thread, NULL);
    } else if (strcmp(words[1], "stack") == 0) {
        free(&local[16]);
    } else if (strcmp(words[1], "inside") == 0) {
        free(object + 16);
    } else if (strcmp(words[1], "misaligned") == 0) {
        free(object + 3);
    } else if (strcmp(words[1], "resized") == 0) {
        free(object);
        object = realloc(object, 3000);
    } else if (strcmp(words[1], "resized-stack") == 0) {
        object = realloc(&local[16], 3000);
    } else if (strcmp(words[1], "overrun") == 0) {
        const size_t bytes = malloc_usable_size(object);
        free(other);
        memset(object, 0xff, bytes + 32);
        free(object);
    } else if (strcmp(words[1], "written-then-malloc") == 0) {
        free(object);
        memset(object, 0xff, 16);
        object = malloc(1000);
    } else if (strcmp(words[1], "header-then-malloc") == 0) {
        free(object);
        object[-8] ^= 0x20;
        object = malloc(1000);
    } else if (strcmp(words[1], "underrun") == 0) {
        memset(object - atoi(words[3]), 0x41, (size_t)atoi(words[3]));
        free(object);
    } else if (strcmp(words[1], "underrun-then-end") == 0) {
        memset(object - atoi(words[3]), 0x41, (size_t)atoi(words[3]));
        return 7;
    } else if (strcmp(words[1], "overrun-then-malloc") == 0) {
        const size_t bytes = malloc_usable_size(object);
        free(other);
        memset(object, 0xff, bytes + 32);
        for (int calls = 0; calls < 4; calls++) {
            object = malloc(bytes);
        }
    }
    puts("not seen");
    return 0;
}
