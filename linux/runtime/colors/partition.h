// The tasks of a plan, and its partition, of which the settings have an image.
// docs/spec/run_colors.md has it.
#ifndef TAU_LINUX_RUNTIME_COLORS_PARTITION_H
#define TAU_LINUX_RUNTIME_COLORS_PARTITION_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tlb_color.h"

#define TAU_COLORS_TASKS_MAX 256u

struct tau_colors_task {
    const struct tau_tlb_color_principal *principal;
    uintptr_t window_start;     // of its first window, which is its heap's
    size_t window_bytes;        // of all its windows, which follow each other
    uint32_t heap_pages;        // 0: no heap
    uint32_t thread_number;     // from --thread; 0: none
    struct tau_tlb_color heap;  // heaps.c
    _Atomic uint64_t objects;
    _Atomic uint64_t spilled_objects;
    _Atomic uint32_t threads;        // threads.c: times that one took up this task
    _Atomic uint32_t stacks;         // stacks.c: threads on its stack
    _Atomic uint32_t is_stack_used;  // a word, as tau_lock_gate.closed
    _Atomic pthread_t stack_holder;  // 0 until its thread runs
};

struct tau_colors {
    const struct tau_tlb_color_partition *partition;  // principal i is task i
    struct tau_colors_task *tasks;                    // ascending by address
    size_t tasks_count;                               // 0: nothing is colored
    size_t pages_checked;
    _Atomic uint32_t unknown_threads;  // stacks.c: their task was lost, as no record was free
    bool is_strict;
};

extern struct tau_colors tau_colors;

// Reads TEXT into tau_colors. Returns NULL, or the cause.
const char *tau_colors_read(const char *text);

// COUNT zeroed words, which live as long as the process; NULL if the system gives no memory.
uint32_t *tau_colors_table(size_t count);

// Makes the tasks' heaps and stacks, in pages that were checked. TEXT is the settings' line
// `colors`; the spill heap exists. Returns NULL, or the cause.
const char *tau_colors_start(const char *text);
// A step of the start: maps the runs of all tasks, and reserves the rest of their windows. The
// heaps have searched their pages. Returns NULL, or the cause.
const char *tau_colors_map(void);
// The next step: checks that each mapped page of a window is where the plan has it, in sets that
// its task owns, and counts the pages in tau_colors. Returns NULL, or the cause.
const char *tau_colors_check_pages(void);

// The task whose window has ADDRESS, or NULL.
struct tau_colors_task *tau_colors_task_at(uintptr_t address);
// The task of this name, or NULL.
struct tau_colors_task *tau_colors_task_named(const char *name);
// The stack of a task, or NULL.
const struct tau_tlb_color_part *tau_colors_stack_of(const struct tau_colors_task *task);

#endif
