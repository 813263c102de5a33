#include "linux/runtime/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "linux/runtime/heap.h"
#include "linux/runtime/lock.h"
#include "linux/runtime/notes.h"
#include "linux/runtime/settings.h"
#include "linux/runtime/sites.h"

static bool is_written;

static __attribute__((format(printf, 2, 3))) void line(int file, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    const int bytes = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)!write(file, text, bytes < (int)sizeof text ? (size_t)bytes : sizeof text - 1);
}

// The whole file at PATH behind the report.
static void copy_file(int file, const char *path) {
    char text[4096];
    const int from = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes;
    while (from >= 0 && (bytes = read(from, text, sizeof text)) > 0) {
        (void)!write(file, text, (size_t)bytes);
    }
    if (from >= 0) {
        close(from);
    }
}

static void write_planned(int file) {
    const struct tau_budget_statistics statistics = tau_budget_statistics(tau_heap.planned);
    for (size_t index = 0; index < statistics.classes_count; index++) {
        const struct tau_budget_class_statistics class =
            tau_budget_class_statistics(tau_heap.planned, index);
        line(file, "class %u %u %u\n", class.size_bytes, class.count, class.peak_used_count);
    }
    line(file, "shared %zu %zu\n", statistics.shared.capacity_bytes,
         statistics.shared.peak_used_bytes);
}

static void write_sites(int file) {
    for (unsigned index = 0; index <= TAU_SITES_COUNT_MAX; index++) {
        const struct tau_site *const site = &tau_sites[index];
        if (site->objects != 0) {
            line(file, "site %lx %lu %lu\n", site->address, site->objects, site->bytes);
        }
    }
}

static void write_all(int file, const char *end, const char *reason) {
    char path[512];
    const ssize_t bytes = readlink("/proc/self/exe", path, sizeof path - 1);
    path[bytes > 0 ? bytes : 0] = '\0';
    line(file, "program %s\n", path);
    line(file, "calls %lu\n", tau_notes.calls_count);
    line(file, "threads %u\n", tau_lock_threads > 1 ? tau_lock_threads : 1);
    line(file, "spilled %lu %lu\n", tau_heap.spilled_objects, tau_heap.spilled_bytes);
    line(file, "refusals %lu\n", tau_heap.refusals);
    if (tau_heap.planned != NULL) {
        write_planned(file);
    }
    if (tau_heap.spill != NULL) {
        const struct tau_tlsf_statistics spill = tau_tlsf_statistics(tau_heap.spill);
        line(file, "spill %zu %zu\n", spill.capacity_bytes, spill.peak_used_bytes);
    }
    write_sites(file);
    line(file, "%s %s\nmaps\n", end, reason);
    if (tau_heap.spilled_objects != 0) {
        copy_file(file, "/proc/self/maps");
    }
}

static void write_report(const char *end, const char *reason) {
    if (is_written || tau_settings.report[0] == '\0') {
        return;
    }
    const int error = errno;
    const int file = open(tau_settings.report, O_WRONLY | O_TRUNC | O_CLOEXEC);
    is_written = true;
    if (file >= 0) {
        write_all(file, end, reason);
        close(file);
    }
    errno = error;
}

void tau_report_end(void) {
    write_report("ended", "");
}

void tau_report_misuse(const char *reason) {
    write_report("misuse", reason);
}

void tau_report_refused(const char *reason) {
    write_report("refused", reason);
}

void tau_report_forget(void) {
    tau_settings.report[0] = '\0';
}
