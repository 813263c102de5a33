// Code layout: which functions are inlined, and which way of a branch is the fall-through.
#ifndef TAU_INLINE_H
#define TAU_INLINE_H

#ifdef __cplusplus
#error "compile this file as C (gcc, not g++): C++ can use its header, and link the object"
#endif
#define TAU_INLINE static inline __attribute__((always_inline))

// For steps that two operations share without the cost of a call, in builds for size too.
#define TAU_ALWAYS_INLINE static inline __attribute__((always_inline))

// The bound is the longest path, so that path is the fall-through.
#define TAU_ON_LONGEST_PATH(condition) __builtin_expect((condition), 1)

#endif
