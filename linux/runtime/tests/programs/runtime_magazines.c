// Threads that end, threads that free what others made, and a fork among them. The heap then holds
// what it held before: no free block stays with a thread that is gone. Prints "done". With the word
// "kept", there are magazines.
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define OBJECTS 3000
#define THREADS 4
#define ROUNDS 20
#define KEPT_BYTES 1000

static unsigned char *handed[THREADS][OBJECTS];
static pthread_barrier_t barrier;

static size_t size_of(size_t index) {
    return 1 + index * 37 % 1300;
}

// Makes objects, and frees those that the next thread made.
static void *work(void *argument) {
    const size_t number = (size_t)argument;
    for (size_t index = 0; index < OBJECTS; index++) {
        handed[number][index] = malloc(size_of(index));
        memset(handed[number][index], (int)number, size_of(index));
    }
    pthread_barrier_wait(&barrier);
    unsigned char **const others = handed[(number + 1) % THREADS];
    for (size_t index = 0; index < OBJECTS; index++) {
        for (size_t byte = 0; byte < size_of(index); byte += 64) {
            if (others[index][byte] != (number + 1) % THREADS) {
                puts("an object was damaged");
                exit(1);
            }
        }
        free(others[index]);
    }
    pthread_barrier_wait(&barrier);
    return argument;
}

static void check(size_t before, const char *where) {
    const size_t after = mallinfo2().uordblks;
    if (after != before) {
        printf("%s: %zu bytes in use, %zu before\n", where, after, before);
        exit(1);
    }
}

static void *pairs(void *argument) {
    for (size_t index = 0; index < OBJECTS; index++) {
        void *volatile object = malloc(size_of(index));
        free(object);
    }
    return argument;
}

// A free block of each thread that waits in keep.
static unsigned char *kept[THREADS];
static bool is_marking;  // there are magazines

// A free block has a magazine's mark no more, or its page is not even mapped.
static void expect_unmarked(const unsigned char *block, uintptr_t mark, const char *where) {
    unsigned char there;
    const bool is_mapped = mincore((void *)((uintptr_t)block & ~(uintptr_t)4095), 1, &there) == 0;
    if (is_marking && is_mapped && ((const uintptr_t *)(const void *)block)[1] == mark) {
        printf("%s: a block stayed in a magazine\n", where);
        exit(1);
    }
}

static uintptr_t mark_of(const unsigned char *block) {
    return ((const uintptr_t *)(const void *)block)[1];
}

// Frees what the missing threads kept, and this one's own.
static void trim(size_t before) {
    unsigned char *const own = malloc(100);
    free(own);
    check(before, "child's own");
    const uintptr_t mark = mark_of(kept[0]), own_mark = mark_of(own);
    malloc_trim(0);
    check(before, "child");
    expect_unmarked(kept[0], mark, "trim");
    expect_unmarked(own, own_mark, "own");
}

static void run_a_thread(size_t before) {
    const uintptr_t mark = mark_of(kept[0]);
    pthread_t thread;
    (void)before;
    if (pthread_create(&thread, NULL, pairs, NULL) != 0) {
        exit(1);
    }
    pthread_join(thread, NULL);
    expect_unmarked(kept[0], mark, "thread");
}

// As if threads had been in the middle of a change: what does not hold together stays in use.
static void trim_torn(size_t before) {
    (void)before;
    ((uintptr_t *)(void *)kept[0])[1] ^= 1;
    ((uintptr_t *)(void *)kept[1])[-1] = 48;
    malloc_trim(0);
}

// A child has only the thread that forked. DROP frees what the others kept.
static void fork_among(size_t before, void (*drop)(size_t)) {
    const pid_t child = fork();
    if (child == 0) {
        drop(before);
        exit(0);
    }
    int status = 1;
    if (waitpid(child, &status, 0) != child || status != 0) {
        printf("a child ended with %#x\n", status);
        exit(1);
    }
}

// An object whose block is of the size's class: the heap may give 16 bytes more.
static char *make_exact(size_t size_bytes) {
    char *object = malloc(size_bytes);
    while (malloc_usable_size(object) != (size_bytes + 7) / 16 * 16 + 8) {
        object = malloc(size_bytes);
    }
    return object;
}

// A resize needs no heap: the block comes from a magazine, and the old one goes to one.
static void resize_kept(size_t old_bytes, size_t new_bytes) {
    char *const kept_block = make_exact(new_bytes);
    char *const object = make_exact(old_bytes);
    free(kept_block);
    object[old_bytes - 1] = 'x';
    char *const moved = realloc(object, new_bytes);
    if (moved != kept_block || (new_bytes > old_bytes && moved[old_bytes - 1] != 'x') ||
        realloc(moved, new_bytes + 1) != moved || malloc(old_bytes) != object) {
        printf("%zu bytes, resized to %zu, did not stay in magazines\n", old_bytes, new_bytes);
        exit(1);
    }
    free(object);
    free(moved);
}

static volatile int is_done;

static void *keep(void *argument) {
    (void)pairs(NULL);
    unsigned char **const mine = &kept[(size_t)argument];
    *mine = malloc(KEPT_BYTES);
    free(*mine);
    pthread_barrier_wait(&barrier);
    while (!is_done) {
        usleep(1000);
    }
    return argument;
}

static pthread_key_t late;

// A destructor that runs after the magazines'. What it frees goes to the heap.
static void free_late(void *object) {
    free(object);
    (void)pairs(NULL);
}

static void *end_late(void *argument) {
    (void)pairs(NULL);
    pthread_setspecific(late, malloc(KEPT_BYTES));
    return argument;
}

// Threads one after another need no more memory than one.
static void one_by_one(void) {
    const size_t before = mallinfo2().arena;
    for (int number = 0; number < 100; number++) {
        pthread_t thread;
        pthread_create(&thread, NULL, pairs, NULL);
        pthread_join(thread, NULL);
    }
    const size_t after = mallinfo2().arena;
    if (after > before + 1000000) {
        printf("100 threads left %zu bytes\n", after - before);
        exit(1);
    }
}

int main(int count, char **words) {
    pthread_t threads[THREADS];
    size_t before = 0;
    is_marking = count > 1 && strcmp(words[1], "kept") == 0;
    one_by_one();
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t number = 0; number < THREADS; number++) {
            pthread_create(&threads[number], NULL, work, (void *)number);
        }
        for (size_t number = 0; number < THREADS; number++) {
            pthread_join(threads[number], NULL);
        }
        if (round == 0) {  // the C library made its own by now
            before = mallinfo2().uordblks;
        }
        check(before, "threads");
    }
    pthread_key_create(&late, free_late);
    for (int number = 0; number < 2; number++) {  // the second has the magazines of the first
        pthread_create(&threads[0], NULL, end_late, NULL);
        pthread_join(threads[0], NULL);
    }
    check(before, "late");
    for (size_t number = 0; number < THREADS - 1; number++) {
        pthread_create(&threads[number], NULL, keep, (void *)number);
    }
    pthread_barrier_wait(&barrier);
    before = mallinfo2().uordblks;
    fork_among(before, trim);
    fork_among(before, run_a_thread);
    if (is_marking) {
        fork_among(before, trim_torn);
        resize_kept(24, 1047);
        resize_kept(1047, 23);
        resize_kept(500, 515);
    }
    is_done = 1;
    for (size_t number = 0; number < THREADS - 1; number++) {
        pthread_join(threads[number], NULL);
    }
    puts("done");
    return 0;
}
