// For programs that run under `tau run --colors`: which task of the plan a thread runs, and which
// globals are a task's. Without that command nothing here has an effect: the program needs no
// library of ours. docs/design/run_colors.md has an example.
#ifndef TAU_TASK_H
#define TAU_TASK_H

#ifdef __cplusplus
extern "C" {
#endif

// The calling thread runs task NAME from now on, and so do threads that it creates; NULL: none.
// Absent (a null pointer) if the program does not run under `tau run`.
// Fails with errno ENOENT if and only if the process has no such task. Returns 0, or -1.
__attribute__((weak)) int tau_task(const char *name);

// As tau_task, and no failure where that is absent.
static inline int tau_task_if_any(const char *name) {
    return tau_task != 0 ? tau_task(name) : 0;
}

// In front of a variable: it is one of task NAME's globals. `tau tlb plan --program-script` writes
// the linker script that places it.
#define TAU_TASK_GLOBAL(name) __attribute__((section("tau_globals." name)))

#ifdef __cplusplus
}
#endif

#endif
