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

#if TAU_ASSERT_LEVEL >= 1
#define TAU_ASSERT(condition) ((condition) ? (void)0 : TAU_ASSERT_FAILED(#condition))
#else
#define TAU_ASSERT(condition) ((void)sizeof(condition))
#endif

#if TAU_ASSERT_LEVEL >= 2
#define TAU_INVARIANT(condition) TAU_ASSERT(condition)
#else
#define TAU_INVARIANT(condition) ((void)sizeof(condition))
#endif

#endif
