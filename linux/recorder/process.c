// One recording a process. A forked child finds the page `alive` wiped and starts its own; a
// program started by exec begins afresh with the environment it inherited.
//
// System calls are made directly: the C library's open and pwrite are cancellation points and may
// be interposed themselves. The file stays open above descriptor 800. A program that closes what it
// did not open is noticed by the file's identity before each use, and the file is opened again by
// its path.
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

#include "iface/recording.h"
#include "linux/recorder/clock.h"
#include "linux/recorder/writer.h"

#define DESCRIPTOR_LOWEST 800
#define PATH_BYTES 1024
#define ZEROS_BYTES 16384

enum { OFF = 0, ON = 1, STARTING = 2 };

static struct {
    // Set once by tau_process_configure.
    char directory[PATH_BYTES - 64];
    uint64_t ticks_per_second_hint;
    uint32_t only_pid;
    bool keeps_deep_bind;
    // This process's file.
    struct tau_raw_header *header;
    char path[PATH_BYTES];
    _Atomic int file;
    dev_t device;
    ino_t inode;
    _Atomic uint64_t file_bytes;
    _Atomic bool stopped;
} process = {.file = -1, .stopped = true};

// ---- The file ----

static int file_open(int flags) {
    long low = syscall(SYS_openat, AT_FDCWD, process.path, O_RDWR | O_CLOEXEC | flags, 0600);
    if (low < 0) {
        return -1;
    }
    long high = syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, DESCRIPTOR_LOWEST);
    if (high < 0) {
        return (int)low;  // the program's limit is below: stay where we are
    }
    syscall(SYS_close, low);
    return (int)high;
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
    file = file_open(0);
    if (file >= 0 && !file_is_ours(file)) {
        syscall(SYS_close, file);
        errno = ESTALE;
        return -1;
    }
    atomic_store(&process.file, file);
    return file;
}

static bool file_write_zeros(int file, uint64_t offset, size_t bytes) {
    static const char zeros[ZEROS_BYTES];
    while (bytes > 0) {
        const size_t part = bytes < sizeof(zeros) ? bytes : sizeof(zeros);
        const long done = syscall(SYS_pwrite64, file, zeros, part, (long)offset);
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

// Disk space for certain, without ever raising SIGXFSZ. The zeros are for speed where there is
// fallocate (pages that are in memory already map faster: 2 ns an event), else for the space.
static bool file_allocate(int file, uint64_t offset, size_t bytes) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        offset + bytes > limit.rlim_cur) {
        errno = EFBIG;
        return false;
    }
    long result;
    do {
        result = syscall(SYS_fallocate, file, 0, (long)offset, (long)bytes);
    } while (result != 0 && errno == EINTR);
    return (result == 0 || errno == EOPNOTSUPP) && file_write_zeros(file, offset, bytes);
}

// ---- The header ----

static uint32_t read_whole(const char *path, char *to, size_t bytes) {
    size_t got = 0;
    long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    while (file >= 0 && got < bytes) {
        long more = syscall(SYS_read, file, to + got, bytes - got);
        if (more <= 0) {
            break;
        }
        got += (size_t)more;
    }
    if (file >= 0) {
        syscall(SYS_close, file);
    }
    return (uint32_t)got;
}

static void header_note_clocks(struct tau_raw_header *header) {
    header->latest_ns = tau_clock_nanoseconds(CLOCK_MONOTONIC);
    header->latest_ticks = tau_clock_now(tau_writer_process.uses_counter);
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
    header->clock = tau_writer_process.uses_counter ? TAU_RAW_CLOCK_TSC : TAU_RAW_CLOCK_MONOTONIC;
    header->address_shift = TAU_RAW_ADDRESS_SHIFT;
    ssize_t bytes = readlink("/proc/self/exe", header->program, sizeof(header->program));
    header->program_bytes = bytes > 0 ? (uint32_t)bytes : 0;
    bytes = readlink("/proc/self/cwd", header->directory, sizeof(header->directory));
    header->directory_bytes = bytes > 0 ? (uint32_t)bytes : 0;
    header->arguments_bytes =
        read_whole("/proc/self/cmdline", header->arguments, sizeof(header->arguments));
    header->arguments_cut = header->arguments_bytes == sizeof(header->arguments);
    header_note_clocks(header);
    memcpy(header->magic, TAU_RAW_MAGIC, sizeof(header->magic));
}

// Creates this process's file and maps its header; NULL with errno if that cannot be.
static struct tau_raw_header *header_create(void) {
    uint64_t started_ns = tau_clock_nanoseconds(CLOCK_MONOTONIC);
    uint64_t started_ticks = tau_clock_now(tau_writer_process.uses_counter);
    snprintf(process.path, sizeof(process.path), "%s/%u-%llx%s", process.directory,
             (unsigned int)getpid(), (unsigned long long)started_ticks, TAU_RAW_SUFFIX);
    int file = file_open(O_CREAT | O_EXCL);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) {
        return NULL;
    }
    process.device = status.st_dev;
    process.inode = status.st_ino;
    atomic_store(&process.file, file);
    if (!file_allocate(file, 0, TAU_RAW_PAGE_BYTES)) {
        return NULL;
    }
    struct tau_raw_header *header =
        mmap(NULL, TAU_RAW_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (header == MAP_FAILED) {
        return NULL;
    }
    header_fill(header, started_ticks, started_ns);
    return header;
}

// ---- Starting ----

// The time-stamp counter is good if the kernel itself keeps time by it: constant, never stopping,
// equal on all cores.
static bool kernel_trusts_counter(void) {
#if defined(__x86_64__)
    char source[8] = {0};
    read_whole("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
               sizeof(source) - 1);
    return strncmp(source, "tsc", 3) == 0;
#else
    return false;
#endif
}

void tau_process_configure(char *const *environment) {
    bool counter = true;
    for (char *const *entry = environment; entry != NULL && *entry != NULL; entry++) {
        if (strncmp(*entry, "TAU_RECORD_DIRECTORY=", 21) == 0) {
            snprintf(process.directory, sizeof(process.directory), "%s", *entry + 21);
        } else if (strncmp(*entry, "TAU_RECORD_ONLY_PID=", 20) == 0) {
            process.only_pid = (uint32_t)strtoul(*entry + 20, NULL, 10);
        } else if (strncmp(*entry, "TAU_RECORD_TICKS_PER_SECOND=", 28) == 0) {
            process.ticks_per_second_hint = strtoull(*entry + 28, NULL, 10);
        } else if (strcmp(*entry, "TAU_RECORD_CLOCK=monotonic") == 0) {
            counter = false;
        } else if (strcmp(*entry, "TAU_RECORD_DEEPBIND=keep") == 0) {
            process.keeps_deep_bind = true;
        }
    }
    if (process.directory[0] != '/') {
        return;
    }
    tau_writer_process.uses_counter = counter && kernel_trusts_counter();
    _Atomic uint32_t *alive =
        mmap(NULL, TAU_RAW_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (alive == MAP_FAILED || madvise((void *)alive, TAU_RAW_PAGE_BYTES, MADV_WIPEONFORK) != 0) {
        return;  // without it a forked child would write into its parent's recording
    }
    tau_writer_process.alive = alive;
    atomic_store(&process.stopped, false);
}

// This process's own file, and where it comes from. In a forked child the parent's header is still
// mapped, and only read, but for one count.
static bool recording_begin(const struct tau_raw_header *parent, uint64_t forked_at_ticks) {
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
    atomic_store(&process.file_bytes, TAU_RAW_PAGE_BYTES);
    tau_writer_reset();
    return true;
}

bool tau_process_start(uint64_t forked_at_ticks) {
    uint32_t expected = OFF;
    _Atomic uint32_t *alive = tau_writer_process.alive;
    if (!atomic_compare_exchange_strong(alive, &expected, STARTING)) {
        while (atomic_load(alive) ==
               STARTING) {  // bound: another thread's start, which waits for nobody
            sched_yield();
        }
        return !tau_process_stopped();
    }
    struct tau_raw_header *parent = process.header;
    const int parent_file = atomic_load(&process.file);
    const bool close_parent_file = file_is_ours(parent_file);
    process.header = NULL;
    const bool wanted = process.only_pid == 0 || process.only_pid == (uint32_t)getpid();
    const bool begun = wanted && recording_begin(parent, forked_at_ticks);
    if (!begun) {
        atomic_store(&process.stopped, true);
    }
    if (wanted && !begun && parent != NULL) {
        __atomic_fetch_add(&parent->children_lost, 1, __ATOMIC_RELAXED);
    }
    if (parent != NULL) {
        munmap(parent, TAU_RAW_PAGE_BYTES);
    }
    if (close_parent_file) {
        syscall(SYS_close, parent_file);
    }
    atomic_store(alive, ON);
    return begun;
}

// ---- Going on and stopping ----

int tau_process_extend(size_t bytes, uint64_t *offset) {
    if (tau_process_stopped()) {
        return -1;
    }
    int file = file_get();
    *offset = atomic_fetch_add(&process.file_bytes, bytes);
    if (file < 0 || !file_allocate(file, *offset, bytes)) {
        tau_process_stop(errno);
        return -1;
    }
    header_note_clocks(process.header);
    return file;
}

uint64_t tau_process_file_bytes(void) {
    return atomic_load_explicit(&process.file_bytes, memory_order_relaxed);
}

void tau_process_stop(int error) {
    if (!atomic_exchange(&process.stopped, true) && process.header != NULL) {
        process.header->stopped_ticks = tau_clock_now(tau_writer_process.uses_counter);
        process.header->stop_errno = (uint32_t)error;
    }
}

bool tau_process_stopped(void) {
    return atomic_load_explicit(&process.stopped, memory_order_relaxed);
}

bool tau_process_drops_deep_bind(void) {
    const bool recorded = process.header != NULL && !tau_process_stopped() &&
                          atomic_load(tau_writer_process.alive) == ON;
    if (!recorded || process.keeps_deep_bind) {
        return false;
    }
    __atomic_fetch_add(&process.header->deep_binds, 1, __ATOMIC_RELAXED);
    return true;
}

void tau_process_end(void) {
    if (process.header != NULL && atomic_load(tau_writer_process.alive) == ON) {
        header_note_clocks(process.header);
        process.header->ended = 1;
    }
}
