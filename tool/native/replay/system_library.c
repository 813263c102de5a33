// Libraries of other people, with the functions of core/ports/library.h. Each run has a process of
// its own: a library that crashes, hangs or writes elsewhere ends that process only, and no run
// inherits the variables of another.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/native/replay/replay.h"

#define CAUSE_BYTES_MAX 512u
// Its own malloc, if it has one, is not this process's.
#ifdef RTLD_DEEPBIND
#define BIND_DEEP RTLD_DEEPBIND
#else
#define BIND_DEEP 0
#endif
#define TICK_MS 100
#define PAGE_BYTES UINT64_C(4096)

// In memory that both processes see. What the library may have overwritten there is taken back.
struct library {
    struct tau_replay_system system;
    struct tau_replay_result result;
    char cause[CAUSE_BYTES_MAX];
    char *path;
};

static struct library *library_of(struct tau_replay_system *system) {
    return (struct library *)(void *)system;
}

// Function and data pointers differ in ISO C; POSIX makes dlsym's result usable as either.
static void find(void *loaded, const char *name, void *function) {
    void *found = dlsym(loaded, name);
    memcpy(function, &found, sizeof found);
}

static void *library_init(struct tau_replay_system *system, void *arena, size_t size_bytes) {
    struct library *library = library_of(system);
    // What a library never calls need not be there.
    void *loaded = dlopen(library->path, RTLD_LAZY | RTLD_LOCAL | BIND_DEEP);
    void *(*init)(void *memory, size_t size_bytes) = NULL;
    if (loaded != NULL) {
        find(loaded, "tau_library_init", &init);
        find(loaded, "tau_library_malloc", &system->malloc);
        find(loaded, "tau_library_calloc", &system->calloc);
        find(loaded, "tau_library_aligned_alloc", &system->aligned_alloc);
        find(loaded, "tau_library_realloc", &system->realloc);
        find(loaded, "tau_library_free", &system->free);
    }
    if (init == NULL || system->malloc == NULL || system->free == NULL) {
        const char *said = loaded == NULL ? dlerror() : "a required function is missing";
        (void)snprintf(library->cause, sizeof library->cause, "%s", said);
        system->is_stopped = true;
        system->stop_fault = TAU_REPLAY_NOT_LOADED;
        return NULL;
    }
    return init(arena, size_bytes);
}

static void library_close(struct tau_replay_system *system) {
    free(library_of(system)->path);
    (void)munmap(system, sizeof(struct library));
}

struct tau_replay_system *tau_system_library_open(const char *path, uint64_t alignment) {
    struct library *library = mmap(NULL, sizeof *library, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (library == MAP_FAILED) {
        return NULL;
    }
    library->path = strdup(path);
    if (library->path == NULL) {
        (void)munmap(library, sizeof *library);
        return NULL;
    }
    library->system = (struct tau_replay_system){.init = library_init,
                                                 .close = library_close,
                                                 .alignment = (size_t)alignment,
                                                 .realloc_forgets_alignment = true};
    return &library->system;
}

const char *tau_system_library_cause(struct tau_replay_system *system) {
    return library_of(system)->cause;
}

// The process of the library. Its output must not mix with the tool's.
static void child_run(struct tau_replay *replay, struct library *library, uint64_t heap_bytes,
                      uint32_t is_checked) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)setpgid(0, 0);
    // Python's handlers are not this process's.
    static const int handled[] = {SIGINT, SIGTERM, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++) {
        (void)signal(handled[i], SIG_DFL);
    }
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    // The page behind the arena is out of bounds.
    uint8_t *arena = tau_replay_arena(replay, heap_bytes + 2 * PAGE_BYTES);
    const uint64_t behind = (heap_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    if (arena != NULL) {
        (void)mprotect(arena + behind, PAGE_BYTES, PROT_NONE);
    }
    struct tau_replay_result result;
    tau_replay_run(replay, &library->system, heap_bytes, is_checked, &result);
    library->result = result;
    _exit(0);
}

// Waits until CHILD has ended, or has taken SECONDS_MAX for one event, or a signal came. Returns
// whether it has ended. The pipe only wakes: the library may close it, and its children keep it.
static bool has_ended(const struct library *library, pid_t child, int pipe_end,
                      uint64_t seconds_max) {
    const volatile uint64_t *event = &library->system.event;
    struct pollfd end = {.fd = pipe_end, .events = POLLIN};
    uint64_t seen = UINT64_MAX;
    int ready = 0;
    for (uint64_t waited_ms = 0; waited_ms < seconds_max * 1000 && ready >= 0;) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid == child) {
            return true;
        }
        const int tick_ms = end.fd < 0 ? 1 : TICK_MS;
        ready = poll(&end, 1, tick_ms);
        end.fd = ready > 0 ? -1 : end.fd;
        waited_ms = *event == seen ? waited_ms + (uint64_t)tick_ms : 0;
        seen = *event;
    }
    return false;
}

// Ends CHILD and the processes that it started. Returns its status.
static int end_all(pid_t child) {
    int status = 0;
    (void)kill(-child, SIGKILL);
    (void)kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

void tau_system_library_run(struct tau_replay *replay, struct tau_replay_system *system,
                            uint64_t heap_bytes, uint32_t is_checked, uint64_t seconds_max,
                            struct tau_replay_result *result) {
    struct library *library = library_of(system);
    int ends[2];
    memset(result, 0, sizeof *result);
    result->fault = TAU_REPLAY_HOST_MEMORY;
    system->event = 0;
    system->op = NULL;
    system->is_stopped = false;
    // A library that exits leaves this.
    library->result = (struct tau_replay_result){.fault = TAU_REPLAY_CRASHED};
    // Reserved here, the arena's addresses serve all runs.
    if (tau_replay_arena(replay, heap_bytes + 2 * PAGE_BYTES) == NULL ||
        pipe2(ends, O_CLOEXEC) != 0) {
        return;
    }
    const struct library kept = *library;
    const pid_t child = fork();
    if (child == 0) {
        child_run(replay, library, heap_bytes, is_checked);
    }
    (void)close(ends[1]);
    if (child > 0) {
        const bool is_well = has_ended(library, child, ends[0], seconds_max);
        const int status = end_all(child);
        *result = library->result;
        result->fault = is_well ? result->fault : TAU_REPLAY_ENDLESS;
        if (result->fault == TAU_REPLAY_CRASHED || !is_well) {
            result->fault_event = system->event;
            result->fault_signal = WIFSIGNALED(status) ? (uint64_t)WTERMSIG(status) : 0;
        }
        library->system = kept.system;
        library->path = kept.path;
        library->cause[sizeof library->cause - 1] = '\0';
    }
    (void)close(ends[0]);
}
