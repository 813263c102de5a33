// The whole test framework: a case is a function, a failure says where and goes on.
//
// TEST_CASE(name) { … } enters a case. All files of one configuration are linked into one program
// (main.c), which runs the cases whose names are asked for. Random tests draw from test_random,
// whose seed is printed first and read from TAU_TEST_SEED.
#ifndef TAU_TEST_H
#define TAU_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test_case {
    const char *file;
    const char *name;
    void (*run)(void);
    struct test_case *next;
};

extern unsigned test_failures_count;
extern uint64_t test_random_state;

// Cases run in the order in which they are entered.
void test_enter(struct test_case *entered);

// Runs the cases that have FILTER in "file.name", all if it is NULL. Returns the program's status.
int test_run(const char *filter);

// WHAT does not hold; the numbers help to see why.
void test_fail(const char *file, int line, const char *what, unsigned long long actual,
               unsigned long long expected);

// The next number of the sequence splitmix64 (S. Vigna).
uint64_t test_random(void);

// A number below LIMIT, which is not 0.
size_t test_random_below(size_t limit);

#define TEST_CASE(function)                                                                        \
    static void function(void);                                                                    \
    __attribute__((constructor)) static void function##_enter(void) {                              \
        static struct test_case entered = {__FILE__, #function, function, NULL};                   \
        test_enter(&entered);                                                                      \
    }                                                                                              \
    static void function(void)

// The same for a table of cases: { TEST(name), … }.
struct test {
    const char *name;
    void (*run)(void);
};

#define TEST(function)                                                                             \
    { #function, function }
#define TEST_MAIN(tests)                                                                           \
    __attribute__((constructor)) static void tests##_enter(void) {                                 \
        static struct test_case entered[sizeof(tests) / sizeof(tests)[0]];                         \
        for (size_t i = 0; i < sizeof(tests) / sizeof(tests)[0]; i++) {                            \
            entered[i] = (struct test_case){__FILE__, (tests)[i].name, (tests)[i].run, NULL};      \
            test_enter(&entered[i]);                                                               \
        }                                                                                          \
    }

#define EXPECT(condition) (void)test_expect((condition), __FILE__, __LINE__, #condition)
#define EXPECT_EQUAL(actual, expected)                                                             \
    test_expect_equal((unsigned long long)(actual), (unsigned long long)(expected), __FILE__,      \
                      __LINE__, #actual " is " #expected)
// For what the rest of the test cannot do without.
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!test_expect((condition), __FILE__, __LINE__, #condition)) {                           \
            printf("cannot go on\n");                                                              \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static inline bool test_expect(bool holds, const char *file, int line, const char *what) {
    if (!holds) {
        test_fail(file, line, what, 0, 0);
    }
    return holds;
}

static inline void test_expect_equal(unsigned long long actual, unsigned long long expected,
                                     const char *file, int line, const char *what) {
    if (actual != expected) {
        test_fail(file, line, what, actual, expected);
    }
}

#endif
