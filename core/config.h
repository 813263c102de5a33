// Word sizes and limits of the core, checked against each other. A build may define any of the TAU_
// settings below.
#ifndef TAU_CONFIG_H
#define TAU_CONFIG_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

// Width of headers and links, in bits. 32 on a 64-bit machine gives the exact layout of a 32-bit
// target: links become offsets. The tool replays a target's heap on a workstation in this way.
#ifndef TAU_WORD_BITS
#if UINTPTR_MAX > 0xffffffffu
#define TAU_WORD_BITS 64
#else
#define TAU_WORD_BITS 32
#endif
#endif

// 0: no check.
// 1 (default): double free, foreign or misaligned pointer, overwritten neighbor header. Costs no
//    memory per block.
// 2: as 1, plus a canary word after every block, compared when the block is freed or resized.
#ifndef TAU_CHECK_LEVEL
#define TAU_CHECK_LEVEL 1
#endif

// 1: fill allocated memory with 0xaa and freed memory with 0x55. For debugging: the cost becomes
// linear in the size.
#ifndef TAU_JUNK_FILL
#define TAU_JUNK_FILL 0
#endif

// 0: TLSF counts neither bytes nor refusals, which shortens malloc and free. tau_tlsf_statistics,
// tau_budget_statistics and tau_pools_statistics are not declared. Placements stay the same.
#ifndef TAU_STATISTICS
#define TAU_STATISTICS 1
#endif

// Tells builds for size and speed apart, and those that count from others: their bounds differ.
#if TAU_STATISTICS
#define TAU_BUILT_COUNTED(optimized) optimized
#else
#define TAU_BUILT_COUNTED(optimized) optimized##_uncounted
#endif
#if defined(__OPTIMIZE_SIZE__)
#define TAU_BUILT_FOR TAU_BUILT_COUNTED(size)
#elif defined(__OPTIMIZE__)
#define TAU_BUILT_FOR TAU_BUILT_COUNTED(speed)
#else
#define TAU_BUILT_FOR TAU_BUILT_COUNTED(nothing)
#endif

// A constant of the core whose name has every option that changes a layout or a bound, such as
// tau_tlsf_built_word32_check1_fill0_size. A plan's header refers to the one that it was measured
// with, so it does not link with a core that was built otherwise. Nor do a budgeted heap or pools
// with a TLSF of other options.
#define TAU_TLSF_BUILT                                                                             \
    TAU_BUILT_JOINED(TAU_BUILT_WORDS, TAU_CHECK_LEVEL, TAU_JUNK_FILL, TAU_BUILT_FOR)
#define TAU_BUILT_JOINED(word, check, fill, optimized) TAU_BUILT_NAME(word, check, fill, optimized)
// A program with a second copy of the core gives its constant a name of its own.
#ifndef TAU_BUILT_NAME
#define TAU_BUILT_NAME(word, check, fill, optimized)                                               \
    tau_tlsf_built_word##word##_check##check##_fill##fill##_##optimized
#endif

#if TAU_WORD_BITS == 32
typedef uint32_t tau_word;
typedef int32_t tau_signed_word;
#elif TAU_WORD_BITS == 64
typedef uint64_t tau_word;
typedef int64_t tau_signed_word;
#else
#error "TAU_WORD_BITS must be 32 or 64"
#endif

// Every object starts at a multiple of this: of two words, or of one with 32-bit words, 4. Then a
// `double` must be requested with its alignment. A build says that with TAU_ALIGNMENT_BELOW_MAX=1.
#define TAU_ALIGNMENT_DEFAULT (TAU_WORD_BITS / 4u)
#ifndef TAU_ALIGNMENT
#define TAU_ALIGNMENT TAU_ALIGNMENT_DEFAULT
#endif
#define TAU_ALIGNMENT_LOG2 (TAU_ALIGNMENT == 4 ? 2u : TAU_ALIGNMENT == 8 ? 3u : 4u)
#if TAU_ALIGNMENT == TAU_ALIGNMENT_DEFAULT
#define TAU_BUILT_WORDS TAU_WORD_BITS
#elif TAU_ALIGNMENT == 4 && TAU_WORD_BITS == 32
#define TAU_BUILT_WORDS 32_align4
#else
#error "TAU_ALIGNMENT must be TAU_WORD_BITS / 4, or 4 with TAU_WORD_BITS 32"
#endif

// C17 and C++ spell it differently, and both include the core's headers.
#ifdef __cplusplus
#define TAU_STATIC_ASSERT static_assert
#else
#define TAU_STATIC_ASSERT _Static_assert
#endif

#ifndef TAU_ALIGNMENT_BELOW_MAX
TAU_STATIC_ASSERT(TAU_ALIGNMENT == TAU_ALIGNMENT_DEFAULT || TAU_ALIGNMENT >= alignof(max_align_t),
                  "too small for a double; if none is allocated: -DTAU_ALIGNMENT_BELOW_MAX=1");
#endif
TAU_STATIC_ASSERT(sizeof(void *) * 8 >= TAU_WORD_BITS, "a word is never wider than a pointer");
TAU_STATIC_ASSERT(TAU_CHECK_LEVEL >= 0 && TAU_CHECK_LEVEL <= 2, "levels are 0, 1, 2");
TAU_STATIC_ASSERT(TAU_STATISTICS == 0 || TAU_STATISTICS == 1, "TAU_STATISTICS is 0 or 1");

#endif
