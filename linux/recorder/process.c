// One recording per process. A forked child finds the page `alive` wiped and starts its own
// recording. A program started by exec starts one from the environment that it inherited.
//
// System calls are made directly: the C library's open and pwrite are cancellation points and may
// be interposed themselves. The file stays open as the highest descriptor that the limit allows, or
// not at all. A program that closes foreign descriptors is noticed by the file's identity before
// each use, and the file is opened again by its path.
//
// A process that is about to install a seccomp filter (confine.c) gets a reserve first: a piece of
// the file, mapped in one go, from which chunks are taken without a system call.
#include "linux/recorder/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "facts/recording.h"
#include "linux/interpose/machine.h"
#include "linux/interpose/session.h"
#include "linux/recorder/build_id.h"
#include "linux/recorder/chunk.h"
#include "linux/recorder/proc.h"

// A higher descriptor would make the kernel's table of them, which each fork copies, too large.
#define DESCRIPTORS_MAX 65536u
#define DESCRIPTOR_TRIES 16u
#define PATH_BYTES 4096  // the kernel's limit
#define NAME_BYTES 64    // a recording's name in its directory
#define ZEROS_BYTES 16384
// Space for over eight million events, or less if the disk has less.
#define RESERVE_BYTES_MAX (UINT64_C(64) << 20)
#define RESERVE_BYTES_MIN (UINT64_C(64) << 10)

#define KERNEL_SIGNALS_BYTES 8
#define CALLERS_WAIT_MAX 1000u
#define SEQUENCE_LEAD_TICKS (1u << 20)
#define EXEC_PATH_BYTES 4096
#define KEEP_DEEP_BIND 1u  // a flag of the environment

enum { OFF = 0, ON = 1, STARTING = 2 };

_Atomic uint64_t tau_clock_sequence;

static _Atomic uint32_t alive_never;
// A process that is not recorded may have a filter that forbids reading a clock.
struct tau_process_hot tau_process_hot = {.alive = &alive_never, .clock = TAU_CLOCK_SEQUENCE};

static struct {
    // Set once by tau_process_configure.
    char directory[PATH_BYTES - NAME_BYTES];
    char emulator[TAU_RAW_EMULATOR_BYTES];
    uint64_t ticks_per_second_hint;
    uint32_t only_pid;
    bool keeps_deep_bind;
    bool has_counter;
    // This process's file.
    struct tau_raw_header *header;
    char path[PATH_BYTES];
    _Atomic int file;
    dev_t device;
    ino_t inode;
    _Atomic uint64_t file_bytes;
    // Words: not every machine changes a byte atomically without a library.
    _Atomic uint32_t stopped;
    _Atomic uint32_t callers;  // threads between tau_process_calls_begin and _end
    // With `confined`: no system call, and memory from the reserve.
    _Atomic uint32_t confined;
    uint8_t *reserve;
    uint64_t reserve_offset;
    uint64_t reserve_bytes;
    _Atomic uint64_t reserve_used;
} process = {.file = -1, .stopped = true};

// ---- The file ----

// Opens the file at PATH and keeps it as high as it can be kept, else where it is, to be released.
static int file_open(int flags) {
    flags |= O_RDWR | O_CLOEXEC | O_LARGEFILE;
    const long low = syscall(SYS_openat, AT_FDCWD, process.path, flags, 0600);
    struct rlimit limit;
    if (low < 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return (int)low;
    }
    const rlim_t top = limit.rlim_cur < DESCRIPTORS_MAX ? limit.rlim_cur : DESCRIPTORS_MAX;
    for (rlim_t below = 1; below <= DESCRIPTOR_TRIES && below < top; below++) {
        const long high = syscall(TAU_MACHINE_SYS_FCNTL, low, F_DUPFD_CLOEXEC, top - below);
        if (high >= 0) {
            syscall(SYS_close, low);
            atomic_store(&process.file, (int)high);
            return (int)high;
        }
    }
    return (int)low;
}

// After each use of a result of file_open or file_get.
static void file_release(int file) {
    if (file >= 0 && file != atomic_load(&process.file)) {
        syscall(SYS_close, file);
    }
}

static bool file_is_ours(int file) {
    struct stat status;
    return file >= 0 && fstat(file, &status) == 0 && status.st_dev == process.device &&
           status.st_ino == process.inode;
}

static int file_get(void) {
    int file = atomic_load(&process.file);
    if (file_is_ours(file)) {
        return file;
    }
    atomic_store(&process.file, -1);
    file = file_open(0);
    if (file >= 0 && !file_is_ours(file)) {
        atomic_store(&process.file, -1);
        syscall(SYS_close, file);
        errno = ESTALE;
        return -1;
    }
    return file;
}

static bool file_write_zeros(int file, uint64_t offset, size_t bytes) {
    static const char zeros[ZEROS_BYTES];
    while (bytes > 0) {
        const size_t part = bytes < sizeof(zeros) ? bytes : sizeof(zeros);
        const long done =
            syscall(SYS_pwrite64, file, zeros, part, TAU_MACHINE_OFFSET_AFTER_3(offset));
        if (done == 0) {
            errno = ENOSPC;
        }
        if (done <= 0 && errno != EINTR) {
            return false;
        }
        if (done > 0) {
            offset += (uint64_t)done;
            bytes -= (size_t)done;
        }
    }
    return true;
}

// Allocates disk space and never raises SIGXFSZ. It writes zeros where fallocate is missing, and
// WITH_ZEROS for speed: pages that are in memory already map faster, by 2 ns per event.
static bool file_allocate(int file, uint64_t offset, size_t bytes, bool with_zeros) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        offset + bytes > limit.rlim_cur) {
        errno = EFBIG;
        return false;
    }
    long result;
    do {
        result =
            syscall(SYS_fallocate, file, 0, TAU_MACHINE_OFFSET(offset), TAU_MACHINE_OFFSET(bytes));
    } while (result != 0 && errno == EINTR);
    if (result == 0 && !with_zeros) {
        return true;
    }
    return (result == 0 || errno == EOPNOTSUPP) && file_write_zeros(file, offset, bytes);
}

// ---- The header ----

uint64_t tau_process_now(void) {
    return tau_clock_now(tau_process_hot.clock);
}

static void header_note_clocks(struct tau_raw_header *header) {
    header->latest_ns = tau_clock_nanoseconds(CLOCK_MONOTONIC);
    header->latest_ticks = tau_process_now();
}

static void header_fill(struct tau_raw_header *header, uint64_t started_ticks,
                        uint64_t started_ns) {
    header->version = TAU_RAW_VERSION;
    header->header_bytes = TAU_RAW_PAGE_BYTES;
    header->pid = (uint32_t)getpid();
    header->parent_pid = (uint32_t)getppid();
    header->started_ticks = started_ticks;
    header->started_ns = started_ns;
    header->started_unix_ns = tau_clock_nanoseconds(CLOCK_REALTIME);
    header->ticks_per_second_hint = process.ticks_per_second_hint;
    header->clock = process.has_counter ? TAU_RAW_CLOCK_TSC : TAU_RAW_CLOCK_MONOTONIC;
    header->address_shift = TAU_MACHINE_MALLOC_SHIFT;
    header->abi = TAU_MACHINE_ABI;
    header->pointer_bytes = sizeof(void *);
    header->malloc_alignment = TAU_MACHINE_MALLOC_ALIGNMENT;
    header->build_id_bytes = tau_build_id_read(header->build_id, sizeof(header->build_id));
    memcpy(header->emulator, process.emulator, sizeof(header->emulator));
    ssize_t bytes = readlink("/proc/self/exe", header->program, sizeof(header->program));
    header->program_bytes = bytes > 0 ? (uint32_t)bytes : 0;
    bytes = readlink("/proc/self/cwd", header->directory, sizeof(header->directory));
    header->directory_bytes = bytes > 0 ? (uint32_t)bytes : 0;
    header->arguments_bytes =
        tau_proc_read("/proc/self/cmdline", header->arguments, sizeof(header->arguments));
    header->arguments_cut = header->arguments_bytes == sizeof(header->arguments);
    header_note_clocks(header);
    memcpy(header->magic, TAU_RAW_MAGIC, sizeof(header->magic));
}

// Creates this process's file and maps its header; NULL with errno if that cannot be.
static struct tau_raw_header *header_create(void) {
    uint64_t started_ns = tau_clock_nanoseconds(CLOCK_MONOTONIC);
    uint64_t started_ticks = tau_process_now();
    snprintf(process.path, sizeof(process.path), "%s/%u-%llx%s", process.directory,
             (unsigned int)getpid(), (unsigned long long)started_ticks, TAU_RAW_SUFFIX);
    atomic_store(&process.file, -1);
    int file = file_open(O_CREAT | O_EXCL);
    struct stat status;
    struct tau_raw_header *header = MAP_FAILED;
    if (file >= 0 && fstat(file, &status) == 0) {
        process.device = status.st_dev;
        process.inode = status.st_ino;
        if (file_allocate(file, 0, TAU_RAW_PAGE_BYTES, true)) {
            header = mmap(NULL, TAU_RAW_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        }
    }
    const int error = errno;
    file_release(file);
    errno = error;
    if (header == MAP_FAILED) {
        return NULL;
    }
    header_fill(header, started_ticks, started_ns);
    return header;
}

// ---- Starting ----

void tau_process_configure(char *const *environment) {
    bool counter = true;
    const char *words = tau_session_find(environment, "record");
    if (words == NULL) {
        return;
    }
    process.only_pid = (uint32_t)tau_session_number(&words);
    process.ticks_per_second_hint = tau_session_number(&words);
    const uint64_t filters_max = tau_session_number(&words);
    process.keeps_deep_bind = (tau_session_number(&words) & KEEP_DEEP_BIND) != 0;
    tau_process_hot.stack_frames_wanted = (uint32_t)tau_session_number(&words);
    tau_session_folder(words, process.directory, sizeof(process.directory));
    for (char *const *entry = environment; *entry != NULL; entry++) {
        counter = counter && strcmp(*entry, "TAU_RECORD_CLOCK=monotonic") != 0;
        if (strncmp(*entry, "TAU_RECORD_EMULATOR=", 20) == 0) {
            snprintf(process.emulator, sizeof(process.emulator), "%s", *entry + 20);
        }
    }
    if (process.directory[0] != '/' || tau_proc_seccomp_filters() > filters_max) {
        process.directory[0] = '\0';
        return;
    }
    process.has_counter = counter && tau_proc_trusts_counter();
    tau_process_hot.clock = process.has_counter ? TAU_CLOCK_COUNTER : TAU_CLOCK_MONOTONIC;
    _Atomic uint32_t *alive = tau_process_map_private(TAU_RAW_PAGE_BYTES);
    if (alive == NULL || madvise((void *)alive, TAU_RAW_PAGE_BYTES, MADV_WIPEONFORK) != 0) {
        return;  // without it a forked child would write into its parent's recording
    }
    tau_process_hot.alive = alive;
    atomic_store(&process.stopped, false);
}

// This process's own file, and where it comes from. In a forked child the parent's header is still
// mapped, and only read, but for one count.
static bool recording_begin(const struct tau_raw_header *parent, uint64_t forked_at_ticks,
                            void (*reset)(void)) {
    struct tau_raw_header *header = header_create();
    if (header == NULL) {
        return false;
    }
    if (parent != NULL) {
        header->forked_from_pid = parent->pid;
        header->forked_from_ticks = parent->started_ticks;
        header->forked_at_ticks = forked_at_ticks != 0 ? forked_at_ticks : parent->started_ticks;
    }
    process.header = header;
    // Chunks are mapped, so each starts at a page of this machine.
    atomic_store(&process.file_bytes, tau_chunk_rounded(TAU_RAW_PAGE_BYTES));
    reset();
    return true;
}

static bool is_wanted(uint32_t pid) {
    return process.only_pid == 0 || process.only_pid == pid;
}

bool tau_process_start(uint64_t forked_at_ticks, void (*reset)(void)) {
    uint32_t expected = OFF;
    _Atomic uint32_t *alive = tau_process_hot.alive;
    if (!atomic_compare_exchange_strong(alive, &expected, STARTING)) {
        while (atomic_load(alive) ==
               STARTING) {  // bound: another thread's start, which waits for nobody
            sched_yield();
        }
        return !tau_process_stopped();
    }
    struct tau_raw_header *parent = process.header;
    process.header = NULL;
    const bool confined = tau_process_is_confined();
    if (parent != NULL && !confined) {
        // The child's only thread is the one that is here.
        atomic_store(&process.callers, 1);
        if (file_is_ours(atomic_load(&process.file))) {
            syscall(SYS_close, atomic_load(&process.file));
        }
    }
    const bool wanted = confined || is_wanted((uint32_t)getpid());
    const bool begun = wanted && !confined && recording_begin(parent, forked_at_ticks, reset);
    if (!begun) {
        atomic_store(&process.stopped, true);
    }
    if (wanted && !begun && parent != NULL) {
        __atomic_fetch_add(&parent->children_lost, 1, __ATOMIC_RELAXED);
    }
    if (parent != NULL) {
        tau_process_unmap(parent, TAU_RAW_PAGE_BYTES);
    }
    atomic_store(alive, ON);
    return begun;
}

// ---- Memory ----

static bool is_recorded(void) {
    return process.header != NULL && !tau_process_stopped() &&
           atomic_load(tau_process_hot.alive) == ON;
}

bool tau_process_calls_begin(sigset_t *signals) {
    sigset_t all;
    atomic_fetch_add(&process.callers, 1);
    if (tau_process_is_confined()) {
        atomic_fetch_sub(&process.callers, 1);
        return false;
    }
    memset(&all, 0xff, sizeof(all));
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, signals, KERNEL_SIGNALS_BYTES);
    return true;
}

void tau_process_calls_end(const sigset_t *signals) {
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, signals, NULL, KERNEL_SIGNALS_BYTES);
    atomic_fetch_sub(&process.callers, 1);
}

// BYTES at OFFSET of the file, on disk and mapped; NULL with errno.
static void *file_map(uint64_t offset, size_t bytes, bool with_zeros) {
    void *memory = MAP_FAILED;
    const int file = file_get();
    if (file >= 0 && file_allocate(file, offset, bytes, with_zeros)) {
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)offset);
    }
    const int error = errno;
    file_release(file);
    errno = error;
    if (memory == MAP_FAILED) {
        return NULL;
    }
    // A forked child must never write here, so it gets no mapping.
    madvise(memory, bytes, MADV_DONTFORK);
    return memory;
}

static void *reserve_take(size_t bytes, uint64_t *offset) {
    const uint64_t used = atomic_fetch_add(&process.reserve_used, bytes);
    if (used > process.reserve_bytes || bytes > process.reserve_bytes - used) {
        tau_process_stop(TAU_RAW_STOP_CONFINED);
        return NULL;
    }
    *offset = process.reserve_offset + used;
    return process.reserve + used;
}

void *tau_process_map(size_t bytes, uint64_t *offset) {
    // A forked child that has no recording yet must not write into its parent's.
    if (tau_process_stopped() || atomic_load(tau_process_hot.alive) != ON) {
        return NULL;
    }
    if (tau_process_is_confined()) {
        return reserve_take(bytes, offset);
    }
    if (process.header->stop_reason != 0) {
        atomic_store(&process.stopped, true);  // `tau record` stopped us
        return NULL;
    }
    *offset = atomic_fetch_add(&process.file_bytes, bytes);
    void *memory = file_map(*offset, bytes, true);
    if (memory == NULL) {
        tau_process_stop(errno);
        return NULL;
    }
#ifdef MADV_POPULATE_WRITE
    // All pages in one call: 1 ns an event less than a fault each. An older kernel refuses, and
    // faults.
    madvise(memory, bytes, MADV_POPULATE_WRITE);
#endif
    header_note_clocks(process.header);
    return memory;
}

void *tau_process_map_private(size_t bytes) {
    if (tau_process_is_confined()) {
        return NULL;
    }
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void tau_process_map_over(void *place, size_t bytes) {
    // An emulator may have left the parent's chunk there, and nothing else can be.
    const int fixed = tau_process_is_emulated() ? MAP_FIXED : MAP_FIXED_NOREPLACE;
    if (!tau_process_is_confined()) {
        const int error = errno;
        mmap(place, bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
        errno = error;
    }
}

void tau_process_unmap(void *memory, size_t bytes) {
    if (!tau_process_is_confined()) {
        munmap(memory, bytes);
    }
}

// ---- Confinement ----

static void reserve_map(void) {
    for (uint64_t bytes = RESERVE_BYTES_MAX; bytes >= RESERVE_BYTES_MIN; bytes /= 2) {
        const uint64_t offset = atomic_fetch_add(&process.file_bytes, bytes);
        uint8_t *reserve = file_map(offset, (size_t)bytes, false);
        if (reserve != NULL) {
            process.reserve = reserve;
            process.reserve_offset = offset;
            process.reserve_bytes = bytes;
            return;
        }
        uint64_t end = offset + bytes;
        atomic_compare_exchange_strong(&process.file_bytes, &end, offset);
    }
}

bool tau_process_reserve(void) {
    const bool wanted = is_recorded() && process.reserve == NULL;
    if (wanted) {
        reserve_map();
    }
    return wanted;
}

bool tau_process_confine(bool without_clock) {
    if (process.directory[0] == '\0') {
        return false;
    }
    atomic_store(&process.confined, true);
    for (unsigned int i = 0; i < CALLERS_WAIT_MAX && atomic_load(&process.callers) > 0; i++) {
        sched_yield();
    }
    // Outside of the counter, the clock may be a system call on this machine.
    if (without_clock || tau_process_hot.clock == TAU_CLOCK_MONOTONIC) {
        tau_process_stop_clock();
    }
    return true;
}

void tau_process_confine_undo(void) {
    atomic_store(&process.confined, false);
}

bool tau_process_is_confined(void) {
    return atomic_load_explicit(&process.confined, memory_order_relaxed);
}

void tau_process_stop_clock(void) {
    if (tau_process_hot.clock != TAU_CLOCK_SEQUENCE) {
        // Later than any time that other threads have read and not yet written.
        atomic_store(&tau_clock_sequence, tau_process_now() + SEQUENCE_LEAD_TICKS);
        tau_process_hot.clock = TAU_CLOCK_SEQUENCE;
    }
}

// ---- Other programs ----

// Another user or root folder, or a full disk: the mapped header can be written still. In a child
// without a recording of its own it is the parent's.
static void count_unnoted(bool started) {
    if (process.header != NULL) {
        __atomic_fetch_add(&process.header->execs_unnoted, started ? 1 : -1, __ATOMIC_RELAXED);
    }
}

void tau_process_note_exec(uint32_t pid, const char *path, uint64_t at_ticks) {
    char entry[PATH_BYTES + 2 * EXEC_PATH_BYTES];
    const int error = errno;
    if (process.directory[0] == '\0' || tau_process_is_confined()) {
        return;
    }
    const uint32_t self = (uint32_t)syscall(SYS_getpid);  // also in a child of vfork
    if (!is_wanted(pid == 0 ? self : pid)) {
        return;
    }
    snprintf(entry, sizeof(entry), "%s/%s", process.directory, TAU_RAW_EXECS);
    const long file = syscall(SYS_openat, AT_FDCWD, entry,
                              O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_LARGEFILE, 0600);
    int used = snprintf(entry, EXEC_PATH_BYTES, "%u %llx ", (unsigned int)(pid == 0 ? self : pid),
                        (unsigned long long)at_ticks);
    if (path != NULL && path[0] != '/' && strchr(path, '/') != NULL) {
        const ssize_t bytes = readlink("/proc/self/cwd", entry + used, EXEC_PATH_BYTES);
        used += bytes > 0 ? (int)bytes : 0;
        entry[used++] = '/';
    }
    used += snprintf(entry + used, EXEC_PATH_BYTES, "%s", path == NULL ? "" : path);
    if (file < 0 || syscall(SYS_write, file, entry, used + 1) < 0) {
        count_unnoted(path != NULL);
    }
    if (file >= 0) {
        syscall(SYS_close, file);
    }
    errno = error;
}

// ---- Going on and stopping ----

uint64_t tau_process_file_bytes(void) {
    return atomic_load_explicit(&process.file_bytes, memory_order_relaxed);
}

void tau_process_stop(int reason) {
    if (!atomic_exchange(&process.stopped, true) && process.header != NULL) {
        process.header->stopped_ticks = tau_process_now();
        process.header->stop_reason = (uint32_t)reason;
    }
}

bool tau_process_stopped(void) {
    return atomic_load_explicit(&process.stopped, memory_order_relaxed);
}

void tau_process_count_lost(void) {
    if (process.header != NULL && atomic_load(tau_process_hot.alive) == ON) {
        __atomic_fetch_add(&process.header->events_lost, 1, __ATOMIC_RELAXED);
    }
}

void tau_process_count_abandoned(void) {
    if (process.header != NULL) {
        __atomic_fetch_add(&process.header->calls_abandoned, 1, __ATOMIC_RELAXED);
    }
}

void tau_process_note_stack(bool is_cut) {
    process.header->stack_frames = tau_process_hot.stack_frames;
    __atomic_fetch_add(&process.header->stacks_cut, is_cut, __ATOMIC_RELAXED);
}

void tau_process_forked(void) {
    atomic_store(tau_process_hot.alive, OFF);
}

bool tau_process_is_emulated(void) {
    return process.emulator[0] != '\0';
}

bool tau_process_drops_deep_bind(void) {
    if (!is_recorded() || process.keeps_deep_bind) {
        return false;
    }
    __atomic_fetch_add(&process.header->deep_binds, 1, __ATOMIC_RELAXED);
    return true;
}

void tau_process_end(void) {
    if (process.header != NULL && atomic_load(tau_process_hot.alive) == ON) {
        if (!tau_process_is_confined()) {
            header_note_clocks(process.header);
        }
        process.header->ended = 1;
    }
}
