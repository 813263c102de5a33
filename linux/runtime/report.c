#include "linux/runtime/report.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/status.h"
#include "linux/runtime/colors/partition.h"
#include "linux/runtime/heap.h"
#include "linux/runtime/high_water.h"
#include "linux/runtime/lock.h"
#include "linux/runtime/magazines.h"

static char *report;  // its mapping; NULL: none to write
static size_t room_bytes;
static size_t used_bytes;
static bool is_written;
static char program[PATH_MAX];

void tau_report_open(const struct tau_exchange *exchange) {
    void *const found = exchange->report_bytes == 0
                            ? MAP_FAILED
                            : mmap(NULL, exchange->report_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                                   exchange->file, 0);
    if (found == MAP_FAILED) {
        return;
    }
    room_bytes = exchange->report_bytes;
    report = found;
    const ssize_t bytes = readlink("/proc/self/exe", program, sizeof program - 1);
    program[bytes > 0 ? bytes : 0] = '\0';
}

static __attribute__((format(printf, 1, 2))) void text(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const size_t left_bytes = room_bytes - used_bytes;
    const int bytes = vsnprintf(report + used_bytes, left_bytes, format, arguments);
    va_end(arguments);
    used_bytes += bytes > 0 && (size_t)bytes < left_bytes ? (size_t)bytes : 0;
}

// PATH in one line: a newline and a backslash as in /proc/self/mountinfo.
static void write_path(const char *path) {
    for (; *path != '\0'; path++) {
        text(*path == '\n' || *path == '\\' ? "\\%03o" : "%c", (unsigned char)*path);
    }
    text("\n");
}

static void write_planned(void) {
    const struct tau_budget_statistics statistics = tau_budget_statistics(tau_heap.planned);
    for (size_t index = 0; index < statistics.classes_count; index++) {
        const struct tau_budget_class_statistics class =
            tau_budget_class_statistics(tau_heap.planned, index);
        text("class %u %u %u", class.size_bytes, class.count, class.peak_used_count);
        if (tau_heap.pools != NULL) {
            text(" %u", tau_pools_band_statistics(tau_heap.pools, index).exceeded_count);
        }
        text("\n");
    }
    if (tau_heap.pools != NULL) {
        text("above %u\n", tau_pools_statistics(tau_heap.pools).above_bands_count);
        return;
    }
    text("shared %zu %zu\n", statistics.shared.capacity_bytes, statistics.shared.peak_used_bytes);
}

static void write_colors(void) {
    if (tau_colors.tasks_count != 0) {
        text("checked %zu\n", tau_colors.pages_checked);
        text("unknown %u\n", tau_colors.unknown_threads);
    }
    for (size_t index = 0; index < tau_colors.tasks_count; index++) {
        const struct tau_colors_task *const task = &tau_colors.tasks[index];
        struct tau_tlsf_statistics heap = {0};
        if (task->heap.blocks != NULL && tau_tlsf_invariants_hold(task->heap.blocks)) {
            heap = tau_tlsf_statistics(task->heap.blocks);
        }
        text("task %s %zu %zu %lu %lu %u %u\n", task->principal->name, heap.capacity_bytes,
             heap.peak_used_bytes, task->objects, task->spilled_objects, task->threads,
             task->stacks);
    }
}

// Offsets count from the module's first page, as in a trace.
static void write_site(const struct tau_heap_site *site) {
    struct dl_find_object found;
    const char *module = "";
    uintptr_t offset = site->address;
    if (_dl_find_object((void *)site->address, &found) == 0) {
        module = found.dlfo_link_map->l_name[0] != '\0' ? found.dlfo_link_map->l_name : program;
        offset = site->address - (uintptr_t)found.dlfo_map_start;
    }
    text("site %lx %lu %lu %lu %lu ", offset, site->objects, site->bytes, site->refusals,
         site->refused_bytes);
    write_path(module);
}

// A heap whose control block was overwritten is left out.
static void write_heaps(void) {
    if ((tau_heap.budget != NULL && tau_budget_invariants_hold(tau_heap.budget)) ||
        (tau_heap.pools != NULL && tau_pools_invariants_hold(tau_heap.pools))) {
        write_planned();
    }
    if (tau_heap.spill != NULL && tau_tlsf_invariants_hold(tau_heap.spill)) {
        const struct tau_tlsf_statistics spill = tau_tlsf_statistics(tau_heap.spill);
        text("spill %zu %zu\n", spill.capacity_bytes,
             tau_heap_spill_peak(spill.peak_used_bytes));
    }
    write_colors();
}

// ---- The first refusal ----

static struct {
    _Atomic uint32_t is_taken;  // a word: not every machine changes a byte atomically
    bool is_known;              // the two sizes are those of the planned heap
    size_t free_bytes;
    size_t largest_bytes;
    uint32_t thread;  // its id; 0 while there is only one
} first;

static void write_first(void) {
    if (first.is_known) {
        text("free %zu %zu\n", first.free_bytes, first.largest_bytes);
    }
    text("thread %u\n", first.thread);
}

void tau_report_first_refusal(const struct tau_heap_site *entry, bool is_whole) {
    const int error = errno;
    if (report == NULL || is_written || atomic_exchange(&first.is_taken, 1) != 0) {
        return;
    }
    // No system call: the program may be confined.
    first.thread = tau_lock_my_id;
    if (is_whole && tau_heap.budget != NULL) {
        const struct tau_tlsf_statistics shared = tau_budget_statistics(tau_heap.budget).shared;
        first.free_bytes = shared.free_bytes;
        first.largest_bytes = shared.largest_free_bytes;
        first.is_known = true;
    }
    text("program ");
    write_path(program);
    text("refusals 1\n");
    write_site(entry);
    write_first();
    text("killed\n");
    used_bytes = 0;  // the whole report takes its place
    errno = error;
}

// ---- The end ----

// The heaps are last, since any of their memory may be overwritten.
static void write_report(const char *end, const char *reason) {
    if (is_written || report == NULL) {
        return;
    }
    is_written = true;
    text("program ");
    write_path(program);
    text("calls %lu\n", tau_high_water.calls_count + tau_magazines_calls());
    text("threads %u\n", tau_lock_threads > 1 ? tau_lock_threads : 1);
    text("spilled %lu %lu\n", tau_heap.spilled_objects, tau_heap.spilled_bytes);
    text("refusals %lu\n", tau_heap.refusals);
    for (unsigned index = 0; index <= TAU_HEAP_SITES_COUNT_MAX; index++) {
        const struct tau_heap_site *const site = &tau_heap_sites[index];
        if (site->objects != 0 || site->refusals != 0) {
            write_site(site);
        }
    }
    if (atomic_load(&first.is_taken) != 0) {
        write_first();
    }
    text("%s %s\n", end, reason);
    write_heaps();
}

void tau_report_end(void) {
    write_report("ended", "");
}

void tau_report_refused(const char *reason) {
    write_report("refused", reason);
}

void tau_report_forget(void) {
    report = NULL;
}

// ---- Misuse ----

static const char *words_of(int reason) {
    switch (reason) {
    case TAU_DOUBLE_FREE:
        return "the object is already free";
    case TAU_MISALIGNED_POINTER:
        return "no object starts there: it is misaligned";
    case TAU_OVERWRITTEN:
        return "the object's header, or that of a neighbor, was overwritten";
    default:
        return "no object of this allocator starts there";
    }
}

static void abort_at_fault(int number) {
    (void)number;
    abort();
}

void tau_report_stop(const void *pointer, int reason) {
    tau_lock_abandon();
    char text[256];
    char call[64] = "malloc";
    const char *const words = pointer != NULL ? words_of(reason) : "a free block was overwritten";
    if (pointer != NULL) {
        (void)snprintf(call, sizeof call, "free or realloc of %p", pointer);
    }
    const int bytes = snprintf(text, sizeof text, "tau run: %s[%d]: %s: %s\n",
                               program_invocation_short_name, (int)getpid(), call, words);
    (void)!write(STDERR_FILENO, text, bytes > 0 ? (size_t)bytes : 0);
    // The report's sources may be overwritten, too.
    (void)signal(SIGSEGV, abort_at_fault);
    (void)signal(SIGBUS, abort_at_fault);
    write_report("misuse", words);
    abort();
}
