// The whole test framework: a test is a function, a file holds a table of them, a failure says where and goes on.
//
// Usage: TEST_MAIN(tests) at the end of the file. The program's argument filters tests by a part of their name. Random tests draw
// from test_random, whose seed is printed at the start and read from TAU_TEST_SEED, so that a failing run can be repeated.
#ifndef TAU_TEST_H
#define TAU_TEST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test {
    const char *name;
    void (*run)(void);
};

#define TEST(function) {#function, function}

static unsigned test_failures_count;
static uint64_t test_random_state;

static inline void test_fail(const char *file, int line, const char *what) {
    test_failures_count++;
    if (test_failures_count <= 20) {  // a broken core fails everywhere; the first places are the ones that help
        printf("%s:%d: %s\n", file, line, what);
    }
}

// For use in tests. Both sides are shown, as numbers.
#define EXPECT_EQUAL(actual, expected)                                                              \
    do {                                                                                            \
        unsigned long long test_actual = (unsigned long long)(actual);                              \
        unsigned long long test_expected = (unsigned long long)(expected);                          \
        if (test_actual != test_expected) {                                                         \
            test_fail(__FILE__, __LINE__, #actual " is not " #expected);                            \
            if (test_failures_count <= 20) {                                                        \
                printf("    0x%llx is not 0x%llx\n", test_actual, test_expected);                   \
            }                                                                                       \
        }                                                                                           \
    } while (0)

#define EXPECT(condition) ((condition) ? (void)0 : test_fail(__FILE__, __LINE__, #condition))

// For what the rest of the test cannot do without.
#define REQUIRE(condition)                                     \
    do {                                                       \
        if (!(condition)) {                                    \
            test_fail(__FILE__, __LINE__, #condition);         \
            printf("cannot go on\n");                          \
            exit(1);                                           \
        }                                                      \
    } while (0)

// The next number of the sequence (splitmix64, public domain algorithm by S. Vigna).
static inline uint64_t test_random(void) {
    test_random_state += 0x9e3779b97f4a7c15u;
    uint64_t z = test_random_state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// A number below LIMIT, which is not 0.
static inline size_t test_random_below(size_t limit) {
    return (size_t)(test_random() % limit);
}

// Runs the tests whose name contains FILTER (NULL: all). Returns the exit code.
static inline int test_run(const struct test *tests, size_t count, const char *filter) {
    const char *seed = getenv("TAU_TEST_SEED");
    uint64_t first = seed ? strtoull(seed, NULL, 0) : 1;
    printf("seed: %llu (repeat with TAU_TEST_SEED)\n", (unsigned long long)first);
    size_t run_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (filter && !strstr(tests[i].name, filter)) {
            continue;
        }
        unsigned before = test_failures_count;
        test_random_state = first;  // each test repeats alone as it ran among the others
        tests[i].run();
        run_count++;
        printf("%s %s\n", test_failures_count == before ? "ok  " : "FAIL", tests[i].name);
        fflush(stdout);
    }
    printf("%zu tests, %u failures\n", run_count, test_failures_count);
    return test_failures_count > 0 || run_count == 0;
}

#define TEST_MAIN(tests)                                                                       \
    int main(int argc, char **argv) {                                                          \
        return test_run(tests, sizeof(tests) / sizeof(tests)[0], argc > 1 ? argv[1] : NULL);   \
    }

#endif
