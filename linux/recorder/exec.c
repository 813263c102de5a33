// Reports to `tau record` which programs exec starts, so that it can name those without a
// recording: a static program, one with other privileges, one whose environment was cleared.
//
// The exec functions of the C library do not call each other by their exported names, so each is
// here. They are called between vfork and exec too: no lock, no allocation.
#include "linux/recorder/exec.h"

#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "linux/interpose/family.h"
#include "linux/interpose/look_up.h"
#include "linux/recorder/call.h"
#include "linux/recorder/process.h"

extern char **environ;

typedef int spawn_function(pid_t *, const char *, const posix_spawn_file_actions_t *,
                           const posix_spawnattr_t *, char *const *, char *const *);

static struct {
    int (*execve)(const char *, char *const *, char *const *);
    int (*execvpe)(const char *, char *const *, char *const *);
    int (*execveat)(int, const char *, char *const *, char *const *, int);
    int (*fexecve)(int, char *const *, char *const *);
    spawn_function *posix_spawn;
    spawn_function *posix_spawnp;
} real;

void tau_exec_resolve(void) {
    *(void **)&real.execve = tau_look_up_next("execve");
    *(void **)&real.execvpe = tau_look_up_next("execvpe");
    *(void **)&real.execveat = tau_look_up_next("execveat");
    *(void **)&real.fexecve = tau_look_up_next("fexecve");
    *(void **)&real.posix_spawn = tau_look_up_next("posix_spawn");
    *(void **)&real.posix_spawnp = tau_look_up_next("posix_spawnp");
}

static void resolve_first(void) {
    if (TAU_UNLIKELY(real.execve == NULL)) {
        tau_family_resolve();  // the first call of all
    }
}

// Returns only if the program did not start.
static int failed(int result) {
    tau_process_note_exec(0, NULL, 0);
    return result;
}

static void note(const char *path) {
    resolve_first();
    tau_process_note_exec(0, path, tau_process_now());
}

// Notes the path at which the descriptor FILE is open.
static void note_file(int file) {
    char link[32];
    char path[1024];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
    const ssize_t bytes = readlink(link, path, sizeof(path) - 1);
    path[bytes > 0 ? bytes : 0] = '\0';
    note(path);
}

// ---- exec ----

TAU_EXPORT int execve(const char *path, char *const *arguments, char *const *environment) {
    note(path);
    return failed(real.execve(path, arguments, environment));
}

TAU_EXPORT int execv(const char *path, char *const *arguments) {
    note(path);
    return failed(real.execve(path, arguments, environ));
}

TAU_EXPORT int execvpe(const char *name, char *const *arguments, char *const *environment) {
    note(name);
    return failed(real.execvpe(name, arguments, environment));
}

TAU_EXPORT int execvp(const char *name, char *const *arguments) {
    note(name);
    return failed(real.execvpe(name, arguments, environ));
}

TAU_EXPORT int execveat(int folder, const char *path, char *const *arguments,
                        char *const *environment, int flags) {
    if (path[0] == '\0') {
        note_file(folder);
    } else {
        note(path);
    }
    return failed(real.execveat(folder, path, arguments, environment, flags));
}

TAU_EXPORT int fexecve(int file, char *const *arguments, char *const *environment) {
    note_file(file);
    return failed(real.fexecve(file, arguments, environment));
}

// ---- exec with a list ----

// The words of a list that FIRST begins, the NULL at its end not counted.
static size_t list_count(va_list rest) {
    size_t count = 1;
    while (va_arg(rest, const char *) != NULL) {
        count++;
    }
    return count;
}

// Moves the list and its NULL from REST to WORDS.
static void list_take(const char **words, const char *first, size_t count, va_list *rest) {
    words[0] = first;
    for (size_t i = 1; i <= count; i++) {
        words[i] = va_arg(*rest, const char *);
    }
}

// Makes `arguments` of the list that FIRST begins; `rest` is left behind its NULL.
#define LIST_TO_ARGUMENTS(FIRST)                                                                   \
    va_list counted, rest;                                                                         \
    va_start(rest, FIRST);                                                                         \
    va_copy(counted, rest);                                                                        \
    const size_t count = list_count(counted);                                                      \
    va_end(counted);                                                                               \
    const char *words[count + 1];                                                                  \
    list_take(words, FIRST, count, &rest);                                                         \
    char *const *arguments = (char *const *)(uintptr_t)words

TAU_EXPORT int execl(const char *path, const char *first, ...) {
    LIST_TO_ARGUMENTS(first);
    va_end(rest);
    return execv(path, arguments);
}

TAU_EXPORT int execlp(const char *name, const char *first, ...) {
    LIST_TO_ARGUMENTS(first);
    va_end(rest);
    return execvp(name, arguments);
}

TAU_EXPORT int execle(const char *path, const char *first, ...) {
    LIST_TO_ARGUMENTS(first);
    char *const *environment = va_arg(rest, char *const *);
    va_end(rest);
    return execve(path, arguments, environment);
}

// ---- spawn ----

// START is where the real function's address is, known after the first call of all.
static int spawn(spawn_function *const *start, pid_t *child, const char *program,
                 const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                 char *const *arguments, char *const *environment) {
    pid_t pid = 0;
    resolve_first();
    const uint64_t before = tau_process_now();
    const int error = (*start)(&pid, program, actions, attributes, arguments, environment);
    if (error == 0) {
        tau_process_note_exec((uint32_t)pid, program, before);
        if (child != NULL) {
            *child = pid;
        }
    }
    return error;
}

TAU_EXPORT int posix_spawn(pid_t *child, const char *path,
                           const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attributes, char *const *arguments,
                           char *const *environment) {
    return spawn(&real.posix_spawn, child, path, actions, attributes, arguments, environment);
}

TAU_EXPORT int posix_spawnp(pid_t *child, const char *name,
                            const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attributes, char *const *arguments,
                            char *const *environment) {
    return spawn(&real.posix_spawnp, child, name, actions, attributes, arguments, environment);
}
