// What a task was doing when it left the core: its registers, and where it goes on.
//
// trap.S and C share the layout. Word i is register x<i>, word 0 the program counter.
#ifndef TAU_KERNEL_CONTEXT_H
#define TAU_KERNEL_CONTEXT_H

#define TAU_CONTEXT_PC 0
#define TAU_CONTEXT_SP 2
#define TAU_CONTEXT_A0 10
#define TAU_CONTEXT_A7 17
#define TAU_CONTEXT_STATUS 32
#define TAU_CONTEXT_WORDS 33

// mstatus on the way into a task: interrupts go on (MPIE), in the mode it had (MPP).
#define TAU_CONTEXT_STATUS_USER 0x80
#define TAU_CONTEXT_STATUS_MACHINE 0x1880

#ifndef __ASSEMBLER__
#include <stdint.h>

struct tau_context {
    uint32_t words[TAU_CONTEXT_WORDS];
};

_Static_assert(sizeof(struct tau_context) == 4 * TAU_CONTEXT_WORDS, "trap.S counts in words");

// Makes CONTEXT a task that begins at PC with its stack at SP. Cost: a store per word.
static inline void tau_context_begin(struct tau_context *context, uint32_t pc, uint32_t sp,
                                     uint32_t status) {
    for (uint32_t i = 0; i < TAU_CONTEXT_WORDS; i++) {
        context->words[i] = 0;
    }
    context->words[TAU_CONTEXT_PC] = pc;
    context->words[TAU_CONTEXT_SP] = sp;
    context->words[TAU_CONTEXT_STATUS] = status;
}
#endif

#endif
