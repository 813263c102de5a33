// Facts of the machine that a preloaded library is built for. No other file in linux/ asks
// the compiler for it, except the recorder of accesses, which Valgrind runs on x86-64 only.
#ifndef TAU_LINUX_INTERPOSE_MACHINE_H
#define TAU_LINUX_INTERPOSE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "facts/gen/tau_abi_format.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "recordings are little-endian, and so is every machine that is served"
#endif

// ---- The ABI (facts/abi.toml) ----

#if defined(__x86_64__) && defined(__LP64__)
#define TAU_MACHINE_ABI TAU_ABI_NUMBER_X86_64
#elif defined(__aarch64__) && defined(__LP64__)
#define TAU_MACHINE_ABI TAU_ABI_NUMBER_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define TAU_MACHINE_ABI TAU_ABI_NUMBER_RISCV64
#elif defined(__arm__) && defined(__ARM_EABI__)
#define TAU_MACHINE_ABI TAU_ABI_NUMBER_ARM
#elif defined(__riscv) && __riscv_xlen == 32
#define TAU_MACHINE_ABI TAU_ABI_NUMBER_RISCV32
#elif defined(__i386__)
#define TAU_MACHINE_ABI TAU_ABI_NUMBER_I386
#else
#define TAU_MACHINE_ABI 0u  // none that has a number
#endif

// Objects of the C library's malloc start at multiples of this, which also suits every type.
#define TAU_MACHINE_MALLOC_ALIGNMENT                                                               \
    (_Alignof(max_align_t) > 2 * sizeof(size_t) ? _Alignof(max_align_t) : 2 * sizeof(size_t))
#define TAU_MACHINE_MALLOC_SHIFT ((unsigned int)__builtin_ctz(TAU_MACHINE_MALLOC_ALIGNMENT))

// How the C++ ABI writes size_t in an operator's name.
#if defined(__LP64__)
#define TAU_MACHINE_SIZE_LETTER "m"
#else
#define TAU_MACHINE_SIZE_LETTER "j"
#endif

// ---- Time ----

#if defined(__x86_64__)
#define TAU_MACHINE_COUNTER "tsc"  // the kernel's name of the clock source
#else
#define TAU_MACHINE_COUNTER ""  // none is read
#endif
#define TAU_MACHINE_HAS_COUNTER (sizeof(TAU_MACHINE_COUNTER) > 1)

// The counter, read after all earlier loads; with IN_ANY_ORDER, perhaps before one, and cheaper.
static inline uint64_t tau_machine_counter(bool in_any_order) {
#if defined(__x86_64__)
    unsigned int processor;
    return in_any_order ? __rdtsc() : __rdtscp(&processor);
#else
    (void)in_any_order;
    return 0;
#endif
}

// In a loop that waits for another thread.
static inline void tau_machine_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#elif defined(__riscv)
    // `pause` of Zihintpause; a processor without it takes it as a fence of nothing.
    __asm__ volatile(".insn i 0x0f, 0, x0, x0, 0x010" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

// ---- The kernel ----

// A file offset as words of a system call. A register of 32 bits takes half of it, and 32-bit Arm
// begins a pair in an even register: _AFTER_3 is an offset that three words go before.
#if defined(__LP64__)
#define TAU_MACHINE_OFFSET(VALUE) ((long)(VALUE))
#else
#define TAU_MACHINE_OFFSET(VALUE)                                                                  \
    ((long)(uint32_t)(uint64_t)(VALUE)), ((long)(uint32_t)((uint64_t)(VALUE) >> 32))
#endif
#if defined(__arm__)
#define TAU_MACHINE_OFFSET_AFTER_3(VALUE) 0L, TAU_MACHINE_OFFSET(VALUE)
#else
#define TAU_MACHINE_OFFSET_AFTER_3(VALUE) TAU_MACHINE_OFFSET(VALUE)
#endif

// 32-bit kernels from riscv32 on have only the second.
#if defined(SYS_fcntl)
#define TAU_MACHINE_SYS_FCNTL SYS_fcntl
#else
#define TAU_MACHINE_SYS_FCNTL SYS_fcntl64
#endif

// Parameters of the C library's variadic syscall after the first four. Where those fill all the
// registers, the others lie on the stack, and a jump leaves them there.
#if defined(__arm__) || defined(__i386__)
#define TAU_MACHINE_SYSCALL_REST
#define TAU_MACHINE_SYSCALL_REST_NAMES
#else
#define TAU_MACHINE_SYSCALL_REST , long d, long e, long f
#define TAU_MACHINE_SYSCALL_REST_NAMES , d, e, f
#endif

// 4096 on most kernels, up to 65536 on some of aarch64.
static inline size_t tau_machine_page_bytes(void) {
    return (size_t)getauxval(AT_PAGESZ);
}

#endif
