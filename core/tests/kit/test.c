// See test.h.
#include "core/tests/kit/test.h"

enum { FAILURES_SHOWN = 20 };  // a broken core fails everywhere; the first places help

unsigned test_failures_count;
uint64_t test_random_state;

static struct test_case *first_case;
static struct test_case **last_case = &first_case;

void test_enter(struct test_case *entered) {
    *last_case = entered;
    last_case = &entered->next;
}

int test_run(const char *filter) {
    const char *const seed = getenv("TAU_TEST_SEED");
    const uint64_t first_seed = seed != NULL ? strtoull(seed, NULL, 0) : 1;
    size_t run_count = 0;
    printf("seed %llu\n", (unsigned long long)first_seed);
    for (const struct test_case *test = first_case; test != NULL; test = test->next) {
        char name[256];
        const char *const slash = strrchr(test->file, '/');
        const char *const file = slash != NULL ? slash + 1 : test->file;
        snprintf(name, sizeof name, "%.*s.%s", (int)strcspn(file, "."), file, test->name);
        if (filter != NULL && strstr(name, filter) == NULL) {
            continue;
        }
        const unsigned before = test_failures_count;
        test_random_state = first_seed;  // each case repeats alone as it ran among the others
        test->run();
        run_count++;
        printf("%s %s\n", test_failures_count == before ? "ok  " : "FAIL", name);
        fflush(stdout);
    }
    printf("%zu tests, %u failures\n", run_count, test_failures_count);
    return test_failures_count > 0 || run_count == 0;
}

void test_fail(const char *file, int line, const char *what, unsigned long long actual,
               unsigned long long expected) {
    if (++test_failures_count <= FAILURES_SHOWN) {
        printf("%s:%d: not so: %s (0x%llx, 0x%llx)\n", file, line, what, actual, expected);
    }
}

uint64_t test_random(void) {
    test_random_state += 0x9e3779b97f4a7c15u;
    uint64_t z = test_random_state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

size_t test_random_below(size_t limit) {
    return (size_t)(test_random() % limit);
}
