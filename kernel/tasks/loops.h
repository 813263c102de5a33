// Notes that say how often a loop goes on, for the bound of a job (`tau tlb run`).
//
//     TAU_LOOP(numbers, 64);
//     for (uint32_t i = 0; i < count; i++) {
//         TAU_ROUND(numbers);
//         …
//     }
//
// Each time that TAU_LOOP is passed allows so many passes of TAU_ROUND, in any loop of its scope:
// the rounds of an inner loop may be counted from the beginning of an outer one. 0: the file of
// tasks says how many. A note costs a nop, one cycle, so that it has an address of its own whatever
// the compiler does with the loop.
#ifndef TAU_TASKS_LOOPS_H
#define TAU_TASKS_LOOPS_H

#define TAU_LOOP(name, rounds_max)                                                                 \
    enum { tau_loop_##name = __COUNTER__ };                                                        \
    TAU_LOOP_NOTE(name, rounds_max)
#define TAU_ROUND(name) TAU_LOOP_NOTE(name, 0xFFFFFFFF)

// tool/tautochrone/tlb/tile/loop_notes.py reads them. The linker keeps what is named like debug
// information, and drops the functions that only a note names.
#define TAU_LOOP_NOTE(name, rounds_max)                                                            \
    __asm__ volatile("0: nop\n.pushsection .debug_tau_loops, \"\", @progbits\n"                    \
                     ".4byte 0b, %0, %1\n.asciz \"" #name "\", \"" __FILE__ "\"\n.popsection"      \
                     :                                                                             \
                     : "i"(tau_loop_##name), "i"(rounds_max))

#endif
