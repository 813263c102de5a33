// A program with a limit on its memory, and the memory that it returns. The argument:
// - as and data set the limit. They print whether a thread could be created, and the MB that malloc
//   gave.
// - again creates a thread after all memory was in use, and prints the MB of calloc then.
// - back prints resident KiB after a large object and after trimming small ones. It also prints
//   whether trimming returned any, and how many bytes of a calloc were not zero.
// - freed prints resident KiB while 200 MiB of small objects are in use, and after they were freed
//   in a random order.
// - beside has two threads that use and free most of the memory again and again. One forks, and
//   the children do the same. It prints how many requests were refused.
// - grow has them without a limit and a fork, and prints the MiB of address space in the end.
// - end frees 100 MiB at the heap's end three times, while two threads make, check and free
//   objects. It prints the least resident KiB before that and afterwards, and how many objects were
//   wrong.
// - resize has these threads while a large object shrinks and moves, and prints the last number.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_BYTES ((rlim_t)300 << 20)
#define PIECE_BYTES 100000u
#define LARGE_BYTES ((size_t)64 << 20)
#define SMALL_BYTES 65536u

static void *nothing(void *argument) {
    return argument;
}

static void limited(int resource) {
    const struct rlimit limit = {LIMIT_BYTES, LIMIT_BYTES};
    pthread_t thread;
    if (setrlimit(resource, &limit) != 0) {
        exit(1);
    }
    const int failed = pthread_create(&thread, NULL, nothing, NULL);
    if (failed == 0) {
        pthread_join(thread, NULL);
    }
    static char text[100];
    setvbuf(stdout, text, _IOLBF, sizeof text);
    size_t bytes = 0;
    while (malloc(PIECE_BYTES) != NULL) {
        bytes += PIECE_BYTES;
    }
    printf("%d %zu\n", failed, bytes / 1000000);
}

// Takes all memory and writes to it, frees it and creates a thread; then calloc gives as much.
static void again(void) {
    static unsigned char *pieces[LIMIT_BYTES / PIECE_BYTES];
    const struct rlimit limit = {LIMIT_BYTES, LIMIT_BYTES};
    pthread_t thread;
    size_t count = 0;
    if (setrlimit(RLIMIT_AS, &limit) != 0) {
        exit(1);
    }
    while ((pieces[count] = malloc(PIECE_BYTES)) != NULL) {
        memset(pieces[count++], 1, PIECE_BYTES);
    }
    while (count > 0) {
        free(pieces[--count]);
    }
    const int failed = pthread_create(&thread, NULL, nothing, NULL);
    while ((pieces[count] = calloc(1, PIECE_BYTES)) != NULL) {
        for (size_t byte = 0; byte < PIECE_BYTES; byte++) {
            if (pieces[count][byte] != 0) {
                exit(2);
            }
        }
        memset(pieces[count++], 1, PIECE_BYTES);
    }
    for (size_t index = 0; index < count; index++) {
        free(pieces[index]);
    }
    printf("%d %zu\n", failed, count * PIECE_BYTES / 1000000);
}

static long statm_kib(int is_resident) {
    long pages[2] = {0, 0};
    FILE *const file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &pages[0], &pages[1]) != 2) {
        exit(1);
    }
    fclose(file);
    return pages[is_resident] * 4;
}

static long resident_kib(void) {
    return statm_kib(1);
}

static void back(void) {
    static char *small[LARGE_BYTES / SMALL_BYTES];
    char *const large = malloc(LARGE_BYTES);
    memset(large, 1, LARGE_BYTES);
    free(large);
    const long after_large = resident_kib();
    for (size_t index = 0; index < LARGE_BYTES / SMALL_BYTES; index++) {
        small[index] = malloc(SMALL_BYTES);
        memset(small[index], 1, SMALL_BYTES);
    }
    for (size_t index = 0; index < LARGE_BYTES / SMALL_BYTES; index++) {
        free(small[index]);
    }
    const int is_given = malloc_trim(0);
    char *const cleared = calloc(1, LARGE_BYTES / 2);
    size_t wrong = 0;
    for (size_t index = 0; index < LARGE_BYTES / 2; index++) {
        wrong += cleared[index] != 0;
    }
    free(cleared);
    printf("%ld %ld %d %zu\n", after_large, resident_kib(), is_given, wrong);
}

static void freed(void) {
    const size_t objects_count = 3200000;
    char **const objects = malloc(objects_count * sizeof *objects);
    size_t state = 1;
    for (size_t index = 0; index < objects_count; index++) {
        objects[index] = malloc(48);
        memset(objects[index], 1, 48);
    }
    const long before = resident_kib();
    for (size_t count = objects_count; count > 0; count--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        char **const object = &objects[(state >> 33) % count];
        free(*object);
        *object = objects[count - 1];
    }
    free(objects);
    printf("%ld %ld\n", before, resident_kib());
}

#define BESIDE_COUNT 12
#define BESIDE_BYTES ((size_t)10 << 20)

static int refused;
static volatile int is_done;

static void use_and_free(void) {
    char *objects[BESIDE_COUNT];
    for (int index = 0; index < BESIDE_COUNT; index++) {
        objects[index] = malloc(BESIDE_BYTES);
        if (objects[index] == NULL) {
            __atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
            continue;
        }
        for (size_t byte = 0; byte < BESIDE_BYTES; byte += 4096) {
            objects[index][byte] = 1;
        }
    }
    for (int index = 0; index < BESIDE_COUNT; index++) {
        free(objects[index]);
    }
}

static void *use_on(void *argument) {
    while (!is_done) {
        use_and_free();
    }
    return argument;
}

static void fork_and_use(void) {
    const pid_t child = fork();
    if (child == 0) {
        refused = 0;
        use_and_free();
        _exit(refused != 0);
    }
    int status = 1;
    refused += waitpid(child, &status, 0) != child || status != 0;
}

static void beside(int is_limited) {
    const struct rlimit limit = {LIMIT_BYTES, LIMIT_BYTES};
    pthread_t thread;
    if ((is_limited && setrlimit(RLIMIT_AS, &limit) != 0) ||
        pthread_create(&thread, NULL, use_on, NULL) != 0) {
        exit(1);
    }
    for (int round = 0; round < (is_limited ? 30 : 20); round++) {
        use_and_free();
        if (is_limited) {
            fork_and_use();
        }
    }
    is_done = 1;
    pthread_join(thread, NULL);
    printf("%ld\n", is_limited ? refused : statm_kib(0) / 1024);
}

#define END_OBJECTS 1600
#define AT_ONCE 16

static int wrong;
static size_t most_bytes = SMALL_BYTES;  // of an object

static void check(const unsigned char *object, size_t bytes, unsigned char expected) {
    for (size_t byte = 0; byte < bytes; byte++) {
        if (object[byte] != expected) {
            __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
            return;
        }
    }
}

// Objects of calloc are clear, and all have the same bytes when they are freed.
static void *make_and_check(void *seed) {
    size_t state = *(size_t *)seed;
    while (!is_done) {
        unsigned char *objects[AT_ONCE];
        size_t bytes[AT_ONCE];
        for (unsigned index = 0; index < AT_ONCE; index++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const int is_clear = (state >> 32) % 2;
            bytes[index] = 1 + (state >> 33) % most_bytes;
            objects[index] = is_clear ? calloc(1, bytes[index]) : malloc(bytes[index]);
            check(objects[index], is_clear ? bytes[index] : 0, 0);
            memset(objects[index], (int)index + 1, bytes[index]);
        }
        for (unsigned index = 0; index < AT_ONCE; index++) {
            check(objects[index], bytes[index], (unsigned char)(index + 1));
            free(objects[index]);
        }
    }
    return NULL;
}

static void free_at_the_end(void) {
    static unsigned char *objects[END_OBJECTS];
    long before = LARGE_BYTES, after = LARGE_BYTES;
    for (int round = 0; round < 3; round++) {
        for (int index = 0; index < END_OBJECTS; index++) {
            objects[index] = malloc(SMALL_BYTES);
            memset(objects[index], index, SMALL_BYTES);
        }
        const long full = resident_kib();
        for (int index = END_OBJECTS; index-- > 0;) {
            check(objects[index], SMALL_BYTES, (unsigned char)index);
            free(objects[index]);
        }
        const long empty = resident_kib();
        before = full < before ? full : before;
        after = empty < after ? empty : after;
    }
    printf("%ld %ld ", before, after);
}

static void resize(void) {
    unsigned char *large = NULL;
    most_bytes = 8 * SMALL_BYTES;
    for (int round = 0; round < 100; round++) {
        large = realloc(large, LARGE_BYTES);
        memset(large, round, LARGE_BYTES / 4 * 3);
        large = realloc(large, LARGE_BYTES / 2 + SMALL_BYTES);
        check(large, SMALL_BYTES, (unsigned char)round);
    }
    free(large);
}

static void beside_two(void (*act)(void)) {
    static size_t seeds[2] = {1, 2};
    pthread_t threads[2];
    for (int index = 0; index < 2; index++) {
        if (pthread_create(&threads[index], NULL, make_and_check, &seeds[index]) != 0) {
            exit(1);
        }
    }
    act();
    is_done = 1;
    for (int index = 0; index < 2; index++) {
        pthread_join(threads[index], NULL);
    }
    printf("%d\n", wrong);
}

int main(int count, char **words) {
    const char *const kind = count > 1 ? words[1] : "";
    if (strcmp(kind, "back") == 0) {
        back();
    } else if (strcmp(kind, "freed") == 0) {
        freed();
    } else if (strcmp(kind, "end") == 0) {
        beside_two(free_at_the_end);
    } else if (strcmp(kind, "resize") == 0) {
        beside_two(resize);
    } else if (strcmp(kind, "beside") == 0) {
        beside(1);
    } else if (strcmp(kind, "grow") == 0) {
        beside(0);
    } else if (strcmp(kind, "again") == 0) {
        again();
    } else {
        limited(strcmp(kind, "data") == 0 ? RLIMIT_DATA : RLIMIT_AS);
    }
    return 0;
}
