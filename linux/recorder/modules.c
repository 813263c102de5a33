// The known executable ranges are a sorted table that readers search without a lock. One thread at
// a time replaces it, in the other of two buffers. A reader that is overtaken twice may take one
// snapshot too many or too few.
#include "linux/recorder/modules.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "facts/recording.h"
#include "linux/recorder/chunk.h"
#include "linux/recorder/proc.h"
#include "linux/recorder/process.h"

#define RANGES_MAX 1024u
// A just-in-time compiler keeps making executable memory. Beyond this limit its sites have no
// module.
#define SNAPSHOTS_MAX 64u
// Less than a chunk can hold by a page, also by a large one.
#define TEXT_BYTES_MAX ((size_t)TAU_RAW_CHUNK_BYTES_MAX - 65536u)

struct range {
    uint64_t start, end;
};

struct table {
    uint32_t count;
    struct range ranges[RANGES_MAX];
};

static struct table tables[2];
static _Atomic uint32_t current;
static _Atomic uint32_t snapshots_count;
static _Atomic uint32_t busy;  // a word: not every machine has an atomic flag of a byte

// ---- The table ----

static bool table_has(const struct table *table, uint64_t site) {
    uint32_t low = 0;
    uint32_t high = table->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (site < table->ranges[middle].start) {
            high = middle;
        } else if (site >= table->ranges[middle].end) {
            low = middle + 1;
        } else {
            return true;
        }
    }
    return false;
}

static void table_add(struct table *table, uint64_t start, uint64_t end) {
    if (table->count < RANGES_MAX) {
        table->ranges[table->count] = (struct range){start, end};
        table->count++;
    }
}

// ---- The text ----

static const char *hexadecimal(const char *at, const char *end, uint64_t *value) {
    *value = 0;
    for (; at < end; at++) {
        const unsigned int c = (unsigned char)*at;
        const unsigned int digit = c - '0' < 10 ? c - '0' : c - 'a' < 6 ? c - 'a' + 10 : 16;
        if (digit == 16) {
            break;
        }
        *value = *value << 4 | digit;
    }
    return at;
}

// Keeps a line if it is executable or the first of its file; moves it to TO and returns what
// follows it.
static char *line_keep(char *to, const char *line, const char *end, struct table *table) {
    uint64_t first, last, offset;
    const char *at = hexadecimal(line, end, &first);
    at = hexadecimal(at + 1, end, &last);
    if (end - at < 8) {
        return to;
    }
    const bool executable = at[3] == 'x';
    at = hexadecimal(at + 6, end, &offset);
    const bool names_file = at < end && memchr(at, '/', (size_t)(end - at)) != NULL;
    if (executable) {
        table_add(table, first, last);
    }
    if (executable || (offset == 0 && names_file)) {
        memmove(to, line, (size_t)(end - line));
        to += end - line;
    }
    return to;
}

static void snapshot_take(struct table *table) {
    char *text = tau_process_map_private(TEXT_BYTES_MAX);
    if (text == NULL) {
        return;
    }
    const char *end = text + tau_proc_read("/proc/self/maps", text, TEXT_BYTES_MAX);
    char *kept = text;
    table->count = 0;
    for (const char *line = text; line < end;) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        next = next == NULL ? end : next + 1;
        kept = line_keep(kept, line, next, table);
        line = next;
    }
    const size_t kept_bytes = (size_t)(kept - text);
    const size_t chunk_bytes = tau_chunk_rounded(sizeof(struct tau_raw_chunk) + kept_bytes);
    struct tau_raw_chunk *chunk = tau_chunk_map(TAU_RAW_MODULES, 0, chunk_bytes);
    if (chunk != NULL) {
        memcpy(chunk + 1, text, kept_bytes);
        tau_process_unmap(chunk, chunk_bytes);
    }
    tau_process_unmap(text, TEXT_BYTES_MAX);
}

// ---- Public ----

void tau_modules_cover(uint64_t site) {
    if (table_has(&tables[atomic_load_explicit(&current, memory_order_acquire)], site) ||
        atomic_load_explicit(&snapshots_count, memory_order_relaxed) >= SNAPSHOTS_MAX ||
        atomic_exchange(&busy, 1) != 0) {
        return;
    }
    sigset_t signals;
    if (tau_process_calls_begin(&signals)) {
        const uint32_t next = 1 - atomic_load(&current);
        snapshot_take(&tables[next]);
        atomic_store_explicit(&current, next, memory_order_release);
        atomic_fetch_add(&snapshots_count, 1);
        tau_process_calls_end(&signals);
    }
    atomic_store(&busy, 0);
}

void tau_modules_reset(void) {
    tables[atomic_load(&current)].count = 0;
    atomic_store(&snapshots_count, 0);
    atomic_store(&busy, 0);
}
