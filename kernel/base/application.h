// How an executable tells the loader its tasks: TAU_APPLICATION once, TAU_TASK for each task.
//
//   TAU_TASK(decode, 1024)                  // void decode(void) with a stack of 1,024 bytes
//   TAU_APPLICATION(1, TAU_TASK_OF(decode))
//
// A task that returns ends. No page maps the guard below its stack, so an access there stops it.
// TAU_BASE_HASH, eight words, comes from the build.
#ifndef TAU_APPLICATION_H
#define TAU_APPLICATION_H

#include <stdint.h>

#include "facts/gen/tau_compose_format.h"

#define TAU_TASK(name, stack_bytes)                                                                \
    __attribute__((section(".stack." #name), used)) static struct {                                \
        uint8_t guard[TAU_COMPOSE_SIZE_STACK_GUARD_BYTES]                                          \
            __attribute__((aligned(TAU_COMPOSE_SIZE_STACK_GUARD_BYTES)));                          \
        uint8_t stack[stack_bytes];                                                                \
    } name##_memory;                                                                               \
    __attribute__((naked, used)) static void name##_entry(void) {                                  \
        __asm__ volatile(".option push\n.option norelax\nla gp, __global_pointer$\n.option pop\n"  \
                         "call %0\nli a7, 0\necall\n1: j 1b" ::"i"(name));                         \
    }

#define TAU_TASK_OF(name)                                                                          \
    {                                                                                              \
        (uintptr_t) name##_entry, (uintptr_t)(name##_memory.stack + sizeof name##_memory.stack),   \
            sizeof name##_memory.stack                                                             \
    }

#define TAU_APPLICATION(count, ...)                                                                \
    __attribute__((section(".note.tau"), used)) static const struct {                              \
        uint32_t name_bytes, content_bytes, type;                                                  \
        char name[4];                                                                              \
        uint32_t version, tasks, hash[TAU_COMPOSE_NOTE_HASH_BYTES / 4];                            \
        uintptr_t task[count][TAU_COMPOSE_NOTE_TASK_WORDS];                                        \
    } tau_application_note = {                                                                     \
        .name_bytes = 4,                                                                           \
        .content_bytes = 4 * (TAU_COMPOSE_NOTE_HEAD_WORDS + (count)*TAU_COMPOSE_NOTE_TASK_WORDS),  \
        .type = TAU_COMPOSE_NOTE_TYPE,                                                             \
        .name = "tau",                                                                             \
        .version = TAU_COMPOSE_NOTE_VERSION,                                                       \
        .tasks = (count),                                                                          \
        .hash = {TAU_BASE_HASH},                                                                   \
        .task = {__VA_ARGS__},                                                                     \
    }

#endif
