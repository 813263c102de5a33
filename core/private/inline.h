// How the compiler lays code out: what is inlined, and which way of a branch is straight.
#ifndef TAU_INLINE_H
#define TAU_INLINE_H

// Speed needs the small functions inlined; a build for size gets one copy of each.
#ifdef __OPTIMIZE_SIZE__
#define TAU_INLINE static __attribute__((unused))
#else
#define TAU_INLINE static inline __attribute__((always_inline))
#endif

// For steps that two calls share and neither may pay a call for, in builds for size either.
#define TAU_ALWAYS_INLINE static inline __attribute__((always_inline))

// The bound is the longest path, so that one is laid straight.
#define ON_LONGEST_PATH(condition) __builtin_expect((condition), 1)

#endif
