// Uses its heap in ways whose first touches are known: test_accesses.py names the expected ones.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef volatile unsigned char byte;
typedef long long vector __attribute__((vector_size(16), aligned(1)));
typedef long long wide __attribute__((vector_size(32), aligned(1)));

static byte sink;

static void plain(void) {
    byte *p = malloc(1001);
    p[0] = 1;
    sink = p[40];
    for (int i = 0; i < 1000; i++) {
        p[47] = 2;  // the granule of byte 40 again
    }
    p[1000] = 3;
    free((void *)p);
}

static void straddle(void) {
    unsigned char *p = malloc(1002);
    *(volatile uint64_t *)(p + 12) = 1;
    *(volatile uint32_t *)(p + 62) = 1;
    *(volatile vector *)(p + 104) = (vector){0, 0};
    *(volatile uint64_t *)(p + 120) = 1;  // touches one granule more, half of the last
    *(volatile uint16_t *)(p + 200) = 1;
    free(p);
}

__attribute__((target("avx"))) static void wide_store(void) {
    unsigned char *p = malloc(1002);
    *(volatile wide *)(p + 8) = (wide){0, 0, 0, 0};
    free(p);
}

static void resized(void) {
    byte *p = malloc(1003);
    byte *wall = malloc(16);
    p[0] = p[64] = 1;
    p = realloc((void *)p, 100003);  // has to move
    p[0] = p[64] = 1;                // both are known
    p[80] = 1;
    p = realloc((void *)p, 50);
    p[0] = 1;
    p = realloc((void *)p, 1003);
    p[40] = p[64] = 1;  // the part that was given up is new again
    free((void *)p);
    free((void *)wall);
}

static void cleared(void) {
    byte *p = calloc(5, 201);
    sink = p[16];
    byte *q = aligned_alloc(4096, 8192);
    q[4096] = 1;
    free((void *)p);
    free((void *)q);
}

static void copied(void) {
    unsigned char *from = malloc(6000), *to = malloc(5000);
    memset(from, 1, 5000);
    memcpy(to + 500, from + 1000, 3000);
    sink = (byte)strlen(memset(memcpy(to, "abc", 4), 'x', 3));
    free(from);
    free(to);
}

static void kernel(void) {
    char *p = malloc(1004), *q = malloc(1006), *name = malloc(108);
    int zero = open("/dev/zero", O_RDONLY);
    if (read(zero, p + 8, 100) != 100) {
        _exit(1);
    }
    strcpy(name, "/dev/null");
    int null = open(name, O_WRONLY);
    if (write(null, q + 16, 20) != 20) {
        _exit(1);
    }
    char *empty = calloc(1, 109);
    if (open(empty, O_RDONLY) >= 0) {
        _exit(1);
    }
    free(p);
    free(q);
    free(name);
    free(empty);
}

// Two threads take turns without a system call between the first turn and the last.
static volatile int turn;

static void wait_for(int wanted) {
    while (turn != wanted) {
    }
}

static void *second_turn(void *object) {
    turn = 1;
    wait_for(2);
    ((byte *)object)[16] = 1;
    turn = 3;
    wait_for(4);
    return NULL;
}

static void turns(void) {
    pthread_t other;
    byte *p = malloc(3500);
    pthread_create(&other, NULL, second_turn, (void *)p);
    wait_for(1);
    p[0] = 1;
    turn = 2;
    wait_for(3);
    p[32] = 1;
    turn = 4;
    pthread_join(other, NULL);
    free((void *)p);
}

static void *thread_main(void *number) {
    long own = (long)number;
    byte *p = malloc(3000 + (size_t)own);
    for (long i = 0; i <= own; i++) {
        p[16 * i] = 1;
    }
    free((void *)p);
    return NULL;
}

static void threads(void) {
    pthread_t made[4];
    for (long i = 0; i < 4; i++) {
        pthread_create(&made[i], NULL, thread_main, (void *)i);
    }
    for (long i = 0; i < 4; i++) {
        pthread_join(made[i], NULL);
    }
}

static void forked(void) {
    byte *p = malloc(2001), *kept = malloc(2002);
    p[0] = 1;
    pid_t child = fork();
    if (child == 0) {
        byte *own = malloc(2003);
        p[16] = own[32] = 1;
        kept = realloc((void *)kept, 2004);
        kept[48] = 1;
        free((void *)p);
        free((void *)own);
        _exit(7);
    }
    int status;
    waitpid(child, &status, 0);
    p[16] = 1;  // the child does not change the parent's
    free((void *)p);
    _exit(WEXITSTATUS(status));
}

static void misused(void) {
    byte *p = malloc(1007), *none = malloc(0);
    static char outside[64];
    p[1] = 1;
    free((void *)none);
    free((void *)p);
    free((void *)p);
    free(outside + 16);
}

static void hidden(void) {
    static byte pool[4096];
    byte own[4096];
    byte *p = malloc(64);
    for (int i = 0; i < 3000000; i++) {
        pool[i % 4096] = own[i % 1024];
        p[i % 64] = 1;
        pool[(i + 9) % 4096] = 1;
    }
    free((void *)p);
}

static void worked(void) {
    byte own[4096];
    byte *p = malloc(64);
    for (int i = 0; i < 3000000; i++) {
        own[i % 4096] = own[i % 1024];
        p[i % 64] = 1;
    }
    free((void *)p);
}

static void trapped(void) {
    __builtin_trap();
}

static void killed(void) {
    byte *p = malloc(3001);
    static byte forever = 1;
    for (int i = 0; i < 3001; i++) {
        p[i] = 1;
    }
    if (fork() == 0) {
        sleep(1);
        kill(getppid(), SIGKILL);
        _exit(0);
    }
    p = malloc(80001);
    for (int i = 0; i < 2500; i++) {
        p[32 * i] = 1;
    }
    while (forever) {
    }
}

// ---- random operations, whose expected events go to stdout

#define OBJECTS 24
#define BYTES_MAX 9000u

static struct {
    byte *place;
    size_t size;
    unsigned char touched[BYTES_MAX / 16 + 1];
} objects[OBJECTS];
static char text[1 << 22];
static size_t text_used;
static uint64_t state;

static uint64_t below(uint64_t limit) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % limit;
}

static void say(const char *what, int object, size_t first, size_t second) {
    text_used += (size_t)snprintf(text + text_used, sizeof text - text_used, "%s %d %zu %zu\n",
                                  what, object, first, second);
}

static void one_access(int object) {
    static const size_t widths[] = {1, 2, 4, 8, 16};
    size_t width = widths[below(5)], size = objects[object].size;
    if (size < width) {
        return;
    }
    size_t at = below(size - width + 1), run = 0;
    unsigned char *place = (unsigned char *)objects[object].place + at;
    for (size_t granule = at / 16; granule <= (at + width - 1) / 16 + 1; granule++) {
        int is_new = granule <= (at + width - 1) / 16 && !objects[object].touched[granule];
        if (is_new) {
            objects[object].touched[granule] = 1;
            run++;
        } else if (run > 0) {
            say("touch", object, 16 * (granule - run), run);
            run = 0;
        }
    }
    switch (width) {
    case 1:
        *(byte *)place = 1;
        break;
    case 2:
        sink = (byte) * (volatile uint16_t *)place;
        break;
    case 4:
        *(volatile uint32_t *)place = 2;
        break;
    case 8:
        sink = (byte) * (volatile uint64_t *)place;
        break;
    default:
        *(volatile vector *)place = (vector){0, 0};
    }
}

static void one_resize(int object) {
    size_t old = objects[object].size, size = 1 + below(BYTES_MAX - 1);
    size_t kept = size > old ? old / 16 : (size + 15) / 16;
    objects[object].place = realloc((void *)objects[object].place, size);
    objects[object].size = size;
    memset(objects[object].touched + kept, 0, sizeof objects[object].touched - kept);
    say("realloc", object, size, 0);
}

static void random_operations(uint64_t seed, long count) {
    state = 2 * seed + 1;
    for (; count > 0; count--) {
        int object = (int)below(OBJECTS);
        uint64_t kind = below(100);
        if (objects[object].place == NULL) {
            size_t size = below(4) == 0 ? 1 + below(BYTES_MAX - 1) : 1 + below(200);
            size_t align = (size_t)16 << below(9);
            const char *what = kind < 50 ? "malloc" : kind < 75 ? "calloc" : "aligned_alloc";
            objects[object].place = kind < 50   ? malloc(size)
                                    : kind < 75 ? calloc(1, size)
                                                : aligned_alloc(align, size);
            objects[object].size = size;
            memset(objects[object].touched, 0, sizeof objects[object].touched);
            say(what, object, size, kind < 75 ? 0 : align);
        } else if (kind < 3) {
            free((void *)objects[object].place);
            objects[object].place = NULL;
            say("free", object, 0, 0);
        } else if (kind < 6) {
            one_resize(object);
        } else {
            one_access(object);
        }
    }
    for (size_t done = 0; done < text_used;) {
        done += (size_t)write(1, text + done, text_used - done);
    }
    _exit(0);
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"plain", plain},     {"straddle", straddle}, {"wide", wide_store},
               {"resized", resized}, {"cleared", cleared},   {"copied", copied},
               {"kernel", kernel},   {"threads", threads},   {"forked", forked},
               {"misused", misused}, {"killed", killed},     {"hidden", hidden},
               {"worked", worked},   {"trapped", trapped}, {"turns", turns}};
    if (count == 4 && strcmp(words[1], "random") == 0) {
        random_operations(strtoull(words[2], NULL, 10), atol(words[3]));
    }
    if (count > 2 && strcmp(words[1], "exec") == 0) {
        byte *p = malloc(1008);
        p[160] = 1;
        execl(words[0], words[0], words[2], (char *)NULL);
    }
    for (size_t i = 0; count > 1 && i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(all[i].name, words[1]) == 0) {
            all[i].run();
        }
    }
    return 0;
}
