// The whole test framework: a test is a function, a file holds a table of them, a failure says
// where and goes on.
//
// TEST_MAIN(tests) ends a file. The program's argument filters tests by a part of their name.
// Random tests draw from test_random, whose seed is printed first and read from TAU_TEST_SEED.
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

enum { TEST_FAILURES_SHOWN = 20 };  // a broken core fails everywhere; the first places help

static unsigned test_failures_count;
static uint64_t test_random_state;

#define TEST(function)                                                                             \
    { #function, function }
#define EXPECT(condition) test_expect((condition), __FILE__, __LINE__, #condition, 0, 0)
#define EXPECT_EQUAL(actual, expected)                                                             \
    test_expect_equal((unsigned long long)(actual), (unsigned long long)(expected), __FILE__,      \
                      __LINE__, #actual " is " #expected)
// For what the rest of the test cannot do without.
#define REQUIRE(condition) test_require((condition), __FILE__, __LINE__, #condition)

static inline void test_expect(bool holds, const char *file, int line, const char *what,
                               unsigned long long actual, unsigned long long expected) {
    if (!holds && ++test_failures_count <= TEST_FAILURES_SHOWN) {
        printf("%s:%d: not so: %s (0x%llx, 0x%llx)\n", file, line, what, actual, expected);
    }
}

static inline void test_expect_equal(unsigned long long actual, unsigned long long expected,
                                     const char *file, int line, const char *what) {
    test_expect(actual == expected, file, line, what, actual, expected);
}

static inline void test_require(bool holds, const char *file, int line, const char *what) {
    test_expect(holds, file, line, what, 0, 0);
    if (!holds) {
        printf("cannot go on\n");
        exit(1);
    }
}

// The next number of the sequence splitmix64 (S. Vigna).
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

static inline int test_run(const struct test *tests, size_t count, const char *filter) {
    const char *seed = getenv("TAU_TEST_SEED");
    uint64_t first = seed ? strtoull(seed, NULL, 0) : 1;
    size_t run_count = 0;
    printf("seed %llu\n", (unsigned long long)first);
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

#define TEST_MAIN(tests)                                                                           \
    int main(int argc, char **argv) {                                                              \
        return test_run(tests, sizeof(tests) / sizeof(tests)[0], argc > 1 ? argv[1] : NULL);       \
    }

#endif
