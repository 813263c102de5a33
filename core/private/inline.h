// Code layout: which functions are inlined, and which way of a branch is the fall-through.
#ifndef TAU_INLINE_H
#define TAU_INLINE_H

#ifdef __cplusplus
#error "compile this file as C (gcc, not g++): C++ can use its header, and link the object"
#endif

// The steps of malloc and free, and whatever is shorter than a call.
#define TAU_INLINE static inline __attribute__((always_inline))

// All other steps. A build for size gets one copy of each.
#ifdef __OPTIMIZE_SIZE__
#define TAU_SHARED static __attribute__((unused))
#else
#define TAU_SHARED TAU_INLINE
#endif

// Steps off the longest path. A build for speed keeps them, and what they save, out of it.
#ifdef __OPTIMIZE_SIZE__
#define TAU_APART TAU_INLINE
#else
#define TAU_APART static __attribute__((noinline))
#endif

// The bound is the longest path, so that path is the fall-through.
#define TAU_ON_LONGEST_PATH(condition) __builtin_expect((condition), 1)

#endif
