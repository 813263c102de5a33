// Many short threads, each with a destructor that frees: the thread's end is an event too. Also
// prints how many memory mappings the process has at its end.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_key_t key;

static void *work(void *unused) {
    (void)unused;
    pthread_setspecific(key, malloc(39));
    for (int i = 0; i < 10; i++) {
        free(malloc(23));
    }
    return NULL;
}

int main(int count, char **arguments) {
    const int threads = count > 1 ? atoi(arguments[1]) : 1000;
    pthread_key_create(&key, free);
    for (int i = 0; i < threads; i += 4) {
        pthread_t four[4];
        for (int k = 0; k < 4; k++) {
            pthread_create(&four[k], NULL, work, NULL);
        }
        for (int k = 0; k < 4; k++) {
            pthread_join(four[k], NULL);
        }
    }
    FILE *maps = fopen("/proc/self/maps", "r");
    int lines = 0;
    for (int c = 0; maps != NULL && (c = fgetc(maps)) != EOF;) {
        lines += c == '\n';
    }
    printf("%d\n", lines);
    return 0;
}
