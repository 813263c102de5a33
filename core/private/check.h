// Asserts for bugs of the core itself. They cost nothing unless the build sets TAU_ASSERT_LEVEL.
#ifndef TAU_CHECK_H
#define TAU_CHECK_H

// 0 (default): off. 1: asserts. 2: also the constant-time invariants at entry and exit of each
// operation.
#ifndef TAU_ASSERT_LEVEL
#define TAU_ASSERT_LEVEL 0
#endif

// Action of a failed assert; a port may log and reset instead.
#ifndef TAU_ASSERT_FAILED
#define TAU_ASSERT_FAILED(text) __builtin_trap()
#endif

#define TAU_ASSERT(condition) TAU_ASSERT_FROM(1, condition, #condition)
#define TAU_INVARIANT(condition) TAU_ASSERT_FROM(2, condition, #condition)
#define TAU_ASSERT_FROM(level, condition, text)                                                    \
    ((TAU_ASSERT_LEVEL < (level) || (condition)) ? (void)0 : TAU_ASSERT_FAILED(text))

#endif
